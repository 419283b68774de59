// GPU sharing against whole-card allocation on the PAI-like workload.
//
//   sharing [jobs [seed]]      defaults 100000 1
//
// The generated jobs run twice on the published cluster, which is large enough that none waits: with fractions on
// shared devices, and with every fraction rounded up to a whole device. A device is in use while at least one task has
// a part of it. Sharing should save at least half of the cards; the published figure is 50 % on average and up to 73 %
// ("MLaaS in the Wild", NSDI'22). Exits with 1 where it does not.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/sim/pai_like.h"
#include "engine/sim/pai_like_cluster.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"

namespace {

using namespace berth;

struct Use {
  double mean = 0;  // devices, over the time from the first start to the last end
  std::int64_t peak = 0;
  std::int64_t waited = 0;  // tasks
};

Use devices_in_use(const std::vector<TaskResult>& tasks) {
  struct Event {
    std::int64_t time;
    int change;  // ends come before starts
    std::size_t node;
    DeviceMask devices;
  };
  Use use;
  std::vector<Event> events;
  std::unordered_map<std::string, std::size_t> node_index;
  for (const TaskResult& task : tasks) {
    if (task.start != task.submit) ++use.waited;
    if (!task.start || !task.end || task.devices == 0) continue;
    const std::size_t node = node_index.try_emplace(task.node, node_index.size()).first->second;
    events.push_back({task.start->value(), 1, node, task.devices});
    events.push_back({task.end->value(), -1, node, task.devices});
  }
  if (events.empty()) return use;
  std::ranges::sort(events, {}, [](const Event& event) { return std::pair(event.time, event.change); });
  std::vector<std::array<int, kMaxDevices>> tasks_on(node_index.size());
  std::int64_t busy = 0;
  double device_seconds = 0;
  std::int64_t last = events.front().time;
  for (const Event& event : events) {
    device_seconds += static_cast<double>(busy) * static_cast<double>(event.time - last);
    last = event.time;
    for (std::size_t device = 0; device < kMaxDevices; ++device) {
      if ((event.devices >> device & 1) == 0) continue;
      int& tasks_here = tasks_on[event.node][device];
      if (tasks_here == 0) ++busy;
      tasks_here += event.change;
      if (tasks_here == 0) --busy;
    }
    use.peak = std::max(use.peak, busy);
  }
  use.mean = device_seconds / static_cast<double>(last - events.front().time);
  return use;
}

void round_up(std::vector<TraceJob>& jobs) {
  for (TraceJob& job : jobs) {
    for (TraceTaskGroup& group : job.groups) {
      if (group.gpu_count > 0) group.gpu_milli = kWholeDevice;
    }
  }
}

Result<Use> run(const Cluster& cluster, const std::vector<TraceJob>& jobs, const std::string& score) {
  BERTH_ASSIGN(const TimedInput input,
               timed_from(cluster, [&]() -> Result<std::unique_ptr<JobReader>> { return read_from(jobs); }));
  BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {.order = "fifo", .score = score}, {}));
  return devices_in_use(result.tasks);
}

int compare(const PaiLikeOptions& options) {
  const std::vector<TraceNode> nodes = pai_like_nodes({.gpus = 2 * options.gpus});
  const auto cluster = cluster_from(nodes);
  std::vector<TraceJob> jobs = pai_like_jobs(options);
  std::vector<TraceJob> whole = jobs;
  round_up(whole);
  const PaiLikeSummary made = PaiLikeTrace(options).summary();
  fmt::print(
      "{} jobs, {} tasks, {} days, cluster of {} GPUs; asked for on average: {:.0f} GPUs, as whole cards {:.0f}\n",
      made.jobs, made.instances, options.days, 2 * options.gpus, made.mean_gpus, made.mean_whole_gpus);
  fmt::print("{:<10}{:>14}{:>14}{:>9}{:>14}{:>14}{:>9}{:>9}\n", "score", "mean shared", "mean whole", "saved",
             "peak shared", "peak whole", "saved", "waited");
  bool half = true;
  for (const std::string score : {"berth", "fgd", "best_fit", "gpu_packing"}) {
    const auto shared_use = run(*cluster, jobs, score);
    const auto whole_use = run(*cluster, whole, score);
    if (!shared_use.ok() || !whole_use.ok()) {
      fmt::print(stderr, "{}{}\n", shared_use.status().message(), whole_use.status().message());
      return 1;
    }
    const double mean_saved = 100 * (1 - shared_use->mean / whole_use->mean);
    const double peak_saved = 100 * (1 - static_cast<double>(shared_use->peak) / static_cast<double>(whole_use->peak));
    fmt::print("{:<10}{:>14.1f}{:>14.1f}{:>8.1f}%{:>14}{:>14}{:>8.1f}%{:>9}\n", score, shared_use->mean,
               whole_use->mean, mean_saved, shared_use->peak, whole_use->peak, peak_saved,
               shared_use->waited + whole_use->waited);
    if (score == "gpu_packing") half = mean_saved >= 50 && peak_saved >= 50;
  }
  return half ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  PaiLikeOptions options{.gpus = kPaiPublishedGpus};
  if (argc > 1) options.jobs = std::atoll(argv[1]);
  if (argc > 2) options.seed = static_cast<std::uint64_t>(std::atoll(argv[2]));
  if (const Status fits = check_pai_like(options); !fits.ok()) {
    fmt::print(stderr, "{}\n", fits.message());
    return 2;
  }
  return compare(options);
}
