// Rounds that cron or a loop runs: RUN SCHEDULE, RUN SYNC, RUN ALL leave a row that says when, how long and how it
// went.
#pragma once

#include <string>
#include <string_view>

#include "engine/runtime/round_driver.h"
#include "engine/runtime/sync.h"

namespace berth {

// Its beginning; end() writes what came of it. Of one that is killed in between nothing is written: it is overdue then.
// Nothing in a read-only session.
class ScheduledRun {
 public:
  // `kind`: 'schedule', 'sync', 'all'.
  static Result<ScheduledRun> begin(Runtime& runtime, std::string_view kind);
  // Of somebody else's: a run that found the lease taken leaves the row of the one that has it alone.
  Status end(const Status& result, const std::string& summary);

 private:
  ScheduledRun(Runtime& runtime, std::string_view kind) : runtime_(&runtime), kind_(kind) {}
  Runtime* runtime_;
  std::string kind_;
  Seconds started_;
  double clock_ = 0;
};

// RUN ALL: sync, then schedule.
struct AllReport {
  SyncOutcome sync;
  RoundReport round;
  std::string summary;  // one line
};
Result<AllReport> run_all(Runtime& runtime, const RoundOptions& options, bool also_down);

std::string summary_of(const SyncOutcome& sync);
std::string summary_of(const RoundReport& round);

}  // namespace berth
