#include "engine/sim/own_quota.h"

namespace berth {

OwnQuota::OwnQuota(const QuotaLedger& quotas)
    : quotas_(quotas), held_(quotas.queues().size(), quotas.none()), ends_(quotas.queues().size()) {}

bool OwnQuota::admits(const Job& job, Seconds duration) {
  if (job.queue < 0) return false;
  Amounts& held = held_[static_cast<std::size_t>(job.queue)];
  std::multimap<Seconds, Amounts>& ends = ends_[static_cast<std::size_t>(job.queue)];
  for (; !ends.empty() && ends.begin()->first <= job.submit; ends.erase(ends.begin())) {
    for (std::size_t r = 0; r < held.size(); ++r) held[r] -= ends.begin()->second[r];
  }
  const Amounts demand = quotas_.demand_in_full(job);
  for (std::size_t r = 0; r < held.size(); ++r) {
    if (quotas_.counts_for(job.queue, r) && demand[r] > 0 && held[r] + demand[r] > quotas_.quota(job.queue, r)) return false;
  }
  for (std::size_t r = 0; r < held.size(); ++r) held[r] += demand[r];
  ends.emplace(job.submit + duration, demand);
  return true;
}

}  // namespace berth
