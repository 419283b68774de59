// smallest_first: the job that asks least first - total GPU, then total CPU, then (submit, id).
//
// Short queues and low mean waits on a busy cluster, at the price that large jobs may wait without bound.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class SmallestFirstOrder : public QueueOrder {
 public:
  std::vector<std::int32_t> order(const OrderInput& input) const override;
  bool is_fixed() const override { return true; }
};

}  // namespace berth
