#include "engine/sim/pooled_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr std::string_view kNodeChoiceNames[] = {"first_fit", "balance", "consolidate"};

// Thousandths, to the nearest hundredth.
std::int64_t hundredths(std::int64_t milli) { return (milli + 5) / 10 * 10; }

}  // namespace

std::string_view node_choice_name(NodeChoice choice) { return kNodeChoiceNames[static_cast<std::size_t>(choice)]; }

Result<NodeChoice> read_node_choice(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kNodeChoiceNames); ++i) {
    if (equals_ignoring_case(kNodeChoiceNames[i], text)) return static_cast<NodeChoice>(i);
  }
  return Status(Code::kInvalid, fmt::format("'{}' is not first_fit, balance or consolidate", text));
}

PooledFloor::PooledFloor(const Cluster& cluster, std::span<const Queue> queues, BackfillMode backfill,
                         NodeChoice choice)
    : cluster_(cluster),
      backfill_(backfill),
      choice_(choice),
      use_(cluster, queues, {}, Seconds(0)),
      closed_queues_(queues.size(), 0) {
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    room_.emplace_back();
    change(static_cast<NodeIndex>(n), room_of(cluster.kind_of(n)), 1);
  }
  capacity_ = free_.gpu;
  ranked_.resize(room_.size());
  std::iota(ranked_.begin(), ranked_.end(), 0);
}

Holding PooledFloor::holding_of(const TaskShape& shape, NodeIndex node) {
  Holding holding;
  holding.node = node;
  const Room need = need_of(shape);
  holding.gpu_milli = need.gpu;
  holding.cpu = need.cpu;
  holding.memory = need.memory;
  return holding;
}

PooledFloor::Room PooledFloor::room_of(const NodeKind& kind) {
  return {kWholeDevice * kind.device_count, MilliCpu(hundredths(kind.cpu.value())), kind.memory};
}

PooledFloor::Room PooledFloor::need_of(const TaskShape& shape) {
  return {MilliGpu(hundredths(shape.gpu_total().value())), MilliCpu(hundredths(shape.cpu.value())), shape.memory};
}

void PooledFloor::change(NodeIndex node, const Room& room, std::int64_t sign) {
  for (Room* one : {&room_[static_cast<std::size_t>(node)], &free_}) {
    one->gpu += room.gpu * sign;
    one->cpu += room.cpu * sign;
    one->memory += room.memory * sign;
  }
}

bool PooledFloor::may_host(const TaskShape& shape, std::size_t node) const {
  const NodeKind& kind = cluster_.kind_of(node);
  if (shape.pool >= 0 && shape.pool != kind.pool) return false;
  return shape.models == 0 || (kind.model >= 0 && ((shape.models >> kind.model) & 1) != 0);
}

std::int64_t PooledFloor::copies(const TaskShape& shape, const Room& room, std::int64_t most) {
  const Room need = need_of(shape);
  if (need.gpu > MilliGpu(0)) most = std::min(most, room.gpu.value() / need.gpu.value());
  if (need.cpu > MilliCpu(0)) most = std::min(most, room.cpu.value() / need.cpu.value());
  if (need.memory > MiB(0)) most = std::min(most, room.memory.value() / need.memory.value());
  return most;
}

std::int64_t PooledFloor::used_percent(std::size_t node) const {
  const Room all = room_of(cluster_.kind_of(node));
  const auto used = [](std::int64_t left, std::int64_t whole) {
    return whole == 0 ? 0 : 1 - static_cast<double>(left) / static_cast<double>(whole);
  };
  const double cpu = used(room_[node].cpu.value(), all.cpu.value());
  if (all.gpu == MilliGpu(0)) return std::llrint(100 * cpu);
  return std::llrint(100 * (used(room_[node].gpu.value(), all.gpu.value()) + cpu) / 2);
}

void PooledFloor::rank_nodes() {
  if (choice_ == NodeChoice::kFirstFit) return;
  keys_.clear();
  for (std::size_t n = 0; n < room_.size(); ++n) {
    keys_.emplace_back(choice_ == NodeChoice::kBalance ? used_percent(n) : room_[n].gpu.value(),
                       static_cast<NodeIndex>(n));
  }
  std::ranges::sort(keys_);
  for (std::size_t i = 0; i < keys_.size(); ++i) ranked_[i] = keys_[i].second;
}

// Of CPU, memory and all GPUs, in whatever order the ledger has them.
Amounts PooledFloor::amounts_of(std::span<const PlacedTask> tasks) const {
  Room held;
  for (const PlacedTask& task : tasks) {
    held.gpu += task.holding.gpu_milli;
    held.cpu += task.holding.cpu;
    held.memory += task.holding.memory;
  }
  Amounts amounts = use_.none();
  for (std::size_t r = 0; r < amounts.size(); ++r) {
    switch (use_.resource(r).kind) {
      case ResourceKind::kCpu: amounts[r] = held.cpu.value(); break;
      case ResourceKind::kMemory: amounts[r] = held.memory.value(); break;
      case ResourceKind::kGpu: amounts[r] = held.gpu.value(); break;
    }
  }
  return amounts;
}

