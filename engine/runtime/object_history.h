// SHOW HISTORY: everything that happened to one job, node or queue, oldest first, and who did it.
//
// Put together from the history of the tables (what changed, to the column), from events (who asked for it), and from
// rows that keep their own times: attempts, evictions, stretches of waiting. As far back as each of them is kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/runtime.h"

namespace berth {

enum class HistoryOf : std::uint8_t { kJob, kNode, kQueue };

struct Happening {
  Seconds time;
  std::string what;
  std::string who;     // "" = nobody asked for it: it follows from something else
  std::string detail;  // "round 7", "wait: 3 of 8 tasks fit", a statement
};

struct ObjectHistoryRequest {
  HistoryOf of = HistoryOf::kJob;
  std::string name;  // of a job also its number
  std::optional<Seconds> from;
  std::optional<Seconds> to;
};
// kNotFound with the nearest name when there is nothing of that name, nor ever was as far as is known.
Result<std::vector<Happening>> object_history(Runtime& runtime, const ObjectHistoryRequest& request);

}  // namespace berth
