// REPLAY: plans a recorded round again, from what it looked at, and compares with what it decided.
//
// Nothing but the record is read, so a round can be replayed when the state has long moved, after a restart, and by
// another program than the one that planned it: over all kept rounds that is a regression test of a new version.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "engine/runtime/runtime.h"
#include "engine/store/round_records.h"

namespace berth {

// What one plan says of something and the other does not say, or says otherwise.
struct PlanDifference {
  std::string object;    // "job bert", "queue ads", "round"
  std::string recorded;  // "starts: n1 [0,1]", empty = nothing
  std::string replayed;
};
// By object, in the order of `recorded`, then of what is only in `replayed`. Empty only for equal plans. Names of jobs
// come from the tables while those remember them, names of nodes and queues from `snapshot`.
Result<std::vector<PlanDifference>> compare_plans(Database& db, const Snapshot& snapshot, const Plan& recorded,
                                                  const Plan& replayed);

struct Replay {
  std::int64_t round = 0;
  std::string kind;
  Seconds at;
  std::string engine;
  std::int64_t started_jobs = 0;
  std::int64_t waiting_jobs = 0;
  bool is_equal = false;   // to the byte
  std::string unreadable;  // why the record could not be read; then nothing else is known
  std::vector<PlanDifference> differences;
  double recorded_seconds = 0;  // it took to plan, then
  double replayed_seconds = 0;  // and now
};
// kNotFound as read_recorded_round; a record that is damaged or of another format is an answer.
Result<Replay> replay_round(Runtime& runtime, std::int64_t round, const std::atomic<bool>* interrupted = nullptr);

// Rounds in [from, to] that have a record, in order.
Result<std::vector<std::int64_t>> recorded_rounds(Database& db, std::int64_t from, std::int64_t to);

}  // namespace berth
