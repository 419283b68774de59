// What is sent to the API server: pods, bindings, evictions, as JSON.
//
// One pod for each task, with its key as name: the API server itself keeps a second one from being. A task alone is
// created on its node (spec.nodeName), in one step. A gang's pods are created without a node, so that none starts, and
// bound when all are there: a gang is all or none, whatever the server refuses on the way.
//
// Devices are whole and handed out by the device plugin, or named by the environment (see option `devices`). Kubernetes
// replaces $(NAME) and $$ in commands and variables; they are written so that the job sees what was submitted. A pod
// that is to end hears it at its first process only, which may be a shell that keeps it to itself; so a hook first
// gives the job's checkpoint signal to the shell's children too and lets them use the grace, or else passes TERM on.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/exec/kubernetes_settings.h"

namespace berth {

struct PodOrder {
  const Launch* launch = nullptr;
  const LaunchTask* task = nullptr;
  std::string name;
  bool is_bound_later = false;
};

// Why such pods cannot be; empty when they can.
std::string why_no_pods(const Launch& launch, const KubernetesSettings& settings);

// Lists for `kubectl create`.
std::string write_pods(std::span<const PodOrder> orders, const std::string& database,
                       const KubernetesSettings& settings);
std::string write_bindings(std::span<const PodOrder> orders);
// `version`: of group policy.
std::string write_eviction(const std::string& pod, const std::string& version, Seconds grace);

// For a shell in the pod: gives the signal to its first process and, where that is a shell, to its children.
std::string pod_signal_command(const std::string& signal);
// The same, after a line kPodSignalMark in the termination message.
std::string pod_marked_signal_command(const std::string& signal);

// Text that Kubernetes leaves as it is: "$$" and "$(" doubled.
std::string keep_dollars(std::string_view text);

}  // namespace berth
