// priority: the higher class first, and waiting counts.
//
// effective priority = value of the job's class + aging intervals waited (no class counts as 0; an interval of 0 turns
// aging off). Highest first, ties by (Job::in_line_since, id). Parts of an interval count: else two jobs would change
// places in each interval, and a reservation of the first with them. So the order of two that wait stays as it is.
//
// No starvation: a job of class value p stands behind a newer job of class value q > p only if that one came less than
// (q - p) aging intervals after it.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class PriorityOrder : public KeyedOrder {
 public:
  OrderKey key(const Job& job, const OrderInput& input) const override;
  bool is_fixed() const override { return true; }
};

}  // namespace berth
