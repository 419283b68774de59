#include "engine/exec/kubernetes_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/exec/kubernetes_json.h"
#include "engine/exec/nvidia_smi.h"

namespace berth {

namespace {

using kubernetes::Json;
using kubernetes::text_at;
using kubernetes::value_at;

struct NodeTroubles {
  std::vector<std::string> not_ready;
  std::vector<std::string> cordoned;
  std::vector<std::string> notes;
};

void read_ready_condition(const Json& node, NodeTroubles& troubles) {
  for (const Json& condition : value_at(node, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) != "Ready") continue;
    const std::string status = text_at(condition, {"status"});
    if (status == "True") return;
    const std::string said = fmt::format("{} {}", text_at(condition, {"reason"}), text_at(condition, {"message"}));
    troubles.not_ready.push_back(
        fmt::format("{}: {}", status == "Unknown" ? "its kubelet does not answer" : "not ready", trim(said)));
    return;
  }
  troubles.not_ready.emplace_back("it has not said that it is ready");
}

void read_taints(const Json& node, const KubernetesSettings& settings, NodeTroubles& troubles) {
  for (const Json& taint : value_at(node, {"spec", "taints"})) {
    const std::string key = text_at(taint, {"key"});
    const std::string effect = text_at(taint, {"effect"});
    if (std::ranges::find(settings.tolerate, key) != settings.tolerate.end()) continue;
    if (key == "node.kubernetes.io/unschedulable") continue;  // a cordon, told by its own field
    const bool is_control_plane = key.starts_with("node-role.kubernetes.io/");
    const std::string words = fmt::format("{}taint {}:{}", is_control_plane ? "control plane: " : "", key, effect);
    if (effect == "NoExecute") troubles.not_ready.push_back(words);
    if (effect == "NoSchedule") troubles.cordoned.push_back(words);
  }
}

void read_devices(const Json& node, const KubernetesSettings& settings, InventoryNode& into, NodeTroubles& troubles) {
  const std::string& resource = settings.gpu_resource;
  const auto label = [&](const std::string& key) { return text_at(node, {"metadata", "labels", key}); };
  into.devices = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(kubernetes::count_at(node, {"status", "allocatable", resource}), 0, INT32_MAX));
  if (into.devices > 0) {
    into.model = kubernetes_model_name(label(resource + ".product"));
    if (into.model.empty()) into.model_from = fmt::format("label {}.product", resource);
    if (const Result<std::int64_t> memory = read_integer(label(resource + ".memory")); memory.ok() && *memory > 0)
      into.device_memory = MiB(*memory);
    const Result<std::int64_t> replicas = read_integer(label(resource + ".replicas"));
    if (replicas.ok() && *replicas > 1)
      troubles.notes.push_back(fmt::format("time-slicing: {} shares of each device count as devices", *replicas));
  }
  const std::string mig = label(resource.substr(0, resource.find('/')) + "/mig.strategy");
  const bool has_slices = label(resource + ".product").find("-MIG-") != std::string::npos;
  if (mig == "single" && has_slices) troubles.notes.emplace_back("MIG single: its devices are slices");
  for (const auto& [name, amount] : value_at(node, {"status", "allocatable"}).items()) {
    if (name.find("/mig-") != std::string::npos && kubernetes::count_at(node, {"status", "allocatable", name}) > 0)
      troubles.notes.push_back(fmt::format("MIG {}: {} of {} left out", mig.empty() ? "on" : mig,
                                           kubernetes::count_at(node, {"status", "allocatable", name}), name));
  }
}

// True when it has one that is ours.
bool read_cordon(const Json& json, std::string_view database, NodeTroubles& troubles) {
  if (!kubernetes::is_true_at(json, {"spec", "unschedulable"})) return false;
  const std::string mark = text_at(json, {"metadata", "labels", kNodeCordonLabel});
  const bool is_ours = !mark.empty() && mark == database;
  (is_ours ? troubles.notes : troubles.cordoned)
      .push_back(mark.empty() ? std::string("cordoned") : fmt::format("cordoned by database {} of Berth", mark));
  return is_ours;
}

KubernetesNode read_node(const Json& json, const KubernetesSettings& settings, std::string_view database) {
  KubernetesNode node;
  InventoryNode& inventory = node.inventory;
  const auto label = [&](std::string_view key) { return text_at(json, {"metadata", "labels", key}); };
  inventory.name = text_at(json, {"metadata", "name"});
  inventory.cpu = kubernetes::cpu_at(json, {"status", "allocatable", "cpu"}, QuantityRounding::kDown);
  inventory.memory = kubernetes::memory_at(json, {"status", "allocatable", "memory"}, QuantityRounding::kDown);
  inventory.rack = label("topology.kubernetes.io/zone");
  if (inventory.rack.empty()) inventory.rack = label("failure-domain.beta.kubernetes.io/zone");
  if (!settings.pool_label.empty()) inventory.pool = label(settings.pool_label);
  NodeTroubles troubles;
  read_ready_condition(json, troubles);
  read_taints(json, settings, troubles);
  read_devices(json, settings, inventory, troubles);
  const bool has_our_cordon = read_cordon(json, database, troubles);
  node.resource_version = text_at(json, {"metadata", "resourceVersion"});
  node.is_ready = troubles.not_ready.empty();
  node.is_cordoned = !troubles.cordoned.empty();
  node.has_our_cordon = has_our_cordon && !node.is_cordoned;
  std::vector<std::string>& all = troubles.not_ready;
  all.insert(all.end(), troubles.cordoned.begin(), troubles.cordoned.end());
  node.trouble = join(all, "; ");
  all.insert(all.end(), troubles.notes.begin(), troubles.notes.end());
  inventory.is_ready = node.is_ready && !node.is_cordoned;
  inventory.detail = join(all, "; ");
  return node;
}

}  // namespace

std::string kubernetes_model_name(std::string_view product) {
  constexpr std::string_view kShared = "-SHARED";  // time-slicing
  if (product.ends_with(kShared)) product.remove_suffix(kShared.size());
  const std::size_t slice = product.find("-MIG-");
  std::string name = short_model_name(product.substr(0, slice));
  if (slice != std::string_view::npos) name += product.substr(slice + std::string_view("-MIG").size());
  return name;
}

std::string read_kubernetes_uid(std::string_view json) {
  return text_at(Json::parse(json, nullptr, false), {"metadata", "uid"});
}

Result<std::vector<KubernetesNode>> read_kubernetes_nodes(std::string_view json, const KubernetesSettings& settings,
                                                          std::string_view database) {
  BERTH_ASSIGN(const Json items, kubernetes::read_items(json, "Node"));
  std::vector<KubernetesNode> nodes;
  for (const Json& item : items) nodes.push_back(read_node(item, settings, database));
  std::ranges::sort(nodes, {}, [](const KubernetesNode& node) { return std::string_view(node.inventory.name); });
  return nodes;
}

}  // namespace berth
