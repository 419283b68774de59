// What the ends of its tasks mean for a run. The one place that decides it, for every executor.
//
// A task that ended after it was told to stop for an eviction (LiveRun::told_at) was ended by the eviction, however it
// ended: exit code 0 says that it saved its work, not that the work is done. It is done if the task says so (see
// engine/exec/done_file.h), or if it ended well before its executor told it to stop, as far as that is certain, or
// could be told. All other tasks ended by themselves: well, badly, or lost.
#pragma once

#include <string>

#include "engine/store/run_records.h"

namespace berth {

struct RunOutcome {
  bool has_live_tasks = false;
  // kSucceeded while nothing went wrong by itself; then kFailed or kLost, which the others are to stop for. Once no
  // task is live also kEvicted, or what the run was stopped for.
  RunState state = RunState::kSucceeded;
  std::string detail;  // how the first task that did not end well ended
};
Result<RunOutcome> judge_run(Database& db, const LiveRun& run);

}  // namespace berth
