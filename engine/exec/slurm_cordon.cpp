#include "engine/exec/slurm_cordon.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth {

namespace {

// A line of sinfo's.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

}  // namespace

Result<std::vector<Delivery>> cordon_slurm_nodes(SlurmClient& client, std::string_view database,
                                                 std::span<const std::string> nodes, bool is_cordoned,
                                                 const std::string& reason) {
  std::vector<Delivery> deliveries(nodes.size());
  if (nodes.empty()) return deliveries;
  // As they are now, whatever was seen before: nobody's drain is to be replaced or lifted.
  BERTH_ASSIGN(const std::vector<SlurmNode> present, client.nodes(true));
  std::vector<std::string> names;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto node = std::ranges::find(present, nodes[i], &SlurmNode::name);
    if (node == present.end()) {
      deliveries[i] = {DeliveryState::kRefused, "", "Slurm has no such node"};
      continue;
    }
    const NodeObservation seen = judge_slurm_node(*node, database);
    if (seen.has_our_cordon == is_cordoned) continue;
    if (is_cordoned && seen.is_cordoned) {
      deliveries[i] = {DeliveryState::kRefused, "", seen.detail};
      continue;
    }
    names.push_back(nodes[i]);
    which.push_back(i);
  }
  if (names.empty()) return deliveries;
  const std::vector<std::string> changes =
      is_cordoned ? std::vector<std::string>{"State=DRAIN", "Reason=" + slurm_drain_mark(database) + one_line(reason)}
                  : std::vector<std::string>{"State=UNDRAIN"};
  if (!client.update_nodes(names, changes).ok()) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (Status said = client.update_nodes({names[i]}, changes); !said.ok())
        deliveries[which[i]] = {DeliveryState::kUnknown, "", said.message()};
    }
  }
  (void)client.nodes(true);  // what is kept of the last answer is no longer true
  return deliveries;
}

}  // namespace berth
