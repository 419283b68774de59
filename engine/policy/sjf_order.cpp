#include "engine/policy/sjf_order.h"

namespace berth {

OrderKey SjfOrder::key(const Job& job, const OrderInput&) const {
  const DurationEstimate& estimate = job.estimate;
  if (estimate.p50 > Seconds(0) || estimate.is_given) return {0, estimate.p50.value() * 1000 + estimate.p50_milli};
  return job.time_limit > Seconds(0) ? OrderKey{0, job.time_limit.value() * 1000} : OrderKey{1, 0};
}

}  // namespace berth
