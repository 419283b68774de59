#include "engine/store/launch_losses.h"

#include <algorithm>

namespace berth {

namespace {

constexpr std::int64_t kLossesInARow = 2;
constexpr Seconds kFirstRest{300};
constexpr Seconds kLongestRest{3600};
constexpr std::int64_t kMostUncharged = 5;

}  // namespace

Status note_launch_loss(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now) {
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT OR IGNORE INTO launch_losses (node_id, job_id, attempt, time) "
                                            "VALUES (?1, ?2, ?3, ?4)"));
  return insert.run(node, job, attempt, now);
}

Status note_kept_out(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now) {
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT OR REPLACE INTO launch_losses (node_id, job_id, attempt, time, "
                                            "is_kept_out) VALUES (?1, ?2, ?3, ?4, 1)"));
  return insert.run(node, job, attempt, now);
}

Status note_launch_begun(Database& db, std::int64_t node) {
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM launch_losses WHERE node_id = ?1 AND NOT is_kept_out"));
  return remove.run(node);
}

Result<std::vector<RestingNode>> resting_nodes(Database& db, Seconds now) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT n.name, l.time, count(*) FILTER (WHERE NOT is_kept_out) FROM "
                                          "launch_losses l JOIN nodes n ON n.id = l.node_id GROUP BY n.id, l.time "
                                          "ORDER BY n.id, l.time"));
  std::vector<RestingNode> nodes;
  Seconds rest;
  while (rows.next()) {
    if (nodes.empty() || nodes.back().node != rows.text(0)) {
      nodes.push_back({std::string(rows.text(0)), 0, Seconds()});
      rest = Seconds();
    }
    RestingNode& node = nodes.back();
    const Seconds time = std::min(rows.quantity<Seconds>(1), now);  // a clock that was set back makes no rest longer
    if (rows.integer(2) == 0) {
      node.until = std::max(node.until, time + kLongestRest);
      continue;
    }
    node.losses += rows.integer(2);
    if (node.losses < kLossesInARow) continue;
    rest = rest == Seconds() ? kFirstRest : std::min(rest + rest, kLongestRest);
    node.until = std::max(node.until, time + rest);
  }
  BERTH_TRY(rows.status());
  std::erase_if(nodes, [&](const RestingNode& node) { return node.until <= now; });
  return nodes;
}

Result<bool> is_loss_of_a_node(Database& db, std::int64_t job, std::int64_t attempt) {
  BERTH_ASSIGN(
      Statement row,
      db.prepare("SELECT 1 FROM launch_losses l JOIN launch_losses o ON o.node_id = l.node_id AND (o.job_id <> "
                 "l.job_id OR l.is_kept_out) WHERE l.job_id = ?1 AND l.attempt = ?2 AND (l.is_kept_out OR "
                 "(SELECT count(*) FROM runs r WHERE r.job_id = ?1 AND r.state = 'lost') < ?3) LIMIT 1"));
  const bool is_its = row.with(job, attempt, kMostUncharged).next();
  BERTH_TRY(row.status());
  return is_its;
}

}  // namespace berth
