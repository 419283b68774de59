#include "engine/sim/backtest_summary.h"

#include <algorithm>

namespace berth {

namespace {

// What is added up before it is told.
struct Sums {
  BacktestCounts counts;
  std::vector<std::int64_t> waits;
  double completions = 0;
  double run_times = 0;

  void add(const CountedJob& job, const JobResult& outcome) {
    ++counts.jobs;
    counts.evictions += outcome.evictions;
    counts.lost += static_cast<double>(outcome.lost);
    counts.delivered += static_cast<double>(outcome.delivered);
    if (outcome.start >= Seconds(0)) waits.push_back((outcome.start - job.submit).value());
    if (outcome.end < Seconds(0)) return;
    const auto there = static_cast<double>((outcome.end - job.submit).value());
    ++counts.ended;
    completions += there;
    run_times += static_cast<double>(std::min(job.duration, outcome.end - job.submit).value());
    const double ratio = there / static_cast<double>(std::max<std::int64_t>(job.duration.value(), 1));
    counts.worst_finish_ratio = std::max(counts.worst_finish_ratio.value_or(0), ratio);
  }

  BacktestCounts told(std::string queue) {
    std::ranges::sort(waits);
    counts.queue = std::move(queue);
    counts.started = static_cast<double>(waits.size());
    if (!waits.empty()) {
      double sum = 0;
      for (const std::int64_t wait : waits) sum += static_cast<double>(wait);
      counts.wait_mean = sum / counts.started;
    }
    const auto at = [&](int per_mille) -> std::optional<double> {
      const std::optional<std::int64_t> value = percentile(waits, per_mille);
      return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
    };
    counts.wait_p50 = at(500);
    counts.wait_p90 = at(900);
    counts.wait_p99 = at(990);
    if (counts.ended > 0) counts.completion_mean = completions / counts.ended;
    if (counts.ended > 0) counts.satisfied_share = completions > 0 ? run_times / completions : 1.0;
    return counts;
  }
};

std::optional<double> jain_index(const std::vector<BacktestCounts>& queues) {
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const BacktestCounts& queue : queues) {
    if (!queue.satisfied_share) continue;
    sum += *queue.satisfied_share;
    squares += *queue.satisfied_share * *queue.satisfied_share;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return squares > 0 ? sum * sum / (count * squares) : 1.0;
}

template <class Of>
double mean(std::span<const BacktestSummary> summaries, Of of) {
  double sum = 0;
  for (const BacktestSummary& each : summaries) sum += of(each);
  return sum / static_cast<double>(summaries.size());
}

template <class Of>
std::optional<double> mean_if_any(std::span<const BacktestSummary> summaries, Of of) {
  double sum = 0;
  double count = 0;
  for (const BacktestSummary& each : summaries) {
    const std::optional<double> value = of(each);
    if (!value) continue;
    sum += *value;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

template <class Of>
BacktestCounts mean_counts(std::span<const BacktestSummary> summaries, Of of) {
  BacktestCounts counts;
  counts.queue = of(summaries.front()).queue;
  for (double BacktestCounts::*number :
       {&BacktestCounts::jobs, &BacktestCounts::started, &BacktestCounts::ended, &BacktestCounts::evictions,
        &BacktestCounts::lost, &BacktestCounts::delivered}) {
    counts.*number = mean(summaries, [&](const BacktestSummary& each) { return of(each).*number; });
  }
  for (std::optional<double> BacktestCounts::*number :
       {&BacktestCounts::wait_mean, &BacktestCounts::wait_p50, &BacktestCounts::wait_p90, &BacktestCounts::wait_p99,
        &BacktestCounts::completion_mean, &BacktestCounts::satisfied_share, &BacktestCounts::worst_finish_ratio}) {
    counts.*number = mean_if_any(summaries, [&](const BacktestSummary& each) { return of(each).*number; });
  }
  return counts;
}

}  // namespace

BacktestSummary summarise(std::span<const CountedJob> jobs, std::span<const JobResult> outcomes,
                          std::span<const std::string> queues) {
  std::vector<Sums> sums(queues.size() + 1);  // by queue + 1
  Sums all;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    all.add(jobs[i], outcomes[i]);
    sums[static_cast<std::size_t>(jobs[i].queue + 1)].add(jobs[i], outcomes[i]);
  }
  BacktestSummary summary;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].counts.jobs > 0) summary.queues.push_back(sums[i].told(i == 0 ? "" : queues[i - 1]));
  }
  summary.all = all.told("");
  summary.fairness = jain_index(summary.queues);
  return summary;
}

BacktestSummary mean_of(std::span<const BacktestSummary> summaries) {
  BacktestSummary result;
  result.all = mean_counts(summaries, [](const BacktestSummary& each) -> const BacktestCounts& { return each.all; });
  for (std::size_t q = 0; q < summaries.front().queues.size(); ++q) {
    result.queues.push_back(
        mean_counts(summaries, [q](const BacktestSummary& each) -> const BacktestCounts& { return each.queues[q]; }));
  }
  result.fairness = mean_if_any(summaries, [](const BacktestSummary& each) { return each.fairness; });
  return result;
}

}  // namespace berth
