#include "engine/policy/fifo_order.h"

#include "engine/policy/order_by_key.h"

namespace berth {

std::vector<std::int32_t> FifoOrder::order(const OrderInput& input) const {
  return order_by_key(input, [](const Job&) { return 0; });
}

}  // namespace berth
