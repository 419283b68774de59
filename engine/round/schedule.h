// The schedule round: order, place, reserve, make room. Snapshot in, plan out, nothing else.
//
// Jobs for which victims were told to stop are tried first, then all in the order policy's sequence, each as
// round/pass.h says; one that does not start keeps its one dominant reason. The same function runs in RUN, PLAN,
// SIMULATE and EXPLAIN.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/snapshot.h"
#include "engine/policy/candidates.h"
#include "engine/policy/policy.h"
#include "engine/policy/registry.h"
#include "engine/round/round_state.h"

namespace berth {

struct ScheduleOptions {
  const std::atomic<bool>* interrupted = nullptr;  // Ctrl-C: the round ends with kInterrupted and no plan
  // The round ends when the fate of this job is known: when it has been tried, and where others may be evicted and it
  // did not start, when it has been tried again (Pass::leaves_room). Of those that wait only its reason is looked for
  // at the nodes. 0 = all jobs.
  std::int64_t until_job = 0;
  // Tried after so many jobs of the order instead of at its own place in it; nothing = at its own.
  std::optional<std::int64_t> place = {};
  bool tries_loans = true;  // nobody stops for a lender whose jobs would not start (loan_trial.h)
  std::function<void(std::string_view step)> step_begins =
      {};  // "order", "place", "reasons": who has a clock can time them
#ifdef NDEBUG
  bool check_invariants = false;  // after every job: no node or device over-allocated
#else
  bool check_invariants = true;
#endif
};

// A script that failed while planning.
struct PolicyFailure {
  PolicyKind kind = PolicyKind::kOrder;
  std::string policy;
  std::string message;       // with script and line
  std::string instead = {};  // what stands in for it; empty = nothing
};

struct ScheduleResult {
  Plan plan;
  CandidateCounters counters;
  std::int64_t jobs_tried = 0;
  std::vector<std::int64_t> order;      // the jobs in the order in which they were looked at
  std::vector<PolicyFailure> failures;  // of scripts: the plan is made with the built-in defaults from there on
};

// The trial state of a snapshot: its ledger, quotas and running jobs, and the score that places on it.
struct Planning {
  std::unique_ptr<NodeScore> score;
  std::unique_ptr<VictimCost> victim_cost;  // null = none
  std::unique_ptr<RoundState> state;
};
// kCorrupt when what runs does not fit its nodes. The snapshot must outlive it.
Result<Planning> planning_of(const Snapshot& snapshot);

// The jobs of a snapshot in order, one by one. What it was made from must outlive it.
struct Ordering {
  std::unique_ptr<QueueOrder> policy;
  std::unique_ptr<OrderInput> input;
  std::unique_ptr<JobSequence> sequence;
};
Result<Ordering> ordering_of(const Snapshot& snapshot, const RoundState& state);

// Plans on `state`, which must be that of the snapshot and is as after the plan afterwards.
Result<ScheduleResult> plan_schedule_on(const Snapshot& snapshot, RoundState& state,
                                        const ScheduleOptions& options = {});
Result<ScheduleResult> plan_schedule(const Snapshot& snapshot, const ScheduleOptions& options = {});

// The nodes alone, as what runs leaves them.
Result<Ledger> ledger_of(const Snapshot& snapshot);

}  // namespace berth
