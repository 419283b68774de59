// Tries tasks and whole jobs on a ledger: the one piece of placing code that live rounds, plans and simulations share.
//
// A job is placed as a gang: under a checkpoint every group places its tasks, honouring locality, until either each
// group has min_tasks (then the job starts; further tasks of it are placed as they fit) or one cannot (then everything
// is undone). Nothing is held for a gang that does not fit. Of a job with several groups, what each needs goes before
// what any of them would like.
//
// Tasks that must share a node are looked for as one bundle, a shape that asks for the sum of them; tasks that must
// share a rack go to the tightest rack that takes them all. A preferred locality is tried first and then widened level
// by level.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/model/job.h"
#include "engine/model/ledger.h"
#include "engine/model/plan.h"
#include "engine/policy/candidates.h"
#include "engine/round/rack_capacity.h"
#include "engine/round/running_jobs.h"

namespace berth {

// A task of a job and what it took.
struct PlacedTask {
  std::int32_t group = 0;
  std::int32_t task = 0;
  Holding holding;
};

// All tasks of the group lie on one node, or they do not run.
inline bool must_share_node(const TaskGroup& group) {
  return group.locality_required && (group.locality == Locality::kNode || group.locality == Locality::kLinkGroup);
}

struct JobOutcome {
  bool started = false;            // at least min_tasks of every group hold now, and something new was placed
  std::vector<PlacedTask> placed;  // the new ones; empty when not started
  Reason reason = Reason::kNone;   // kGang or kLocality; kNone when not even one task of the group fits anywhere
  std::int32_t group = 0;          // the first group that did not fit
  std::int32_t fits = 0;           // tasks of it that did fit, locality aside
  std::int32_t needed = 0;         // tasks of it that must start together
};

class Placer {
 public:
  // Everything passed must outlive this. rank: tie-break order of nodes, see Candidates. `running`: whose numbers the
  // tasks that a running job gains do not get; null = nobody gains any.
  Placer(Ledger& ledger, NodeScore& policy, std::span<const std::int32_t> rank = {}, std::uint64_t seed = 0,
         const RunningJobs* running = nullptr);

  // Places one task of `shape` on the best node; the holding stays in the ledger. Nothing = does not fit now.
  std::optional<Holding> place_task(const TaskShape& shape);

  // Places what is still missing of `job` (count - placed tasks of each group), all or nothing as said above.
  JobOutcome place_job(const Job& job);

  // Shortens the ledger's log of changes, of which this must be the only reader.
  void forget_changes();

  Candidates& candidates() { return candidates_; }

 private:
  struct Request {
    const TaskGroup* group;
    std::int32_t index;   // of the group in its job
    std::int32_t wanted;  // tasks to place
    std::int32_t needed;  // of them, to start at all
  };

  Request needed_of(const Job& job, std::size_t index) const;
  std::optional<std::size_t> first_unplaced(const Job& job, std::vector<PlacedTask>& placed);
  void number(const Job& job, std::vector<PlacedTask>& placed) const;
  void start_needed(const Job& job, JobOutcome& outcome);
  void add_surplus(const Job& job, std::vector<PlacedTask>& placed);
  void say_why_not(const Request& request, Ledger::Checkpoint before_job, JobOutcome& outcome);
  std::int32_t place_group(const Request& request, std::vector<PlacedTask>& placed);
  std::int32_t place_at(const Request& request, Locality locality, std::vector<PlacedTask>& placed);
  std::int32_t place_anywhere(const Request& request, std::vector<PlacedTask>& placed);
  std::int32_t place_in_rack(const Request& request, std::vector<PlacedTask>& placed);
  std::int32_t place_on_node(const Request& request, bool one_link_group, std::vector<PlacedTask>& placed);
  // The best node that takes `count` tasks of the group together, and the devices for all of them (0 for fractions).
  std::optional<NodeIndex> find_node(const Request& request, bool one_link_group, std::int32_t count);
  bool anchor_takes(const Request& request, bool one_link_group, std::int32_t count) const;
  std::int32_t fill_node(const Request& request, NodeIndex node, bool one_link_group, std::int32_t count,
                         std::vector<PlacedTask>& placed);
  bool place_on(const Request& request, NodeIndex node, DeviceMask devices, std::vector<PlacedTask>& placed);

  Ledger& ledger_;
  NodeScore& policy_;
  Candidates candidates_;
  RackCapacity racks_;
  const RunningJobs* running_;
  std::vector<std::int32_t> next_task_;  // per group of the job being placed, as if none of its numbers were free
  std::vector<std::size_t> order_;       // of the groups of the job that is tried
};

}  // namespace berth
