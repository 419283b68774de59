#include "engine/policy/sjf_order.h"

#include "engine/policy/order_by_key.h"

namespace berth {

std::vector<std::int32_t> SjfOrder::order(const OrderInput& input) const {
  return order_by_key(input, [](const Job& job) {
    const Seconds expected = job.estimate.p50 > Seconds(0) ? job.estimate.p50 : job.time_limit;
    return std::pair(expected <= Seconds(0), expected);
  });
}

}  // namespace berth
