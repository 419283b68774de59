#include "engine/policy/worst_fit_score.h"

#include "engine/policy/allocation_rate.h"

namespace berth {

Score WorstFitScore::score(const NodeView& node, const TaskShape& shape) const {
  return kFullRate - allocation_rate_after(node, shape);
}

}  // namespace berth
