#include "engine/policy/dot_product_score.h"

namespace berth {

Score DotProductScore::score(const NodeView& node, const TaskShape& shape) const {
  double dot = 0.0;
  dot += (static_cast<double>(node.cpu.value()) / 128000.0) * (static_cast<double>(shape.cpu.value()) / 128000.0);
  dot += (static_cast<double>(node.free_milli()) / 8000.0) * (static_cast<double>(shape.gpu_total().value()) / 8000.0);
  return static_cast<Score>(100.0 * (1.0 - dot / 2.0));
}

}  // namespace berth
