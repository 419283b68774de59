#include "engine/runtime/simulated_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/text.h"
#include "engine/sim/trace_model.h"
#include "engine/store/catalog.h"
#include "engine/store/load.h"
#include "engine/store/names.h"

namespace berth {

namespace {

constexpr std::int64_t kMostNodesAdded = 100000;

struct NodeCount {
  std::int64_t count = 0;
  std::string type;
};

// "4 x h100x8, 2 x a100x4".
Result<std::vector<NodeCount>> read_node_counts(std::string_view text) {
  std::vector<NodeCount> counts;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view one = trim(part);
    const std::size_t cross = one.find(" x ");
    const Result<std::int64_t> count = read_integer(trim(one.substr(0, cross)));
    if (cross == std::string_view::npos || !count.ok() || *count < 1 || *count > kMostNodesAdded) {
      return Status(Code::kInvalid, fmt::format("'{}' is not a number of nodes and their type", one),
                    "as in '4 x h100x8, 2 x a100x4'");
    }
    counts.push_back({*count, std::string(trim(one.substr(cross + 3)))});
  }
  return counts;
}

// Which nodes of the cluster are of the type, by index.
Result<std::vector<std::size_t>> nodes_of_type(Database& db, std::int64_t type, const Cluster& cluster) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id FROM nodes WHERE type_id = ?1 ORDER BY id"));
  rows.with(type);
  std::vector<std::size_t> found;
  while (rows.next()) {
    const auto node = std::ranges::lower_bound(cluster.nodes, rows.integer(0), {}, &Node::id);
    if (node != cluster.nodes.end() && node->id == rows.integer(0)) {
      found.push_back(static_cast<std::size_t>(node - cluster.nodes.begin()));
    }
  }
  BERTH_TRY(rows.status());
  return found;
}

// New ones are in the pool and rack of the last of their type.
Status add_nodes(Database& db, const NodeCount& more, Cluster& cluster) {
  BERTH_ASSIGN(const std::int64_t type, find_id(db, Thing::kNodeType, more.type));
  BERTH_ASSIGN(const std::vector<std::size_t> like, nodes_of_type(db, type, cluster));
  Node node;
  if (like.empty()) {
    BERTH_ASSIGN(const Catalog catalog, Catalog::read(db));
    BERTH_ASSIGN(const NodeKind kind, catalog.kind(type, 0));
    node.kind = cluster.add_kind(kind);
  } else {
    node = cluster.nodes[like.back()];
    node.unhealthy = 0;
  }
  for (std::int64_t i = 1; i <= more.count; ++i) {
    node.id = cluster.nodes.empty() ? 1 : cluster.nodes.back().id + 1;
    cluster.nodes.push_back(node);
    cluster.node_names.push_back(fmt::format("{}+{}", more.type, i));
  }
  return {};
}

Status remove_nodes(Database& db, const NodeCount& fewer, Cluster& cluster) {
  BERTH_ASSIGN(const std::int64_t type, find_id(db, Thing::kNodeType, fewer.type));
  BERTH_ASSIGN(std::vector<std::size_t> there, nodes_of_type(db, type, cluster));
  if (std::ssize(there) < fewer.count) {
    return Status(Code::kInvalid, fmt::format("there {} {} of type {}, not {}", std::ssize(there) == 1 ? "is" : "are",
                                              print_counted(std::ssize(there), "node"), fewer.type, fewer.count));
  }
  there.erase(there.begin(), there.end() - fewer.count);
  for (auto node = there.rbegin(); node != there.rend(); ++node) {
    cluster.nodes.erase(cluster.nodes.begin() + static_cast<std::ptrdiff_t>(*node));
    cluster.node_names.erase(cluster.node_names.begin() + static_cast<std::ptrdiff_t>(*node));
  }
  return {};
}

Status change_nodes(Database& db, std::string_view option, const std::string& text,
                    Status (*change)(Database&, const NodeCount&, Cluster&), Cluster& cluster) {
  if (text.empty()) return {};
  Result<std::vector<NodeCount>> counts = read_node_counts(text);
  if (!counts.ok()) return std::move(counts).status().in_option(option);
  for (const NodeCount& count : *counts) {
    Status changed = change(db, count, cluster);
    if (!changed.ok()) return std::move(changed).in_option(option);
  }
  return {};
}

}  // namespace

Result<Cluster> simulated_cluster(Runtime& runtime, const ClusterSource& source) {
  if (!source.nodes.empty()) {
    for (const auto& [option, text] :
         {std::pair{"more_nodes", source.more_nodes}, {"fewer_nodes", source.fewer_nodes}}) {
      if (text.empty()) continue;
      return Status(Code::kInvalid, fmt::format("option '{}' is of the database's nodes, not of a file's", option))
          .about(option);
    }
    BERTH_ASSIGN(const ReadRecords<TraceNode> read,
                 read_trace_nodes(source.format, source.nodes, {.format = source.files}));
    return cluster_from(read.records);
  }
  BERTH_ASSIGN(Loaded loaded,
               load_state(runtime.db(), {.now = runtime.now(), .node_names = true, .also_job = std::nullopt}));
  Cluster cluster = std::move(loaded.snapshot.cluster);
  // Fewer first: they are found by the ids that the database knows.
  BERTH_TRY(change_nodes(runtime.db(), "fewer_nodes", source.fewer_nodes, remove_nodes, cluster));
  BERTH_TRY(change_nodes(runtime.db(), "more_nodes", source.more_nodes, add_nodes, cluster));
  if (cluster.nodes.empty()) {
    if (!source.fewer_nodes.empty())
      return Status(Code::kInvalid, "option 'fewer_nodes' leaves no node").about("fewer_nodes");
    return Status(Code::kInvalid, "this database has no nodes to simulate on",
                  "CREATE NODES or IMPORT NODES first, or name a file of nodes");
  }
  for (Node& node : cluster.nodes) node.state = NodeState::kUp;  // a simulation asks what the cluster could do
  return cluster;
}

MilliGpu device_capacity(const Cluster& cluster) {
  MilliGpu capacity;
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) capacity += kWholeDevice * cluster.kind_of(n).device_count;
  return capacity;
}

Result<MilliGpu> database_capacity(Runtime& runtime) {
  BERTH_ASSIGN(const std::int64_t devices, runtime.db().integer("SELECT coalesce(sum(t.device_count), 0) FROM nodes n "
                                                                "JOIN node_types t ON t.id = n.type_id"));
  return kWholeDevice * devices;
}

}  // namespace berth
