// Every seam where a policy plugs in, with its contract and how several combine.
//
//   QueueOrder   which waiting job is tried first. Exactly one is active.
//   NodeScore    which feasible node a task goes to. Exactly one is active; the highest score wins, ties go to the
//                lowest rank.
//
// Policies are pure: they see what is passed to them, own no clock, no randomness, no I/O, and answer the same question
// the same way. They are made by name from registry.h. Adding one: its own file pair, a registry row, a CMake line, a
// test.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/ledger.h"
#include "engine/model/quota_ledger.h"
#include "engine/model/snapshot.h"

namespace berth {

// ---- order ----------------------------------------------------------------------------------------------------------

struct OrderInput {
  Seconds now;
  std::uint64_t seed = 0;
  std::span<const Job> jobs;  // in id order
  std::span<const PriorityClass> priority_classes;
  std::span<const Queue> queues;
  Seconds aging_interval;
  // Who uses what, while the round goes on: changes with every job that starts. Null = nobody has a quota, and nobody
  // uses anything.
  const QuotaLedger* quotas = nullptr;
  OrderKnobs knobs = {};
};

// A job that the order does not let the round try.
struct HeldBack {
  std::int32_t job = 0;  // index into OrderInput::jobs
  std::string words;     // why, for people
};

// One pass over the waiting jobs in order. What it answers may depend on what has started meanwhile. An order that
// serves quotas may name a job several times (own_quota_first.h): first for what is its queue's own.
class JobSequence {
 public:
  virtual ~JobSequence() = default;
  // Index into OrderInput::jobs of the next job to try; nothing = all were named.
  virtual std::optional<std::int32_t> next() = 0;
  // The job named last may take only what is within the quotas of so many queues of its path, from the root down, and
  // is named again; 0 = anything, which each job is named for at most once.
  virtual int levels_within_quota() const { return 0; }
  // Jobs that it never names. They wait, with Reason::kPolicy.
  virtual std::span<const HeldBack> held_back() const { return {}; }
  // Not empty: the policy failed, and the sequence is that of the built-in default.
  virtual std::string failure() const { return {}; }
};

class KeyedOrder;

class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  // Indices into input.jobs, first to try first. A permutation; ties broken by (Job::in_line_since, id). The order of
  // two jobs does not depend on the others, so a simulation may order only those that came.
  virtual std::vector<std::int32_t> order(const OrderInput& input) const = 0;
  // The same as a sequence. An order that looks at what the queues use now (fair_share) answers step by step here; the
  // rank of a queue must then depend on what it uses, not on which of its jobs is next, so that leaving out jobs that
  // cannot start changes nothing for the others. `input` and what it refers to must outlive the sequence.
  virtual std::unique_ptr<JobSequence> begin(const OrderInput& input) const;
  // The order of two waiting jobs stays the same as long as both wait, whatever runs and ends: a simulation may keep
  // them sorted.
  virtual bool is_fixed() const { return false; }
  // When the order of the jobs in `input` changes although nothing happens; nothing = not that it knew.
  virtual std::optional<Seconds> changes_at(const OrderInput& input) const {
    (void)input;
    return std::nullopt;
  }
  // Its sequences may hold jobs back, so no job is tried before they name it.
  virtual bool may_hold_back() const { return false; }
  // Not null: it sorts by a key of each job alone.
  virtual const KeyedOrder* keyed() const { return nullptr; }
  // Of two jobs of one queue that ask for the same, the first is named first. As they came, unless an order says else.
  virtual bool goes_first(const Job& one, const Job& other, const OrderInput& input) const;
};

using OrderKey = std::array<std::int64_t, 2>;  // smaller first

// An order by a key of each job, ties by (Job::in_line_since, id). One that is not fixed (qssf) puts the earlier of two
// jobs first that are alike but for that time and id.
class KeyedOrder : public QueueOrder {
 public:
  // Looks at everything in `input` but its jobs.
  virtual OrderKey key(const Job& job, const OrderInput& input) const = 0;
  // Its key is the level of service a job has reached (OrderKnobs::las_thresholds). Where running jobs are put in order
  // too (Preemption::kReplan) they fall from level to level, and those of a level take turns.
  virtual bool has_levels() const { return false; }

  std::vector<std::int32_t> order(const OrderInput& input) const override;
  const KeyedOrder* keyed() const final { return this; }
  bool goes_first(const Job& one, const Job& other, const OrderInput& input) const final;
};

