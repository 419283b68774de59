// How full a node would be after placing a task: the balance measure that worst_fit and reserving_packing share.
//
// The mean of the CPU, memory and GPU allocation rates, each the part of the node's own capacity in use
// (algorithms.md 3.4; weights one third each). A resource that the node does not have counts as 0.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

// 0 = empty, kFullRate = all of everything in use.
inline constexpr Score kFullRate = 1'000'000;
Score allocation_rate_after(const NodeView& node, const TaskShape& shape);

}  // namespace berth
