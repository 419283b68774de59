#include "engine/policy/least_work_order.h"

#include <algorithm>
#include <limits>

#include "engine/policy/sjf_order.h"

namespace berth {

namespace {

constexpr std::int64_t kLastWork = std::numeric_limits<std::int64_t>::max();

}  // namespace

OrderKey LeastWorkOrder::key(const Job& job, const OrderInput& input) const {
  const OrderKey time = SjfOrder().key(job, input);
  const std::int64_t gpus = job.gpu_total().value();
  // Tenths of a device: the product stays far from overflow for durations of centuries.
  const std::int64_t work = time[0] != 0 ? kLastWork : time[1] * std::max<std::int64_t>(gpus / 100, 1);
  return {work, gpus};
}

}  // namespace berth
