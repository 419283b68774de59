// Nodes as `kubectl get nodes -o json` tells them, read.
//
// Pure: text in, values out. Fields that are missing count as not told; GPU labels are those of NVIDIA's GPU feature
// discovery (and of others that follow it: the resource's name with .product, .memory, .count). A node that is not
// ready, or has a NoExecute taint that Berth's pods do not tolerate, cannot keep work: not ready. One that is cordoned
// or has such a NoSchedule taint keeps what it has and gets nothing new: cordoned. A cordon that carries the mark of
// this database (see kubernetes_cordon.h) is its own, not somebody else's.
#pragma once

#include <string_view>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/exec/kubernetes_settings.h"

namespace berth {

struct KubernetesNode {
  InventoryNode inventory;  // is_ready: and not cordoned; detail: what is below, and what else to know
  bool is_ready = true;
  bool is_cordoned = false;
  bool has_our_cordon = false;  // and nobody else's
  std::string resource_version;
  std::string trouble;  // why it is not ready, or cordoned
};

// By name. kUnavailable when the text is no whole JSON.
// Of one object, as `kubectl get` tells it; empty = it has none.
std::string read_kubernetes_uid(std::string_view json);
Result<std::vector<KubernetesNode>> read_kubernetes_nodes(std::string_view json, const KubernetesSettings& settings,
                                                          std::string_view database = {});

// The label that says which database's a cordon is. An annotation of the same name says why, to people.
inline constexpr std::string_view kNodeCordonLabel = "berth/cordon";

// "NVIDIA-A100-SXM4-80GB" is "A100", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb" is "A100-1g.5gb".
std::string kubernetes_model_name(std::string_view product);

}  // namespace berth
