#include "engine/policy/device_choice.h"

#include <bit>
#include <tuple>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

constexpr DeviceMask kAllDevices = ~DeviceMask{0};

// Smaller is tighter: free devices in the group, devices in the group, lowest device.
std::tuple<int, int, int> tightness_of(DeviceMask group, DeviceMask free) {
  return {std::popcount(group & free), std::popcount(group), std::countr_zero(group)};
}

// Calls visit(group) for every link group strictly inside `scope`; a free device of the scope that is in none of them
// is a group of one.
template <class Visit>
void for_each_group_inside(const NodeKind& kind, DeviceMask scope, DeviceMask free, Visit visit) {
  DeviceMask loose = scope & free;
  for (const DeviceMask group : kind.link_groups) {
    if (group == scope || (group & ~scope) != 0) continue;
    visit(group);
    loose &= ~group;
  }
  for (; loose != 0; loose &= loose - 1) {
    if (const DeviceMask device = loose & -loose; device != scope) visit(device);
  }
}

// The tightest group inside `scope` with at least `count` free devices; 0 = none has.
DeviceMask tightest_group(const NodeKind& kind, DeviceMask scope, DeviceMask free, int count) {
  DeviceMask best = 0;
  for_each_group_inside(kind, scope, free, [&](DeviceMask group) {
    if (std::popcount(group & free) < count) return;
    if (best == 0 || tightness_of(group, free) < tightness_of(best, free)) best = group;
  });
  return best;
}

// The group inside `scope` with the most free devices; on ties the tightest.
DeviceMask fullest_group(const NodeKind& kind, DeviceMask scope, DeviceMask free) {
  DeviceMask best = 0;
  for_each_group_inside(kind, scope, free, [&](DeviceMask group) {
    const int more = std::popcount(group & free) - std::popcount(best & free);
    if (more > 0 || (more == 0 && best != 0 && tightness_of(group, free) < tightness_of(best, free))) best = group;
  });
  return best & free;
}

DeviceMask lowest_devices(DeviceMask devices, int count) {
  DeviceMask chosen = 0;
  for (; count > 0; --count) {
    chosen |= devices & -devices;
    devices &= devices - 1;
  }
  return chosen;
}

}  // namespace

DeviceMask choose_linked_devices(const NodeKind& kind, DeviceMask free, int count) {
  DeviceMask scope = kAllDevices;
  DeviceMask chosen = 0;
  while (count > 0) {
    if (const DeviceMask group = tightest_group(kind, scope, free, count); group != 0) {
      scope = group;
      continue;
    }
    // No group inside has enough: take all of the one that brings us furthest, then look for the rest in what is left.
    const DeviceMask part = fullest_group(kind, scope, free);
    if (part == 0) return chosen | lowest_devices(scope & free, count);
    chosen |= part;
    free &= ~part;
    count -= std::popcount(part);
  }
  return chosen;
}

std::optional<DeviceMask> choose_devices(const NodeView& view, const TaskShape& shape, const NodeScore& policy) {
  if (!is_feasible(view, shape)) return std::nullopt;
  if (shape.gpu_count == 0) return DeviceMask{0};
  const DeviceMask feasible = feasible_devices(view, shape);
  if (shape.is_fraction()) return DeviceMask{1} << policy.choose_device(view, shape, feasible);
  if (view.kind->link_groups.empty()) return lowest_devices(feasible, shape.gpu_count);
  return choose_linked_devices(*view.kind, feasible, shape.gpu_count);
}

}  // namespace berth
