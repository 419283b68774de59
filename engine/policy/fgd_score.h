// fgd: the placement after which the least idle GPU is useless to the typical workload (Weng et al., ATC'23; fgd.md
// section 4).
//
// score = whole part of 100 sigmoid((F before - F after) / 1000), F from fragmentation.h: 50 = no change, 73 = a device
// less of fragments. A fraction is tried on every device it fits; the best one's score counts, and the lowest device
// that attains it is taken. The 101 levels are part of the policy: inside them the lowest rank wins, which is worth
// five points of allocation.
#pragma once

#include "engine/policy/fragmentation.h"
#include "engine/policy/policy.h"

namespace berth {

class FgdScore : public NodeScore {
 public:
  explicit FgdScore(const ScoreInput& input) : fragmentation_(input.workload, input.cluster->models.size()) {}

  Score score(const NodeView& node, const TaskShape& shape) const override;
  int choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const override;

  // The whole part of 100 sigmoid(drop / 1000), without computing it: from 100 limits found by bisection on that very
  // expression.
  static Score score_of_drop(double drop);

 private:
  Fragmentation fragmentation_;
};

}  // namespace berth
