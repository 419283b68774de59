// The schedule round: order, place. Snapshot in, plan out, nothing else.
//
// Jobs are tried in the order policy's sequence; each is placed by the score policy through the Placer; one that does
// not fit is passed over and keeps its one dominant reason. The same function runs in RUN, PLAN, SIMULATE and EXPLAIN.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "engine/model/plan.h"
#include "engine/model/snapshot.h"
#include "engine/policy/candidates.h"

namespace berth {

struct ScheduleOptions {
  const std::atomic<bool>* interrupted = nullptr;  // Ctrl-C: the round ends with kInterrupted and no plan
  std::function<void(std::string_view step)> step_begins =
      {};  // "order", "place", "reasons": who has a clock can time them
#ifdef NDEBUG
  bool check_invariants = false;  // after every job: no node or device over-allocated
#else
  bool check_invariants = true;
#endif
};

struct ScheduleResult {
  Plan plan;
  CandidateCounters counters;
  std::int64_t jobs_tried = 0;
};

// Plans on `ledger`, which must hold the snapshot's allocations and holds the plan's placements too afterwards.
Result<ScheduleResult> plan_schedule_on(const Snapshot& snapshot, Ledger& ledger, const ScheduleOptions& options = {});
Result<ScheduleResult> plan_schedule(const Snapshot& snapshot, const ScheduleOptions& options = {});

// The ledger of what runs now; kCorrupt when the allocations do not fit their nodes.
Result<Ledger> ledger_of(const Snapshot& snapshot);

}  // namespace berth
