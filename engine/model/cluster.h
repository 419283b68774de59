// The machines: device models, node kinds, nodes.
//
// A node kind is everything about a node that does not change while it runs tasks and that decides what fits it: size,
// device model, link groups, pool. Nodes refer to kinds by index, kinds to models by index; a cluster of ten thousand
// nodes has a handful of kinds. Which devices talk fast to each other is told by link groups: sets of devices, nested
// or disjoint (an NVLink pair inside a quad inside the node). The whole node is a link group of its own and is not
// listed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"

namespace berth {

// Devices of one node as bits; bit i is device i.
using DeviceMask = std::uint64_t;
inline constexpr int kMaxDevices = 32;

struct DeviceModel {
  std::int64_t id = 0;
  std::string name;
  MiB memory;  // 0 = not tracked
};

struct NodeKind {
  MilliCpu cpu;
  MiB memory;
  std::int32_t model = -1;  // index into Cluster::models; -1 = no devices
  std::int32_t device_count = 0;
  MiB device_memory;
  std::vector<DeviceMask> link_groups;  // nested or disjoint; sorted by size, then lowest device
  std::int32_t pool = -1;               // index into Cluster::pools
  std::int32_t keeps_out = 0;           // tasks of this TaskShape::limit_class and above; 0 = none
  bool takes_unlimited = false;         // but for those of class TaskShape::kUnlimited

  bool operator==(const NodeKind&) const = default;
};

enum class NodeState : std::uint8_t { kUp, kDraining, kDrained, kDown, kBooting };
std::string_view node_state_name(NodeState state);
Result<NodeState> read_node_state(std::string_view text);
// The one table of allowed changes (CHECK and the statements use it).
bool node_may_change(NodeState from, NodeState to);

struct Node {
  std::int64_t id = 0;
  std::int32_t kind = 0;
  std::int32_t rack = -1;  // index into Cluster::racks; -1 = none
  NodeState state = NodeState::kUp;
  DeviceMask unhealthy = 0;  // devices that must not be used
};

// Nodes in id order. Index into `nodes` is a NodeIndex everywhere in the engine.
struct Cluster {
  std::vector<DeviceModel> models;  // at most kMaxModels
  std::vector<std::string> pools;
  std::vector<std::string> racks;
  std::vector<NodeKind> kinds;
  std::vector<Node> nodes;
  std::vector<std::string> node_names;  // parallel to nodes; empty where the caller does not need names

  std::int32_t add_kind(const NodeKind& kind);  // index of an equal kind, added when new
  const NodeKind& kind_of(std::size_t node) const { return kinds[static_cast<std::size_t>(nodes[node].kind)]; }
};

using NodeIndex = std::int32_t;

// "[[0 1] [2 3]] [[4 5] [6 7]]": nested groups as text, to masks for a node of `device_count` devices. "" = none.
Result<std::vector<DeviceMask>> read_link_groups(std::string_view text, int device_count);
std::string print_link_groups(const std::vector<DeviceMask>& groups);

}  // namespace berth
