// Nodes whose GPUs are one amount: three tasks of 0.6 fit in 2 GPUs, a node may have thousands.
//
// The model of several published simulators, cheaper and coarser than devices. Amounts of GPU and CPU count in
// hundredths. Which node a task goes to:
//   first_fit     the first in node order
//   balance       the least used: half the sum of used shares of GPU and CPU in whole percent (half to even), of a node
//                 without GPUs the share of CPU; ties in node order. Taken anew for each group of tasks.
//   consolidate   the one with the least free GPU that takes it, ties in node order
// The tasks of a group fill the chosen node as far as they fit and go on to the next best, all that must start together
// or none. Device models and pools bind as on devices; device memory, link groups and locality do not.
//
// Of the rules behind a job that does not fit it knows greedy, none and none_per_queue; no quotas, no reclaim.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/sim/floor.h"

namespace berth {

enum class NodeChoice : std::uint8_t { kFirstFit, kBalance, kConsolidate };
std::string_view node_choice_name(NodeChoice choice);
Result<NodeChoice> read_node_choice(std::string_view text);

class PooledFloor : public Floor {
 public:
  // `cluster` and `queues` must outlive this.
  PooledFloor(const Cluster& cluster, std::span<const Queue> queues, BackfillMode backfill, NodeChoice choice);

  Status begin_pass(const QueueOrder& order, const OrderInput& input) override;
  PassOutcome try_job(const Job& job, int levels) override;
  bool closed() const override { return closed_; }
  std::span<const Eviction> evictions() const override { return {}; }
  void end_pass() override { released_.clear(); }

  std::optional<std::vector<PlacedTask>> place(const Job& job, Seconds now) override;
  Status end(std::int64_t job) override;

  std::span<const NodeIndex> released() const override { return released_; }
  bool takes_one_more(const TaskGroup& group, std::span<const NodeIndex> nodes) const override;
  std::optional<std::string> why_never(const Job& job) override;

  MilliGpu gpu_capacity() const override { return capacity_; }
  MilliGpu gpu_used() const override { return capacity_ - free_.gpu; }
  MilliGpu gpu_capacity_of(std::int32_t pool) const override;
  const QuotaLedger& use() const override { return use_; }
  std::vector<std::string> violations() const override;

 private:
  struct Room {
    MilliGpu gpu;
    MilliCpu cpu;
    MiB memory;
  };
  static Room need_of(const TaskShape& shape);
  // Of one task; gpu_milli is what it takes in all, on no device in particular.
  static Holding holding_of(const TaskShape& shape, NodeIndex node);
  static Room room_of(const NodeKind& kind);
  void change(NodeIndex node, const Room& room, std::int64_t sign);
  bool may_host(const TaskShape& shape, std::size_t node) const;
  // Tasks of `shape` that fit in `room`, at most `most`.
  static std::int64_t copies(const TaskShape& shape, const Room& room, std::int64_t most);
  std::int64_t used_percent(std::size_t node) const;
  // Nodes in the order in which the choice fills them.
  void rank_nodes();
  Amounts amounts_of(std::span<const PlacedTask> tasks) const;
  bool place_group(const TaskGroup& group, std::int32_t index, std::vector<PlacedTask>& placed);

  const Cluster& cluster_;
  BackfillMode backfill_;
  NodeChoice choice_;
  MilliGpu capacity_;
  Room free_;               // of all nodes
  std::vector<Room> room_;  // by node: what is free
  std::vector<NodeIndex> ranked_;
  std::vector<std::pair<std::int64_t, NodeIndex>> keys_;
  struct Run {
    std::int32_t queue = -1;
    std::vector<PlacedTask> tasks;
  };
  std::unordered_map<std::int64_t, Run> running_;  // by job
  QuotaLedger use_;                                // nobody has a quota
  std::vector<NodeIndex> released_;
  bool closed_ = false;
  std::vector<std::uint8_t> closed_queues_;
};

}  // namespace berth
