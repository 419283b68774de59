#include "engine/round/rack_capacity.h"

#include "engine/policy/feasibility.h"

namespace berth {

namespace {
constexpr int kMostCopies = 1 << 20;
}

void RackCapacity::recount(const TaskShape& shape, NodeIndex node, ShapeCopies& copies) const {
  const std::size_t n = static_cast<std::size_t>(node);
  const std::int32_t rack = ledger_.cluster().nodes[n].rack;
  if (rack < 0) return;
  const bool may_run = ledger_.accepts_tasks(node) && policy_.allows(ledger_.cluster().kind_of(n), shape);
  const std::int32_t count = may_run ? copies_that_fit(ledger_.view(node), shape, kMostCopies) : 0;
  copies.per_rack[static_cast<std::size_t>(rack)] += count - copies.per_node[n];
  copies.per_node[n] = count;
}

void RackCapacity::read_changes() {
  if (changed_) {
    for (const NodeIndex node : ledger_.changes_since(position_)) changed_->touch(node);
  } else {
    changed_.emplace(ledger_.node_count());
  }
  position_ = ledger_.change_count();
}

void RackCapacity::forget() {
  shapes_.clear();
  changed_.reset();
}

std::span<const std::int64_t> RackCapacity::copies(const TaskShape& shape) {
  read_changes();
  const auto [entry, added] = shapes_.try_emplace(shape);
  ShapeCopies& copies = entry->second;
  if (added) {
    copies.per_node.resize(ledger_.node_count());
    copies.per_rack.resize(ledger_.cluster().racks.size());
    for (std::size_t n = 0; n < ledger_.node_count(); ++n) recount(shape, static_cast<NodeIndex>(n), copies);
  } else {
    changed_->visit_since(copies.counted,
                          [&](std::size_t node) { recount(shape, static_cast<NodeIndex>(node), copies); });
  }
  copies.counted = changed_->now();
  return copies.per_rack;
}

std::span<const NodeIndex> RackCapacity::nodes_of(std::int32_t rack) {
  if (rack_nodes_.empty()) {
    rack_nodes_.resize(ledger_.cluster().racks.size());
    for (std::size_t n = 0; n < ledger_.node_count(); ++n) {
      const std::int32_t home = ledger_.cluster().nodes[n].rack;
      if (home >= 0) rack_nodes_[static_cast<std::size_t>(home)].push_back(static_cast<NodeIndex>(n));
    }
  }
  return rack_nodes_[static_cast<std::size_t>(rack)];
}

}  // namespace berth
