// Queues and what they own, from the tables, as they hold at one moment.
//
// The terms of a queue for a resource are its row without dates, overridden column by column by the rows with dates
// that hold: one that begins later counts more, then one made later. A loan holds from valid_from until just before
// valid_to, unless it has been returned. No rows: an empty table, and reading it costs nothing.
#pragma once

#include <string>
#include <vector>

#include "engine/model/quota.h"
#include "engine/model/snapshot.h"
#include "engine/store/sqlite.h"

namespace berth {

struct QuotaState {
  std::vector<Queue> queues;  // in id order; decayed_usage is left 0
  QuotaTable quotas;          // resources: cpu, memory, gpu, then models and families by name
};

Result<QuotaState> load_quotas(Database& db, Seconds now);

// What begins or ends by itself after `since`, up to `until`: "loan 3 of ads to nlp ended at 2026-11-01 10:00:00". Then
// load_quotas tells different things of the two moments, though nobody has changed anything.
Result<std::vector<std::string>> dates_passed(Database& db, Seconds since, Seconds until);

// Index of the queue with that id; -1 = none.
std::int32_t queue_index(const std::vector<Queue>& queues, std::int64_t id);

}  // namespace berth
