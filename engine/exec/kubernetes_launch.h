// Launches become pods, each at most once, and gangs whole or not at all.
//
// Method: create all pods, ten to a call (kubectl.h). Where an answer leaves anything open - a name that is taken, a
// connection that broke, a time that ran out - ask what is there. A task alone is done when its pod is there and ours.
// A gang's pods run nowhere until they are bound, which they are once all are there; when one of them is refused the
// others are taken back. Had some of a gang's pods been bound before while others are missing, then it was launched
// once already and somebody deleted those: they are not launched again.
//
// What is lost on the way is kUnknown, and found by its names at the next delivery. Not covered: the only pod of a
// launch is deleted by somebody else after it was created and before its delivery was noted; it would start again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/exec/kubectl.h"
#include "engine/exec/kubernetes_pod.h"
#include "engine/exec/kubernetes_settings.h"

namespace berth {

// kUnavailable when nobody answers.
Result<std::vector<Delivery>> launch_pods(const Kubectl& kubectl, const KubernetesSettings& settings,
                                          const std::string& database, std::span<const Launch> launches);

// Of the executor's namespace.
Result<std::vector<KubernetesPod>> list_pods(const Kubectl& kubectl, const KubernetesSettings& settings,
                                             const std::string& selector);
// Ends them, ten to a call, without waiting; those that are gone are fine. One reply for each call.
Result<std::vector<KubectlReply>> delete_pods(const Kubectl& kubectl, std::span<const std::string> names,
                                              std::vector<std::string> words);
inline constexpr std::size_t kPodsPerLabelCall = 5;  // kubectl asks twice for each
// `label`: KEY=VALUE, or KEY- to take it off. One reply for each call.
Result<std::vector<KubectlReply>> label_pods(const Kubectl& kubectl, std::span<const std::string> names,
                                             const std::string& label);

}  // namespace berth
