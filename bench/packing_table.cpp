// The packing table: how much of the cluster each policy allocates, beside the published figures.
//
//   packing_table [--workloads default,gpuspec33] [--policies fgd,berth] [--seeds 42-51] [--shuffles 3] [--bound]
//   [--curves]
//
// For every workload with published orders: mean over the seeds of the allocated GPU % when 100 % and 130 % of the
// cluster's GPUs have been asked for, the spread over the seeds at 130 %, and the same figures of expected results
// where there are any. --shuffles: how far the means move when nodes are ranked at random instead (ranks break ties).
// --bound: the relaxation no policy can exceed. --curves: the largest difference to the published curves, allocated and
// fragmented. Data from $BERTH_SHARED, by default ../shared.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/sim/arrival_order.h"
#include "engine/sim/arrivals.h"
#include "engine/sim/relaxation.h"
#include "engine/sim/text_file.h"
#include "engine/sim/trace_model.h"

namespace berth {

namespace {

struct Options {
  std::vector<std::string> workloads;
  std::vector<std::string> policies;
  std::vector<int> seeds = {42, 43, 44, 45, 46, 47, 48, 49, 50, 51};
  int shuffles = 0;
  bool bound = false;
  bool curves = false;
};

std::filesystem::path shared() {
  const char* set = std::getenv("BERTH_SHARED");
  return set != nullptr ? set : "../shared";
}

std::vector<std::string> words(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, separator)) parts.emplace_back(trim(part));
  return parts;
}

Result<std::vector<int>> read_seeds(std::string_view text) {
  std::vector<int> seeds;
  for (const std::string& part : words(text, ',')) {
    const std::vector<std::string> ends = words(part, '-');
    BERTH_ASSIGN(const std::int64_t first, read_integer(ends.front()));
    BERTH_ASSIGN(const std::int64_t last, read_integer(ends.back()));
    for (std::int64_t seed = first; seed <= last && seed < first + 1000; ++seed)
      seeds.push_back(static_cast<int>(seed));
  }
  return seeds;
}

Result<Options> read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--bound") {
      options.bound = true;
      continue;
    }
    if (name == "--curves") {
      options.curves = true;
      continue;
    }
    ++i;
    if (name == "--workloads") {
      options.workloads = words(value, ',');
    } else if (name == "--policies") {
      options.policies = words(value, ',');
    } else if (name == "--seeds") {
      BERTH_ASSIGN(options.seeds, read_seeds(value));
    } else if (name == "--shuffles") {
      BERTH_ASSIGN(const std::int64_t shuffles, read_integer(value));
      options.shuffles = static_cast<int>(shuffles);
    } else {
      return Status(Code::kInvalid, fmt::format("unknown option '{}'", name));
    }
  }
  if (options.policies.empty()) {
    for (const PolicyRow& row : all_policies()) {
      if (row.kind == PolicyKind::kScore) options.policies.emplace_back(row.name);
    }
  }
  return options;
}

// Rows of a CSV without quotes, by "workload/policy[/seed]" and column name.
using Published = std::map<std::string, std::map<std::string, double>>;
Result<Published> read_published(const std::filesystem::path& path, std::size_t key_columns) {
  BERTH_ASSIGN(TextFile file, TextFile::open(path.string()));
  Published published;
  std::vector<std::string> header;
  for (std::string_view line;;) {
    BERTH_ASSIGN(const bool found, file.next(line));
    if (!found) return published;
    const std::vector<std::string> fields = words(line, ',');
    if (header.empty()) {
      header = fields;
      continue;
    }
    std::string key = fields[0];
    for (std::size_t i = 1; i < key_columns; ++i) key += "/" + fields[i];
    for (std::size_t i = key_columns; i < fields.size() && i < header.size(); ++i) {
      if (!fields[i].empty()) published[key][header[i]] = std::strtod(fields[i].c_str(), nullptr);
    }
  }
}

std::optional<double> look_up(const Published& published, const std::string& key, const std::string& column) {
  const auto row = published.find(key);
  if (row == published.end()) return std::nullopt;
  const auto value = row->second.find(column);
  return value == row->second.end() ? std::nullopt : std::optional(value->second);
}

struct Spread {
  double mean = 0;
  double least = 0;
  double most = 0;
  double deviation = 0;
};
Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  if (values.empty()) return spread;
  const double count = static_cast<double>(values.size());
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  spread.least = *std::ranges::min_element(values);
  spread.most = *std::ranges::max_element(values);
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  return spread;
}

std::string beside(std::optional<double> published, double measured) {
  return published ? fmt::format("{:8.2f} {:+7.2f}", *published, measured - *published)
                   : fmt::format("{:>8} {:>7}", "-", "-");
}

class PackingTable {
 public:
  explicit PackingTable(Options options) : options_(std::move(options)) {}

