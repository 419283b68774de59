// Tries tasks and whole jobs on a ledger: the one piece of placing code that live rounds, plans and simulations share.
//
// A job is placed as a gang: under a checkpoint every group places its tasks - honouring locality - until either each
// group has min_tasks (then the job starts; further tasks of it are placed as they fit) or one cannot (then everything
// is undone). Nothing is held for a gang that does not fit.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model/job.h"
#include "engine/model/ledger.h"
#include "engine/model/plan.h"
#include "engine/policy/candidates.h"

namespace berth {

// A task of a job and what it took.
struct PlacedTask {
  std::int32_t group = 0;
  std::int32_t task = 0;
  Holding holding;
};

struct JobOutcome {
  bool started = false;            // at least min_tasks of every group hold now
  std::vector<PlacedTask> placed;  // new ones; empty when not started
  Reason reason = Reason::kNone;   // kGang, kLocality or kNone: what the caller cannot see from the nodes alone
  std::int32_t group = 0;          // the first group that did not fit
  std::int32_t fits = 0;           // tasks of that group that fit when it was tried
  std::int32_t needed = 0;
};

class Placer {
 public:
  // Everything passed must outlive this. rank: tie-break order of nodes, see Candidates.
  Placer(Ledger& ledger, NodeScore& policy, std::span<const std::int32_t> rank = {}, std::uint64_t seed = 0);

  // Places one task of `shape` on the best node; the holding stays in the ledger. Nothing = does not fit now.
  std::optional<Holding> place_task(const TaskShape& shape);

  // Tasks of `job` not yet placed (group.placed counts those that are) numbered from `taken`: see next_task_index.
  JobOutcome place_job(const Job& job);

  Candidates& candidates() { return candidates_; }

 private:
  bool place_group(const TaskGroup& group, std::int32_t group_index, std::int32_t wanted, std::int32_t needed,
                   JobOutcome& outcome);
  std::int32_t place_spread(const TaskShape& shape, std::int32_t wanted, std::int32_t group_index,
                            std::span<const NodeIndex> nodes, bool anywhere, JobOutcome& outcome);
  bool place_within_racks(const TaskGroup& group, std::int32_t group_index, std::int32_t wanted, std::int32_t needed,
                          JobOutcome& outcome);
  bool place_within_nodes(const TaskGroup& group, std::int32_t group_index, std::int32_t wanted, std::int32_t needed,
                          bool one_link_group, JobOutcome& outcome);

  Ledger& ledger_;
  NodeScore& policy_;
  Candidates candidates_;
  std::vector<std::vector<NodeIndex>> rack_nodes_;  // per rack; built when first asked for
};

}  // namespace berth
