#include "engine/sim/paired_waits.h"

#include <algorithm>
#include <cmath>

#include "engine/base/env.h"

namespace berth {

namespace {

constexpr double kSame = 0.5;  // seconds: a simulation knows whole ones, the mean of seeds is none

// The differences in blocks of neighbours, sorted once, so that the median of a draw is one walk.
class Resampler {
 public:
  explicit Resampler(const std::vector<double>& differences) {
    const auto length = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(differences.size()))));
    for (std::size_t i = 0; i < differences.size(); ++i) {
      const std::size_t block = i / length;
      if (block == sums_.size()) {
        sums_.push_back(0);
        sizes_.push_back(0);
      }
      sums_[block] += differences[i];
      ++sizes_[block];
      sorted_.emplace_back(differences[i], static_cast<std::uint32_t>(block));
    }
    std::ranges::sort(sorted_);
  }

  // Mean and median of one draw of as many blocks as there are.
  std::pair<double, double> draw(Random& random) {
    times_.assign(sums_.size(), 0);
    double sum = 0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const auto block = static_cast<std::size_t>(random.below(sums_.size()));
      ++times_[block];
      sum += sums_[block];
      count += sizes_[block];
    }
    return {sum / static_cast<double>(count), median(count)};
  }

  double median_of_all() {
    times_.assign(sums_.size(), 1);
    return median(static_cast<std::int64_t>(sorted_.size()));
  }

 private:
  // The least value with half of the draw at or below it.
  double median(std::int64_t count) const {
    std::int64_t left = (count + 1) / 2;
    for (const auto& [value, block] : sorted_) {
      left -= times_[block];
      if (left <= 0) return value;
    }
    return sorted_.back().first;
  }

  std::vector<double> sums_;         // by block
  std::vector<std::int64_t> sizes_;  // by block
  std::vector<std::pair<double, std::uint32_t>> sorted_;
  std::vector<std::int64_t> times_;  // each block is in the draw
};

// What 95 of 100 lie between.
Interval middle_of(std::vector<double>& values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return {at(0.025), at(0.975)};
}

}  // namespace

PairedWaits compare_waits(const Waits& policy, const Waits& baseline, std::uint64_t seed) {
  PairedWaits result;
  std::vector<double> differences;
  for (std::size_t i = 0; i < policy.size(); ++i) {
    result.only_here += policy[i] && !baseline[i] ? 1 : 0;
    result.only_there += !policy[i] && baseline[i] ? 1 : 0;
    if (!policy[i] || !baseline[i]) continue;
    const double difference = *policy[i] - *baseline[i];
    differences.push_back(difference);
    ++(difference <= -kSame ? result.earlier : difference >= kSame ? result.later : result.same);
    result.mean += difference;
  }
  result.jobs = static_cast<std::int64_t>(differences.size());
  if (differences.empty()) return result;
  result.mean /= static_cast<double>(differences.size());
  Resampler resampler(differences);
  result.median = resampler.median_of_all();
  Random random(seed);
  std::vector<double> means;
  std::vector<double> medians;
  for (int i = 0; i < kResamples; ++i) {
    const auto [mean, median] = resampler.draw(random);
    means.push_back(mean);
    medians.push_back(median);
  }
  result.mean_between = middle_of(means);
  result.median_between = middle_of(medians);
  return result;
}

}  // namespace berth
