// Ending pods, and signals to them.
//
// To end: the eviction API (in the version that the server has, asked once), which heeds disruption budgets; where it
// is missing or not allowed, plain deletion. Either way the pod's own hook gives the job its checkpoint signal and the
// kubelet grants the grace (see kubernetes_manifest.h), so `StopRequest::signal` is not sent once more. A signal alone
// goes through `kubectl exec`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/exec/kubectl.h"

namespace berth {

// Done: told to end, or gone. kUnknown: a disruption budget does not allow it now, or nobody answered. kRefused: a
// signal that may not be sent, or that the pod cannot take. `eviction_version`: once known; filled in when needed.
Result<std::vector<Delivery>> stop_pods(const Kubectl& kubectl, const std::string& database,
                                        std::span<const StopRequest> requests,
                                        std::optional<std::string>& eviction_version);

// "v1" or "v1beta1", from the server's list of resources; empty when it has no evictions.
std::string read_eviction_version(std::string_view resources);

}  // namespace berth
