// Who uses how much of what the departments own - the trial state of a round beside the ledger of nodes.
//
// Quota of a queue: what its row says (a parent without one: the sum over its children), plus what it borrows by loans
// now, minus what it lends. Usage of a queue: that of its own jobs and of all queues below. A resource that no queue
// has a quota or a limit of is not governed and never refuses anybody; of a governed one, a queue without a row has
// quota 0.
//
// A job that asks for `demand` may start when, for each governed resource,
//   1. no queue on its path (itself up to the root) exceeds its limit, nor its quota by more than its borrow limit, and
//   2. if some queue on its path exceeds its quota, what it takes leaves every owner elsewhere what that one does not
//      lend: usage of all + demand + sum over queues off the path of max(0, quota - lend limit - usage) <= capacity.
// It starts within its quota when no queue on its path exceeds its quota; else it borrows.
//
// Marks. A running job counts against the quota of its ancestor at depth d (bit d) when the jobs so marked, it
// included, fit that quota. Marks are given at the start, kept until the end, and given later to jobs that ran on
// borrowed quota once it fits: oldest first. A queue can be reclaimed from only by evicting jobs without its mark, so
// nothing within quota is ever evicted for another queue, and a job that was reclaimed for keeps what it got. Only less
// quota (a loan that ends, a row that changes) takes marks away, newest first.
//
// Assumes amounts far below 2^61. Does not know where tasks run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/quota.h"
#include "engine/model/snapshot.h"

namespace berth {

struct QuotaVerdict {
  Reason reason = Reason::kNone;  // kNone = admitted; kQuota, kLimit, kLenderKeeps
  bool borrows = false;           // admitted, but not within the quota of every queue on its path
  std::int32_t queue = -1;        // where it is short
  std::int32_t resource = -1;
  std::int64_t short_by = 0;

  bool admitted() const { return reason == Reason::kNone; }
};

class QuotaLedger {
 public:
  // Nobody uses anything yet. `cluster`, `queues` and `table` must outlive it. Capacity is that of all healthy devices
  // and nodes that are up or draining.
  QuotaLedger(const Cluster& cluster, std::span<const Queue> queues, const QuotaTable& table, Seconds now);

  // False: no resource is governed, nothing is ever refused.
  bool governs() const { return governs_; }
  std::size_t resource_count() const { return table_->resources.size(); }
  std::size_t queue_count() const { return queues_.size(); }
  const QuotaTable& table() const { return *table_; }
  std::span<const Queue> queues() const { return queues_; }

  // What `tasks` tasks of `shape` count for before it is known where they run: a GPU resource counts when all models
  // the shape allows belong to it.
  void add_demand(const TaskShape& shape, std::int64_t tasks, Amounts& demand) const;
  // Of the tasks that a gang needs to start (min_tasks - placed), or of all that are still missing.
  Amounts demand_to_start(const Job& job) const;
  Amounts demand_in_full(const Job& job) const;
  // What a placed task counts for.
  void add_holding(const Holding& holding, Amounts& amounts) const;
  Amounts none() const { return Amounts(resource_count(), 0); }

  // May a job of `queue` take `demand` more? `until`: when it ends at the latest as far as is known (kNoLimit = not
  // known): quota that is borrowed by a loan counts only for jobs that end before the loan does, so that it can be
  // returned in time.
  QuotaVerdict judge(std::int32_t queue, const Amounts& demand, Seconds until = Seconds(kNoLimit)) const;

  void take(std::int32_t queue, const Amounts& amounts);
  void give_back(std::int32_t queue, const Amounts& amounts);

  // Marks a job that takes `amounts` (already taken) wherever `wanted` says and it fits, beyond `already`; returns all
  // its marks.
  std::uint32_t mark(std::int32_t queue, const Amounts& amounts, std::uint32_t already = 0, std::uint32_t wanted = ~0u);
  void unmark(std::int32_t queue, const Amounts& amounts, std::uint32_t marks);
  void clear_marks();
  // May `amounts` be reclaimed for `queue` from a job of `victim_queue` with `victim_marks`? At the two queues below
  // their lowest common ancestor: the marked usage of the first plus `amounts` is within its quota, and the victim has
  // not the mark of the second. False for one and the same queue.
  bool may_reclaim(std::int32_t queue, const Amounts& amounts, std::int32_t victim_queue,
                   std::uint32_t victim_marks) const;

  std::int64_t capacity(std::size_t resource) const { return capacity_[resource]; }
  bool is_governed(std::size_t resource) const { return governed_[resource] != 0; }
  std::int64_t quota(std::int32_t queue, std::size_t resource) const;  // loans counted
  std::int64_t used(std::int32_t queue, std::size_t resource) const;
  std::int64_t marked(std::int32_t queue, std::size_t resource) const;
  int depth(std::int32_t queue) const { return depth_[static_cast<std::size_t>(queue)]; }

 private:
  std::size_t at(std::int32_t queue, std::size_t resource) const {
    return static_cast<std::size_t>(queue) * resource_count() + resource;
  }

  std::span<const Queue> queues_;
  const Cluster* cluster_;
  const QuotaTable* table_;
  bool governs_ = false;
  std::vector<std::int64_t> capacity_;
  std::vector<std::uint8_t> governed_;
  std::vector<int> depth_;
  std::vector<std::int64_t> quota_;       // by at()
  std::vector<std::int64_t> used_;        // by at()
  std::vector<std::int64_t> marked_;      // by at()
  std::vector<std::int64_t> kept_;        // by at(): what the owner does not lend and does not use, itself alone
  std::vector<std::int64_t> kept_total_;  // by resource
};

}  // namespace berth
