// The cluster that a simulation runs on: a file's nodes, or those of the database, empty, all up, with some more or
// less.
#pragma once

#include <string>

#include "engine/model/cluster.h"
#include "engine/runtime/runtime.h"
#include "engine/sim/trace.h"

namespace berth {

struct ClusterSource {
  std::string nodes;  // node file; empty = the nodes of the database
  std::string format = "berth";
  TraceOptions files = {};
  // Of the database's node types: "4 x h100x8, 2 x a100x4". Empty = none.
  std::string more_nodes = {};
  std::string fewer_nodes = {};
};

// Errors about the last two begin with "option 'more_nodes'" and "option 'fewer_nodes'".
Result<Cluster> simulated_cluster(Runtime& runtime, const ClusterSource& source);

MilliGpu device_capacity(const Cluster& cluster);
// Of all nodes of the database.
Result<MilliGpu> database_capacity(Runtime& runtime);

}  // namespace berth
