// dot_product: the node whose free amounts are least aligned with what the task asks.
//
// dot = (free CPU / 128 cores)(asked CPU / 128 cores) + (free GPU / 8 devices)(asked GPU / 8 devices), before placing;
// score = whole part of 100 (1 - dot / 2): the smallest product wins, so tasks go where little is left (fgd.md section
// 4).
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class DotProductScore : public NodeScore {
 public:
  Score score(const NodeView& node, const TaskShape& shape) const override;
};

}  // namespace berth
