// Jobs that the last round held back for an assertion, as rows: what EXPLAIN and forecasts reckon with.
//
// A round does not trust them: it tries every job anew. What it goes by are refusals: when a waiting job was last held
// back by itself. The row goes once the job no longer waits, the assertion is gone or off, or the setting
// reservation_ttl has passed.
#pragma once

#include <span>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/store/assertion_records.h"
#include "engine/store/change.h"

namespace berth {

// Of assertions that are on, in job order: of whole jobs, and of jobs that got the tasks they need.
Result<std::vector<AssertionHold>> read_assertion_holds(Database& db);
Result<std::vector<AssertionHold>> read_surplus_holds(Database& db);

// Of jobs that wait and assertions that are on, as far as they count at that moment; in job order.
Result<std::vector<AssertionRefusal>> read_assertion_refusals(Database& db, Seconds now, const RoundRules& rules);
// Of a job that no longer waits.
Status drop_refusal(Change& change, std::int64_t job);

// A job that a round was seen to break an assertion with.
struct HeldBackJob {
  std::int64_t job = 0;
  BrokenAssertion broken;
  bool only_surplus = false;  // not with the tasks that it needs
};

// Replaces them; both in job order. A job that was tried and is held whole is refused now. Of each that was tried there
// is an event with what `seen` knows of it, unless it was held or refused before.
Status write_assertion_holds(Change& change, std::span<const AssertionHold> holds,
                             std::span<const AssertionHold> surplus_holds, std::span<const HeldBackJob> seen);

}  // namespace berth
