// What a planned change does to nodes: which come, go or change their state, how many GPUs that is, and who runs there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/snapshot.h"

namespace berth {

// A node as a round found it.
struct NodeSeen {
  std::string name;
  NodeState state = NodeState::kUp;
  std::int64_t gpus = 0;  // healthy ones
  MilliGpu used;
  std::vector<std::int64_t> jobs;  // that run there
  Seconds free_at{0};              // when the last of them is expected to end
};
// By id.
std::map<std::int64_t, NodeSeen> nodes_seen(const Snapshot& snapshot);

struct NodeDifference {
  std::string node;
  std::string change;          // "up -> draining", "new", "removed", "4 -> 3 GPUs"
  std::int64_t gpus_gone = 0;  // to new tasks; below 0 = they come
  MilliGpu used;
  std::vector<std::int64_t> jobs;  // that run there
  std::string runs;                // their names
  std::optional<Seconds> free_at;  // nothing = nobody runs there
};
// In the order of ids.
std::vector<NodeDifference> node_differences(const std::map<std::int64_t, NodeSeen>& before,
                                             const std::map<std::int64_t, NodeSeen>& after);

}  // namespace berth
