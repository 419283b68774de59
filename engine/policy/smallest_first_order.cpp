#include "engine/policy/smallest_first_order.h"

#include "engine/policy/order_by_key.h"

namespace berth {

std::vector<std::int32_t> SmallestFirstOrder::order(const OrderInput& input) const {
  return order_by_key(input, [](const Job& job) {
    MilliCpu cpu;
    for (const TaskGroup& group : job.groups) cpu += group.shape.cpu * group.count;
    return std::pair(job.gpu_total(), cpu);
  });
}

}  // namespace berth
