#include "engine/policy/allocation_rate.h"

namespace berth {

namespace {

std::int64_t used_share(std::int64_t left, std::int64_t capacity) {
  return capacity == 0 ? 0 : (capacity - left) * kFullRate / capacity;
}

}  // namespace

Score allocation_rate_after(const NodeView& node, const TaskShape& shape) {
  const NodeKind& kind = *node.kind;
  const std::int64_t cpu = used_share((node.cpu - shape.cpu).value(), kind.cpu.value());
  const std::int64_t memory = used_share((node.memory - shape.memory).value(), kind.memory.value());
  const std::int64_t gpu =
      used_share(node.free_milli() - shape.gpu_total().value(), kind.device_count * kWholeDevice.value());
  return static_cast<Score>((cpu + memory + gpu) / 3);
}

}  // namespace berth
