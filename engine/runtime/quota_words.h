// Why the quota or limit of a queue keeps a job waiting, in words: what is used, what is allowed, what is lacking; and
// what might help, to be proved first.
#pragma once

#include <string>

#include "engine/model/plan.h"
#include "engine/model/quota_ledger.h"
#include "engine/model/snapshot.h"
#include "engine/runtime/reason_words.h"

namespace berth {

struct QuotaWait {
  bool helps = false;     // the job is expected to start without anybody doing anything
  std::string date = {};  // "2026-02-01 00:00:00, when the dated limit of q of gpu ends"; empty = when jobs end
};

// `quotas`: as they are now; `after`: as the round leaves them that refuses the job.
SaidReason say_quota(const Waiting& waiting, const Snapshot& snapshot, const QuotaLedger& quotas,
                     const QuotaLedger& after, const QuotaWait& wait);

}  // namespace berth
