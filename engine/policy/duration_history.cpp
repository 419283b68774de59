#include "engine/policy/duration_history.h"

#include <algorithm>
#include <array>

namespace berth {

std::int64_t decayed_weight(Seconds age, Seconds half_life) {
  if (age <= Seconds(0)) return DurationHistory::kFullWeight;
  const std::int64_t halvings = age.value() / half_life.value();
  if (halvings >= 20) return 0;
  const std::int64_t whole = DurationHistory::kFullWeight >> halvings;
  const std::int64_t rest = age.value() % half_life.value();
  // Long half-lives times a weight stay below 2^63 only when the rest is taken in thousandths.
  return whole - whole * (rest * 1000 / half_life.value()) / 2000;
}

DurationHistory::DurationHistory(std::span<const DurationSample> samples) {
  for (const DurationSample& sample : samples) observe(sample.duration, sample.end);
}

void DurationHistory::observe(Seconds duration, Seconds end) {
  const auto later = std::upper_bound(samples_.begin(), samples_.end(), end,
                                      [](Seconds moment, const DurationSample& sample) { return moment < sample.end; });
  samples_.insert(later, {std::max(duration, Seconds(1)), end});
  if (samples_.size() > kCapacity) samples_.erase(samples_.begin());
}

std::int64_t DurationHistory::count(Seconds now, Seconds half_life) const {
  std::int64_t weight = 0;
  for (const DurationSample& sample : samples_) weight += decayed_weight(now - sample.end, half_life);
  return (weight + kFullWeight / 2) / kFullWeight;
}

DurationEstimate DurationHistory::estimate(Seconds now, Seconds half_life) const {
  struct Weighed {
    Seconds duration;
    std::int64_t weight;
  };
  std::array<Weighed, kCapacity> sorted;
  std::size_t size = 0;
  std::int64_t total = 0;
  for (const DurationSample& sample : samples_) {
    const std::int64_t weight = decayed_weight(now - sample.end, half_life);
    if (weight == 0) continue;
    sorted[size++] = {sample.duration, weight};
    total += weight;
  }
  if (size == 0) return {};
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(size),
            [](const Weighed& a, const Weighed& b) { return a.duration < b.duration; });
  const auto percentile = [&](std::int64_t percent) {
    std::int64_t below = 0;
    for (std::size_t i = 0; i < size; ++i) {
      below += sorted[i].weight;
      if (below * 100 >= total * percent) return sorted[i].duration;
    }
    return sorted[size - 1].duration;
  };
  return {percentile(50), percentile(80), percentile(90)};
}

std::optional<Seconds> DurationHistory::bound(Seconds now, Seconds half_life) const {
  if (count(now, half_life) < kFewestForBound) return std::nullopt;
  std::array<Seconds, kCapacity> sorted;  // those before
  const auto bound_of = [&](std::size_t runs) { return sorted[std::min((9 * (runs + 1) + 9) / 10, runs) - 1]; };
  constexpr auto kFewest = static_cast<std::size_t>(kFewestForBound);
  std::size_t size = 0;
  std::size_t longer = 0;
  for (const DurationSample& sample : samples_) {
    if (size >= kFewest && sample.duration > bound_of(size)) ++longer;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(size);
    const auto place = std::upper_bound(sorted.begin(), end, sample.duration);
    std::move_backward(place, end, end + 1);
    *place = sample.duration;
    ++size;
  }
  const std::size_t tried = size - kFewest;
  if (longer > (tried + 9) / 10) return std::nullopt;
  return bound_of(size);
}

}  // namespace berth
