// The database's own past as the input of a simulation: who submitted what when, how long it truly ran, what was there
// already at the beginning, and what became of it.
//
// A job's true work is the time of its attempts less what evictions undid: each attempt but the last lost what it had
// done since its checkpoint, and the next one began with a restart - counted as the simulator counts it (sim/timed.h).
// Jobs that have not ended are not known to their end: they are taken to run their predicted median (else their time
// limit, else default_duration), at least as long as they have, or left out. A job cancelled before it ever ran is left
// out: nobody knows how long it would have run.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/runtime.h"
#include "engine/sim/backtest_summary.h"
#include "engine/sim/timed.h"

namespace berth {

enum class Unfinished : std::uint8_t { kPredicted, kLeftOut };

struct HistoryRequest {
  Seconds from;
  Seconds to;
  Unfinished unfinished = Unfinished::kPredicted;
  Seconds default_duration{86400};
};

struct RecordedHistory {
  std::vector<TraceJob> jobs;       // sorted by submit; those submitted before `from` are there at that moment
  std::vector<ResumedJob> resumed;  // what is left of those
  std::vector<HistoryRun> learnt;   // runs that finished before `from`: what predictions know then
  std::vector<CountedJob> counted;  // the jobs submitted from `from` on
  std::size_t first_counted = 0;    // their first one's place in `jobs`
  std::vector<JobResult> recorded;  // what became of them
  std::int64_t running_at_start = 0;
  std::int64_t unfinished = 0;  // jobs that have not ended, with an assumed duration or left out
  std::int64_t never_ran = 0;   // cancelled or failed before they ran: left out
  std::int64_t dependent = 0;   // jobs that came after others
  bool knows_waits = false;     // some job waited; imported past jobs may say only how long they ran
  std::int64_t held = 0;        // milli-GPU-seconds that jobs held between the two moments, up to now
};

// kInvalid when nothing was submitted between the two moments, saying when jobs were.
Result<RecordedHistory> read_recorded_history(Runtime& runtime, const HistoryRequest& request);

}  // namespace berth
