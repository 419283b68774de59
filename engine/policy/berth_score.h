// berth: the placement after which the cluster is worth most for the tasks to come. The default.
//
// Score = value of the node after placing - value before, the values from shadow_prices.h: the milli-GPU a node is
// still expected to take at prices that balance the free part of the cluster against the expected demand. A fraction is
// tried on every device it fits. Equal values go to the node with less GPU left, then to the lowest rank; scores are
// fine enough that ties are rare, so the order of nodes hardly matters.
//
// Prices follow the cluster: they move when 1/kRefreshes of its GPU has been asked for since the last time, or, where
// the same tasks are asked for again and again, when its use has changed by as much. Demand is learnt from the typical
// workload and from new tasks.
#pragma once

#include <optional>

#include "engine/policy/policy.h"
#include "engine/policy/shadow_prices.h"

namespace berth {

class BerthScore : public NodeScore {
 public:
  static constexpr std::int64_t kRefreshes = 64;

  explicit BerthScore(const ScoreInput& input)
      : prices_(*input.cluster, input.workload), every_task_is_new_(input.every_task_is_new) {}

  ScoreSensitivity sensitivity() const override { return {.memory = true}; }
  Score score(const NodeView& node, const TaskShape& shape) const override;
  int choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const override;
  bool refresh(const Ledger& ledger, const TaskShape& asked) override;

 private:
  using Row = ShadowPrices::Row;

  Row devices_value(const NodeView& node) const;
  // The node's value with a fraction of `milli` on a device that has `free`.
  std::int32_t value_with_fraction(const NodeView& node, const TaskShape& shape, const Row& devices,
                                   std::int32_t free) const;

  ShadowPrices prices_;
  bool every_task_is_new_;
  std::int64_t asked_ = 0;              // milli-GPU so far, where every task is new
  std::optional<std::int64_t> priced_;  // milli-GPU asked for, else in use, when prices last moved
};

}  // namespace berth
