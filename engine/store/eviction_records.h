// Evictions of a round, as rows: those that end now, and those whose victims get a grace to write a checkpoint.
//
// A job that an executor runs is told to stop, and evicted once its processes are gone (finish_eviction): rounds reckon
// with that (RunningJob::end_delay).
//
// The decision is one row in evictions, whenever its end comes. A victim with a grace is in stopping_jobs until then; a
// later round, whose time has come past it, has the same eviction in its plan again, and that ends it.
//
// That a job is told to stop and that its tasks get their checkpoint signal are two moments when the stop is further
// away than the grace, as at the end of a loan: the job works on until its grace begins. Rounds and syncs send the
// signals that are due, and those that would be late if they waited for the next one. The grace is kept: when its
// signal is late, the job stops later.
#pragma once

#include <span>

#include "engine/model/plan.h"
#include "engine/store/change.h"

namespace berth {

struct EvictionCounts {
  std::int64_t ended = 0;     // jobs that wait again
  std::int64_t shrunk = 0;    // jobs that gave up surplus tasks
  std::int64_t stopping = 0;  // jobs told to stop
};

// Those of `plan`, in its order; a grace begins now, however old the plan is. kConflict when a victim does not run (any
// more) or would keep less than a gang. `are_gone`: those of executors end as if their processes were gone.
Result<EvictionCounts> write_evictions(Change& change, std::int64_t round, const Plan& plan, bool are_gone = false);

// There are signals for send_due_signals().
Result<bool> has_due_signals(Database& db, Seconds now);
Status send_due_signals(Change& change);

// A job that an executor ran has ended at that moment, because it was told to stop: it waits again.
Status finish_eviction(Change& change, std::int64_t job, Seconds ended);

// A job that may have been told to stop has ended by itself: it lost nothing.
Status forgive_eviction(Change& change, std::int64_t job);

// Jobs told to stop run on, as if they never had been. kConflict when one is not stopping.
Status withdraw_evictions(Change& change, std::span<const std::int64_t> jobs);

}  // namespace berth
