// How well durations are predicted on a workload like PAI's, and what shortest-job-first makes of it.
//
// First: every job is predicted at its submission from the runs that had ended by then (it runs from its submission
// on). Of the instances (tasks) of recurring jobs - their group comes five times or more - how many are predicted with
// an error below 25 %, by level and in all; NSDI'22 reports 78 %.
//
// Then sjf with the true durations, with predicted ones, and fifo, by the protocol of the paper's simulator. Its
// estimates were means over the whole log, the job itself among them (published: mean wait 1.4 % above that of the true
// durations by tag, user and GPU type, 30 % by user, fifo 203 %). Nobody knows those on the day: of a tag that has not
// run before - a fifth of the jobs - there is only what its user's other work took, and that says little. What each of
// the two costs is shown apart.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "bench/jobs_and_seeds.h"
#include "engine/base/text.h"
#include "engine/policy/duration_predictor.h"
#include "engine/sim/pai_like.h"
#include "engine/sim/pai_like_cluster.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"

using namespace berth;

namespace {

constexpr std::int64_t kJobsADay = 20000;  // of the published cluster
constexpr std::size_t kJobsCompared = 20000;

double percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
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

// What sjf may be told instead of the truth or the predictions of the run itself, as estimates of the jobs.
constexpr std::string_view kFirstRunsKnown = "first_runs_known";  // predicted, but of new tags the truth
constexpr std::string_view kRepeatsKnown = "repeats_known";       // the truth, but of new tags predicted
constexpr std::string_view kMeansOfTheLog = "mean_of_the_log";    // of its tag, the job itself and later ones included

void add_estimates(const std::vector<HistoryRun>& history, const std::set<std::string>& known_tags,
                   std::vector<TraceJob>& jobs) {
  DurationPredictor predictor;
  for (const HistoryRun& run : history) predictor.observe(run.features, run.duration, run.end);
  std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> of_tag;  // seconds, runs
  const auto count = [&](std::uint64_t tag, Seconds duration) {
    of_tag[tag].first += duration.value();
    ++of_tag[tag].second;
  };
  for (const HistoryRun& run : history) count(run.features.tag, run.duration);
  for (const TraceJob& job : jobs) count(feature_of(job.tag), *job.duration);
  for (TraceJob& job : jobs) {
    const std::int64_t truth = job.duration->value() * 1000;
    const std::int64_t predicted = predictor.predict(features_of(job), history.back().end).estimate.p50.value() * 1000;
    const bool is_known = known_tags.contains(job.tag);
    const auto [seconds, runs] = of_tag[feature_of(job.tag)];
    job.estimates = {{std::string(kFirstRunsKnown), is_known ? predicted : truth},
                     {std::string(kRepeatsKnown), is_known ? truth : predicted},
                     {std::string(kMeansOfTheLog), seconds * 1000 / runs}};
  }
}

// The protocol of the published simulator: 20,000 jobs, 1,000 arriving each minute, on the published cluster, whoever
// fits starts. Predictions rest on the jobs before them, and on those that end meanwhile.
Status compare_orders(const PaiLikeOptions& options, std::map<std::string_view, std::vector<double>>& against_oracle) {
  std::vector<TraceJob> jobs = pai_like_jobs(options);
  const auto first = static_cast<std::ptrdiff_t>(jobs.size() - std::min(jobs.size() / 2, kJobsCompared));
  const std::vector<TraceJob> before(jobs.begin(), jobs.begin() + first);
  jobs.erase(jobs.begin(), jobs.begin() + first);
  BERTH_ASSIGN(std::vector<HistoryRun> history, history_from(*read_from(before)));
  std::set<std::string> known_tags;
  for (const TraceJob& job : before) known_tags.insert(job.tag);
  add_estimates(history, known_tags, jobs);
  const std::vector<TraceNode> nodes = pai_like_nodes(options);
  BERTH_ASSIGN(const Cluster cluster, cluster_from(nodes));
  BERTH_ASSIGN(TimedInput input,
               timed_from(cluster, [&]() -> Result<std::unique_ptr<JobReader>> { return read_from(jobs); }));
  input.history = std::move(history);
  const auto repeats = std::ranges::count_if(jobs, [&](const TraceJob& job) { return known_tags.contains(job.tag); });
  fmt::print("{} jobs, {:.0f} % of them of a tag that ran before, {} GPUs:\n  {:<46} {:>10} {:>8} {:>8} {:>16}\n",
             jobs.size(), percent(repeats, static_cast<std::int64_t>(jobs.size())), pai_like_gpus(options), "",
             "mean wait", "p50", "p90", "mean completion");
  struct Case {
    std::string_view title;
    std::string order;
    DurationSource source;
    std::string_view estimate;
  };
  constexpr DurationSource kEstimate = DurationSource::kEstimate;
  const Case cases[] = {{"sjf, true durations", "sjf", DurationSource::kOracle, ""},
                        {"sjf, predicted", "sjf", DurationSource::kPredicted, ""},
                        {"sjf, predicted; of new tags the truth", "sjf", kEstimate, kFirstRunsKnown},
                        {"sjf, the truth; of new tags predicted", "sjf", kEstimate, kRepeatsKnown},
                        {"sjf, mean of the tag over the whole log", "sjf", kEstimate, kMeansOfTheLog},
                        {"fifo", "fifo", DurationSource::kOracle, ""}};
  std::optional<double> oracle;
  for (const auto& [title, order, source, estimate] : cases) {
    TimedOptions timed;
    timed.arrivals_per_minute = 1000;
    timed.durations = source;
    timed.estimate = estimate;
    timed.keep_tasks = false;
    BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {.order = order, .score = "best_fit"}, timed));
    const double wait = result.row.wait_mean.value_or(0);
    if (!oracle) oracle = wait;
    const double more = *oracle > 0 ? 100 * (wait / *oracle - 1) : 0;
    against_oracle[title].push_back(more);
    fmt::print("  {:<46} {:>8.0f} s {:>6} s {:>6} s {:>14.0f} s   {:+.1f} % against the truth\n", title, wait,
               result.row.wait_p50.value_or(0), result.row.wait_p90.value_or(0), result.row.completion_mean.value_or(0),
               more);
    std::fflush(stdout);
  }
  return {};
}

Status run(const PaiLikeOptions& options, std::map<std::string_view, std::vector<double>>& against_oracle) {
  fmt::print("{} jobs, seed {}\n", print_count(options.jobs), options.seed);
  measure_error(PaiLikeTrace(options));
  PaiLikeOptions dense = options;
  dense.days = std::max<std::int64_t>(1, options.jobs / kJobsADay);
  dense.gpus = kPaiPublishedGpus;
  return compare_orders(dense, against_oracle);
}

}  // namespace

int main(int argc, char** argv) {
  const auto workloads = jobs_and_seeds("prediction", argc, argv);
  if (!workloads) return 2;
  std::map<std::string_view, std::vector<double>> against_oracle;
  for (const PaiLikeOptions& options : *workloads) {
    const Status status = run(options, against_oracle);
    if (status.ok()) continue;
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  }
  fmt::print("mean wait against that of the true durations, mean over {} seeds:\n", workloads->size());
  for (const auto& [title, all] : against_oracle) {
    fmt::print("  {:<46} {:+.1f} %\n", title,
               std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()));
  }
  return 0;
}
