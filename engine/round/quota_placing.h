// Places a job where its quota has room.
//
// Which device models a job counts for is known only when it is placed. A placement that uses more than a quota or a
// limit has left is taken back. Then the job is placed in parts, as many tasks on each model as the quota takes there:
// first on the model where most would have lain. So a gang may be within quota on several models together, also in one
// rack. Tasks beyond the gang are asked for only as far as the quota takes them.
//
// What is a queue's own comes before what it borrows: on_own_models() says which models those are.
#pragma once

#include <functional>
#include <optional>

#include "engine/model/quota_ledger.h"
#include "engine/round/placer.h"

namespace berth {

struct QuotaPlacing {
  JobOutcome outcome;     // its tasks are in the ledger, uncommitted, when started
  QuotaVerdict verdict;   // of the last placement; not admitted only when not started
  bool narrowed = false;  // not started: the quota would take it on other models, but there is no room there
};

// Tries a job on the ledger, like Placer::place_job. `is_part`: some of its tasks only, others may follow.
using TryPlacing = std::function<JobOutcome(const Job& job, bool is_part)>;

// `end`: of the job, see QuotaLedger::judge. `own`: it stays within the quotas of the queues of its path at these
// depths.
QuotaPlacing place_within_quota(const QuotaLedger& quotas, Ledger& ledger, const Job& job, Seconds end,
                                const TryPlacing& place, std::uint32_t own = 0);

// What the gang counts for, divided over the models so that it fits, part by part; nothing = it does not. Room on nodes
// is not looked at.
std::optional<Amounts> divide_demand(const QuotaLedger& quotas, const Job& job,
                                     const std::function<bool(const Amounts&)>& fits);

// The job on models of which the first `levels` queues of its path have quota left; nothing: there are none, or by
// count it would borrow from them.
std::optional<Job> on_own_models(const QuotaLedger& quotas, const Job& job, Seconds end, int levels);

}  // namespace berth
