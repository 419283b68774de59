#include "engine/policy/fifo_order.h"

namespace berth {

OrderKey FifoOrder::key(const Job&, const OrderInput&) const { return {}; }

}  // namespace berth
