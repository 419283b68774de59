// SIMULATE JOBS with durations that the scheduler has to predict.
#include <gtest/gtest.h>

#include <map>

#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

TraceJob job_of(const std::string& name, const std::string& tag, std::int64_t submit, std::int64_t duration) {
  TraceJob job;
  job.name = name;
  job.tag = tag;
  job.user = "ann";
  job.submit = Seconds(submit);
  job.duration = Seconds(duration);
  TraceTaskGroup group;
  group.cpu = MilliCpu(1000);
  job.groups = {group};
  return job;
}

std::map<std::string, std::int64_t> starts(const std::vector<TraceJob>& jobs, const TimedOptions& options,
                                           const std::vector<TraceJob>& history = {}) {
  TraceNode node;
  node.name = "n";
  node.cpu = MilliCpu(1000);
  const std::vector<TraceNode> nodes = {node};
  const Cluster cluster = must(cluster_from(nodes));
  TimedInput input = must(timed_from(cluster, [&]() -> Result<std::unique_ptr<JobReader>> { return read_from(jobs); }));
  input.history = must(history_from(*read_from(history)));
  const SimulationResult result = must(simulate_jobs(input, {.order = "sjf", .score = "best_fit"}, options));
  std::map<std::string, std::int64_t> started;
  for (const TaskResult& task : result.tasks) started[task.task] = task.start ? task.start->value() : -1;
  return started;
}

// Three runs of each tag, one after the other; then one job of each arrives while the node is busy, the long one first.
std::vector<TraceJob> recurring_jobs() {
  std::vector<TraceJob> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(job_of("long" + std::to_string(i), "long", 10000 * i, 5000));
    jobs.push_back(job_of("short" + std::to_string(i), "short", 10000 * i + 6000, 100));
  }
  jobs.push_back(job_of("busy", "other", 40000, 1000));
  jobs.push_back(job_of("long", "long", 40001, 5000));
  jobs.push_back(job_of("short", "short", 40002, 100));
  return jobs;
}

TEST(PredictedDurations, ShortestFirstByWhatEarlierRunsTaught) {
  TimedOptions options;
  options.durations = DurationSource::kPredicted;
  const auto started = starts(recurring_jobs(), options);
  EXPECT_EQ(started.at("short"), 41000);
  EXPECT_EQ(started.at("long"), 41100);
}

// The history ends after the jobs begin: it counts as having ended before them.
TEST(PredictedDurations, AHistoryTeachesBeforeTheFirstJobEnds) {
  std::vector<TraceJob> history = recurring_jobs();
  const std::vector<TraceJob> jobs(history.end() - 3, history.end());
  history.erase(history.end() - 3, history.end());
  for (TraceJob& job : history) job.submit = job.submit + Seconds(90000);
  TimedOptions options;
  options.durations = DurationSource::kPredicted;
  EXPECT_EQ(starts(jobs, options).at("long"), 41000);
  const auto started = starts(jobs, options, history);
  EXPECT_EQ(started.at("short"), 41000);
  EXPECT_EQ(started.at("long"), 41100);
}

TEST(PredictedDurations, RunsThatFailTeachNothing) {
  std::vector<TraceJob> jobs = recurring_jobs();
  for (TraceJob& job : jobs) {
    if (job.tag == "short") job.outcome = JobState::kFailed;
  }
  TimedOptions options;
  options.durations = DurationSource::kPredicted;
  EXPECT_EQ(starts(jobs, options).at("long"), 41000);  // nothing tells them apart, so the first comes first
}

TEST(PredictedDurations, ACautiousPercentileKeepsTheUncertainBack) {
  std::vector<TraceJob> jobs;
  const int varied[] = {100, 200, 9000, 150, 9000};
  for (int i = 0; i < 5; ++i) jobs.push_back(job_of("varied" + std::to_string(i), "varied", 20000 * i, varied[i]));
  for (int i = 0; i < 5; ++i) jobs.push_back(job_of("steady" + std::to_string(i), "steady", 20000 * i + 10000, 300));
  sort_by_submit(jobs);
  jobs.push_back(job_of("busy", "other", 200000, 1000));
  jobs.push_back(job_of("steady", "steady", 200001, 300));
  jobs.push_back(job_of("varied", "varied", 200002, 100));
  TimedOptions options;
  options.durations = DurationSource::kPredicted;
  EXPECT_EQ(starts(jobs, options).at("varied"), 201000);  // its median is 200 s
  options.order_knobs.sjf_percentile = 80;
  EXPECT_EQ(starts(jobs, options).at("steady"), 201000);
}

}  // namespace
}  // namespace berth
