#include "engine/runtime/change_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "engine/round/running_jobs.h"

namespace berth {

namespace {

std::int64_t offered(const NodeSeen& node) { return node.state == NodeState::kUp ? node.gpus : 0; }

NodeDifference difference_of(const NodeSeen& node, std::string change, std::int64_t gpus_gone) {
  NodeDifference difference{.node = node.name,
                            .change = std::move(change),
                            .gpus_gone = gpus_gone,
                            .used = node.used,
                            .jobs = node.jobs,
                            .runs = {},
                            .free_at = std::nullopt};
  if (!node.jobs.empty()) difference.free_at = node.free_at;
  return difference;
}

}  // namespace

std::map<std::int64_t, NodeSeen> nodes_seen(const Snapshot& snapshot) {
  const Cluster& cluster = snapshot.cluster;
  std::vector<NodeSeen> seen(cluster.nodes.size());
  for (std::size_t n = 0; n < seen.size(); ++n) {
    const Node& node = cluster.nodes[n];
    seen[n].name = cluster.node_names[n];
    seen[n].state = node.state;
    seen[n].gpus = cluster.kind_of(n).device_count - std::popcount(node.unhealthy);
  }
  std::unordered_map<std::int64_t, Seconds> ends;
  for (const RunningJob& run : snapshot.running)
    ends.emplace(run.job.id, expected_end_of(run, snapshot.rules, snapshot.now));
  for (const Allocation& task : snapshot.allocations) {
    NodeSeen& node = seen[static_cast<std::size_t>(task.node)];
    node.used += task.gpu_milli * std::popcount(task.devices);
    if (const auto end = ends.find(task.job); end != ends.end()) node.free_at = std::max(node.free_at, end->second);
    if (node.jobs.empty() || node.jobs.back() != task.job) node.jobs.push_back(task.job);
  }
  std::map<std::int64_t, NodeSeen> by_id;
  for (std::size_t n = 0; n < seen.size(); ++n) by_id.emplace(cluster.nodes[n].id, std::move(seen[n]));
  return by_id;
}

std::vector<NodeDifference> node_differences(const std::map<std::int64_t, NodeSeen>& before,
                                             const std::map<std::int64_t, NodeSeen>& after) {
  std::vector<NodeDifference> differences;
  for (const auto& [id, was] : before) {
    const auto found = after.find(id);
    if (found == after.end()) {
      differences.push_back(difference_of(was, "removed", offered(was)));
      continue;
    }
    const NodeSeen& is = found->second;
    const std::int64_t gone = offered(was) - offered(is);
    if (was.state != is.state) {
      differences.push_back(
          difference_of(was, fmt::format("{} -> {}", node_state_name(was.state), node_state_name(is.state)), gone));
    } else if (was.gpus != is.gpus) {
      differences.push_back(difference_of(was, fmt::format("{} -> {} GPUs", was.gpus, is.gpus), gone));
    }
  }
  for (const auto& [id, is] : after) {
    if (!before.contains(id)) differences.push_back(difference_of(is, "new", -offered(is)));
  }
  return differences;
}

}  // namespace berth
