// How many tasks of a shape fit in each rack, kept up to date as the ledger changes.
//
// Asked by gangs that must lie in one rack. Per shape, copies that fit are counted once per node and then repaired from
// the ledger's log of changed nodes, so that many gangs of the same shape cost one pass over the nodes. The log is read
// once for all shapes. Nodes without a rack are in none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model/ledger.h"
#include "engine/model/shape.h"
#include "engine/policy/policy.h"
#include "engine/policy/recent_nodes.h"

namespace berth {

class RackCapacity {
 public:
  RackCapacity(const Ledger& ledger, const NodeScore& policy) : ledger_(ledger), policy_(policy) {}

  // Tasks of `shape` that fit at once where the policy lets them run, per rack index.
  std::span<const std::int64_t> copies(const TaskShape& shape);
  std::span<const NodeIndex> nodes_of(std::int32_t rack);
  // All is counted anew when asked for: the ledger's log of changes may be forgotten up to now.
  void forget();

 private:
  struct ShapeCopies {
    RecentNodes::Moment counted = 0;
    std::vector<std::int32_t> per_node;
    std::vector<std::int64_t> per_rack;
  };
  void recount(const TaskShape& shape, NodeIndex node, ShapeCopies& copies) const;
  void read_changes();

  const Ledger& ledger_;
  const NodeScore& policy_;
  std::unordered_map<TaskShape, ShapeCopies, TaskShapeHash> shapes_;
  std::vector<std::vector<NodeIndex>> rack_nodes_;  // built when first asked for
  std::optional<RecentNodes> changed_;              // from the first question on
  std::size_t position_ = 0;                        // in the ledger's log of changes
};

}  // namespace berth
