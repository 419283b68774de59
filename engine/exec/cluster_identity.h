// Remembers the cluster in which an executor's tasks run, and refuses any other. kubectl's context or SLURM_CONF may
// name another cluster later: our tasks do not run there, and our calls would change the work of others.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace berth {

struct ClusterIdentity {
  std::string_view who;   // the system that answered: "Slurm"
  std::string_view name;  // the cluster's own name or number, no other has it; empty = it may not be asked
  std::string_view runs;  // what tasks are called there: "pods"
  std::string_view hint;  // how to choose the right cluster: "set ... to the right one"
};

// The first call writes the name into the executor's folder. kUnavailable: that folder names another cluster, or one,
// and nobody may ask which one answers now.
Status check_cluster_identity(const std::string& folder, const ClusterIdentity& identity);
// That folder names a cluster. check_cluster_identity() refuses any other.
bool knows_cluster(const std::string& folder);

}  // namespace berth
