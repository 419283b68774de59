// Runs: the attempts of jobs, as rows, from the plan to their end; and what executors are still to be told of them.
//
// A job that has a command and is placed on nodes with an executor gets a run with its placement, in the same
// transaction, and a launch in the outbox; what becomes of it is what the executor says (runtime/observe.h). Until its
// processes are gone it keeps what it holds, so a job that is cancelled or evicted is first told to stop, and ends
// when it has. Other jobs are books only: their runs are written when somebody says that they ended.
//
// The states and every way from one to the next are rows of the table run_edges, which the database enforces; each
// change is a row of run_changes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/model/job.h"
#include "engine/model/plan.h"
#include "engine/store/change.h"

namespace berth {

// Until an executor has seen a run's processes gone: rounds reckon with it, the room is free when they are.
inline constexpr Seconds kEndDelayOfExecutors{1};

enum class RunState : std::uint8_t {
  kPending,    // its launch is in the outbox
  kStarting,   // its executor has it
  kRunning,    // all its tasks run, or have run
  kStopping,   // told to end
  kSucceeded,  // what follows has ended
  kFailed,
  kEvicted,
  kLost,  // nobody saw how it ended: its node, or whoever stood by it, is gone
  kCancelled,
};
std::string_view run_state_name(RunState state);
Result<RunState> read_run_state(std::string_view text);

// Of the last run of a job that has ended so.
RunState run_state_of(JobState ended);

struct LiveRun {
  std::int64_t id = 0;
  std::int64_t job = 0;
  std::int64_t attempt = 0;
  std::int64_t generation = 0;  // of the keys that its tasks have (see exec/executor.h)
  RunState state = RunState::kPending;
  std::optional<RunState> stop_state;  // of one that is stopping: what it will have been
  std::optional<Seconds> told_at;      // its tasks know since then that they are to stop for an eviction
};
// That an executor runs; nothing when the job is books only, or does not run.
Result<std::optional<LiveRun>> live_run_of(Database& db, std::int64_t job);

// Runs, their tasks and launches for those placements whose job has a command and whose node has an executor. The
// placements are in the tables already.
Status write_launches(Change& change, std::int64_t round, std::span<const Placement> placements);

// No version of the state: whoever holds the write lock. kInternal for a way that run_edges does not know.
Status set_run_state(Database& db, const LiveRun& run, RunState to, std::string_view detail, Seconds now);

// Its executors are told to end it; what it holds stays its own until they say that it has. A run that is stopping
// already is at most cancelled instead.
Status stop_run(Change& change, const LiveRun& run, RunState stop_state, std::string_view detail);
// When the last of its tasks ended, as their executors say: no earlier than it began, and no later than now.
Result<Seconds> end_of_tasks(Change& change, const LiveRun& run);
// It has ended at that moment, and this is when we know.
Status end_live_run(Change& change, const LiveRun& run, RunState ended, std::string_view detail, Seconds at);
// What its job holds now, into the row.
Status note_held(Database& db, std::int64_t run, std::int64_t job);
// Its executors are to send its checkpoint signal for an eviction, if it has one.
Status signal_run(Change& change, const LiveRun& run);
// An executor sends the signal now, or has just sent it. A task that ends within the job's grace may have ended for it.
Status note_signalled(Database& db, std::int64_t run, Seconds now, Seconds stop_grace);
// A signal that an executor did not confirm may reach its tasks so much later.
inline constexpr Seconds kMayStillArrive{600};
// The eviction is withdrawn: its signal is not sent any more.
Status withdraw_signal(Change& change, const LiveRun& run);

}  // namespace berth
