// Pods as `kubectl get pods -o json` tells them, read, and what they mean for a task.
//
// Pure: text in, values out; any field may be missing. What a pod holds is the sum of its containers' requests, or its
// largest init container's where that is more, and its overhead: as Kubernetes itself counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/exec/executor.h"

namespace berth {

inline constexpr std::string_view kPodDatabaseLabel = "berth/database";
inline constexpr std::string_view kPodLaunchLabel = "berth/launch";
inline constexpr std::string_view kPodRecordedLabel = "berth/recorded";  // when its outcome was, in Unix time
// A signal is about to be sent to its job ("asked"), or was ("true").
inline constexpr std::string_view kPodSignalledLabel = "berth/signalled";
inline constexpr std::string_view kPodSignalAsked = "asked";
// The line that the command that sends it first appends to the pod's termination message.
inline constexpr std::string_view kPodSignalMark = "signalled";
inline constexpr std::string_view kPodContainer = "main";

struct KubernetesPod {
  std::string name_space;
  std::string name;
  std::string database;  // of kPodDatabaseLabel, and so on; empty = not ours
  std::string launch;
  std::int64_t recorded = -1;
  bool was_signalled = false;  // while it ran: its end came later, whatever the clock of its node says
  std::string node;            // empty = not bound
  std::string phase;           // "Pending", "Running", "Succeeded", "Failed", "Unknown"
  std::string trouble;         // "Evicted: The node was low on resource: memory."
  std::string reason;          // the first word of that
  bool is_deleting = false;
  Seconds deleted{-1};  // when that was asked
  std::string waiting;  // for what its container waits: "ImagePullBackOff: Back-off pulling image"
  // Of its container.
  bool has_ended = false;
  bool has_company = false;  // another container of the pod runs: a sidecar
  Seconds started{-1};
  Seconds ended{-1};
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  std::string end_reason;  // "Completed", "Error", "OOMKilled"
  std::string end_message;
  // What it holds on its node.
  MilliCpu cpu;
  MiB memory;
  std::int32_t gpu_count = 0;

  bool is_over() const { return phase == "Succeeded" || phase == "Failed"; }
  // Its container has ended by itself, and a sidecar that knows nothing of that keeps the pod.
  bool is_outlived() const { return phase == "Running" && has_ended && has_company && !is_deleting; }
  // Its kubelet did not take it, and says why: it never ran.
  bool was_refused() const;
};

// In the order of the text. kUnavailable when it is no list of pods (see read_items), or says what cannot be.
Result<std::vector<KubernetesPod>> read_kubernetes_pods(std::string_view json, std::string_view gpu_resource);

// A pod that the node or the cluster ended, not its job - evicted, shut down with its node - has vanished, and so has
// one that its kubelet refused; the refusal is its detail.
TaskObservation observe_pod(const KubernetesPod& pod, const TaskKey& key);

}  // namespace berth
