// Promises of CHECK about the past: what jobs, their runs, evictions and rounds say of one another.
//
// Each is one query whose rows are violations: what it is about, and a sentence. ?1, where a query has it, is how far
// the clock was ever set back: times may be wrong by that much without anybody having done wrong.
#pragma once

#include <span>
#include <string_view>

#include "engine/store/check.h"

namespace berth {

struct PromiseQuery {
  Promise promise;
  std::string_view sql;
};

std::span<const PromiseQuery> work_promises();

// How far the clock was set back between two events that are still known.
Result<std::int64_t> clock_set_back(Database& db);

// What the last round recorded of running jobs is what the tables say of them.
inline constexpr Promise kMarksPromise = {"marks_as_decided",
                                          "running jobs count against the quotas that the last round said"};
struct WrongMark {
  std::int64_t job = 0;
  std::int64_t mark = 0;
  std::int64_t decided = 0;
};
// Empty where the last round has no record, or was cut short after it was recorded.
Result<std::vector<WrongMark>> find_wrong_marks(Database& db);

}  // namespace berth
