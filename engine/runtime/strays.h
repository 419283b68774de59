// Tasks of ours that executors see and that no live run has.
//
// Where the tables have their run it is over, and they are stopped: their node was lost and is back, say. Where they do
// not, the database was restored from a state before it: then they are held (see store/stray_records.h).
#pragma once

#include <vector>

#include "engine/runtime/observe.h"
#include "engine/store/stray_records.h"

namespace berth {

struct StraysSeen {
  std::vector<TaskObservation> over;  // to be stopped
  std::vector<Stray> held;
  std::vector<TaskObservation> held_tasks;  // of each
};
// What was launched while the executor looked is neither.
Result<StraysSeen> judge_unknown_tasks(Runtime& runtime, const Observation& seen);

// Nothing new goes to the nodes of those that are held: on all nodes seen where a stray's own is not known.
void close_nodes(const std::vector<Stray>& held, Observation& seen);

// Notes them, holds their jobs, stops those that are to be stopped. After ended runs have been settled.
Status look_after_strays(Runtime& runtime, LiveExecutor& live, const StraysSeen& strays, SyncReport& report);

}  // namespace berth
