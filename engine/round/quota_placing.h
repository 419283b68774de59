// Places a job where its quota has room.
//
// Which device models a job counts for is known only when it is placed. A placement that uses more of a model than its
// quota or a limit has left is taken back and tried again with fewer tasks there: as many as were too many go elsewhere
// first. So a gang may be within quota on several models together. Tasks that must be near each other keep off the
// model altogether. Tasks beyond the gang are asked for only as far as the quota takes them.
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
  bool narrowed = false;  // tasks kept off models, and elsewhere they do not fit now
};

// Tries a job on the ledger, like Placer::place_job. `is_part`: some of its tasks only, others will follow.
using TryPlacing = std::function<JobOutcome(const Job& job, bool is_part)>;

// `end`: of the job, see QuotaLedger::judge. `levels`: it stays within the quotas of so many queues of its path, from
// the root down.
QuotaPlacing place_within_quota(const QuotaLedger& quotas, Ledger& ledger, const Job& job, Seconds end,
                                const TryPlacing& place, int levels = 0);

// The job on models of which the first `levels` queues of its path have quota left; nothing: there are none, or by
// count it would borrow from them.
std::optional<Job> on_own_models(const QuotaLedger& quotas, const Job& job, Seconds end, int levels);

}  // namespace berth
