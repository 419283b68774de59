// Who may be evicted in this pass, what that frees and what it costs - and a choice among them that can be taken back.
//
// A running job makes room in steps: an elastic one gives up its surplus tasks one after the other, the highest number
// of a group first, and then, like any other, everything. A level is the number of tasks gone: 0 to the surplus, or
// all. Surplus tasks that turn out to serve nobody are put behind those that do, and so stay.
#pragma once

#include <compare>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model/plan.h"
#include "engine/round/round_state.h"
#include "engine/round/timeline.h"

namespace berth {

// It was evicted before its last start: eviction_cooldown counts from that start.
bool cools_down(const RunningJob& run);
// From when on the rules of time and kind allow to evict it, whoever asks; kNever = they do not.
Seconds evictable_from(const RunningJob& run, const RoundRules& rules);
// Until then no higher class of its queue may evict it: one that was evicted n times has n times the cool-down to
// itself, at most 24 times. Else it would serve a stream of higher classes for ever.
Seconds rests_until(const RunningJob& run, const RoundRules& rules);

// How far a victim may go for the job that asks.
enum class VictimReach : std::uint8_t { kNone, kSurplus, kAll };

// One that they allow to evict now.
struct Victim {
  std::int64_t job = 0;
  std::int32_t queue = -1;
  std::int64_t class_value = 0;
  std::uint32_t marks = 0;
  bool is_within_quota = false;          // in every queue on its path, by its gang
  bool is_surplus_within_quota = false;  // by the tasks beyond that
  Seconds start;
  Seconds lasts_until;                // if nobody stops it
  Seconds stop;                       // when it would have ended: now, or after the grace to write a checkpoint
  std::int64_t lost_seconds = 0;      // of each GPU, if all of it goes: since the last checkpoint, and of the restart
  std::int64_t policy_cost = 0;       // milli-GPU-seconds that a policy adds for the job, at any level
  std::vector<RunningTask> tasks;     // in the order in which they go
  std::vector<std::int64_t> lost_by;  // milli-GPU-seconds lost by so many: of surplus tasks alone, then by all
  std::size_t surplus = 0;            // so many of them go one by one
  bool is_retired = false;            // it has made room, or started or grown, in this pass

  std::size_t all() const { return tasks.size(); }
  std::size_t in_reach(VictimReach reach) const {
    return reach == VictimReach::kAll ? all() : reach == VictimReach::kSurplus ? surplus : 0;
  }
  std::uint32_t gang_marks() const { return marks & ((1u << kMarkedDepths) - 1); }
  std::uint32_t surplus_marks() const { return marks >> kMarkedDepths; }
  // At that level its queue loses what it is entitled to, and would take it back from somebody else.
  bool loses_quota(std::size_t level) const { return level > surplus ? is_within_quota : is_surplus_within_quota; }
  // milli-GPU-seconds that are lost at a level.
  std::int64_t lost(std::size_t level) const { return level == 0 ? 0 : lost_by[level - 1]; }
};

enum class EvictionTimes : std::uint8_t {
  kKept,     // as evictable_from() says
  kIgnored,  // every preemptible job is one, also one that has just started; but for those told to stop
};

// All of them, the ones to take first in front: not within quota, lower class, least by the policy, least lost work per
// GPU, newest, id. Who runs beyond its quota goes before a lower class of the queue itself (design.md and WPAI:
// borrowed tasks first): else that one would take its quota back from the other, and two were evicted for one.
class VictimIndex {
 public:
  VictimIndex(const RoundState& state, Seconds now, EvictionTimes times = EvictionTimes::kKept);

  std::span<const Victim> victims() const { return victims_; }
  std::size_t size() const { return victims_.size(); }
  Seconds now() const { return now_; }
  const Victim& operator[](std::size_t index) const { return victims_[index]; }
  // Its surplus task at `from` goes after those up to that level.
  void put_back(std::size_t index, std::size_t from, std::size_t level);
  // The job is no victim any more in this pass.
  void retire(std::int64_t job);
  // Those with tasks on the node, in order.
  std::span<const std::int32_t> on_node(NodeIndex node) const;
  // What the tasks between two levels count for.
  Amounts amounts(const RoundState& state, std::size_t index, std::size_t from, std::size_t to) const;

 private:
  Seconds now_;
  std::vector<Victim> victims_;
  std::unordered_map<std::int64_t, std::size_t> place_;  // of a job
  std::vector<std::size_t> first_on_node_;               // node -> place in on_node_; one past the last at the end
  std::vector<std::int32_t> on_node_;
};

// Milli-GPU-seconds that jobs of the queue may lose in an hour; below 0 = any number.
std::int64_t eviction_budget_of(const RoundState& state, std::int32_t queue);

// A number of victims with their levels. The usage of their queues follows; the nodes do not.
class VictimChoice {
 public:
  // Nothing is chosen yet. `lost`: milli-GPU-seconds that each queue has lost this hour, last that of jobs without one.
  VictimChoice(RoundState& state, const VictimIndex& index, std::span<const std::int64_t> lost);
  ~VictimChoice() { clear(); }
  VictimChoice(const VictimChoice&) = delete;
  VictimChoice& operator=(const VictimChoice&) = delete;

  std::size_t level(std::size_t victim) const { return levels_[victim]; }
  // False: the budget of its queue does not allow it; nothing has changed.
  bool raise(std::size_t victim, std::size_t level);
  void lower(std::size_t victim, std::size_t level);
  // The budget of its queue allows what is chosen, with so much more of that victim. Surplus tasks alone may lose more
  // than all of a job that writes a checkpoint.
  bool is_within_budget(std::size_t victim, std::int64_t more = 0) const;
  void clear();
  // When the last of those stops that go as a whole; nobody stops before, and surplus tasks go then.
  Seconds last_stop() const;
  // milli-GPU-seconds that what is chosen of the victim loses when it goes at that moment.
  std::int64_t lost_at(std::size_t victim, Seconds stop) const;
  // The same, of all that are chosen, when they stop together. What a budget does not pay for stops by itself, and
  // sooner.
  std::int64_t lost_then() const;
  // The budgets of their queues allow what surplus tasks lose by then.
  bool pays_for_surplus_then() const;
  struct Cost {
    bool loses_quota = false;  // somebody does
    std::int64_t highest_class = std::numeric_limits<std::int64_t>::min();
    std::int64_t lost = 0;  // milli-GPU-seconds of work, and what a policy adds

    auto operator<=>(const Cost&) const = default;
  };
  Cost cost() const;

  // The ones chosen, first chosen first.
  const std::vector<std::size_t>& chosen() const { return chosen_; }
  std::vector<std::size_t> levels() const { return levels_; }
  // Back to levels that it once had.
  void restore(const std::vector<std::size_t>& levels);

 private:
  std::size_t row(std::int32_t queue) const;
  void set(std::size_t victim, std::size_t level);

  RoundState& state_;
  const VictimIndex& index_;
  std::span<const std::int64_t> lost_;
  std::vector<std::size_t> levels_;
  std::vector<std::int64_t> to_lose_;  // by queue
  std::vector<std::size_t> chosen_;
};

}  // namespace berth
