#include "engine/round/room_left.h"

#include <algorithm>

#include "engine/policy/feasibility.h"

namespace berth {

RoomLeft::RoomLeft(const Ledger& ledger, const Cluster& cluster, std::span<const Holding> taken)
    : cluster_(cluster), after_(ledger), free_(cluster.kinds.size(), 0), unbroken_(cluster.kinds.size(), 0) {
  for (std::size_t n = 0; n < ledger.node_count(); ++n) {
    const auto node = static_cast<NodeIndex>(n);
    if (!ledger.accepts_tasks(node)) continue;
    const auto kind = static_cast<std::size_t>(cluster.nodes[n].kind);
    for (const std::int32_t milli : ledger.view(node).milli) {
      free_[kind] += milli;
      if (milli == kWholeDevice.value()) unbroken_[kind] += milli;
    }
  }
  if (taken.empty()) return;
  before_.emplace(ledger.twin());
  for (const Holding& holding : taken) {
    if (before_->release(holding).ok()) touched_.push_back(holding.node);
  }
  std::ranges::sort(touched_);
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
}

bool RoomLeft::is_in_pieces(const TaskShape& shape, std::int32_t tasks) const {
  if (shape.gpu_count == 0) return false;
  std::int64_t free = 0;
  for (std::size_t kind = 0; kind < cluster_.kinds.size(); ++kind) {
    if (is_feasible_when_empty(cluster_.kinds[kind], shape))
      free += shape.is_fraction() ? free_[kind] : unbroken_[kind];
  }
  if (free < shape.gpu_total().value() * tasks) return false;
  TaskShape by_gpus = shape;
  by_gpus.cpu = MilliCpu(0);
  by_gpus.memory = MiB(0);
  const auto [known, is_new] = known_now_[by_gpus].try_emplace(tasks, false);
  if (is_new) known->second = would_fit(by_gpus, tasks);
  return !known->second;
}

bool RoomLeft::would_fit(const TaskShape& shape, std::int32_t tasks) const {
  std::int32_t copies = 0;
  for (std::size_t n = 0; n < after_.node_count() && copies < tasks; ++n) {
    const auto node = static_cast<NodeIndex>(n);
    if (after_.accepts_tasks(node)) copies += copies_that_fit(after_.view(node), shape, tasks - copies);
  }
  return copies >= tasks;
}

bool RoomLeft::was_there(const TaskShape& shape, std::int32_t tasks) const {
  if (!before_ || tasks <= 0) return false;
  const auto [known, is_new] = known_[shape].try_emplace(tasks, false);
  if (is_new) known->second = copies_taken(shape, tasks) >= tasks;
  return known->second;
}

// How many copies fewer fit than before; stops at `enough`.
std::int64_t RoomLeft::copies_taken(const TaskShape& shape, std::int32_t enough) const {
  std::int64_t copies = 0;
  for (const NodeIndex node : touched_) {
    if (!after_.accepts_tasks(node)) continue;
    const std::int32_t before = copies_that_fit(before_->view(node), shape, enough);
    if (before > 0) copies += before - copies_that_fit(after_.view(node), shape, enough);
    if (copies >= enough) break;
  }
  return copies;
}

}  // namespace berth
