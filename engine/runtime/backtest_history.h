// The database's own past as the input of a simulation: who submitted what when, how long it truly ran, what was there
// already at the beginning, and what became of it.
//
// A job's true work is the time of its attempts less what evictions undid: each attempt but the last lost what it had
// done since its checkpoint, and the next one began with a restart - counted as the simulator counts it (sim/timed.h).
// Jobs that have not ended are not known to their end: they are taken to run their predicted median (else their time
// limit, else default_duration), at least as long as they have, or left out. A job that ended before it ever ran
// (cancelled, most often) waits as it did, until then; should it start, it is taken to run as long as those, and leaves
// at that moment. It is left out when it waited for jobs before it: then it was in nobody's way.
//
// A job that its user held arrives when it is released; one still held that never ran is left out. Of one that its user
// held later on, while it waited, that time is no part of what was recorded.
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
  bool asks_for_use = false;  // RecordedHistory::used
};

struct RecordedHistory {
  std::vector<TraceJob> jobs;         // sorted by submit; those submitted before `from` are there at that moment
  std::vector<ResumedJob> resumed;    // what is left of those
  std::vector<AcceptedJob> accepted;  // those that had not started by their end, or by now
  std::vector<HistoryRun> learnt;     // runs that finished before `from`: what predictions know then
  std::vector<PastUseStretch> used;   // what jobs held before `from`
  std::vector<CountedJob> counted;    // the jobs submitted from `from` on
  std::size_t first_counted = 0;      // their first one's place in `jobs`
  std::vector<JobResult> recorded;    // what became of them, without the time that their users held them
  std::int64_t running_at_start = 0;
  std::int64_t unfinished = 0;  // jobs that have not ended, with an assumed duration or left out
  std::int64_t withdrawn = 0;   // ended before they ran: there until then
  std::int64_t never_ran = 0;   // at once, or waiting for others or their user: left out
  std::int64_t dependent = 0;   // jobs that came after others
  std::int64_t released = 0;    // jobs that their users held for a time
  std::int64_t still_held = 0;  // held and never run: left out
  bool knows_waits = false;     // imported past jobs may say only how long they ran: known if one waited, or ran here
  std::int64_t held = 0;        // milli-GPU-seconds that jobs held between the two moments, up to now
};

// kInvalid when nothing was submitted between the two moments, saying when jobs were.
Result<RecordedHistory> read_recorded_history(Runtime& runtime, const HistoryRequest& request);

}  // namespace berth
