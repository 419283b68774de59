// Which cluster an executor's tasks run in. A context or a variable of the caller may name another one since: there
// nothing of ours is, and what is told to it is done to somebody else.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace berth {

struct ClusterIdentity {
  std::string_view who;   // answers: "Slurm"
  std::string_view name;  // what tells the cluster from others: "uid ..."
  std::string_view runs;  // in it: "pods"
  std::string_view hint;  // "set ... to the right one"
};

// Remembered in the executor's folder at first. kUnavailable: it is another one than is remembered there.
Status check_cluster_identity(const std::string& folder, const ClusterIdentity& identity);

}  // namespace berth
