// The published runs of three peer simulators, run by ours: how many jobs start or end at another time (none should),
// and our processor time beside the peer's. An argument picks the runs that have it in their name.
#include <fmt/format.h>

#include "tests/reference/peer_runs.h"

namespace {

// Processor seconds that the peer took for one run, as published beside its results; 0 = not told.
double peer_seconds(const std::string& golden) {
  using Row = std::pair<std::string_view, double>;
  for (const auto& [tag, seconds] :
       {Row{"pai/philly20k", 519.0 / 5}, Row{"pai/philly_all_orig_g640.FIFO", 161},
        Row{"pai/philly_all_orig_g640.SJF", 122}, Row{"pai/gang2000_hetero_pack.FIFO", 74},
        Row{"pai/gang2000_hetero_pack.SJF", 66}, Row{"tiresias/philly5000_n24g8.fifo.count", 8.7},
        Row{"tiresias/philly5000_n24g8.sjf.count", 22.4}, Row{"tiresias/philly5000_n24g8.shortest.count", 22.8},
        Row{"tiresias/philly5000_n24g8.dlas.count", 10.9}, Row{"tiresias/philly5000_n24g8.dlas-gpu.count", 10.7},
        Row{"helios/philly14d_half_fifo", 26}, Row{"helios/philly14d_half_sjf", 25},
        Row{"helios/philly14d_half_qssf", 39}, Row{"helios/philly14d_half_srtf", 75}}) {
    if (golden.starts_with(tag)) return seconds;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  fmt::print("{:<44} {:>6} {:>6} {:>6} {:>6} {:>9} {:>9} {:>8}\n", "run", "jobs", "times", "nodes", "evict", "ours s",
             "peer s", "faster");
  for (const berth::test::PeerRun& run : berth::test::peer_runs()) {
    if (count > 1 && run.golden.find(arguments[1]) == std::string::npos) continue;
    const auto compared = berth::test::compare_with_peer(run);
    if (!compared.ok()) {
      fmt::print("{:<44} {}\n", run.golden, compared.status().message());
      continue;
    }
    const double ours = compared->row.run_seconds;
    const double peer = peer_seconds(run.golden);
    fmt::print("{:<44} {:>6} {:>6} {:>6} {:>6} {:>9.3f} {:>9} {:>8}\n", run.golden, compared->jobs,
               compared->other_times, compared->other_nodes, compared->other_evictions, ours,
               peer > 0 ? fmt::format("{:.1f}", peer) : "-", peer > 0 ? fmt::format("{:.0f} x", peer / ours) : "-");
    if (!compared->first.empty()) fmt::print("    {}\n", compared->first);
  }
}
