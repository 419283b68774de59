// RUN SYNC: what is true wins. What executors see becomes rows: tasks that run, end or are lost; nodes that fail and
// come back; work on our nodes that is not ours; tasks of ours that nobody knows of.
//
// A run ends when all of its tasks have: succeeded if all did, else as its first task that did not; then the others are
// told to stop first. What that means for its job is store/job_records.h (conclude_run). Where the tables expected
// something else a row of drift says what was found and what was done. Each transaction begins by making sure of the
// lease: whoever has lost it while an executor answered writes nothing of the answer (kConflict).
#pragma once

#include "engine/runtime/executors.h"
#include "engine/store/lease.h"
#include "engine/store/stray_records.h"

namespace berth {

struct SyncReport {
  std::int64_t asked_tasks = 0;
  std::int64_t started_runs = 0;  // all of whose tasks run now
  std::int64_t ended_runs = 0;
  std::int64_t lost_runs = 0;  // of those: nobody saw how they ended
  std::int64_t drifts = 0;
  std::int64_t nodes_lost = 0;
  std::int64_t nodes_back = 0;
  std::vector<Stray> strays;             // that wait for a verdict
  std::vector<std::string> unreachable;  // executors, with what they said
};
enum class Inventories : std::uint8_t { kNowAndThen, kAll };  // see setting inventory_every
Result<SyncReport> observe_executors(Runtime& runtime, Lease& lease, std::vector<LiveExecutor>& executors,
                                     Inventories inventories = Inventories::kNowAndThen);

}  // namespace berth
