// Would the end of a loan serve its lender? A round is played at that moment, with and without those who are to stop.
//
// Room on the nodes and in the quota is not enough: an earlier job of the lender may keep later ones behind it, or hold
// the room for itself. Nobody is evicted in that round, so it says what the stops alone bring.
//
// Time: that of a round.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/plan.h"
#include "engine/model/snapshot.h"

namespace berth {

struct ScheduleOptions;

// What of a running job has ended by then.
struct EndedPart {
  std::int64_t job = 0;
  std::vector<TaskName> tasks = {};  // empty = all
};

// The waiting jobs that a round at that moment would start, by id, were `ended` gone. An empty function plays no round.
using StartsThen = std::function<Result<std::vector<std::int64_t>>(Seconds then, std::span<const EndedPart> ended)>;

// `snapshot` must outlive it.
StartsThen starts_then(const Snapshot& snapshot, const ScheduleOptions& options);

// What holds at the end of a loan.
QuotaTable quotas_at(QuotaTable table, Seconds end);

}  // namespace berth
