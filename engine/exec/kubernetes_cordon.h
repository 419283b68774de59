// Cordons nodes of a Kubernetes cluster and lifts such cordons again, never somebody else's.
//
// A cordon of ours is spec.unschedulable with a label that names the database and an annotation that says why, set and
// taken away together, and only on the node as it was when it was looked at (resourceVersion): should anything change
// meanwhile the server refuses, and it is done another time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/exec/kubectl.h"

namespace berth {

// See Executor::cordon.
Result<std::vector<Delivery>> cordon_kubernetes_nodes(const Kubectl& kubectl, const KubernetesSettings& settings,
                                                      std::string_view database, std::span<const std::string> nodes,
                                                      bool is_cordoned, const std::string& reason);

}  // namespace berth
