#include "engine/sim/job_times.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace berth {

namespace {

constexpr int kBitsKept = 11;  // beyond the first
constexpr std::size_t kMostExact = 1 << 13;
constexpr std::int64_t kSmall = 1 << (kBitsKept + 1);  // values below are exact as they are

// Where values that begin with the same 12 bits are counted: those below kSmall each at its own place, and then
// kSmall / 2 places for each length in bits.
std::size_t place_of(std::int64_t value) {
  const int dropped = std::max(0, 64 - std::countl_zero(static_cast<std::uint64_t>(value)) - kBitsKept - 1);
  return static_cast<std::size_t>(dropped * (kSmall / 2) + (value >> dropped));
}

// The least value that is counted there.
std::int64_t value_at(std::size_t place) {
  const auto at = static_cast<std::int64_t>(place);
  if (at < kSmall) return at;
  const std::int64_t dropped = at / (kSmall / 2) - 1;
  return (at - dropped * (kSmall / 2)) << dropped;
}

}  // namespace

void DurationCounts::add(std::int64_t seconds, std::int64_t times) {
  if (is_exact_ && seconds >= kSmall) {
    exact_[seconds] += times;
    if (exact_.size() > kMostExact) cut();
  } else {
    const std::size_t place = place_of(seconds);
    if (place >= by_place_.size()) by_place_.resize(std::bit_ceil(place + 1), 0);
    by_place_[place] += times;
  }
  count_ += times;
  sum_ += seconds * times;
  most_ = std::max(most_, seconds);
}

void DurationCounts::add(const DurationCounts& other) {
  if (is_exact_ && !other.is_exact_) cut();
  std::int64_t counted = 0;
  other.for_each([&](std::int64_t value, std::int64_t times) {
    add(value, times);
    counted += value * times;
  });
  sum_ += other.sum_ - counted;  // what its values lost when they were cut
  most_ = std::max(most_, other.most_);
}

template <class Visit>
void DurationCounts::for_each(Visit visit) const {
  for (std::size_t place = 0; place < by_place_.size(); ++place) {
    if (by_place_[place] > 0) visit(value_at(place), by_place_[place]);
  }
  for (const auto& [value, times] : exact_) visit(value, times);
}

void DurationCounts::cut() {
  is_exact_ = false;
  for (const auto& [value, times] : exact_) {
    const std::size_t place = place_of(value);
    if (place >= by_place_.size()) by_place_.resize(std::bit_ceil(place + 1), 0);
    by_place_[place] += times;
  }
  exact_.clear();
}

std::optional<double> DurationCounts::mean() const {
  return count_ == 0 ? std::nullopt : std::optional(static_cast<double>(sum_) / static_cast<double>(count_));
}

std::optional<std::int64_t> DurationCounts::percentile(int per_mille) const {
  if (count_ == 0) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::int64_t>> sorted;
  for_each([&](std::int64_t value, std::int64_t times) { sorted.emplace_back(value, times); });
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
