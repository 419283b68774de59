// APPLY PLAN of a change: the statement that was planned and the round after it, together or not at all.
//
// Both happen in one transaction: the statement is run again, and then the saved round is written, not planned anew.
// Refused, with nothing changed, when the state has moved since, when a file that the statement reads has, when an
// assertion would break, or when the statement itself is refused now.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/runtime/round_driver.h"
#include "engine/store/journal.h"

namespace berth {

// The statement with digests of the files that it reads. kUnavailable for a file that cannot be read.
// `spoken`: the same for readers, with what is secret masked.
Result<PlannedStatement> planned_statement(std::string text, std::string spoken, const std::vector<std::string>& files);

// `make_change` runs the plan's statement through runtime.change(). kConflict as said above, but for assertions: one
// that would break is an answer.
Result<RoundReport> apply_saved_change(Runtime& runtime, const SavedPlan& saved,
                                       const std::function<Status()>& make_change,
                                       const std::atomic<bool>* interrupted = nullptr);
// What it would break if it were applied now; the other errors are those of applying it.
Result<std::vector<BrokenAssertion>> broken_by_saved_change(Runtime& runtime, const SavedPlan& saved,
                                                            const std::function<Status()>& make_change,
                                                            const std::atomic<bool>* interrupted = nullptr);

}  // namespace berth
