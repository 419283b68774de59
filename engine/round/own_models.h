// For which quotas of device models a job that several models suit would be within its own.
//
// Such a job counts for none of them before it is placed, so no quota of a model is taken back for it as it is.
#pragma once

#include <vector>

#include "engine/model/quota_ledger.h"

namespace berth {

// What it would be on the models of each such quota alone, where that has room until `end`, as in QuotaLedger::judge. A
// quota of gpu stands for the models of which the queue has none.
std::vector<Job> on_each_own_model(const QuotaLedger& quotas, const Job& job, Seconds end);

// Depths of the queue's path at which a quota is as large as the demand.
std::uint32_t depths_that_suffice(const QuotaLedger& quotas, std::int32_t queue, const Amounts& demand);

}  // namespace berth
