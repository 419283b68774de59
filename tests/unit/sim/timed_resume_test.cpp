// A simulation that begins in the middle of another one goes on as that one does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

constexpr std::int64_t kLatest = 20000;

// Nodes of one device: where a job runs makes no difference - as long as no room on certain nodes is reserved.
Cluster single_devices(int count) {
  std::vector<TraceNode> nodes;
  for (int i = 0; i < count; ++i) {
    TraceNode node;
    node.name = fmt::format("n{}", i);
    node.cpu = MilliCpu(8000);
    node.memory = MiB(65536);
    node.devices = 1;
    node.model = "G";
    nodes.push_back(std::move(node));
  }
  return must(berth::cluster_from(nodes));
}

std::vector<TraceJob> random_jobs(Random& random) {
  std::vector<TraceJob> jobs;
  for (int i = 0; i < 300; ++i) {
    TraceJob job;
    job.name = fmt::format("j{}", i);
    job.submit = Seconds(static_cast<std::int64_t>(random.below(kLatest)));
    job.duration = Seconds(static_cast<std::int64_t>(1 + random.below(1200)));
    TraceTaskGroup group;
    group.tasks = group.min_tasks = static_cast<std::int32_t>(1 + random.below(4));
    group.gpu_count = 1;
    group.gpu_milli = kWholeDevice;
    job.groups = {group};
    jobs.push_back(std::move(job));
  }
  sort_by_submit(jobs);
  return jobs;
}

TimedInput input_of(const Cluster& cluster, const std::vector<TraceJob>& jobs) {
  return must(timed_from(cluster, [&jobs]() -> Result<std::unique_ptr<JobReader>> { return read_from(jobs); }));
}

TEST(TimedResume, GoesOnAsTheWholeRunDoes) {
  const Cluster cluster = single_devices(6);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const BackfillMode backfill : {BackfillMode::kGreedy, BackfillMode::kNone}) {
      SCOPED_TRACE(fmt::format("seed {} backfill {}", seed, backfill_mode_name(backfill)));
      Random random(seed);
      const std::vector<TraceJob> jobs = random_jobs(random);
      TimedOptions options;
      options.keep_jobs = true;
      options.rules.backfill = backfill;
      const SimulationResult whole = must(simulate_jobs(input_of(cluster, jobs), {"fifo", "best_fit"}, options));

      const Seconds begin(static_cast<std::int64_t>(random.below(kLatest)));
      std::vector<TraceJob> left;
      std::vector<JobResult> expected;
      std::vector<ResumedJob> resumed;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const JobResult& told = whole.jobs[i];
        if (told.end <= begin) continue;
        if (jobs[i].submit < begin) {
          const bool runs = told.start < begin;
          resumed.push_back({.job = left.size(),
                             .start = runs ? told.start : Seconds(-1),
                             .left = *jobs[i].duration,
                             .first_start = runs ? told.start : Seconds(-1)});
        }
        left.push_back(jobs[i]);
        expected.push_back(told);
      }
      if (left.empty()) continue;
      TimedInput input = input_of(cluster, left);
      input.begin = begin;
      input.resumed = resumed;
      const SimulationResult rest = must(simulate_jobs(input, {"fifo", "best_fit"}, options));
      ASSERT_EQ(rest.jobs.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(rest.jobs[i].start, expected[i].start) << left[i].name;
        EXPECT_EQ(rest.jobs[i].end, expected[i].end) << left[i].name;
      }
    }
  }
}

// What does not fit with the others, wherever they run, waits with what it has left.
TEST(TimedResume, WhatNoLongerFitsWaits) {
  const Cluster cluster = single_devices(1);
  std::vector<TraceJob> jobs(2);
  for (int i = 0; i < 2; ++i) {
    TraceJob& job = jobs[static_cast<std::size_t>(i)];
    job.name = fmt::format("j{}", i);
    job.submit = Seconds(i);
    job.duration = Seconds(100);
    TraceTaskGroup group;
    group.gpu_count = 1;
    group.gpu_milli = kWholeDevice;
    job.groups = {group};
  }
  TimedInput input = input_of(cluster, jobs);
  input.begin = Seconds(50);
  for (std::size_t i = 0; i < 2; ++i) {
    const Seconds start(static_cast<std::int64_t>(i));
    input.resumed.push_back({.job = i, .start = start, .left = Seconds(100), .first_start = start});
  }
  TimedOptions options;
  options.keep_jobs = true;
  options.measured = {Seconds(50), Seconds(200)};
  const SimulationResult result = must(simulate_jobs(input, {"fifo", "best_fit"}, options));
  EXPECT_EQ(result.jobs[0].end, Seconds(100));
  EXPECT_EQ(result.jobs[1].start, Seconds(1));
  EXPECT_EQ(result.jobs[1].end, Seconds(100 + 51));
  EXPECT_NEAR(result.row.utilisation_pct.value(), 100.0 * 101 / 150, 0.01);
}

// Two groups that each fit, but not together: regular rounds must not go on for ever.
TEST(TimedResume, RegularRoundsEndWhenNothingWillChange) {
  const Cluster cluster = single_devices(1);
  TraceJob job;
  job.name = "two";
  job.duration = Seconds(10);
  TraceTaskGroup group;
  group.gpu_count = 1;
  group.gpu_milli = kWholeDevice;
  job.groups = {group, group};
  job.groups[0].name = "a";
  job.groups[1].name = "b";
  const std::vector<TraceJob> jobs = {job};
  for (const Preemption preemption : {Preemption::kNone, Preemption::kReclaim}) {
    TimedOptions options;
    options.keep_jobs = true;
    options.regular_rounds = true;
    options.rules.preemption = preemption;
    const SimulationResult result = must(simulate_jobs(input_of(cluster, jobs), {"fifo", "best_fit"}, options));
    EXPECT_EQ(result.jobs[0].start, Seconds(-1));
    EXPECT_EQ(result.row.infeasible_jobs, 1);
  }
}

}  // namespace
}  // namespace berth::test
