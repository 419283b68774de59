#include "engine/policy/histogram_rightsizing.h"

#include <algorithm>
#include <utility>

#include "engine/policy/duration_history.h"

namespace berth {

namespace {

// The percentile by weight of one measure over the runs, plus a margin; percentile 0 = the weighted mean.
template <class Quantity>
std::optional<Quantity> decayed_percentile(const RightsizeInput& input, std::optional<Quantity> UsageSample::*measure,
                                           std::int64_t percentile, Seconds half_life, std::int64_t margin) {
  std::vector<std::pair<std::int64_t, std::int64_t>> weighed;  // value, weight
  std::int64_t total = 0;
  std::int64_t sum = 0;
  for (const UsageSample& run : input.runs) {
    if (!(run.*measure)) continue;
    // However old, what was seen is not forgotten entirely: it may be all there is.
    const std::int64_t weight = std::max<std::int64_t>(decayed_weight(input.now - run.end, half_life) >> 10, 1);
    weighed.emplace_back((run.*measure)->value(), weight);
    total += weight;
    sum += weight * (run.*measure)->value();
  }
  if (weighed.empty()) return std::nullopt;
  std::int64_t value = divide_up(sum, total);
  if (percentile > 0) {
    std::sort(weighed.begin(), weighed.end());
    std::int64_t below = 0;
    for (const auto& [amount, weight] : weighed) {
      value = amount;
      below += weight;
      if (below * 100 >= total * percentile) break;
    }
  }
  return Quantity(divide_up(value * (100 + margin), 100));
}

}  // namespace

RightsizeWish HistogramRightsizing::wish(const RightsizeInput& input) const {
  const auto compute = [&](auto measure) {
    return decayed_percentile(input, measure, knobs_.compute_percentile, knobs_.compute_half_life, knobs_.margin);
  };
  const auto memory = [&](auto measure) {
    return decayed_percentile(input, measure, knobs_.memory_percentile, knobs_.memory_half_life, knobs_.margin);
  };
  return {.cpu = compute(&UsageSample::cpu_mean),
          .memory = memory(&UsageSample::memory_peak),
          .gpu = compute(&UsageSample::gpu_mean),
          .gpu_memory = memory(&UsageSample::gpu_memory_peak)};
}

}  // namespace berth
