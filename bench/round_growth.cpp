// How the cost of one planning round grows with the number of pending jobs: 1,000, 10,000 and 100,000 jobs of 200
// queues (departments of ten teams each, with quotas) on 1,213 nodes that are nearly full.
//
//   round_growth [ORDER ...]      default: priority fair_share drf wpai
//
// Beside each time the cost per job, and per job and doubling: n log n shows as a constant last column.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "engine/base/env.h"
#include "engine/round/schedule.h"

namespace berth {
namespace {

constexpr Seconds kNow{1700000000};
constexpr std::int32_t kDepartments = 20;
constexpr std::int32_t kTeams = 10;

Snapshot pending_state(std::int64_t pending, const std::string& order) {
  Random random(11);
  Snapshot snapshot;
  snapshot.now = kNow;
  snapshot.order_policy = order;
  snapshot.score_policy = "best_fit";
  snapshot.cluster.models = {{1, "A100", MiB(81920)}};
  NodeKind kind;
  kind.model = 0;
  kind.device_count = 8;
  kind.device_memory = MiB(81920);
  kind.cpu = MilliCpu(96000);
  kind.memory = MiB(786432);
  for (std::int64_t n = 0; n < 1213; ++n) {
    Node node;
    node.id = n + 1;
    node.kind = snapshot.cluster.add_kind(kind);
    snapshot.cluster.nodes.push_back(node);
  }
  snapshot.quotas.resources = {{"gpu", ResourceKind::kGpu, 0}};
  const auto add_queue = [&](std::int32_t parent, std::int64_t quota) {
    Queue queue;
    queue.id = static_cast<std::int64_t>(snapshot.queues.size()) + 1;
    queue.name = fmt::format("q{}", queue.id);
    queue.parent = parent;
    snapshot.queues.push_back(queue);
    QuotaTerms terms;
    terms.has_quota = quota > 0;
    terms.quota = quota;
    snapshot.quotas.terms.push_back({terms});
    return static_cast<std::int32_t>(snapshot.queues.size()) - 1;
  };
  std::vector<std::int32_t> teams;
  for (std::int32_t d = 0; d < kDepartments; ++d) {
    const std::int32_t department = add_queue(-1, 0);
    for (std::int32_t t = 0; t < kTeams; ++t) teams.push_back(add_queue(department, 40000));
  }
  // Nine tenths of the devices are in use.
  for (NodeIndex n = 0; n < 1213; ++n) {
    RunningJob run;
    run.job.id = n + 1;
    run.job.queue = teams[random.below(teams.size())];
    run.job.state = JobState::kRunning;
    TaskGroup group;
    group.shape.gpu_count = 7;
    group.shape.gpu_milli = kWholeDevice;
    group.placed = 1;
    run.job.groups = {group};
    run.job.time_limit = Seconds(100000);
    run.start = kNow - Seconds(static_cast<std::int64_t>(random.below(50000)) + 1);
    snapshot.running.push_back(run);
    snapshot.allocations.push_back({n + 1, 0, 0, n, 0x7F, kWholeDevice, MiB(81920), MilliCpu(84000), MiB(600000)});
  }
  for (std::int64_t i = 0; i < pending; ++i) {
    Job job;
    job.id = 10000 + i;
    job.queue = teams[random.below(teams.size())];
    job.submit = kNow - Seconds(static_cast<std::int64_t>(random.below(100000)));
    job.time_limit = Seconds(600 + static_cast<std::int64_t>(random.below(80000)));
    TaskGroup group;
    group.shape.gpu_count = 1 << random.below(4);
    group.shape.gpu_milli = kWholeDevice;
    group.shape.cpu = MilliCpu(1000 * static_cast<std::int64_t>(1 + random.below(8)));
    group.shape.memory = MiB(1024 * static_cast<std::int64_t>(1 + random.below(8)));
    job.groups = {group};
    snapshot.jobs.push_back(std::move(job));
  }
  return snapshot;
}

int run(const std::vector<std::string>& orders) {
  fmt::print("{:<14}{:>10}{:>12}{:>14}{:>18}{:>10}{:>10}\n", "order", "pending", "ms", "us a job", "us a job, log2 n",
             "starts", "evicts");
  for (const std::string& order : orders) {
    for (const std::int64_t pending : {1000, 10000, 100000}) {
      const Snapshot snapshot = pending_state(pending, order);
      std::vector<double> times;
      Plan plan;
      for (int i = 0; i < 3; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        Result<ScheduleResult> result = plan_schedule(snapshot);
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        if (!result.ok()) {
          fmt::print(stderr, "round_growth: {}\n", result.status().message());
          return 1;
        }
        plan = std::move(result->plan);
      }
      std::ranges::sort(times);
      const double each = times[1] / static_cast<double>(pending) * 1e6;
      fmt::print("{:<14}{:>10}{:>12.1f}{:>14.2f}{:>18.3f}{:>10}{:>10}\n", order, pending, times[1] * 1e3, each,
                 each / std::log2(static_cast<double>(pending)), plan.placements.size(), plan.evictions.size());
    }
  }
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  std::vector<std::string> orders(argv + 1, argv + argc);
  if (orders.empty()) orders = {"priority", "fair_share", "drf", "wpai"};
  return berth::run(orders);
}
