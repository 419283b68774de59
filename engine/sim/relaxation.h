// An upper bound on what any placement of a demand can allocate, to say how close a policy comes.
//
// The best packing of all tasks at once is too hard; a relaxation of it is not. Dropped: memory, device memory, link
// groups, gangs, the CPU that CPU-only tasks take, and the order of arrival. What is kept is exact: devices, fractions
// of devices, CPU, allowed models and pools, and that no more of a shape can be placed than is asked for. The last is
// what ties the nodes together; it is priced instead (Lagrangian relaxation): for prices y >= 0 of the shapes,
//
//   bound(y) = sum over shapes of y x demand  +  sum over nodes of the best packing of that node, a task being worth
//   (its GPU - y)
//
// is an upper bound whatever y is. The best packing of one node is found by dynamic programming: fractions on a device,
// devices on a node, both over whole CPU units (tasks rounded down, nodes up). Subgradient steps lower the bound over
// y.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/cluster.h"
#include "engine/model/shape.h"

namespace berth {

struct ShapeDemand {
  TaskShape shape;
  std::int64_t tasks = 0;
};

// Most milli-GPU that tasks of `demand` can hold at once on the empty cluster, at most what is asked for and what there
// is. More steps give a tighter bound; any number gives a valid one.
double allocation_bound(const Cluster& cluster, std::span<const ShapeDemand> demand, std::int32_t steps = 400);

}  // namespace berth