  Status print() {
    BERTH_ASSIGN(const auto nodes,
                 read_trace_nodes("openb", (shared() / "traces/openb/openb_node_list_gpu_node.csv").string()));
    BERTH_ASSIGN(cluster_, cluster_from(nodes.records));
    BERTH_ASSIGN(means_, read_published(shared() / "golden/fgd/fgd_expected.csv", 2));
    if (options_.curves) {
      BERTH_ASSIGN(allocated_, read_published(shared() / "golden/fgd/expected_curves_allocated.csv", 3));
      BERTH_ASSIGN(fragmented_, read_published(shared() / "golden/fgd/expected_curves_fragmented.csv", 3));
    }
    if (options_.workloads.empty()) find_workloads();
    fmt::print("{:<12} {:<26} {:>8} {:>8} {:>7} {:>8} {:>8} {:>7} {:>8} {:>8} {:>6} {:>10}\n", "workload", "policy",
               "at 100", "publ.", "diff", "at 130", "publ.", "diff", "min", "max", "sd", "decisions/s");
    for (const std::string& workload : options_.workloads) BERTH_TRY(print_workload(workload));
    print_gains();
    return {};
  }

 private:
  void find_workloads() {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(shared() / "golden/fgd/orders")) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".order")) found.insert(name.substr(0, name.find("_s")));
    }
    options_.workloads.assign(found.begin(), found.end());
  }

  Status print_workload(const std::string& workload) {
    const auto path = shared() / fmt::format("traces/openb/openb_pod_list_{}.csv", workload);
    BERTH_ASSIGN(const auto pods, read_trace_jobs("openb", path.string()));
    BERTH_ASSIGN(input_, arrivals_from(cluster_, pods.records));
    for (const std::string& policy : options_.policies) BERTH_TRY(print_policy(workload, policy));
    return options_.bound ? print_bound(workload) : Status();
  }

  // What has been asked for when `arrived_pct` % of the cluster's GPUs have been, in file order.
  std::vector<ShapeDemand> demand_until(std::int32_t arrived_pct) const {
    std::vector<ShapeDemand> demand;
    std::unordered_map<TaskShape, std::size_t, TaskShapeHash> index;
    const double percent = static_cast<double>(Ledger(cluster_).gpu_capacity().value()) / 100.0;
    MilliGpu arrived;
    for (const std::int32_t row : input_.order) {
      const TaskShape& shape = input_.tasks[static_cast<std::size_t>(row)].shape;
      arrived += shape.gpu_total();
      if (static_cast<double>(arrived.value()) > percent * arrived_pct) break;
      const auto [known, is_new] = index.try_emplace(shape, demand.size());
      if (is_new) demand.push_back({shape, 0});
      ++demand[known->second].tasks;
    }
    return demand;
  }

  Status print_bound(const std::string& workload) {
    const double percent = static_cast<double>(Ledger(cluster_).gpu_capacity().value()) / 100.0;
    std::array<std::vector<double>, 2> bounds;
    for (const int seed : options_.seeds) {
      BERTH_TRY(use_order(workload, seed));
      bounds[0].push_back(allocation_bound(cluster_, demand_until(100)) / percent);
      bounds[1].push_back(allocation_bound(cluster_, demand_until(130)) / percent);
    }
    fmt::print("{:<12} {:<26} {:8.2f} {:>8} {:>7} {:8.2f}   no placement of that demand exceeds this\n", workload,
               "bound", spread_of(bounds[0]).mean, "", "", spread_of(bounds[1]).mean);
    std::fflush(stdout);
    return {};
  }

  Status use_order(const std::string& workload, int seed) {
    const auto path = shared() / fmt::format("golden/fgd/orders/{}_s{}.order", workload, seed);
    BERTH_ASSIGN(input_.order, read_order_file(path.string(), input_.tasks.size()));
    return {};
  }

  Result<SimulationResult> run(const std::string& workload, const std::string& policy, int seed, int shuffle) {
    BERTH_TRY(use_order(workload, seed));
    if (shuffle == 0) {
      const auto path = shared() / fmt::format("golden/fgd/orders/{}_s{}.rank", workload, seed);
      BERTH_ASSIGN(input_.rank, read_rank_file(path.string(), cluster_.nodes.size()));
    } else {
      input_.rank = shuffled_rank(cluster_.nodes.size(), static_cast<std::uint64_t>(shuffle * 1000 + seed));
    }
    ArrivalOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.measure_fragmentation = options_.curves;
    options.keep_tasks = false;
    return simulate_arrivals(input_, policy, options);
  }

  Status print_policy(const std::string& workload, const std::string& policy) {
    std::vector<double> at_100;
    std::vector<double> at_130;
    double seconds = 0;
    double decisions = 0;
    double worst_allocated = 0;
    double worst_fragmented = 0;
    for (const int seed : options_.seeds) {
      BERTH_ASSIGN(const SimulationResult result, run(workload, policy, seed, 0));
      at_100.push_back(result.row.allocated_pct_at_100.value_or(0));
      at_130.push_back(result.row.allocated_pct_at_130.value_or(0));
      decisions += static_cast<double>(result.row.decisions);
      seconds += static_cast<double>(result.row.decisions) / result.row.decisions_per_second;
      const std::string key = fmt::format("{}/{}/{}", workload, policy, seed);
      for (const CurvePoint& point : result.curves) {
        const std::string column = fmt::format("{}", point.arrived_pct);
        if (const auto is = look_up(allocated_, key, column)) {
          worst_allocated = std::max(worst_allocated, std::abs(*is - point.allocated_pct));
        }
        if (const auto is = look_up(fragmented_, key, column); is && point.fragmented_pct) {
          worst_fragmented = std::max(worst_fragmented, std::abs(*is - *point.fragmented_pct));
        }
      }
    }
    const Spread first = spread_of(at_100);
    const Spread last = spread_of(at_130);
    // A policy nobody published is set beside published fgd.
    const bool is_published = means_.contains(workload + "/" + policy);
    const std::string key = workload + (is_published ? "/" + policy : "/fgd");
    fmt::print("{:<12} {:<26} {:8.2f} {} {:8.2f} {} {:8.2f} {:8.2f} {:6.3f} {:10.0f}\n", workload,
               policy + (is_published ? "" : " (vs fgd)"), first.mean,
               beside(look_up(means_, key, "alloc_pct_mean@100"), first.mean), last.mean,
               beside(look_up(means_, key, "alloc_pct_mean@130"), last.mean), last.least, last.most, last.deviation,
               decisions / seconds);
    note_gain(workload, policy, first.mean, last.mean);
    if (options_.curves) {
      fmt::print("{:<39} largest difference to the published curves: allocated {:.3f}, fragmented {:.3f}\n", "",
                 worst_allocated, worst_fragmented);
    }
    for (int shuffle = 1; shuffle <= options_.shuffles; ++shuffle) {
      BERTH_TRY(print_shuffle(workload, policy, shuffle, first.mean, last.mean));
    }
    std::fflush(stdout);
    return {};
  }

  void note_gain(const std::string& workload, const std::string& policy, double at_100, double at_130) {
    const auto fgd_100 = look_up(means_, workload + "/fgd", "alloc_pct_mean@100");
    const auto fgd_130 = look_up(means_, workload + "/fgd", "alloc_pct_mean@130");
    if (!fgd_100 || !fgd_130) return;
    gains_[policy].first.push_back(at_100 - *fgd_100);
    gains_[policy].second.push_back(at_130 - *fgd_130);
  }

  void print_gains() const {
    fmt::print("\n{:<26} {:>16} {:>16}   gain on published fgd over {} workloads\n", "policy", "mean (least) 100",
               "mean (least) 130", options_.workloads.size());
    for (const std::string& policy : options_.policies) {
      const auto gain = gains_.find(policy);
      if (gain == gains_.end()) continue;
      const Spread first = spread_of(gain->second.first);
      const Spread last = spread_of(gain->second.second);
      fmt::print("{:<26} {:+8.2f} ({:+.2f}) {:+8.2f} ({:+.2f})\n", policy, first.mean, first.least, last.mean,
                 last.least);
    }
  }

  Status print_shuffle(const std::string& workload, const std::string& policy, int shuffle, double mean_100,
                       double mean_130) {
    std::vector<double> at_100;
    std::vector<double> at_130;
    for (const int seed : options_.seeds) {
      BERTH_ASSIGN(const SimulationResult result, run(workload, policy, seed, shuffle));
      at_100.push_back(result.row.allocated_pct_at_100.value_or(0));
      at_130.push_back(result.row.allocated_pct_at_130.value_or(0));
    }
    const double first = spread_of(at_100).mean;
    const double last = spread_of(at_130).mean;
    fmt::print("{:<39} {:8.2f} {:>8} {:+7.2f} {:8.2f} {:>8} {:+7.2f}   nodes ranked at random, draw {}\n", "", first,
               "moved", first - mean_100, last, "moved", last - mean_130, shuffle);
    return {};
  }

  Options options_;
  Cluster cluster_;
  ArrivalInput input_;
  Published means_;
  Published allocated_;
  Published fragmented_;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> gains_;  // per policy, at 100 and 130
};

}  // namespace

}  // namespace berth

int main(int argc, char** argv) {
  auto options = berth::read_options(argc, argv);
  berth::Status status = options.ok() ? berth::PackingTable(*options).print() : options.status();
  if (status.ok()) return 0;
  fmt::print(stderr, "packing_table: {}\n", status.message());
  return 1;
}
