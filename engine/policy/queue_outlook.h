// What a round leaves each queue with: its fair share, and since when work waits that its unused quota would cover.
//
// A pure function of a snapshot, its plan and the usage after it. Work starves where a waiting job could start within
// the quota of its queue and of all above it, had the cluster room: its queue and those above it wait for what is
// theirs. Jobs that wait for others do not count. One that may run on several device models starves of each whose quota
// would cover all of it; that quotas of two models together would is not seen. Time: waiting jobs times depth of the
// tree times resources, where there are quotas by model times the models they may run on.
#pragma once

#include <vector>

#include "engine/model/plan.h"
#include "engine/model/quota_ledger.h"
#include "engine/model/snapshot.h"

namespace berth {

// By queue, then resource, of governed resources; empty when nobody has a quota. Fair shares are those of
// fair_shares.h.
std::vector<QueueOutlook> queue_outlook(const Snapshot& snapshot, const Plan& plan, const QuotaLedger& after);

}  // namespace berth
