#include "engine/store/node_closings.h"

namespace berth {

namespace {

constexpr Seconds kKeepsOutFor{3600};  // after a launch that it kept out, or a closing that nobody has seen begin

}  // namespace

Result<NodeClosings> read_node_closings(Database& db, const std::vector<std::int64_t>& nodes) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT closes_at, usual_limit FROM node_closings WHERE node_id = ?1"));
  NodeClosings found;
  for (const std::int64_t node : nodes) {
    if (row.with(node).next()) {
      NodeClosing& closing = found[node];
      closing.closes_at = row.quantity<Seconds>(0);
      if (!row.is_null(1)) closing.usual_limit = row.quantity<Seconds>(1);
    }
    BERTH_TRY(row.status());
  }
  return found;
}

Status write_node_closings(Change& change, const NodeClosings& before, const NodeClosings& now) {
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM node_closings WHERE node_id = ?1"));
  BERTH_ASSIGN(Statement put, change.db().prepare("INSERT OR REPLACE INTO node_closings (node_id, closes_at, "
                                                  "usual_limit) VALUES (?1, ?2, ?3)"));
  for (const auto& [node, closing] : before) {
    if (!now.contains(node)) BERTH_TRY(remove.run(node));
  }
  for (const auto& [node, closing] : now) {
    const auto known = before.find(node);
    if (known != before.end() && known->second == closing) continue;
    BERTH_TRY(put.run(node, closing.closes_at, closing.usual_limit));
  }
  return {};
}

Result<std::vector<KeptOutNode>> kept_out_nodes(Database& db, IdIndex& nodes, Seconds now) {
  // Once a closing has begun the executor tells that the node is set aside.
  BERTH_ASSIGN(
      Statement rows,
      db.prepare(
          "SELECT node_id, min(least), min(takes) FROM (SELECT node_id, iif(time_limit = 0, ?3, time_limit) AS "
          "least, 0 AS takes FROM kept_out_launches WHERE time > ?1 AND time <= ?2 UNION ALL SELECT node_id, "
          "max(1, closes_at - ?2 + 1), usual_limit IS NOT NULL AND ?2 + usual_limit <= closes_at FROM node_closings "
          "WHERE closes_at > ?1) GROUP BY node_id"));
  rows.with(now - kKeepsOutFor, now, kNoLimit);
  std::vector<KeptOutNode> found;
  while (rows.next()) {
    const std::int32_t node = nodes.find(rows.integer(0));
    if (node >= 0) found.push_back({node, rows.quantity<Seconds>(1), rows.integer(2) != 0});
  }
  BERTH_TRY(rows.status());
  return found;
}

}  // namespace berth
