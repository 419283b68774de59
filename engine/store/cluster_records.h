// Adding, altering and dropping the machines: pools, device models, node types, nodes, device health.
//
// Every function works inside the caller's Change and writes its own event. Distinct errors: kExists (name taken),
// kNotFound (unknown name, with the nearest one), kInvalid (the values), kConflict (in use; a change that would no
// longer hold what runs there; a node state that cannot follow the present one). Optional fields of an alteration that
// are empty stay as they are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/store/change.h"

namespace berth {

// Bounds that keep every sum far from overflow; the schema has them too. CPU in milli-cores, memory in MiB.
inline constexpr std::int64_t kMostAmount = std::int64_t{1} << 40;  // of a node or task
inline constexpr std::int64_t kMostDeviceMemory = INT32_MAX;

Status add_pool(Change& change, const std::string& name);
Status rename_pool(Change& change, const std::string& name, const std::string& new_name);
Status drop_pool(Change& change, const std::string& name);

inline constexpr std::int64_t kUsualPrice = -1;  // the setting's

struct DeviceModelRequest {
  std::string name = {};
  MiB memory = {};                               // of one device; 0 = not tracked
  double speed = 1.0;                            // relative to a reference device, > 0
  std::string family = {};                       // a name quotas may use for several models; empty = none
  std::optional<std::int64_t> price_milli = {};  // of a borrowed GPU-hour, in thousandths; none = the setting's
};
struct DeviceModelAlteration {
  std::optional<MiB> memory = {};
  std::optional<double> speed = {};
  std::optional<std::string> family = {};        // "" = none
  std::optional<std::int64_t> price_milli = {};  // kUsualPrice = none
};
Status add_device_model(Change& change, const DeviceModelRequest& request);
Status alter_device_model(Change& change, const std::string& name, const DeviceModelAlteration& alteration);
Status drop_device_model(Change& change, const std::string& name);

struct NodeTypeRequest {
  std::string name = {};
  MilliCpu cpu = {};
  MiB memory = {};
  std::string device_model = {};  // empty = no devices
  int device_count = 0;
  std::string link_groups = {};  // notation of read_link_groups
};
struct NodeTypeAlteration {
  std::optional<MilliCpu> cpu = {};
  std::optional<MiB> memory = {};
  std::optional<std::string> device_model = {};
  std::optional<int> device_count = {};
  std::optional<std::string> link_groups = {};
};
Status add_node_type(Change& change, const NodeTypeRequest& request);
Status alter_node_type(Change& change, const std::string& name, const NodeTypeAlteration& alteration);
Status drop_node_type(Change& change, const std::string& name);

using Labels = std::vector<std::pair<std::string, std::string>>;

struct NodeRequest {
  std::string name = {};
  std::string type = {};
  std::string pool = {};  // empty = in no pool
  std::string rack = {};  // empty = not known
  Labels labels = {};
};
struct NodeAlteration {
  std::optional<std::string> type = {};
  std::optional<std::string> pool = {};  // "" = leave the pool
  std::optional<std::string> rack = {};
  std::optional<Labels> labels = {};
};
// One event for all of them. The message of an error names the node.
Status add_nodes(Change& change, std::span<const NodeRequest> requests);
// One at a time, for who goes on after one that is refused.
class NodeAdder {
 public:
  explicit NodeAdder(Change& change) : change_(change) {}
  // Nothing is left of a node that is refused.
  Status add(const NodeRequest& request);
  // The event.
  Status finish();

 private:
  Change& change_;
  std::string type_;
  std::int64_t type_id_ = 0;
  std::string pool_;
  std::optional<std::int64_t> pool_id_;
  std::size_t added_ = 0;
  std::string first_;
  std::string first_type_;
  std::string last_;
};
Status alter_nodes(Change& change, std::span<const std::string> names, const NodeAlteration& alteration);
Status drop_nodes(Change& change, std::span<const std::string> names);

// Moves nodes along node_may_change(). Draining a node that runs nothing makes it drained at once; a draining node
// becomes drained when its last task ends.
Status set_node_state(Change& change, std::span<const std::string> names, NodeState state);
// The same as somebody's wish, who then is also the one to take it back: drains are remembered (store/drain_records.h)
// until the nodes are to be up. A node that somebody else drains already may be drained as well. Empty reason: who
// does it.
Status order_node_state(Change& change, std::span<const std::string> names, NodeState state,
                        const std::string& reason = {});
inline Status drain_nodes(Change& change, std::span<const std::string> names, const std::string& reason = {}) {
  return order_node_state(change, names, NodeState::kDraining, reason);
}
inline Status resume_nodes(Change& change, std::span<const std::string> names) {
  return order_node_state(change, names, NodeState::kUp);
}

enum class Health { kHealthy, kUnhealthy };
// Of those that were found gone: unhealthy, they stay so when they are back; healthy, they are when they are back.
Status set_device_health(Change& change, const std::string& node, DeviceMask devices, Health health);

}  // namespace berth
