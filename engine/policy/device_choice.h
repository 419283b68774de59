// Which devices of the chosen node a task gets.
//
// Whole devices: the tightest link group that has enough wholly free ones - the fewest free devices, then the smallest
// group, then the lowest device - and inside it the same again, so that no larger group is broken needlessly (the
// "fragment" and "link" rules of tkestack gpu-manager, algorithms.md 2.8). Where no link groups are given: the lowest
// free devices, as fgd.md section 5 says. A fraction: whatever the score policy wants, best fit unless it says
// otherwise.
#pragma once

#include <optional>

#include "engine/policy/policy.h"

namespace berth {

// Nothing when the task does not fit (or only across link groups while it must stay within one). Empty mask for a CPU
// task.
std::optional<DeviceMask> choose_devices(const NodeView& view, const TaskShape& shape, const NodeScore& policy);

// `count` of the devices in `free`, by the link-group rule alone; free must have at least `count` bits.
DeviceMask choose_linked_devices(const NodeKind& kind, DeviceMask free, int count);

}  // namespace berth
