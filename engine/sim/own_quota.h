// Which jobs a queue's quota alone would have started on arrival.
//
// Jobs within quota, told apart by the workload and the quotas and not by what a policy made of them, so that policies
// can be compared on the same jobs: each queue is taken as a cluster of its own, of the size of its quota and without
// fragments; a job that fits there when it arrives is entitled and holds its share for its duration, any other is not
// and holds nothing. Only the queue's own quota is looked at, and loans as they are now.
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
  const QuotaLedger& quotas_;
  std::vector<Amounts> held_;                          // by queue
  std::vector<std::multimap<Seconds, Amounts>> ends_;  // by queue
};

}  // namespace berth
