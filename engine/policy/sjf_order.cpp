#include "engine/policy/sjf_order.h"

namespace berth {

OrderKey SjfOrder::key(const Job& job, const OrderInput& input) const {
  const DurationEstimate& estimate = job.estimate;
  const std::int64_t percentile = input.knobs.sjf_percentile;
  const Seconds cautious = percentile >= 90 ? estimate.p90 : estimate.p80;
  if (percentile > 50 && cautious > Seconds(0)) return {0, cautious.value() * 1000};
  if (estimate.p50 > Seconds(0) || estimate.is_given) return {0, estimate.p50.value() * 1000 + estimate.p50_milli};
  return job.time_limit > Seconds(0) ? OrderKey{0, job.time_limit.value() * 1000} : OrderKey{1, 0};
}

}  // namespace berth
