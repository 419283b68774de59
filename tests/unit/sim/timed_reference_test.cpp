// The simulation against the slow truth: at every moment a full live round (plan_schedule) on a freshly built snapshot.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/round/schedule.h"
#include "engine/sim/generator.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

struct RanTask {
  std::int64_t start = -1;
  std::string node;
  DeviceMask devices = 0;

  bool operator==(const RanTask&) const = default;
};

// By task name; tasks that never start are absent.
using Outcome = std::map<std::string, RanTask>;

class FullRounds {
 public:
  FullRounds(const Cluster& cluster, std::span<const TraceJob> records, const PolicyChoice& policy,
             const TimedInput& input)
      : records_(records) {
    snapshot_.cluster = cluster;
    snapshot_.order_policy = policy.order;
    snapshot_.score_policy = policy.score;
    snapshot_.workload = input.workload;
    snapshot_.rules = TimedOptions().rules;
    JobModeller modeller(cluster);
    for (std::size_t i = 0; i < records.size(); ++i) {
      jobs_.push_back(must(modeller.job_from(records[i], static_cast<std::int64_t>(i) + 1)));
    }
    snapshot_.queues.assign(modeller.queues().begin(), modeller.queues().end());
    snapshot_.priority_classes.assign(modeller.priority_classes().begin(), modeller.priority_classes().end());
  }

  Outcome run() {
    std::size_t arrived = 0;
    while (arrived < jobs_.size() || !ends_.empty()) {
      std::int64_t now = INT64_MAX;
      if (arrived < jobs_.size()) now = jobs_[arrived].submit.value();
      if (!ends_.empty()) now = std::min(now, ends_.begin()->first);
      for (; !ends_.empty() && ends_.begin()->first == now; ends_.erase(ends_.begin())) end_job(ends_.begin()->second);
      for (; arrived < jobs_.size() && jobs_[arrived].submit.value() == now; ++arrived) {
        snapshot_.jobs.push_back(jobs_[arrived]);
      }
      round(now);
    }
    return outcome_;
  }

 private:
  void end_job(std::int64_t id) {
    std::erase_if(snapshot_.allocations, [&](const Allocation& a) { return a.job == id; });
    std::erase_if(snapshot_.jobs, [&](const Job& job) { return job.id == id; });
    std::erase_if(snapshot_.running, [&](const RunningJob& run) { return run.job.id == id; });
  }

  void round(std::int64_t now) {
    snapshot_.now = Seconds(now);
    const ScheduleResult planned = must(plan_schedule(snapshot_));
    for (const Placement& p : planned.plan.placements) {
      const auto job = std::ranges::find(snapshot_.jobs, p.job, &Job::id);
      const TraceJob& record = records_[static_cast<std::size_t>(p.job - 1)];
      if (job->state == JobState::kPending) {
        job->state = JobState::kRunning;
        ends_.emplace(now + record.duration->value(), p.job);
      }
      TaskGroup& group = job->groups[static_cast<std::size_t>(p.group)];
      if (group.anchor < 0) group.anchor = p.node;
      if (group.anchor == p.node) group.anchor_devices |= p.devices;
      ++group.placed;
      snapshot_.allocations.push_back(
          {p.job, p.group, p.task, p.node, p.devices, p.gpu_milli, p.gpu_memory, p.cpu, p.memory});
      outcome_[task_name(record, static_cast<std::size_t>(p.group), p.task)] = {
          now, node_name(snapshot_.cluster, p.node), p.devices};
    }
    for (const Job& job : snapshot_.jobs) note_running(job, now);
    std::erase_if(snapshot_.jobs, [](const Job& job) {
      return std::ranges::all_of(job.groups, [](const TaskGroup& g) { return g.placed == g.count; });
    });
  }

  void note_running(const Job& job, std::int64_t now) {
    if (job.state != JobState::kRunning) return;
    const auto known = std::ranges::find(snapshot_.running, job.id, [](const RunningJob& run) { return run.job.id; });
    if (known != snapshot_.running.end()) {
      known->job = job;
      return;
    }
    RunningJob run;
    run.job = job;
    run.start = Seconds(now);
    snapshot_.running.push_back(std::move(run));
    std::ranges::sort(snapshot_.running, {}, [](const RunningJob& each) { return each.job.id; });
  }

  std::span<const TraceJob> records_;
  Snapshot snapshot_;
  std::vector<Job> jobs_;
  std::multimap<std::int64_t, std::int64_t> ends_;
  Outcome outcome_;
};

class TimedReference : public testing::TestWithParam<std::tuple<std::string, std::string, std::uint64_t>> {};

TEST_P(TimedReference, SameAsAFullRoundAtEveryMoment) {
  const auto& [order, score, seed] = GetParam();
  const GeneratorOptions made{
      .seed = seed, .gpus = 24 + static_cast<std::int64_t>(seed % 3) * 16, .jobs = 300, .span = Seconds(6 * 3600)};
  const Cluster cluster = must(cluster_from(generate_nodes(made)));
  const std::vector<TraceJob> jobs = generate_jobs(made);
  const TimedInput input = must(timed_from(cluster, [&] { return Result(read_from(jobs)); }));
  const PolicyChoice policy{order, score};

  const SimulationResult simulated = must(simulate_jobs(input, policy, {}));
  Outcome got;
  for (const TaskResult& task : simulated.tasks) {
    if (task.state == TaskOutcome::kPlaced) got[task.task] = {task.start->value(), task.node, task.devices};
  }
  const Outcome expected = FullRounds(cluster, jobs, policy, input).run();
  EXPECT_EQ(got.size(), expected.size());
  std::size_t shown = 0;
  std::vector<std::pair<std::string, RanTask>> by_time(expected.begin(), expected.end());
  std::ranges::sort(by_time, {}, [](const auto& e) { return e.second.start; });
  for (const auto& [task, ran] : by_time) {
    if (got[task] == ran || ++shown > 5) continue;
    ADD_FAILURE() << task << ": expected at " << ran.start << " on " << ran.node << ", got at " << got[task].start
                  << " on " << got[task].node;
  }
  EXPECT_LT(simulated.row.wait_p99.value_or(0), 60 * 24 * 3600);
  EXPECT_GT(simulated.row.wait_mean.value_or(0), 0) << "nothing waited: the test shows nothing";
}

INSTANTIATE_TEST_SUITE_P(Generated, TimedReference,
                         testing::Combine(testing::Values("fifo", "priority", "smallest_first"),
                                          testing::Values("best_fit", "fgd", "gpu_packing", "worst_fit"),
                                          testing::Values(1, 2)),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + "_" + std::get<1>(instance.param) + "_" +
                                  std::to_string(std::get<2>(instance.param));
                         });

}  // namespace
}  // namespace berth
