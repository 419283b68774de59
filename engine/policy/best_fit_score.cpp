#include "engine/policy/best_fit_score.h"

namespace berth {

Score BestFitScore::score(const NodeView& node, const TaskShape& shape) const {
  const double cpu = static_cast<double>((node.cpu - shape.cpu).value()) / 128000.0;
  const double gpu = static_cast<double>(node.free_milli() - shape.gpu_total().value()) / 8000.0;
  return static_cast<Score>((1.0 - (cpu * 0.5 + gpu * 0.5)) * 100.0);
}

}  // namespace berth