// ---- score ----------------------------------------------------------------------------------------------------------

// Higher is better; any value but kInfeasibleScore. Scores are integers so that ties are exact.
using Score = std::int32_t;
inline constexpr Score kInfeasibleScore = INT32_MIN;

// Which parts of a node the score looks at beyond kind, free CPU, and free milli and memory of each device (as a
// multiset). What is not named is left out of the node class, so that more nodes share one memoised score.
struct ScoreSensitivity {
  bool memory = false;   // free node memory
  bool tenants = false;  // NodeView::tenants
};

struct ScoreInput {
  const Cluster* cluster = nullptr;
  std::span<const WorkloadShape> workload;  // typical shapes with popularity
  std::uint64_t seed = 0;
  // Every task asked for is new, so what is asked for tells more about the demand. Not where waiting tasks are asked
  // for again and again, and are part of `workload`.
  bool every_task_is_new = false;
};

class NodeScore {
 public:
  virtual ~NodeScore() = default;
  virtual ScoreSensitivity sensitivity() const { return {}; }
  // Preference for one task of `shape` on a node in the state `node` (canonical: devices sorted, see node_classes.h),
  // which is feasible. May use mutable memo tables inside, never anything that changes the answer.
  virtual Score score(const NodeView& node, const TaskShape& shape) const = 0;
  // The device of a fraction on the chosen node (devices in index order): default is the feasible one with least free,
  // lowest index on ties ("best fit"). `feasible` is not empty.
  virtual int choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const;
  // True: ignore scores and take any feasible node with equal chance (seeded).
  virtual bool picks_at_random() const { return false; }
  // Called before each decision with the ledger and the task about to be placed; a policy that learns the demand or
  // keeps slowly moving prices returns true when they moved and every memoised score is to be forgotten. It must return
  // false nearly always.
  virtual bool refresh(const Ledger& ledger, const TaskShape& asked) {
    (void)ledger;
    (void)asked;
    return false;
  }
  // False: a filter lets no task of the shape run on nodes of that kind, empty as they may be; score() says so, too.
  // For searches that count room before they ask for a score.
  virtual bool allows(const NodeKind& kind, const TaskShape& shape) const {
    (void)kind;
    (void)shape;
    return true;
  }
  // Not empty: the policy failed, and its answers since are those of the built-in default. What was placed with it is
  // to be planned anew without it.
  virtual std::string failure() const { return {}; }
  // The same of the filter before it.
  virtual std::string filter_failure() const { return {}; }
};

// ---- victims --------------------------------------------------------------------------------------------------------

// A running job that could make room.
struct VictimView {
  const Job& job;
  std::string_view queue;  // empty = none
  std::int64_t priority = 0;
  Seconds ran;
  std::int64_t lost = 0;  // milli-GPU-seconds, if all of it ends
  std::int64_t tasks = 0;
  MilliGpu held;
};

// What ending a job costs beside the work that is lost. At most one is active. Of those that may be evicted at all the
// lowest class goes first, then what is not within quota, then what costs least.
class VictimCost {
 public:
  virtual ~VictimCost() = default;
  // Milli-GPU-seconds.
  virtual std::int64_t cost(const VictimView& victim) = 0;
  // As NodeScore::failure(); a cost is 0 then.
  virtual std::string failure() const { return {}; }
};

// ---- scripts --------------------------------------------------------------------------------------------------------

// Makes policies of scripts (lua/script_policies.h). Never fails: a script that cannot be used makes a policy that says
// so by failure() and answers as the built-in default.
class PolicyMaker {
 public:
  virtual ~PolicyMaker() = default;
  virtual std::unique_ptr<QueueOrder> make_order(const ScriptPolicy& script) const = 0;
  virtual std::unique_ptr<NodeScore> make_score(const ScriptPolicy& script, const ScoreInput& input) const = 0;
  // `score` where the script lets a task run on a node, infeasible elsewhere.
  virtual std::unique_ptr<NodeScore> make_filter(const ScriptPolicy& script, const ScoreInput& input,
                                                 std::unique_ptr<NodeScore> score) const = 0;
  virtual std::unique_ptr<VictimCost> make_victim_cost(const ScriptPolicy& script) const = 0;
};

}  // namespace berth
