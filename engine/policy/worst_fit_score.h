// worst_fit: balance - the node that is least allocated after placing.
//
// The measure is allocation_rate.h's: the mean of the CPU, memory and GPU allocation rates.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class WorstFitScore : public NodeScore {
 public:
  ScoreSensitivity sensitivity() const override { return {.memory = true}; }
  Score score(const NodeView& node, const TaskShape& shape) const override;
};

}  // namespace berth
