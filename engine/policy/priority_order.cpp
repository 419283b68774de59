#include "engine/policy/priority_order.h"

#include <algorithm>

namespace berth {

OrderKey PriorityOrder::key(const Job& job, const OrderInput& input) const {
  const std::int64_t interval = input.aging_interval.value();
  const std::int64_t value =
      job.priority_class < 0 ? 0 : input.priority_classes[static_cast<std::size_t>(job.priority_class)].value;
  const std::int64_t waited = std::max<std::int64_t>(0, (input.now - job.submit).value());
  return {-(value + (interval > 0 ? waited / interval : 0)), 0};
}

}  // namespace berth
