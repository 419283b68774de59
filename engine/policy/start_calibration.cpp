#include "engine/policy/start_calibration.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace berth {

namespace {

constexpr double kAtLeast = 60;  // seconds, added to both waits: nobody is told better than to a minute
constexpr double kStep = 0.02;   // by which a level moves
constexpr double kBeyond = 2;    // the largest error known, times this, where a level lies beyond what is known
constexpr std::array<std::int64_t, 4> kBuckets = {300, 1800, 7200, 43200};  // forecast waits, in seconds

double error_of(Seconds wait, Seconds forecast_wait) {
  return (static_cast<double>(wait.value()) + kAtLeast) / (static_cast<double>(forecast_wait.value()) + kAtLeast);
}

Seconds scaled(Seconds forecast_wait, double error) {
  const double wait = (static_cast<double>(forecast_wait.value()) + kAtLeast) * error - kAtLeast;
  return Seconds(std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(wait)), 0));
}

// The least error that the share `level` does not exceed; those of jobs that still wait are only known to be larger.
double quantile_of(std::vector<std::pair<double, bool>>& errors, double level) {
  std::ranges::sort(errors, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;  // of equal ones, starts first
  });
  double beyond = 1;  // share of errors that are larger
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!errors[i].second) continue;
    beyond *= 1 - 1 / static_cast<double>(errors.size() - i);
    if (beyond <= 1 - level) return errors[i].first;
  }
  return errors.back().first * kBeyond;
}

}  // namespace

std::size_t StartCalibration::bucket_of(Seconds wait) {
  return static_cast<std::size_t>(std::ranges::upper_bound(kBuckets, wait.value()) - kBuckets.begin());
}

// A level moves once for each expectation: when it is known whether it held.
void StartCalibration::count(Bucket& bucket, Told& told, Seconds now) {
  const auto settle = [&](Seconds expected, bool& is_counted, double& level, double goal, double least, double most) {
    const Seconds moment = told.started >= Seconds(0) ? told.started : now;
    const bool is_passed = moment > expected;
    if (is_counted || (told.started < Seconds(0) && !is_passed)) return;
    is_counted = true;
    level = std::clamp(level + kStep * ((is_passed ? 1.0 : 0.0) - (1.0 - goal)), least, most);
  };
  settle(told.expected.p50, told.is_counted50, bucket.level50, 0.5, 0.25, 0.75);
  settle(told.expected.p90, told.is_counted90, bucket.level90, 0.9, 0.7, 0.99);
}

void StartCalibration::count_overdue(Seconds now) {
  for (Bucket& bucket : buckets_) {
    for (Told& told : bucket.told) {
      if (told.started < Seconds(0) && told.dropped < Seconds(0)) count(bucket, told, now);
    }
  }
}

// Of all buckets where `bucket` is null; nothing = too little is known.
std::optional<double> StartCalibration::error_quantile(const Bucket* bucket, double level, Seconds now) const {
  std::vector<std::pair<double, bool>> errors;  // and whether it is exact
  std::size_t starts = 0;
  for (const Bucket& each : buckets_) {
    if (bucket != nullptr && bucket != &each) continue;
    for (const Told& told : each.told) {
      const bool has_started = told.started >= Seconds(0);
      starts += has_started ? 1 : 0;
      const Seconds seen = has_started ? told.started : told.dropped >= Seconds(0) ? told.dropped : now;
      errors.emplace_back(error_of(seen - told.made, told.forecast_wait), has_started);
    }
  }
  if (starts < kFewest) return std::nullopt;
  return quantile_of(errors, level);
}

bool is_measured_start(std::int64_t known_starts) {
  return known_starts >= static_cast<std::int64_t>(StartCalibration::kFewest);
}

std::size_t StartCalibration::known_starts() const {
  std::size_t starts = 0;
  for (const Bucket& bucket : buckets_) starts += bucket.starts;
  return starts;
}

ExpectedStart StartCalibration::expect(const ExpectedStart& forecast, Seconds now) {
  count_overdue(now);
  const Seconds wait = std::max(forecast.p50 - now, Seconds(0));
  const Bucket& bucket = buckets_[bucket_of(wait)];
  const Bucket* asked = bucket.starts >= kFewest ? &bucket : nullptr;
  const std::optional<double> half = error_quantile(asked, bucket.level50, now);
  const std::optional<double> most = error_quantile(asked, bucket.level90, now);
  if (!half || !most) return {std::max(forecast.p50, now), std::max({forecast.p50, forecast.p90, now})};
  const Seconds p50 = now + scaled(wait, *half);
  return {p50, std::max(p50, now + scaled(wait, *most))};
}

void StartCalibration::tell(std::int64_t job, Seconds forecast, const ExpectedStart& told, Seconds now) {
  drop(job, now);
  const Seconds wait = std::max(forecast - now, Seconds(0));
  const std::size_t at = bucket_of(wait);
  Bucket& bucket = buckets_[at];
  place_of_[job] = {at, bucket.gone + bucket.told.size()};
  bucket.told.push_back({.job = job, .made = now, .forecast_wait = wait, .expected = told});
  if (bucket.told.size() <= kKept) return;
  const Told& oldest = bucket.told.front();
  if (oldest.started >= Seconds(0)) --bucket.starts;
  if (const auto place = place_of_.find(oldest.job);
      place != place_of_.end() && place->second.bucket == at && place->second.index == bucket.gone) {
    place_of_.erase(place);
  }
  bucket.told.pop_front();
  ++bucket.gone;
}

void StartCalibration::start(std::int64_t job, Seconds now) {
  const auto place = place_of_.find(job);
  if (place == place_of_.end()) return;
  Bucket& bucket = buckets_[place->second.bucket];
  Told& told = bucket.told[place->second.index - bucket.gone];
  told.started = now;
  ++bucket.starts;
  count(bucket, told, now);
  place_of_.erase(place);
}

void StartCalibration::drop(std::int64_t job, Seconds now) {
  const auto place = place_of_.find(job);
  if (place == place_of_.end()) return;
  Bucket& bucket = buckets_[place->second.bucket];
  Told& told = bucket.told[place->second.index - bucket.gone];
  count(bucket, told, now);
  told.dropped = now;
  place_of_.erase(place);
}

}  // namespace berth
