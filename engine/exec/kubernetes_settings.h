// What CREATE EXECUTOR ... TYPE kubernetes says, read.
#pragma once

#include <string>
#include <vector>

#include "engine/exec/executor.h"

namespace berth {

inline constexpr ExecutorOption kKubernetesExecutorOptions[] = {
    {"kubectl", "text", "kubectl", "The kubectl to use: a name in PATH, or a path."},
    {"kubeconfig", "file", "", "Its configuration file; empty = kubectl's own choice ($KUBECONFIG, ~/.kube/config).",
     true},
    {"context", "text", "", "Context of that file; empty = its current one.", true},
    {"namespace", "text", "default", "Where the pods of its jobs are.", true},
    {"timeout", "duration", "30s", "How long one call of kubectl may take."},
    {"image", "text", "", "Image of jobs that name none; empty = such jobs are refused."},
    {"scheduler", "text", "berth", "The schedulerName of its pods: no scheduler of that name may run."},
    {"runtime_class", "text", "", "The runtimeClassName of its pods."},
    {"service_account", "text", "", "Of its pods; empty = the namespace's, and its token is kept from them."},
    {"gpu_resource", "text", "nvidia.com/gpu", "The resource under which nodes offer their devices."},
    {"devices", "text", "plugin",
     "plugin: the device plugin hands out whole devices; environment: NVIDIA_VISIBLE_DEVICES names those that were "
     "planned, shares of a device too, where all work with devices comes through this executor."},
    {"tolerate", "text", "nvidia.com/gpu", "Keys of taints, by comma, that are meant to keep others off."},
    {"host_network", "boolean", "false",
     "Pods use their node's network, so that peers are reached by their node's name."},
    {"pool_label", "text", "", "The node label whose value is the node's pool."},
    {"keep_pods", "duration", "1h", "How long ended pods are kept, for their logs, once their outcome is recorded."},
};

struct KubernetesSettings {
  std::string kubectl;
  std::string kubeconfig;
  std::string context;
  std::string name_space;
  Seconds timeout;
  std::string image;
  std::string scheduler;
  std::string runtime_class;
  std::string service_account;
  std::string gpu_resource;
  bool has_plugin = true;  // see option `devices`
  std::vector<std::string> tolerate;
  bool is_on_host_network = false;
  std::string pool_label;
  Seconds keep_pods;
};

// kInvalid: a value that cannot be.
Result<KubernetesSettings> read_kubernetes_settings(const ExecutorOptions& options);

}  // namespace berth
