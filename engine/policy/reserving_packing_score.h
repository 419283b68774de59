// reserving_packing: keep the advanced machines for the tasks that need them, pack the others on the rest.
//
// After the reserving-and-packing policy of PAI (NSDI'22; algorithms.md 3.4). Every task has an ordered list of
// allocation plans; the first plan with a feasible node wins, and inside a plan the node with the lowest allocation
// rate after placing (allocation_rate.h).
//
// Stand-ins for what we do not know. The paper's threshold on computation efficiency needs profiles; here a task is
// *high-GPU* when it takes at least kHighGpuDevices whole devices, or names device models and all of them are high-end.
// Model speeds come later; models rank by device memory, then by the most devices a node of that model has, then by
// their order in the cluster (later = more advanced). *High-end* are the top models until they own a quarter of all
// devices, the last model of a cluster with several always excepted.
//
// Plans, first to last:
//   high-GPU   the models from the most to the least advanced
//   other GPU  plain models: (fractions) a device already shared, then any; then the same on high-end models
//   CPU task   nodes without devices, plain models, high-end models
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class ReservingPackingScore : public NodeScore {
 public:
  static constexpr int kHighGpuDevices = 2;

  explicit ReservingPackingScore(const Cluster& cluster);

  ScoreSensitivity sensitivity() const override { return {.memory = true}; }
  Score score(const NodeView& node, const TaskShape& shape) const override;

  // The place of a model in the order of advancement, 0 = the least; the set of high-end models.
  int rank_of(std::int32_t model) const { return rank_[static_cast<std::size_t>(model)]; }
  ModelSet high_end() const { return high_end_; }

 private:
  bool is_high_gpu(const TaskShape& shape) const;
  int plan_for(const NodeView& node, const TaskShape& shape) const;

  std::vector<int> rank_;
  ModelSet high_end_ = 0;
};

}  // namespace berth
