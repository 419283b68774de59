// From the outbox to the executors: what was decided is told, at least once, and forgotten when it has been taken in.
//
// A row leaves the outbox only after its executor has answered, so a crash at any moment means that it is told again,
// under the same key, and executors start a key once (exec/executor.h). Whoever dispatches holds the lease of rounds.
// It checks the lease before every call, as two at once could start a key twice, and in each transaction that takes in
// an answer. Without the lease the answer is left, and a later round tells the row again. Others may change the tables
// between, so an answer is matched with what the tables say when it is taken in.
// An executor may take in a stop that its tasks never get: Slurm loses signals that wait for a node when its controller
// restarts. So a stop stays in the outbox until its tasks have ended. Berth repeats a stop whose tasks still run after
// their grace, at growing intervals, and notes them as drift.
// An executor that cannot be reached is left alone for a while, longer each time; its rows wait. When it answers again,
// Berth first asks what its tasks do and then stops victims: a task may have ended by itself meanwhile.
#pragma once

#include "engine/runtime/executors.h"
#include "engine/store/lease.h"

namespace berth {

struct DispatchReport {
  std::int64_t launches = 0;  // taken in, now or by an earlier telling
  std::int64_t tasks = 0;     // of those
  std::int64_t stops = 0;
  std::int64_t refused = 0;  // launches that never will be: their jobs have failed
  std::int64_t waiting = 0;  // rows that are to be told again later
  Status refusal;            // why nobody was told: the database is a copy, or its folder is another user's
};
// Which victims a dispatch tells their executor to stop.
enum class DispatchStops : std::uint8_t {
  kNew,  // none of an executor that was down, none that was tried before: its tasks were not asked about since
  kAll,
};
Result<DispatchReport> dispatch(Runtime& runtime, Lease& lease, std::vector<LiveExecutor>& executors,
                                DispatchStops stops = DispatchStops::kAll);

}  // namespace berth
