#include "engine/sim/own_quota.h"

#include <algorithm>
#include <limits>

namespace berth {

OwnQuota::OwnQuota(const QuotaLedger& quotas)
    : quotas_(quotas),
      lines_(quotas.queues().size(),
             Line{.last_start = Seconds(std::numeric_limits<std::int64_t>::min()), .held = quotas.none(), .ends = {}}) {
}

bool OwnQuota::fits(std::int32_t queue, const Amounts& demand, const Amounts& held) const {
  for (std::size_t r = 0; r < demand.size(); ++r) {
    if (demand[r] == 0 || !quotas_.is_judged_by(queue, r, demand)) continue;
    if (held[r] + demand[r] > quotas_.quota(queue, r)) return false;
  }
  return true;
}

bool OwnQuota::admits(const Job& job, Seconds duration) {
  if (job.queue < 0) return false;
  const Amounts demand = quotas_.demand_in_full(job);
  if (!fits(job.queue, demand, quotas_.none())) return false;
  Line& line = lines_[static_cast<std::size_t>(job.queue)];
  Seconds start = std::max(job.submit, line.last_start);
  while (!line.ends.empty() && (line.ends.begin()->first <= start || !fits(job.queue, demand, line.held))) {
    const auto& [end, amounts] = *line.ends.begin();
    start = std::max(start, end);
    for (std::size_t r = 0; r < line.held.size(); ++r) line.held[r] -= amounts[r];
    line.ends.erase(line.ends.begin());
  }
  for (std::size_t r = 0; r < line.held.size(); ++r) line.held[r] += demand[r];
  line.ends.emplace(start + duration, demand);
  line.last_start = start;
  return start == job.submit;
}

}  // namespace berth
