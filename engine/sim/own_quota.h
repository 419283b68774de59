// Which jobs a queue would have started on arrival, had it had its quota for itself.
//
// Jobs within quota, told apart by the workload and the quotas and not by what a policy made of them, so that policies
// can be compared on the same jobs: each queue is taken as a cluster of its own, of the size of its quota and without
// fragments, first come first served. A job that starts there as soon as it arrives is entitled. One that would have
// stood in line behind others of its own queue is not, nor is one that asks for more than the quota, which stands in
// nobody's way there. Only the queue's own quota is looked at, and loans as they are now.
//
// In such a line a job's start depends only on those before it, so it is known on arrival: memory grows with what the
// quota holds at one moment, not with the line.
#pragma once

#include <map>
#include <vector>

#include "engine/model/quota_ledger.h"

namespace berth {

class OwnQuota {
 public:
  // `quotas` must outlive this.
  explicit OwnQuota(const QuotaLedger& quotas);

  // Jobs must come in order of submission.
  bool admits(const Job& job, Seconds duration);

 private:
  // Of one queue, at the last start in its line.
  struct Line {
    Seconds last_start;
    Amounts held;
    std::multimap<Seconds, Amounts> ends;  // of what is held
  };
  bool fits(std::int32_t queue, const Amounts& demand, const Amounts& held) const;

  const QuotaLedger& quotas_;
  std::vector<Line> lines_;  // by queue
};

}  // namespace berth
