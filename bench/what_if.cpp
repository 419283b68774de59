// EXPLAIN JOB ... COUNTERFACTUAL beside one planning round of the same state.
//
//   what_if [NODES] [WAITING JOBS]      default 1213 2000
//
// A full cluster of mixed nodes, departments with quotas, and jobs that wait for different things. For a sample of them
// the time of one answer (every change proved by planning it), in rounds: the issue is whether an answer comes while
// the admin looks. Seeded; medians.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/env.h"
#include "engine/round/forecast.h"
#include "engine/round/schedule.h"
#include "engine/round/what_if.h"

namespace berth {
namespace {

constexpr Seconds kNow{1700000000};
constexpr std::int32_t kQueues = 20;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Cluster mixed_cluster(std::int64_t nodes) {
  Cluster cluster;
  cluster.models = {{1, "A100", MiB(81920)}, {2, "T4", MiB(16384)}, {3, "V100", MiB(32768)}};
  const std::int32_t devices[] = {8, 4, 2};
  for (std::int64_t n = 0; n < nodes; ++n) {
    const std::int32_t model = static_cast<std::int32_t>(n % 3);
    NodeKind kind;
    kind.model = model;
    kind.device_count = devices[model];
    kind.device_memory = cluster.models[static_cast<std::size_t>(model)].memory;
    kind.cpu = MilliCpu(12000 * kind.device_count);
    kind.memory = MiB(96 * 1024 * kind.device_count);
    Node node;
    node.id = n + 1;
    node.kind = cluster.add_kind(kind);
    node.rack = static_cast<std::int32_t>(n / 32);
    node.state = n % 200 == 7 ? NodeState::kDraining : NodeState::kUp;
    cluster.nodes.push_back(node);
    while (static_cast<std::int32_t>(cluster.racks.size()) <= node.rack) {
      cluster.racks.push_back(fmt::format("r{}", cluster.racks.size()));
    }
  }
  return cluster;
}

Job random_job(std::int64_t id, Random& random) {
  Job job;
  job.id = id;
  job.queue = static_cast<std::int32_t>(random.below(kQueues));
  job.submit = kNow - Seconds(static_cast<std::int64_t>(random.below(20000)));
  job.time_limit = Seconds(1800 + static_cast<std::int64_t>(random.below(80000)));
  TaskGroup group;
  const std::uint64_t kind = random.below(10);
  group.shape.gpu_count = kind < 6 ? 1 : kind < 8 ? 2 : kind < 9 ? 4 : 8;
  group.shape.gpu_milli = kind < 3 ? MilliGpu(250) : kWholeDevice;
  group.shape.models = random.below(2) == 0 ? 0 : group.shape.gpu_count > 4 ? 1 : ModelSet{1} << random.below(2);
  group.shape.cpu = MilliCpu(4000 * group.shape.gpu_count);
  group.shape.memory = MiB(16 * 1024 * group.shape.gpu_count);
  group.count = random.below(4) == 0 ? static_cast<std::int32_t>(2 + random.below(15)) : 1;
  group.min_tasks = group.count;
  group.locality = group.count > 1 && random.below(3) == 0 ? Locality::kRack : Locality::kAny;
  job.groups.push_back(group);
  return job;
}

Snapshot busy_state(std::int64_t nodes, std::int64_t waiting) {
  Random random(7);
  Snapshot snapshot;
  snapshot.cluster = mixed_cluster(nodes);
  snapshot.now = kNow;
  snapshot.order_policy = "fair_share";
  snapshot.score_policy = "berth";
  std::int64_t gpus = 0;
  for (std::size_t n = 0; n < snapshot.cluster.nodes.size(); ++n) gpus += snapshot.cluster.kind_of(n).device_count;
  snapshot.quotas.resources = {{"gpu", ResourceKind::kGpu, 0}};
  for (std::int32_t q = 0; q < kQueues; ++q) {
    Queue queue;
    queue.id = q + 1;
    queue.name = fmt::format("q{}", q);
    snapshot.queues.push_back(queue);
    QuotaTerms terms;
    terms.has_quota = true;
    terms.quota = gpus * 1000 / kQueues;
    if (q % 4 == 0) terms.borrow_limit = 0;
    snapshot.quotas.terms.push_back({terms});
  }
  // Fill it: rounds over random jobs until little fits; what is placed becomes what runs.
  std::int64_t id = 0;
  snapshot.rules.preemption = Preemption::kNone;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 1500; ++i) snapshot.jobs.push_back(random_job(++id, random));
    const Result<ScheduleResult> result = plan_schedule(snapshot);
    if (!result.ok()) {
      fmt::print(stderr, "what_if: {}\n", result.status().message());
      std::exit(1);
    }
    std::vector<std::int64_t> started;
    for (const Placement& p : result->plan.placements) {
      snapshot.allocations.push_back(
          {p.job, p.group, p.task, p.node, p.devices, p.gpu_milli, p.gpu_memory, p.cpu, p.memory});
      if (started.empty() || started.back() != p.job) started.push_back(p.job);
    }
    for (const std::int64_t job : started) {
      RunningJob run;
      run.job = *std::ranges::find(snapshot.jobs, job, &Job::id);
      run.job.state = JobState::kRunning;
      for (TaskGroup& group : run.job.groups) group.placed = group.count;
      run.start = kNow - Seconds(static_cast<std::int64_t>(random.below(40000)) + 1);
      snapshot.running.push_back(std::move(run));
    }
    snapshot.jobs.clear();
  }
  snapshot.rules.preemption = Preemption::kReclaim;
  std::ranges::sort(snapshot.running, {}, [](const RunningJob& run) { return run.job.id; });
  std::ranges::sort(snapshot.allocations, {},
                    [](const Allocation& a) { return std::tuple(a.node, a.job, a.group, a.task); });
  for (std::int64_t i = 0; i < waiting; ++i) snapshot.jobs.push_back(random_job(++id, random));
  return snapshot;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

int run(std::int64_t nodes, std::int64_t waiting) {
  const Snapshot snapshot = busy_state(nodes, waiting);
  std::vector<double> rounds;
  Plan plan;
  for (int i = 0; i < 5; ++i) {
    const double begin = seconds_now();
    Result<ScheduleResult> result = plan_schedule(snapshot);
    rounds.push_back(seconds_now() - begin);
    if (!result.ok()) return 1;
    plan = std::move(result->plan);
  }
  const double round = median(rounds);
  fmt::print("{} nodes, {} running jobs, {} waiting; one round: {:.1f} ms, {} jobs still wait\n", nodes,
             snapshot.running.size(), waiting, round * 1e3, plan.waiting.size());
  std::vector<double> answers;
  std::vector<double> forecasts;
  std::vector<double> both;  // what EXPLAIN JOB ... COUNTERFACTUAL asks
  std::size_t changes = 0;
  std::size_t going_first = 0;  // of the changes
  std::size_t answered = 0;     // jobs with a change at least
  std::int64_t plans = 0;
  const std::size_t step = std::max<std::size_t>(1, plan.waiting.size() / 40);
  for (std::size_t i = 0; i < plan.waiting.size(); i += step) {
    double begin = seconds_now();
    const Result<WhatIfAnswer> answer = what_would_start(snapshot, plan.waiting[i].job);
    answers.push_back(seconds_now() - begin);
    if (!answer.ok()) return 1;
    changes += answer->changes.size();
    answered += answer->changes.empty() ? 0u : 1u;
    going_first += static_cast<std::size_t>(std::ranges::count_if(answer->changes, &WhatIf::goes_first));
    plans += answer->plans;
    begin = seconds_now();
    if (!forecast_start(snapshot, plan.waiting[i].job).ok()) return 1;
    forecasts.push_back(seconds_now() - begin);
    both.push_back(answers.back() + forecasts.back());
  }
  const auto most = [](const std::vector<double>& values) { return *std::ranges::max_element(values); };
  fmt::print("{:<28}{:>12}{:>12}{:>12}{:>12}\n", "", "median ms", "in rounds", "most ms", "in rounds");
  for (const auto& [name, times] :
       {std::pair{"counterfactual", &answers}, std::pair{"expected start", &forecasts}, std::pair{"both", &both}}) {
    fmt::print("{:<28}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}\n", name, median(*times) * 1e3, median(*times) / round,
               most(*times) * 1e3, most(*times) / round);
  }
  const auto each = [&](auto count) { return static_cast<double>(count) / static_cast<double>(answers.size()); };
  fmt::print(
      "{} jobs asked about, {} with an answer: {:.1f} changes each ({:.1f} of them need to go first), {:.1f} plans\n",
      answers.size(), answered, each(changes), each(going_first), each(plans));
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  const std::int64_t nodes = argc > 1 ? std::atoll(argv[1]) : 1213;
  const std::int64_t waiting = argc > 2 ? std::atoll(argv[2]) : 2000;
  return berth::run(nodes, waiting);
}
