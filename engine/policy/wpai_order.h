// wpai: jobs that their department's own quota covers, far before those that would borrow.
//
//   score = 1,000,000 x own + 1,000 x borrowed + extra, highest first, ties by (submit, id)
//   own       the part of what the job asks for that unused quota covers: the least over the governed resources it asks
//             for and the queues on its path; borrowed = 1 - own. Without quotas all is own. Of a job that may choose
//             between models: the most of any; it is first tried on its queue's own (own_quota_first.h)
//   extra     wait bonus (OrderKnobs::wpai_wait_bonus) x minutes waited - low-use penalty (wpai_low_use_penalty) x
//             (100 - percent of the GPU asked for that such jobs used; unknown: no penalty), kept within +-499
// The extra cannot turn the order of covered and borrowing jobs round: both sums differ by at least 1,000 where own is
// 1 in one and 0 in the other.
//
// The score of a job moves with what its queue uses, not with the other jobs. Jobs of one queue that ask for the same
// move together, so a step costs the logarithm of the number of such groups, and a change of usage one look at each.
// Source: 58.com WPAI, quota weights 1,000,000 and 1,000 as published; the extra terms are named there, not given.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class WpaiOrder : public QueueOrder {
 public:
  std::vector<std::int32_t> order(const OrderInput& input) const override;
  std::unique_ptr<JobSequence> begin(const OrderInput& input) const override;
};

}  // namespace berth
