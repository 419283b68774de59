// How much of a resource each queue is due: quota first, the surplus by priority band and weight, over the tree.
//
// Among the children of one queue (and among the roots), after KAI-Scheduler's resource division:
//   want = min(request, limit);  share = min(quota, want)
//   for each priority band, highest first, while something is left: W = weight / sum of the weights of those whose
//   share is below want; each of them gets rest x w / sum(w) with w = max(0, W + k (W - usage)), at most up to want;
//   again with what that left over. What rounding leaves goes out one unit each, largest remainder first.
// Then each share is divided among the children of its queue; their usage is the part of what their parent is due, or
// used where that is more. Shares of siblings never exceed what is divided: where
// quotas alone do, they are cut in proportion. A queue that asks for less than its quota leaves the rest to others.
//
// A pure function: orders rank queues by usage / share, views show the shares. Equal input, equal shares; ties go to
// the lower index. Time: queues of a family squared in the worst case, usually a few passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/quota_ledger.h"

namespace berth {

// Amounts in the units of the resource.
struct ShareClaim {
  std::int64_t quota = 0;
  std::int64_t request = 0;  // what it uses and waits for
  std::int64_t limit = kNoLimit;
  double weight = 1;
  std::int32_t priority_band = 0;
  double usage = 0;  // decayed use, as a part of what all GPUs could have given
};

// What each of these siblings is due of `total`. `usage_weight`: k above; 0 = past use does not count.
std::vector<std::int64_t> divide_fairly(std::int64_t total, std::span<const ShareClaim> claims,
                                        double usage_weight = 0);

// The same over the tree. `claims` by queue, of its own jobs; those of inner queues are added up here. One claim more
// than queues: that of jobs without a queue, a root.
std::vector<std::int64_t> fair_shares(std::span<const Queue> queues, std::int64_t total, std::vector<ShareClaim> claims,
                                      double usage_weight = 0);

// What the queues claim of one resource of the ledger: their terms, what they use and `waiting` (amounts by queue, last
// those of jobs without one; their own jobs' alone). `half_life`: that of Queue::decayed_usage, milli-GPU-seconds, of
// which the whole is what all GPUs in use for ever would have; that of an inner queue is at least that of those below.
std::vector<ShareClaim> claims_of(const QuotaLedger& ledger, std::size_t resource, std::span<const Amounts> waiting,
                                  Seconds half_life);

}  // namespace berth
