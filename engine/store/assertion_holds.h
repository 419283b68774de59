// Jobs that the last round held back for an assertion, as rows: what EXPLAIN and forecasts reckon with.
//
// A round does not trust them: it tries every job anew.
#pragma once

#include <span>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/store/assertion_records.h"
#include "engine/store/change.h"

namespace berth {

// Of assertions that are on, in job order.
Result<std::vector<AssertionHold>> read_assertion_holds(Database& db);

// A job that a round was seen to break an assertion with.
struct HeldBackJob {
  std::int64_t job = 0;
  BrokenAssertion broken;
};

// Replaces them; `holds` in job order. Writes an event for each job that was tried and was not held before, with what
// `seen` knows of it.
Status write_assertion_holds(Change& change, std::span<const AssertionHold> holds, std::span<const HeldBackJob> seen);

}  // namespace berth
