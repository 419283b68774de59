// What executors see of nodes: suspect, down, back, set aside; foreign work; and the rows of drift that say so.
//
// A node that is not in order is suspect: nothing new is placed there. If that lasts (setting node_down_after) it is
// down and what ran there is lost: jobs are started again elsewhere, as often as they may. In order again it must stay
// so for a while (node_back_after) before it gets work; one that fails too often within node_flap_window is set aside
// until somebody resumes it.
//
// Where nobody says how nodes are, as their executor does not answer, they take nothing new until it does.
#pragma once

#include <string>

#include "engine/runtime/observe.h"

namespace berth {

struct Drift {
  std::string kind;
  std::string object;
  std::string expected;
  std::string found;
  std::string repair;
};
// A task that its executor has not started for long.
Drift waiting_task(std::int64_t job, std::int64_t attempt, std::string why);
// Tasks that still run after the grace of their stop. `why`: what their executor says; may be empty.
Drift unstopped_task(std::int64_t job, std::int64_t attempt, std::string_view why);
Status note_drift(Runtime& runtime, const ExecutorRecord& executor, const Drift& drift);
// Other than the last row about that object says: for what lasts.
Result<bool> is_news(Database& db, const ExecutorRecord& executor, const Drift& drift);

// Nothing new goes to nodes that have lost their last launches (store/launch_losses.h), for a while.
Status close_resting_nodes(Runtime& runtime, Observation& seen);

// Of executors that have not answered for node_down_after: what runs there runs on, and nothing new is placed there.
Status close_silent_nodes(Runtime& runtime, SyncReport& report);

Status watch_nodes(Runtime& runtime, const ExecutorRecord& executor, const Observation& seen, SyncReport& report);

}  // namespace berth
