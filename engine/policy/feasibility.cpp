#include "engine/policy/feasibility.h"

#include <algorithm>
#include <bit>

namespace berth {

namespace {

std::int32_t milli_of(const TaskShape& shape) { return static_cast<std::int32_t>(shape.gpu_milli.value()); }

// Must the task's devices lie in a listed link group? One device is a group of its own, and where no listed group has
// room for as many as the task has, the node is the only group there is.
bool needs_listed_group(const NodeKind& kind, int count) {
  return count > 1 &&
         std::ranges::any_of(kind.link_groups, [&](DeviceMask group) { return std::popcount(group) >= count; });
}

bool lies_in_one_group(const NodeKind& kind, DeviceMask free, int count) {
  if (!needs_listed_group(kind, count)) return std::popcount(free) >= count;
  return std::ranges::any_of(kind.link_groups, [&](DeviceMask group) { return std::popcount(group & free) >= count; });
}

bool is_model_allowed(const NodeKind& kind, const TaskShape& shape) {
  return shape.models == 0 || (kind.model >= 0 && ((shape.models >> kind.model) & 1) != 0);
}

bool is_kept_out(const NodeKind& kind, const TaskShape& shape) {
  if (kind.keeps_out == 0 || shape.limit_class < kind.keeps_out) return false;
  return !kind.takes_unlimited || shape.limit_class != TaskShape::kUnlimited;
}

bool asks_more_device_memory_than(const NodeKind& kind, const TaskShape& shape) {
  return kind.device_memory != MiB(0) && shape.gpu_memory > kind.device_memory;
}

// What stands against the task on any node of this kind, however empty.
Reason reason_against_kind(const NodeKind& kind, const TaskShape& shape) {
  if (shape.pool >= 0 && shape.pool != kind.pool) return Reason::kPool;
  if (shape.gpu_count > 0) {
    if (shape.gpu_count > kind.device_count) return Reason::kNoDevice;
    if (!is_model_allowed(kind, shape)) return Reason::kDeviceModel;
    if (asks_more_device_memory_than(kind, shape)) return Reason::kDeviceMemory;
  }
  if (shape.cpu > kind.cpu || shape.memory > kind.memory) return Reason::kNodeTooSmall;
  return is_kept_out(kind, shape) ? Reason::kKeptOut : Reason::kNone;
}

Reason reason_against_devices(const NodeView& view, const TaskShape& shape) {
  const DeviceMask free = feasible_devices(view, shape);
  if (std::popcount(free) >= shape.gpu_count) {
    const bool in_group = !shape.within_link_group || lies_in_one_group(*view.kind, free, shape.gpu_count);
    return in_group ? Reason::kNone : Reason::kLinkGroup;
  }
  const auto has_compute = [&](std::int32_t milli) { return milli >= milli_of(shape); };
  if (std::ranges::count_if(view.milli, has_compute) >= shape.gpu_count) return Reason::kGpuMemory;
  return view.free_milli() >= shape.gpu_total().value() ? Reason::kGpuFragmented : Reason::kGpu;
}

}  // namespace

Reason reason_against(const NodeView& view, const TaskShape& shape, bool accepts, DeviceMask unhealthy) {
  if (!accepts) return Reason::kNodeNotUp;
  if (const Reason reason = reason_against_kind(*view.kind, shape); reason != Reason::kNone) return reason;
  if (shape.gpu_count > view.kind->device_count - std::popcount(unhealthy)) return Reason::kUnhealthyDevice;
  if (shape.cpu > view.cpu) return Reason::kCpu;
  if (shape.memory > view.memory) return Reason::kMemory;
  return shape.gpu_count == 0 ? Reason::kNone : reason_against_devices(view, shape);
}

bool is_feasible(const NodeView& view, const TaskShape& shape) {
  if (shape.cpu > view.cpu || shape.memory > view.memory) return false;
  if (shape.pool >= 0 && shape.pool != view.kind->pool) return false;
  if (is_kept_out(*view.kind, shape)) return false;
  if (shape.gpu_count == 0) return true;
  if (!is_model_allowed(*view.kind, shape) || asks_more_device_memory_than(*view.kind, shape)) return false;
  const DeviceMask free = feasible_devices(view, shape);
  if (std::popcount(free) < shape.gpu_count) return false;
  return !shape.within_link_group || lies_in_one_group(*view.kind, free, shape.gpu_count);
}

bool is_feasible_when_empty(const NodeKind& kind, const TaskShape& shape) {
  return reason_against_kind(kind, shape) == Reason::kNone;
}

DeviceMask feasible_devices(const NodeView& view, const TaskShape& shape) {
  if (shape.gpu_count == 0) return 0;
  DeviceMask found = 0;
  const std::int32_t milli = milli_of(shape);
  const std::int64_t memory = device_memory_for(shape, view.kind->device_memory).value();
  for (std::size_t d = 0; d < view.milli.size(); ++d) {
    if (view.milli[d] >= milli && view.device_memory[d] >= memory) found |= DeviceMask{1} << d;
  }
  return found;
}

namespace {

std::int64_t copies_on_devices(const NodeView& view, const TaskShape& shape) {
  if (shape.is_fraction()) {
    const std::int64_t memory = device_memory_for(shape, view.kind->device_memory).value();
    std::int64_t copies = 0;
    for (std::size_t d = 0; d < view.milli.size(); ++d) {
      const std::int64_t by_compute = view.milli[d] / shape.gpu_milli.value();
      copies += memory == 0 ? by_compute : std::min(by_compute, view.device_memory[d] / memory);
    }
    return copies;
  }
  const DeviceMask free = feasible_devices(view, shape);
  const NodeKind& kind = *view.kind;
  if (!shape.within_link_group || !needs_listed_group(kind, shape.gpu_count)) {
    return std::popcount(free) / shape.gpu_count;
  }
  // Groups are nested or disjoint: those that no other contains hold every placement, each on its own.
  std::int64_t copies = 0;
  for (const DeviceMask group : kind.link_groups) {
    const bool outermost = std::ranges::none_of(
        kind.link_groups, [&](DeviceMask other) { return other != group && (other & group) == group; });
    if (outermost) copies += std::popcount(free & group) / shape.gpu_count;
  }
  return copies;
}

}  // namespace

int copies_that_fit(const NodeView& view, const TaskShape& shape, int most) {
  if (most <= 0 || !is_feasible(view, shape)) return 0;
  std::int64_t copies = most;
  if (shape.cpu > MilliCpu(0)) copies = std::min(copies, view.cpu.value() / shape.cpu.value());
  if (shape.memory > MiB(0)) copies = std::min(copies, view.memory.value() / shape.memory.value());
  if (shape.gpu_count > 0) copies = std::min(copies, copies_on_devices(view, shape));
  return static_cast<int>(copies);
}

}  // namespace berth
