#include "engine/exec/kubernetes_cordon.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/exec/kubernetes_node.h"

namespace berth {

namespace {

using Json = nlohmann::json;

// Null takes away.
std::string cordon_patch(const KubernetesNode& node, bool is_cordoned, std::string_view database,
                         const std::string& reason) {
  const std::string key(kNodeCordonLabel);
  const Json label = is_cordoned ? Json(database) : Json();
  const Json why = is_cordoned ? Json(reason) : Json();
  const Json patch = {
      {"metadata",
       {{"resourceVersion", node.resource_version}, {"labels", {{key, label}}}, {"annotations", {{key, why}}}}},
      {"spec", {{"unschedulable", is_cordoned ? Json(true) : Json()}}},
  };
  return patch.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Result<std::vector<Delivery>> cordon_kubernetes_nodes(const Kubectl& kubectl, const KubernetesSettings& settings,
                                                      std::string_view database, std::span<const std::string> nodes,
                                                      bool is_cordoned, const std::string& reason) {
  std::vector<Delivery> deliveries(nodes.size());
  if (nodes.empty()) return deliveries;
  BERTH_ASSIGN(const KubectlReply listed, kubectl.list({"nodes"}));
  BERTH_TRY(listed.status());
  BERTH_ASSIGN(const std::vector<KubernetesNode> cluster, read_kubernetes_nodes(listed.output, settings, database));
  std::vector<KubectlCall> calls;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto node =
        std::ranges::find_if(cluster, [&](const KubernetesNode& each) { return each.inventory.name == nodes[i]; });
    if (node == cluster.end()) {
      deliveries[i] = {DeliveryState::kRefused, "", "the cluster has no node of that name"};
    } else if (is_cordoned && node->is_cordoned) {
      deliveries[i] = {DeliveryState::kRefused, "", node->trouble};
    } else if (node->has_our_cordon != is_cordoned) {
      calls.push_back({{"patch", "node", nodes[i], "--type=merge", "--output=name",
                        "--patch=" + cordon_patch(*node, is_cordoned, database, reason)}});
      which.push_back(i);
    }
  }
  BERTH_ASSIGN(const std::vector<KubectlReply> replies, kubectl.call_all(calls));
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (!replies[i].is_ok) deliveries[which[i]] = {DeliveryState::kUnknown, "", replies[i].complaint()};
  }
  return deliveries;
}

}  // namespace berth
