#include "engine/policy/las_order.h"

#include <algorithm>

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

OrderKey LasOrder::key(const Job& job, const OrderInput& input) const {
  return {static_cast<std::int64_t>(las_level(las_service(job, input.knobs), input.knobs)), 0};
}

}  // namespace berth
