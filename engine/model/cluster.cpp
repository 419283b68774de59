#include "engine/model/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr std::array<std::pair<NodeState, std::string_view>, 5> kNodeStateNames = {{
    {NodeState::kUp, "up"},
    {NodeState::kDraining, "draining"},
    {NodeState::kDrained, "drained"},
    {NodeState::kDown, "down"},
    {NodeState::kBooting, "booting"},
}};

struct NodeEdge {
  NodeState from;
  NodeState to;
};

constexpr NodeEdge kNodeEdges[] = {
    {NodeState::kUp, NodeState::kDraining},       // DRAIN while tasks run on it
    {NodeState::kUp, NodeState::kDrained},        // DRAIN of an empty node
    {NodeState::kUp, NodeState::kDown},           // it failed
    {NodeState::kDraining, NodeState::kDrained},  // its last task ended
    {NodeState::kDraining, NodeState::kUp},       // RESUME before it was empty
    {NodeState::kDraining, NodeState::kDown},     // it failed while draining
    {NodeState::kDrained, NodeState::kUp},        // RESUME
    {NodeState::kDrained, NodeState::kDown},      // switched off
    {NodeState::kDown, NodeState::kBooting},      // switched on
    {NodeState::kDown, NodeState::kUp},           // RESUME of a node that needs no boot
    {NodeState::kDown, NodeState::kDraining},     // DRAIN: it does not come back to work; tasks may still run on it
    {NodeState::kDown, NodeState::kDrained},      // DRAIN: it does not come back to work
    {NodeState::kBooting, NodeState::kUp},        // it came up
    {NodeState::kBooting, NodeState::kDown},      // it did not
    {NodeState::kBooting, NodeState::kDrained},   // DRAIN before it came up
};

}  // namespace

std::string_view node_state_name(NodeState state) { return kNodeStateNames[static_cast<std::size_t>(state)].second; }

Result<NodeState> read_node_state(std::string_view text) {
  for (const auto& [state, name] : kNodeStateNames) {
    if (equals_ignoring_case(name, text)) return state;
  }
  return Status(Code::kInvalid, fmt::format("'{}' is not a node state (up, draining, drained, down, booting)", text));
}

bool node_may_change(NodeState from, NodeState to) {
  return std::any_of(std::begin(kNodeEdges), std::end(kNodeEdges),
                     [&](const NodeEdge& edge) { return edge.from == from && edge.to == to; });
}

std::int32_t Cluster::add_kind(const NodeKind& kind) {
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found != kinds.end()) return static_cast<std::int32_t>(found - kinds.begin());
  kinds.push_back(kind);
  return static_cast<std::int32_t>(kinds.size() - 1);
}

namespace {

Status link_group_error(std::string_view text, std::string_view why) {
  return Status(Code::kInvalid, fmt::format("link groups '{}': {}", text, why),
                "write them as [[0 1] [2 3]] [[4 5] [6 7]]");
}

}  // namespace

Result<std::vector<DeviceMask>> read_link_groups(std::string_view text, int device_count) {
  std::vector<DeviceMask> groups;
  std::vector<DeviceMask> open;  // groups whose ']' has not come yet, outermost first
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[') {
      open.push_back(0);
    } else if (c == ']') {
      if (open.empty()) return link_group_error(text, "a ']' without '['");
      const DeviceMask group = open.back();
      open.pop_back();
      if (group == 0) return link_group_error(text, "an empty group");
      if (!open.empty()) open.back() |= group;
      groups.push_back(group);
    } else if (c >= '0' && c <= '9') {
      int device = 0;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && device < 1000; ++i)
        device = device * 10 + (text[i] - '0');
      --i;
      if (open.empty()) return link_group_error(text, "a device outside of a group");
      if (device >= device_count)
        return link_group_error(text, fmt::format("device {} of a node with {}", device, device_count));
      const DeviceMask bit = DeviceMask{1} << device;
      if ((open.back() & bit) != 0) return link_group_error(text, fmt::format("device {} twice in one group", device));
      open.back() |= bit;
    } else if (c != ' ' && c != ',') {
      return link_group_error(text, fmt::format("unexpected '{}'", c));
    }
  }
  if (!open.empty()) return link_group_error(text, "a '[' without ']'");
  for (const DeviceMask a : groups) {
    for (const DeviceMask b : groups) {
      if ((a & b) != 0 && (a & b) != a && (a & b) != b)
        return link_group_error(text, "two groups overlap without one holding the other");
    }
  }
  std::sort(groups.begin(), groups.end(), [](DeviceMask a, DeviceMask b) {
    const int size_a = std::popcount(a);
    const int size_b = std::popcount(b);
    return size_a != size_b ? size_a < size_b : std::countr_zero(a) < std::countr_zero(b);
  });
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  // Of simulations without single devices a node may have more than a mask can say.
  const DeviceMask all = device_count == 0 ? 0 : ~DeviceMask{0} >> (64 - std::min(device_count, 64));
  std::erase_if(groups, [&](DeviceMask group) { return group == all || std::popcount(group) < 2; });
  return groups;
}

namespace {

void print_link_group(DeviceMask group, std::span<const DeviceMask> smaller, std::string& text) {
  text += "[";
  bool first = true;
  DeviceMask left = group;
  while (left != 0) {
    // The largest listed group inside that holds the lowest device not yet printed.
    const DeviceMask lowest = left & (~left + 1);
    DeviceMask child = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < smaller.size(); ++i) {
      if ((smaller[i] & lowest) != 0 && (smaller[i] & group) == smaller[i]) {
        child = smaller[i];
        at = i;
      }
    }
    if (!first) text += " ";
    first = false;
    if (child == 0) {
      text += fmt::format("{}", std::countr_zero(lowest));
      left &= ~lowest;
    } else {
      print_link_group(child, smaller.first(at), text);
      left &= ~child;
    }
  }
  text += "]";
}

}  // namespace

std::string print_link_groups(const std::vector<DeviceMask>& groups) {
  std::vector<DeviceMask> outermost;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool inside = std::any_of(groups.begin(), groups.end(), [&](DeviceMask other) {
      return other != groups[i] && (other & groups[i]) == groups[i];
    });
    if (!inside) outermost.push_back(groups[i]);
  }
  std::sort(outermost.begin(), outermost.end(),
            [](DeviceMask a, DeviceMask b) { return std::countr_zero(a) < std::countr_zero(b); });
  std::string text;
  for (const DeviceMask group : outermost) {
    const auto at = std::find(groups.begin(), groups.end(), group);
    if (!text.empty()) text += " ";
    print_link_group(group, std::span(groups.begin(), at), text);
  }
  return text;
}

}  // namespace berth
