// smallest_first: the job that asks least first - total GPU, then total CPU, then (submit, id).
//
// Short queues and low mean waits on a busy cluster, at the price that large jobs may wait without bound.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class SmallestFirstOrder : public KeyedOrder {
 public:
  OrderKey key(const Job& job, const OrderInput& input) const override;
  bool is_fixed() const override { return true; }
};

}  // namespace berth
