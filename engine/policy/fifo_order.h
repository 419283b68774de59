// fifo: first come, first tried. Jobs by submit time, then id.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class FifoOrder : public KeyedOrder {
 public:
  OrderKey key(const Job& job, const OrderInput& input) const override;
  bool is_fixed() const override { return true; }
};

}  // namespace berth
