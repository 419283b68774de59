// How well durations are predicted on a workload like PAI's, and what shortest-job-first makes of it.
//
// First: every job is predicted at its submission from the runs that had ended by then (it runs from its submission
// on). Of the instances (tasks) of recurring jobs - their group comes five times or more - how many are predicted with
// an error below 25 %, by level and in all; NSDI'22 reports 78 %.
//
// Then: the timed simulator, order sjf, with the true durations (oracle) and with the predicted ones, and fifo for
// comparison: as many jobs a day as PAI had, on a cluster of as many GPUs as they ask for on average.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <queue>

#include "bench/jobs_and_seeds.h"
#include "engine/base/text.h"
#include "engine/policy/duration_predictor.h"
#include "engine/sim/pai_like.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"

using namespace berth;

namespace {

double percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

DurationFeatures features_of(const TraceJob& job) {
  const TraceTaskGroup& task = job.groups.front();
  TaskGroup group;
  group.count = task.tasks;
  group.shape.cpu = task.cpu;
  group.shape.memory = task.memory;
  group.shape.gpu_count = task.gpu_count;
  group.shape.gpu_milli = task.gpu_milli;
  group.shape.gpu_memory = task.gpu_memory;
  return {feature_of(job.tag), feature_of(job.user), feature_of(task.models), request_feature({&group, 1})};
}

struct Share {
  std::int64_t jobs = 0;
  std::int64_t jobs_within = 0;
  std::int64_t instances = 0;
  std::int64_t within = 0;

  void add(const PredictionLevel level, std::int64_t tasks, std::int64_t error) {
    const bool good = level < PredictionLevel::kTimeLimit && error < 25;
    ++jobs;
    instances += tasks;
    jobs_within += good;
    within += good ? tasks : 0;
  }
};

void print_share(std::string_view title, const Share& share) {
  fmt::print("  {:<34} {:>9} instances {:>9} {:>6.1f} %   jobs {:>8} {:>6.1f} %\n", title, "", share.instances,
             percent(share.within, share.instances), share.jobs, percent(share.jobs_within, share.jobs));
}

void measure_error(const PaiLikeTrace& trace) {
  std::map<std::string, std::int64_t> runs_of;
  for (std::int64_t i = 0; i < trace.jobs(); ++i) ++runs_of[trace.job(i).tag];
  DurationPredictor predictor;
  using End = std::pair<Seconds, std::int64_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Share recurring;
  Share recurring_known;
  Share all;
  std::map<PredictionLevel, PredictionAccuracy> levels;
  for (std::int64_t i = 0; i < trace.jobs(); ++i) {
    const TraceJob job = trace.job(i);
    for (; !ends.empty() && ends.top().first <= job.submit; ends.pop()) {
      const TraceJob ended = trace.job(ends.top().second);
      predictor.observe(features_of(ended), *ended.duration, ends.top().first);
    }
    const Prediction made = predictor.predict(features_of(job), job.submit);
    const std::int64_t error = prediction_error_percent(made.estimate.p50, *job.duration);
    const std::int64_t tasks = job.groups.front().tasks;
    all.add(made.level, tasks, error);
    if (runs_of[job.tag] >= 5) {
      recurring.add(made.level, tasks, error);
      if (made.level <= PredictionLevel::kTag) recurring_known.add(made.level, tasks, error);
    }
    levels[made.level].add(made.estimate, *job.duration);
    ends.push({job.submit + *job.duration, i});
  }
  fmt::print("error below 25 %:\n");
  print_share("recurring jobs", recurring);
  print_share("of these, after their third end", recurring_known);
  print_share("all jobs", all);
  fmt::print("by level (all jobs):\n");
  for (const auto& [level, accuracy] : levels) {
    fmt::print("  {:<26} {:>8} jobs, within 25 %: {:>5.1f} %, median error {:>3} %, p90 held {:>5.1f} %\n",
               prediction_level_name(level), accuracy.runs, percent(accuracy.within(25), accuracy.runs),
               accuracy.median_error(), percent(accuracy.p90_held, accuracy.runs));
  }
}

Status compare_orders(const PaiLikeOptions& options, const std::vector<TraceJob>& jobs) {
  const std::vector<TraceNode> nodes = pai_like_nodes(options);
  BERTH_ASSIGN(const Cluster cluster, cluster_from(nodes));
  BERTH_ASSIGN(const TimedInput input,
               timed_from(cluster, [&]() -> Result<std::unique_ptr<JobReader>> { return read_from(jobs); }));
  fmt::print("{} GPUs:\n  {:<20} {:>14} {:>10} {:>10} {:>14}\n", pai_like_gpus(options), "", "mean wait", "p50", "p90",
             "mean completion");
  std::optional<double> oracle;
  struct Case {
    std::string_view title;
    std::string order;
    DurationSource source;
    std::int64_t percentile;
  };
  const Case cases[] = {{"sjf, oracle", "sjf", DurationSource::kOracle, 50},
                        {"sjf, predicted p50", "sjf", DurationSource::kPredicted, 50},
                        {"sjf, predicted p80", "sjf", DurationSource::kPredicted, 80},
                        {"fifo", "fifo", DurationSource::kOracle, 50}};
  for (const auto& [title, order, source, percentile] : cases) {
    TimedOptions timed;
    timed.durations = source;
    timed.order_knobs.sjf_percentile = percentile;
    timed.keep_tasks = false;
    BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {.order = order, .score = "best_fit"}, timed));
    const double wait = result.row.wait_mean.value_or(0);
    if (!oracle) oracle = wait;
    fmt::print("  {:<20} {:>12.0f} s {:>8} s {:>8} s {:>12.0f} s   {:+.1f} % against the oracle\n", title, wait,
               result.row.wait_p50.value_or(0), result.row.wait_p90.value_or(0), result.row.completion_mean.value_or(0),
               *oracle > 0 ? 100 * (wait / *oracle - 1) : 0);
    std::fflush(stdout);
  }
  return {};
}

// The published cluster had so many jobs in five days; a smaller one of as many GPUs as the jobs ask for on average.
Status run(const PaiLikeOptions& options) {
  fmt::print("{} jobs, seed {}\n", print_count(options.jobs), options.seed);
  measure_error(PaiLikeTrace(options));
  PaiLikeOptions dense = options;
  dense.days = std::max<std::int64_t>(1, options.jobs / 20000);
  dense.gpus = std::max<std::int64_t>(64, static_cast<std::int64_t>(PaiLikeTrace(dense).summary().mean_gpus));
  return compare_orders(dense, pai_like_jobs(dense));
}

}  // namespace

int main(int argc, char** argv) {
  const auto workloads = jobs_and_seeds("prediction", argc, argv);
  if (!workloads) return 2;
  for (const PaiLikeOptions& options : *workloads) {
    const Status status = run(options);
    if (status.ok()) continue;
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  }
  return 0;
}
