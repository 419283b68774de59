#include "engine/sim/job_times.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace berth {

namespace {

constexpr int kBitsKept = 11;
constexpr std::size_t kMostExact = 1 << 13;

std::int64_t leading_bits(std::int64_t value) {
  const int bits = 64 - std::countl_zero(static_cast<std::uint64_t>(value));
  const int dropped = bits > kBitsKept + 1 ? bits - kBitsKept : 0;
  return value >> dropped << dropped;
}

}  // namespace

void DurationCounts::add(std::int64_t seconds, std::int64_t times) {
  counts_[is_exact_ ? seconds : leading_bits(seconds)] += times;
  if (is_exact_ && counts_.size() > kMostExact) cut();
  count_ += times;
  sum_ += seconds * times;
  most_ = std::max(most_, seconds);
}

void DurationCounts::add(const DurationCounts& other) {
  if (is_exact_ && !other.is_exact_) cut();
  for (const auto& [value, times] : other.counts_) add(value, times);
  sum_ += other.sum_ - other.sum_of_counts();
  most_ = std::max(most_, other.most_);
}

std::int64_t DurationCounts::sum_of_counts() const {
  std::int64_t sum = 0;
  for (const auto& [value, times] : counts_) sum += value * times;
  return sum;
}

void DurationCounts::cut() {
  is_exact_ = false;
  std::unordered_map<std::int64_t, std::int64_t> exact = std::move(counts_);
  counts_.clear();
  for (const auto& [value, times] : exact) counts_[leading_bits(value)] += times;
}

std::optional<double> DurationCounts::mean() const {
  return count_ == 0 ? std::nullopt : std::optional(static_cast<double>(sum_) / static_cast<double>(count_));
}

std::optional<std::int64_t> DurationCounts::percentile(int per_mille) const {
  if (count_ == 0) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::int64_t>> sorted(counts_.begin(), counts_.end());
  std::ranges::sort(sorted);
  std::int64_t rank = std::max<std::int64_t>(divide_up(count_ * per_mille, 1000), 1);
  for (const auto& [value, times] : sorted) {
    rank -= times;
    if (rank <= 0) return value;
  }
  return sorted.back().first;
}

void JobTimes::note_start(Seconds wait, bool is_entitled) {
  ++result_.started;
  waits_.add(wait.value());
  if (!is_entitled) return;
  ++result_.entitled_jobs;
  entitled_wait_ += wait.value();
}

void JobTimes::note_end(Seconds completion, Seconds duration) {
  ++completions_;
  completion_sum_ += completion.value();
  const double ratio =
      static_cast<double>(completion.value()) / static_cast<double>(std::max<std::int64_t>(duration.value(), 1));
  result_.worst_finish_ratio = std::max(result_.worst_finish_ratio.value_or(0), ratio);
}

void JobTimes::note_eviction(std::int64_t lost) {
  ++result_.evictions;
  result_.lost += lost;
}

void JobTimes::add(const JobTimes& other) {
  const QueueResult& more = other.result_;
  result_.jobs += more.jobs;
  result_.started += more.started;
  result_.evictions += more.evictions;
  result_.lost += more.lost;
  result_.delivered += more.delivered;
  result_.starts_within_quota += more.starts_within_quota;
  result_.starts_borrowing += more.starts_borrowing;
  result_.entitled_jobs += more.entitled_jobs;
  result_.longest_denied = std::max(result_.longest_denied, more.longest_denied);
  if (more.worst_finish_ratio)
    result_.worst_finish_ratio = std::max(result_.worst_finish_ratio.value_or(0), *more.worst_finish_ratio);
  waits_.add(other.waits_);
  completions_ += other.completions_;
  completion_sum_ += other.completion_sum_;
  entitled_wait_ += other.entitled_wait_;
}

QueueResult JobTimes::result(std::string queue) const {
  QueueResult result = result_;
  result.queue = std::move(queue);
  result.wait_mean = waits_.mean();
  result.wait_p50 = waits_.percentile(500);
  result.wait_p90 = waits_.percentile(900);
  result.wait_p99 = waits_.percentile(990);
  result.wait_most = waits_.most();
  if (completions_ > 0)
    result.completion_mean = static_cast<double>(completion_sum_) / static_cast<double>(completions_);
  if (result.entitled_jobs > 0)
    result.entitled_wait_mean = static_cast<double>(entitled_wait_) / static_cast<double>(result.entitled_jobs);
  return result;
}

}  // namespace berth
