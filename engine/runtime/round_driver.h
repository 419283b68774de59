// A round from tables to tables: load, plan, apply - live, or saved as a plan to be looked at first.
//
// RUN takes the lease (one round at a time), and plans again when another statement moved the state between load and
// apply, a few times at most. PLAN needs no lease and changes nothing but the plans table. APPLY refuses a plan whose
// state has moved.
#pragma once

#include <atomic>
#include <vector>

#include "engine/round/schedule.h"
#include "engine/runtime/dispatcher.h"
#include "engine/runtime/runtime.h"
#include "engine/store/apply.h"
#include "engine/store/journal.h"
#include "engine/store/lease.h"
#include "engine/store/load.h"
#include "engine/store/settings.h"

namespace berth {

// The right to run rounds: kBusy naming who has it.
Result<Lease> take_round_lease(Runtime& runtime);

struct RoundOptions {
  const std::atomic<bool>* interrupted = nullptr;
  // Instead of the settings; empty = the settings'.
  std::string order_policy;
  std::string score_policy;
};

// What a round would do, and what it looked at.
struct PlannedRound {
  Loaded loaded;
  ScheduleResult schedule;
  StepSeconds seconds;
  std::vector<PolicyFailure> failures;  // of scripts that were left out of it
};
// From a complete snapshot (that of load_for_planning, or a recorded one) to a complete plan: what live rounds and
// replays share.
Result<ScheduleResult> plan_snapshot(const Snapshot& snapshot, const ScheduleOptions& options);
// Without what earlier rounds held back for assertions.
Result<PlannedRound> plan_round(Runtime& runtime, const RoundOptions& options = {});
// Plans `round.loaded` (again); scripts that fail are replaced, and noted in the round.
Status plan_loaded(Runtime& runtime, PlannedRound& round, const ScheduleOptions& options);

// What is kept of it for REPLAY; nothing when the settings want none.
std::optional<RoundRecord> record_if_wanted(const Settings& settings, const PlannedRound& round);

struct RoundReport {
  Plan plan;  // what was applied; of a round that assertions refused what would have been
  ApplyResult applied;
  StepSeconds seconds;
  CandidateCounters counters;
  DispatchReport dispatched;
  Status watched = {};  // whether the shadows could be planned beside it; the round stands either way
  std::vector<PolicyFailure> failures = {};  // of scripts that were left out of it
};
// kBusy when somebody else runs one; kInterrupted with nothing changed.
Result<RoundReport> run_round(Runtime& runtime, const RoundOptions& options = {});

// Where jobs are held back for assertions (assertion_action), the plan is the one without them.
struct PlanReport {
  std::int64_t id = 0;
  PlannedRound round;
  std::vector<BrokenAssertion> broken;  // it would be refused for
  std::vector<HeldBackJob> held_back;
};
Result<PlanReport> save_round_plan(Runtime& runtime, const RoundOptions& options = {});

// kConflict when it was applied before or the state has moved since, saying what moved. One that would break an
// assertion is refused as a round is.
Result<RoundReport> apply_saved_plan(Runtime& runtime, std::int64_t id, const std::atomic<bool>* interrupted = nullptr);

// kConflict when somebody has applied the plan since it was loaded.
Status check_not_applied(Runtime& runtime, const SavedPlan& saved);
// What it would break if it were applied now.
Result<std::vector<BrokenAssertion>> broken_by_saved_plan(Runtime& runtime, const SavedPlan& saved,
                                                          const std::atomic<bool>* interrupted = nullptr);

// Jobs that the plan starts (or gives more tasks) outside the quota of some queue on their path, in the plan's order.
// `brought`: jobs that have no rows yet.
Result<std::vector<std::int64_t>> borrowing_starts(Runtime& runtime, const Plan& plan, const PlannedJobs& brought = {});

// The snapshot with its typical workload filled in: what planning needs.
Result<Loaded> load_for_planning(Runtime& runtime, const LoadOptions& options);
// The typical workload when these jobs of the snapshot have ended, and one asks for what `is` does in place of `was`.
std::vector<WorkloadShape> workload_then(const Loaded& loaded, std::span<const RunningJob* const> ended, const Job& was,
                                         const Job& is);

}  // namespace berth
