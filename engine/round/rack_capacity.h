// How many tasks of a shape fit in each rack, kept up to date as the ledger changes.
//
// Asked by gangs that must lie in one rack. Per shape, copies that fit are counted once per node and then repaired from
// the ledger's log of changed nodes, so that many gangs of the same shape cost one pass over the nodes. Nodes without a
// rack are in none.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model/ledger.h"
#include "engine/model/shape.h"

namespace berth {

class RackCapacity {
 public:
  explicit RackCapacity(const Ledger& ledger) : ledger_(ledger) {}

  // Tasks of `shape` that fit at once, per rack index.
  std::span<const std::int64_t> copies(const TaskShape& shape);
  std::span<const NodeIndex> nodes_of(std::int32_t rack);
  // All is counted anew when asked for: the ledger's log of changes may be forgotten up to now.
  void forget() { shapes_.clear(); }

 private:
  struct ShapeCopies {
    std::size_t position = 0;  // in the ledger's change log
    std::vector<std::int32_t> per_node;
    std::vector<std::int64_t> per_rack;
  };
  void recount(const TaskShape& shape, NodeIndex node, ShapeCopies& copies) const;
  void repair(const TaskShape& shape, ShapeCopies& copies);

  const Ledger& ledger_;
  std::unordered_map<TaskShape, ShapeCopies, TaskShapeHash> shapes_;
  std::vector<std::vector<NodeIndex>> rack_nodes_;  // built when first asked for
  std::vector<std::uint64_t> repaired_;             // by node: the last repair that looked at it
  std::uint64_t repairs_ = 0;
};

}  // namespace berth
