// Which moments of the past are known, and for how long.
//
// A moment is what one committed transaction left. Times need not rise from one to the next, for clocks are set back:
// of the moments up to a time the last that was committed counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/store/sqlite.h"

namespace berth {

// After a committed transaction, and before the next.
struct Moment {
  std::int64_t id = 0;
  Seconds time;              // of the transaction
  std::int64_t version = 0;  // the state version that it left
  Seconds asked;             // for which time; what "now" is
  bool operator==(const Moment&) const = default;
};

// kNotFound when that is not known: before the oldest, in the future, lost with the loading of a snapshot.
Result<Moment> moment_at(Database& db, Seconds time, Seconds now);
// As that version left the state, until the next.
Result<Moment> moment_of_version(Database& db, std::int64_t version);
// "2026-11-01 09:00", "90m ago", "version 12", "round 7" (as it left the state), "now".
Result<Moment> read_moment(Database& db, std::string_view text, Seconds now);
// The same as a time, which may be before the history.
Result<Seconds> read_past_time(Database& db, std::string_view text, Seconds now);

// Deletes what is older than `keep_since`, then the oldest of what takes more than `most_bytes`; in the caller's
// transaction. Moments deleted.
Result<std::int64_t> prune_moments(Database& db, Seconds keep_since, std::int64_t most_bytes);

struct HistoryStatistics {
  std::int64_t moments = 0;
  std::int64_t bytes = 0;
  std::optional<Seconds> since;
};
Result<HistoryStatistics> history_statistics(Database& db);

}  // namespace berth
