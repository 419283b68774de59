// priority: the higher class first, and waiting counts.
//
// effective priority = value of the job's class + whole aging intervals waited (no class counts as 0; an interval of 0
// turns aging off). Highest first, ties by (submit, id).
//
// No starvation: a job of class value p stands behind a newer job of class value q > p only if that one was submitted
// less than (q - p) aging intervals after it. (Submitted x >= (q - p) intervals earlier, it has waited at least q - p
// whole intervals more, rounded down or not; at equality the earlier submit time decides.)
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class PriorityOrder : public KeyedOrder {
 public:
  OrderKey key(const Job& job, const OrderInput& input) const override;
};

}  // namespace berth
