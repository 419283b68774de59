// What the jobs of each queue hold, by device model: kept in step with the allocations, so that a change costs what it
// changes and not what runs.
//
// Every writer of allocations says what it adds or takes away, inside its transaction; CHECK counts anew. Amounts are
// milli-cores, MiB and milli-GPU; a queue that holds nothing may have rows of zeros.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "engine/model/plan.h"
#include "engine/store/change.h"

namespace berth {

struct QueueUseRow {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t gpu = 0;

  bool operator==(const QueueUseRow&) const = default;
};
// By ids of queue and device model; 0 = nodes without devices.
using QueueUseRows = std::map<std::pair<std::int64_t, std::int64_t>, QueueUseRow>;

Status add_use(Database& db, const QueueUseRows& more);
// What the job, or one task of it, holds is about to be deleted.
Status take_away_use(Change& change, std::int64_t job, std::optional<TaskName> task = std::nullopt);
// From the allocations: nodes may have other devices now.
Status recount_use(Database& db);

Result<QueueUseRows> read_use(Database& db);   // as kept
Result<QueueUseRows> count_use(Database& db);  // from the allocations

}  // namespace berth
