// What reservations cost: one planning round, in memory, with each kind of backfill.
//
//   backfill_round [NODES] [PENDING JOBS]      default 10000 100000
//
// Nodes of 8 devices, filled with jobs whose time limits lie between a minute and a day; one in eight pending jobs is a
// gang of up to 32 nodes. Half of the pending jobs say how long they will run. Prints processor time of the plan,
// how many started, how many reservations were made, and of a second round a minute later, in which nothing has
// changed but the time, the same.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "engine/base/env.h"
#include "engine/round/schedule.h"

namespace berth {
namespace {

constexpr Seconds kStart{1700000000};

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Cluster cluster_of(std::int64_t nodes) {
  Cluster cluster;
  cluster.models = {{1, "A100", MiB(81920)}};
  NodeKind kind;
  kind.cpu = MilliCpu(128000);
  kind.memory = MiB(1048576);
  kind.model = 0;
  kind.device_count = 8;
  kind.device_memory = MiB(81920);
  const std::int32_t index = cluster.add_kind(kind);
  for (std::int64_t i = 0; i < nodes; ++i) {
    Node node;
    node.id = i + 1;
    node.kind = index;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

Job random_job(Random& random, std::int64_t id, bool gangs) {
  constexpr std::int32_t kDevices[] = {1, 1, 1, 2, 4, 8};
  Job job;
  job.id = id;
  job.submit = kStart - Seconds(static_cast<std::int64_t>(random.below(100000)));
  if (random.below(2) == 0) job.time_limit = Seconds(60 + static_cast<std::int64_t>(random.below(86400)));
  TaskGroup group;
  group.shape.gpu_count = kDevices[random.below(6)];
  group.shape.gpu_milli = kWholeDevice;
  group.shape.cpu = MilliCpu(4000 * group.shape.gpu_count);
  group.shape.memory = MiB(8192);
  if (gangs && random.below(8) == 0) {
    group.shape.gpu_count = 8;
    group.shape.cpu = MilliCpu(32000);
    group.count = group.min_tasks = 1 + static_cast<std::int32_t>(random.below(32));
  }
  job.groups.push_back(group);
  return job;
}

ScheduleResult plan_of(const Snapshot& snapshot) {
  Result<ScheduleResult> planned = plan_schedule(snapshot);
  if (planned.ok()) return *std::move(planned);
  fmt::print(stderr, "backfill_round: {}\n", planned.status().message());
  std::exit(1);
}

// What the plan started runs, for up to a day already.
void carry_out(const Plan& plan, Random& random, Snapshot& snapshot) {
  std::int64_t last = 0;
  for (const Placement& p : plan.placements) {
    snapshot.allocations.push_back(
        {p.job, p.group, p.task, p.node, p.devices, p.gpu_milli, p.gpu_memory, p.cpu, p.memory});
    if (p.job == last) continue;
    last = p.job;
    RunningJob run;
    run.job = snapshot.jobs[static_cast<std::size_t>(p.job - 1)];  // ids count from 1
    run.start = kStart - Seconds(static_cast<std::int64_t>(random.below(86400)));
    snapshot.running.push_back(std::move(run));
  }
  std::ranges::sort(snapshot.running, {}, [](const RunningJob& run) { return run.job.id; });
}

int run(int count, char** arguments) {
  const std::int64_t nodes = count > 1 ? std::atoll(arguments[1]) : 10000;
  const std::int64_t pending = count > 2 ? std::atoll(arguments[2]) : 100000;
  Random random(7);
  Snapshot full;
  full.now = kStart;
  full.cluster = cluster_of(nodes);
  full.order_policy = "fifo";
  full.score_policy = "best_fit";
  std::int64_t id = 0;
  while (id < nodes * 3) full.jobs.push_back(random_job(random, ++id, false));
  carry_out(plan_of(full).plan, random, full);
  full.jobs.clear();
  for (std::int64_t i = 0; i < pending; ++i) full.jobs.push_back(random_job(random, ++id, true));
  fmt::print("{} nodes, {} running tasks, {} pending jobs\n", nodes, full.allocations.size(), pending);
  // Every hundredth running job has just ended.
  std::erase_if(full.allocations, [](const Allocation& a) { return a.job % 100 == 0; });
  std::erase_if(full.running, [](const RunningJob& run) { return run.job.id % 100 == 0; });

  for (const BackfillMode mode : {BackfillMode::kGreedy, BackfillMode::kEasy, BackfillMode::kConservative}) {
    Snapshot snapshot = full;
    snapshot.rules.backfill = mode;
    for (const char* name : {"first", "again"}) {
      const double begin = processor_seconds();
      const ScheduleResult result = plan_of(snapshot);
      fmt::print("{:<13} {:<6} {:>8.1f} ms  {} tasks started, {} reservations\n", backfill_mode_name(mode), name,
                 (processor_seconds() - begin) * 1e3, result.plan.placements.size(), result.plan.reservations.size());
      snapshot.reservations = result.plan.reservations;
      snapshot.now += Seconds(60);
    }
  }
  return 0;
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) { return berth::run(count, arguments); }
