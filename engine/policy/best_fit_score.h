// best_fit: the node on which the least CPU and GPU are left after placing.
//
// s = 1/2 (free CPU after / 128 cores) + 1/2 (free GPU after / 8 devices); score = whole part of 100 (1 - s). The two
// sizes are those of the published simulator (fgd.md section 4) and fixed: on larger nodes scores may fall below 0,
// which changes nothing. The score is coarse on purpose; ties go to the lowest rank. Memory is not looked at.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class BestFitScore : public NodeScore {
 public:
  Score score(const NodeView& node, const TaskShape& shape) const override;
};

}  // namespace berth
