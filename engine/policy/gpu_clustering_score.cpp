#include "engine/policy/gpu_clustering_score.h"

namespace berth {

Score GpuClusteringScore::score(const NodeView& node, const TaskShape& shape) const {
  if (shape.gpu_count == 0) return 0;
  const Score fullness = static_cast<Score>(25 * (8000 - node.free_milli()) / 8000);
  const std::uint8_t own = tenant_bit(shape);
  if (node.tenants == 0) return fullness + 25;
  if ((node.tenants & own) == 0) return fullness;
  return fullness + (node.tenants == own ? 75 : 50);
}

}  // namespace berth
