// fair_share: every queue gets its quota before anybody borrows, the surplus goes by priority band and weight.
//
// A walk down the queue tree (queue_walk.h). Among the children of one queue, first goes
//   1. one below its quota: largest used / quota over the resources counted < 1, and it has a quota; of device models
//      the smallest, over those that it has a quota of and that its jobs wait for;
//   2. of the higher priority band;
//   3. with the smallest used / fair share, the largest over the resources counted; one that asks for a share of 0
//      comes last. Shares are those at the beginning (fair_shares.h: what is used and waited for,
//      k = OrderKnobs::usage_weight);
//   4. of the larger weight, then of the lower id.
// Where quotas divide the device models, a job that may choose is first tried on its queue's own (own_quota_first.h),
// and waits for a share of each model that it may take.
// Resources counted: the governed ones, and all GPUs (CPU in a cluster without GPUs) where no GPU is governed, so that
// departments without quotas are balanced too.
//
// The rank of a queue depends on what it uses, never on the job that is next in it.
// Source: KAI-Scheduler (division of resources, order of queues).
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class FairShareOrder : public QueueOrder {
 public:
  std::vector<std::int32_t> order(const OrderInput& input) const override;
  std::unique_ptr<JobSequence> begin(const OrderInput& input) const override;
  bool goes_first(const Job& one, const Job& other, const OrderInput& input) const override;
};

}  // namespace berth