bool PooledFloor::place_group(const TaskGroup& group, std::int32_t index, std::vector<PlacedTask>& placed) {
  std::int64_t needed = group.min_tasks;
  std::int64_t wanted = group.count;
  if (copies(group.shape, free_, needed) < needed) return false;
  rank_nodes();
  const Room need = need_of(group.shape);
  for (const NodeIndex node : ranked_) {
    if (wanted == 0) break;
    const auto at = static_cast<std::size_t>(node);
    if (!may_host(group.shape, at)) continue;
    const std::int64_t here = copies(group.shape, room_[at], wanted);
    for (std::int64_t i = 0; i < here; ++i) {
      const auto task = static_cast<std::int32_t>(group.count - wanted + i);
      placed.push_back({index, task, holding_of(group.shape, node)});
      change(node, need, -1);
    }
    wanted -= here;
    needed -= here;
  }
  return needed <= 0;
}

std::optional<std::vector<PlacedTask>> PooledFloor::place(const Job& job, Seconds) {
  std::vector<PlacedTask> placed;
  bool fits = true;
  for (std::size_t g = 0; fits && g < job.groups.size(); ++g) {
    fits = place_group(job.groups[g], static_cast<std::int32_t>(g), placed);
  }
  if (!fits) {
    for (const PlacedTask& task : placed) {
      change(task.holding.node, {task.holding.gpu_milli, task.holding.cpu, task.holding.memory}, 1);
    }
    return std::nullopt;
  }
  use_.take(job.queue, amounts_of(placed));
  running_.emplace(job.id, Run{job.queue, placed});
  return placed;
}

Status PooledFloor::begin_pass(const QueueOrder&, const OrderInput&) {
  closed_ = false;
  std::ranges::fill(closed_queues_, std::uint8_t{0});
  return {};
}

PassOutcome PooledFloor::try_job(const Job& job, int) {
  PassOutcome outcome;
  const bool in_queue = job.queue >= 0 && backfill_ == BackfillMode::kNonePerQueue;
  if (in_queue && closed_queues_[static_cast<std::size_t>(job.queue)] != 0) return outcome;
  if (std::optional<std::vector<PlacedTask>> placed = place(job, Seconds(0))) {
    outcome.started = true;
    outcome.placed = *std::move(placed);
  } else if (in_queue) {
    closed_queues_[static_cast<std::size_t>(job.queue)] = 1;
  } else {
    closed_ = backfill_ != BackfillMode::kGreedy;
  }
  return outcome;
}

Status PooledFloor::end(std::int64_t job) {
  const auto found = running_.find(job);
  if (found == running_.end()) return Status(Code::kInternal, fmt::format("job {} does not run", job));
  use_.give_back(found->second.queue, amounts_of(found->second.tasks));
  for (const PlacedTask& task : found->second.tasks) {
    change(task.holding.node, {task.holding.gpu_milli, task.holding.cpu, task.holding.memory}, 1);
    released_.push_back(task.holding.node);
  }
  running_.erase(found);
  return {};
}

bool PooledFloor::takes_one_more(const TaskGroup& group, std::span<const NodeIndex> nodes) const {
  for (const NodeIndex node : nodes) {
    const auto at = static_cast<std::size_t>(node);
    if (may_host(group.shape, at) && copies(group.shape, room_[at], 1) > 0) return true;
  }
  return false;
}

std::optional<std::string> PooledFloor::why_never(const Job& job) {
  for (const TaskGroup& group : job.groups) {
    std::int64_t fit = 0;
    for (std::size_t n = 0; n < room_.size() && fit < group.min_tasks; ++n) {
      if (may_host(group.shape, n)) fit += copies(group.shape, room_of(cluster_.kind_of(n)), group.min_tasks - fit);
    }
    if (fit == 0) return "no node can run a task of it";
    if (fit < group.min_tasks) {
      return fmt::format("{} tasks must start together, {} fit the empty cluster", group.min_tasks, fit);
    }
  }
  return std::nullopt;
}

MilliGpu PooledFloor::gpu_capacity_of(std::int32_t pool) const {
  MilliGpu total;
  for (std::size_t n = 0; n < room_.size(); ++n) {
    if (cluster_.kind_of(n).pool == pool) total += room_of(cluster_.kind_of(n)).gpu;
  }
  return total;
}

std::vector<std::string> PooledFloor::violations() const {
  std::vector<std::string> broken;
  for (std::size_t n = 0; n < room_.size(); ++n) {
    if (room_[n].gpu < MilliGpu(0) || room_[n].cpu < MilliCpu(0) || room_[n].memory < MiB(0))
      broken.push_back(fmt::format("node {} gives more than it has", cluster_.nodes[n].id));
  }
  return broken;
}

}  // namespace berth
