// Nodes that take no job which may still run at a moment to come.
//
// The system behind an executor has planned something there, maintenance next week say, and holds back what would run
// into that. A job launched there would wait in that system's queue, on room that it may have been given by evictions.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/store/change.h"
#include "engine/store/id_index.h"

namespace berth {

struct NodeClosing {
  Seconds closes_at;
  std::optional<Seconds> usual_limit;  // of a job without a time limit; nothing = none

  bool operator==(const NodeClosing&) const = default;
};
using NodeClosings = std::map<std::int64_t, NodeClosing>;  // by node

// Of these nodes.
Result<NodeClosings> read_node_closings(Database& db, const std::vector<std::int64_t>& nodes);
// Instead of `before`.
Status write_node_closings(Change& change, const NodeClosings& before, const NodeClosings& now);

// By node, each with the least time limit that it takes no more: for this, or because it has kept launches out (see
// launch_losses.h).
Result<std::vector<KeptOutNode>> kept_out_nodes(Database& db, IdIndex& nodes, Seconds now);

}  // namespace berth
