#include "engine/policy/priority_order.h"

#include "engine/policy/order_by_key.h"

namespace berth {

std::vector<std::int32_t> PriorityOrder::order(const OrderInput& input) const {
  const std::int64_t interval = input.aging_interval.value();
  return order_by_key(input, [&](const Job& job) {
    const std::int64_t value =
        job.priority_class < 0 ? 0 : input.priority_classes[static_cast<std::size_t>(job.priority_class)].value;
    const std::int64_t waited = std::max<std::int64_t>(0, (input.now - job.submit).value());
    return -(value + (interval > 0 ? waited / interval : 0));
  });
}

}  // namespace berth
