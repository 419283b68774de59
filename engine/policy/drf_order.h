// drf: the queue with the smallest dominant share goes first, hierarchically.
//
// A walk down the queue tree (queue_walk.h). Among the children of one queue, first goes the one with the smallest
//   share = max over resources of usage / capacity, divided by the queue's weight (weight 0: last of all),
// then the lower id. CPU, memory and all GPUs count; a resource that is used up does not, unless all are. The usage of
// an inner queue is not simply the sum: each child that has jobs waiting is scaled down to the smallest share among
// those, so that children who use different resources do not make their parent look greedy and starve it.
//
// Quotas play no part in the order. The rank of a queue depends on what it uses, and on which queues had jobs waiting
// at the beginning; never on the job that is next in it. Sources: Ghodsi et al., Dominant Resource Fairness, NSDI'11;
// Bhattacharya et al., Hierarchical Scheduling for Diverse Datacenter Workloads (H-DRF), SoCC'13.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class DrfOrder : public QueueOrder {
 public:
  std::vector<std::int32_t> order(const OrderInput& input) const override;
  std::unique_ptr<JobSequence> begin(const OrderInput& input) const override;
  bool goes_first(const Job& one, const Job& other, const OrderInput& input) const override;
};

}  // namespace berth
