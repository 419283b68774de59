#include "engine/policy/las_order.h"

#include "engine/policy/order_by_key.h"

namespace berth {

std::int64_t las_service(const Job& job, const OrderKnobs& knobs) {
  const std::int64_t gpus = job.gpu_total().value();
  if (knobs.las_by_gpu || gpus == 0) return job.attained;
  return job.attained / gpus * 1000 + job.attained % gpus * 1000 / gpus;
}

std::size_t las_level(std::int64_t service, const OrderKnobs& knobs) {
  const auto reached = std::ranges::upper_bound(knobs.las_thresholds, service);
  return static_cast<std::size_t>(reached - knobs.las_thresholds.begin());
}

std::vector<std::int32_t> LasOrder::order(const OrderInput& input) const {
  return order_by_key(input, [&](const Job& job) { return las_level(las_service(job, input.knobs), input.knobs); });
}

}  // namespace berth
