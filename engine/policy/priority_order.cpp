#include "engine/policy/priority_order.h"

namespace berth {

OrderKey PriorityOrder::key(const Job& job, const OrderInput& input) const {
  const std::int64_t value =
      job.priority_class < 0 ? 0 : input.priority_classes[static_cast<std::size_t>(job.priority_class)].value;
  const std::int64_t interval = input.aging_interval.value();
  if (interval <= 0) return {-value, 0};
  // value x interval - since, in whole intervals and the rest: the product may be too large.
  const std::int64_t since = job.in_line_since().value();
  const std::int64_t rest = (since % interval + interval) % interval;
  return {(since - rest) / interval - value, rest};
}

}  // namespace berth
