#include "engine/policy/gpu_packing_score.h"

#include <algorithm>

namespace berth {

Score GpuPackingScore::score(const NodeView& node, const TaskShape& shape) const {
  if (shape.gpu_count == 0) return 0;
  const std::int32_t whole = static_cast<std::int32_t>(kWholeDevice.value());
  const Score free = static_cast<Score>(std::ranges::count(node.milli, whole));
  if (free == node.kind->device_count) return std::max(33 - free, free);
  if (!shape.is_fraction()) return std::max(50 - shape.gpu_count, 33);
  std::int32_t tightest = whole;
  for (const std::int32_t milli : node.milli) {
    if (milli >= shape.gpu_milli.value()) tightest = std::min(tightest, milli);
  }
  if (tightest == whole) return 49;  // one free device
  return std::max(100 - tightest * 100 / whole / 10, 50);
}

}  // namespace berth
