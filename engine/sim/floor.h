// Where simulated jobs run, and what decides whether one may start there now.
//
// Two kinds: nodes with devices, on which the deciding code of live rounds runs (device_floor.h), and nodes whose GPUs
// are one amount (pooled_floor.h). A pass is one moment at which waiting jobs are tried, in the caller's order.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/round/pass.h"

namespace berth {

class Floor {
 public:
  virtual ~Floor() = default;

  // Ends those who were told to stop and whose time has come: stopped().
  // `order`: that of the caller.
  virtual Status begin_pass(const QueueOrder& order, const OrderInput& input) = 0;
  virtual std::span<const Eviction> stopped() const { return {}; }
  // Were told to stop, and stop sooner than they were told.
  virtual std::span<const Eviction> stop_sooner() const { return {}; }
  // Jobs that room is held for until their victims have stopped, in id order: they are tried first.
  virtual std::vector<std::int64_t> promised() const { return {}; }
  // A running job was told to stop: it gains no tasks.
  virtual bool is_stopping(std::int64_t job) const {
    (void)job;
    return false;
  }
  // See Pass.
  virtual MayEvict may_evict_for(const Job& job) const {
    (void)job;
    return MayEvict::kNobody;
  }
  // Starts it, if the rules let it; see Pass. `levels`: see JobSequence::levels_within_quota.
  virtual PassOutcome try_job(const Job& job, int levels) = 0;
  // Nobody behind the last one is to be tried.
  virtual bool closed() const = 0;
  // After a pass that left room (Pass::leaves_room()): begins another at the same moment, in which jobs that room
  // is held for are not tried.
  virtual bool leaves_room() const { return false; }
  virtual void begin_next_pass() {}
  virtual bool is_later_pass() const { return false; }
  // Of this pass, so far. Jobs that stop at once have ended already.
  virtual std::span<const Eviction> evictions() const = 0;
  // By one of these, for the budget of the victim's queue.
  virtual void note_lost(const Eviction& eviction, std::int32_t queue) {
    (void)eviction;
    (void)queue;
  }
  // A job that was told to stop loses another amount than note_lost() counted.
  virtual void change_lost(std::int64_t job, std::int64_t lost) {
    (void)job;
    (void)lost;
  }
  // Without a pass begun: nobody waits.
  virtual void end_pass() = 0;
  // After it: who was told to stop, by this pass or an earlier one, and runs on.
  virtual std::span<const std::int64_t> reprieves() const { return {}; }

  // Starts it wherever it fits, whatever the rules say; nothing = it does not fit. Not during a pass.
  virtual std::optional<std::vector<PlacedTask>> place(const Job& job, Seconds now) = 0;
  // It ends, or is evicted. It must run.
  virtual Status end(std::int64_t job) = 0;

  // A waiting job is withdrawn: nothing is held for it any more.
  virtual void forget(std::int64_t job) { (void)job; }

  // The last moment up to which something is held for a waiting job, of what was first held by `made_by`.
  virtual Seconds holds_until(Seconds made_by) const {
    (void)made_by;
    return Seconds(-1);
  }
  // What queues have used by now, before a pass: Queue::decayed_usage.
  virtual void note_past_use(std::span<const Queue> queues) { (void)queues; }

  // How many tasks of each group of a running job are placed, and where.
  virtual void read_groups(Job& job) const { (void)job; }

  // Nodes on which something was given back since the last pass began; may repeat.
  virtual std::span<const NodeIndex> released() const = 0;
  // One more task of the group fits on one of `nodes`.
  virtual bool takes_one_more(const TaskGroup& group, std::span<const NodeIndex> nodes) const = 0;
  // Why it could not even start if nothing else ran, as half a sentence; nothing = it could.
  virtual std::optional<std::string> why_never(const Job& job) = 0;

  virtual MilliGpu gpu_capacity() const = 0;
  virtual MilliGpu gpu_used() const = 0;
  // Of the nodes of one pool.
  virtual MilliGpu gpu_capacity_of(std::int32_t pool) const = 0;
  // Who uses how much, whether or not anybody has a quota: what orders compare queues by.
  virtual const QuotaLedger& use() const = 0;
  // Null where quotas play no part.
  virtual const QuotaLedger* quotas() const { return nullptr; }
  // What runs and what is reserved, into a snapshot that has nothing of it yet. Only where the code of live rounds
  // decides.
  virtual void describe(Snapshot& snapshot) const { (void)snapshot; }
  // As Ledger::violations.
  virtual std::vector<std::string> violations() const = 0;
};

}  // namespace berth
