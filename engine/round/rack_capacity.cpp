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
  const std::int32_t count = ledger_.accepts_tasks(node) ? copies_that_fit(ledger_.view(node), shape, kMostCopies) : 0;
  copies.per_rack[static_cast<std::size_t>(rack)] += count - copies.per_node[n];
  copies.per_node[n] = count;
}

// Each changed node once, however often it is in the log.
void RackCapacity::repair(const TaskShape& shape, ShapeCopies& copies) {
  repaired_.resize(ledger_.node_count());
  ++repairs_;
  for (const NodeIndex node : ledger_.changes_since(copies.position)) {
    std::uint64_t& last = repaired_[static_cast<std::size_t>(node)];
    if (last == repairs_) continue;
    last = repairs_;
    recount(shape, node, copies);
  }
}

std::span<const std::int64_t> RackCapacity::copies(const TaskShape& shape) {
  const auto [entry, added] = shapes_.try_emplace(shape);
  ShapeCopies& copies = entry->second;
  if (added) {
    copies.per_node.resize(ledger_.node_count());
    copies.per_rack.resize(ledger_.cluster().racks.size());
    for (std::size_t n = 0; n < ledger_.node_count(); ++n) recount(shape, static_cast<NodeIndex>(n), copies);
  } else {
    repair(shape, copies);
  }
  copies.position = ledger_.change_count();
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
