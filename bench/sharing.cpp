// GPU sharing against whole-card allocation on the PAI-like workload.
//
// The generated jobs run twice on the published cluster, which is large enough that none waits: with fractions on
// shared devices, and with every fraction rounded up to a whole device. A device is in use while at least one task has
// a part of it. Sharing should save at least half of the cards, in the mean over time: the published figure is 50 % on
// average and up to 73 % ("MLaaS in the Wild", NSDI'22). At the peak it depends on which gangs run just then: those of
// whole cards share nothing. "asked" is the bound: as many devices as the fractions add up to. Exits with 1 where
// gpu_packing saves less than half in the mean over all seeds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/jobs_and_seeds.h"
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
  double asked_mean = 0;  // what the tasks ask for, fractions added up
  double asked_peak = 0;
  std::int64_t waited = 0;  // tasks
};

double saved(double with, double without) { return 100 * (1 - with / without); }

Use devices_in_use(const std::vector<TaskResult>& tasks) {
  struct Event {
    std::int64_t time;
    int change;  // ends come before starts
    std::size_t node;
    DeviceMask devices;
    std::int64_t gpu_milli;
  };
  Use use;
  std::vector<Event> events;
  std::unordered_map<std::string, std::size_t> node_index;
  for (const TaskResult& task : tasks) {
    if (task.start != task.submit) ++use.waited;
    if (!task.start || !task.end || task.devices == 0) continue;
    const std::size_t node = node_index.try_emplace(task.node, node_index.size()).first->second;
    events.push_back({task.start->value(), 1, node, task.devices, task.gpu.value()});
    events.push_back({task.end->value(), -1, node, task.devices, task.gpu.value()});
  }
  if (events.empty()) return use;
  std::ranges::sort(events, {}, [](const Event& event) { return std::pair(event.time, event.change); });
  std::vector<std::array<int, kMaxDevices>> tasks_on(node_index.size());
  std::int64_t busy = 0;
  std::int64_t asked = 0;
  double device_seconds = 0;
  double asked_seconds = 0;
  std::int64_t last = events.front().time;
  for (const Event& event : events) {
    device_seconds += static_cast<double>(busy) * static_cast<double>(event.time - last);
    asked_seconds += static_cast<double>(asked) / 1000 * static_cast<double>(event.time - last);
    last = event.time;
    asked += event.change * event.gpu_milli;
    for (std::size_t device = 0; device < kMaxDevices; ++device) {
      if ((event.devices >> device & 1) == 0) continue;
      int& tasks_here = tasks_on[event.node][device];
      if (tasks_here == 0) ++busy;
      tasks_here += event.change;
      if (tasks_here == 0) --busy;
    }
    use.peak = std::max(use.peak, busy);
    use.asked_peak = std::max(use.asked_peak, static_cast<double>(asked) / 1000);
  }
  const auto span = static_cast<double>(last - events.front().time);
  use.mean = device_seconds / span;
  use.asked_mean = asked_seconds / span;
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

// Per score: what it saved in the mean over time, and at the peak.
Status compare(const PaiLikeOptions& options, std::map<std::string, std::pair<double, double>>& sums) {
  const std::vector<TraceNode> nodes = pai_like_nodes({.gpus = 2 * options.gpus});
  BERTH_ASSIGN(const Cluster cluster, cluster_from(nodes));
  std::vector<TraceJob> jobs = pai_like_jobs(options);
  std::vector<TraceJob> whole = jobs;
  round_up(whole);
  fmt::print("{} jobs, seed {}, {} days, cluster of {} GPUs\n", options.jobs, options.seed, options.days,
             2 * options.gpus);
  fmt::print("{:<12}{:>13}{:>12}{:>8}{:>8}{:>14}{:>12}{:>8}{:>8}{:>8}\n", "score", "mean shared", "mean whole", "saved",
             "asked", "peak shared", "peak whole", "saved", "asked", "waited");
  for (const std::string score : {"berth", "fgd", "best_fit", "gpu_packing"}) {
    BERTH_ASSIGN(const Use shared_use, run(cluster, jobs, score));
    BERTH_ASSIGN(const Use whole_use, run(cluster, whole, score));
    const auto whole_peak = static_cast<double>(whole_use.peak);
    const double mean_saved = saved(shared_use.mean, whole_use.mean);
    const double peak_saved = saved(static_cast<double>(shared_use.peak), whole_peak);
    fmt::print("{:<12}{:>13.1f}{:>12.1f}{:>7.1f}%{:>7.1f}%{:>14}{:>12}{:>7.1f}%{:>7.1f}%{:>8}\n", score,
               shared_use.mean, whole_use.mean, mean_saved, saved(shared_use.asked_mean, whole_use.mean),
               shared_use.peak, whole_use.peak, peak_saved, saved(shared_use.asked_peak, whole_peak),
               shared_use.waited + whole_use.waited);
    sums[score].first += mean_saved;
    sums[score].second += peak_saved;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  auto workloads = jobs_and_seeds("sharing", argc, argv);
  if (!workloads) return 2;
  std::map<std::string, std::pair<double, double>> sums;
  for (PaiLikeOptions& options : *workloads) {
    options.gpus = kPaiPublishedGpus;
    const Status status = compare(options, sums);
    if (status.ok()) continue;
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  }
  const auto seeds = static_cast<double>(workloads->size());
  fmt::print("saved, mean over {} seeds:\n", workloads->size());
  for (const auto& [score, sum] : sums)
    fmt::print("  {:<12} mean {:>5.1f} %, peak {:>5.1f} %\n", score, sum.first / seeds, sum.second / seeds);
  return sums["gpu_packing"].first / seeds >= 50 ? 0 : 1;
}
