#include "engine/store/launch_losses.h"

#include <algorithm>

namespace berth {

namespace {

constexpr std::int64_t kLossesInARow = 2;
constexpr Seconds kFirstRest{300};
constexpr Seconds kLongestRest{3600};
constexpr std::int64_t kMostUncharged = 10;

Seconds rest_after(std::int64_t times) {
  Seconds rest = kFirstRest;
  for (std::int64_t i = 1; i < times && rest < kLongestRest; ++i) rest = rest * 2;
  return std::min(rest, kLongestRest);
}

}  // namespace

Status note_launch_loss(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now) {
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT OR IGNORE INTO launch_losses (node_id, job_id, attempt, time) "
                                            "VALUES (?1, ?2, ?3, ?4)"));
  return insert.run(node, job, attempt, now);
}

Status note_launch_begun(Database& db, std::int64_t node) {
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM launch_losses WHERE node_id = ?1"));
  return remove.run(node);
}

Result<std::vector<RestingNode>> resting_nodes(Database& db, Seconds now) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT n.name, count(*) AS losses, count(DISTINCT l.time), max(l.time) FROM launch_losses l "
                          "JOIN nodes n ON n.id = l.node_id GROUP BY n.id HAVING losses >= ?1 ORDER BY n.id"));
  rows.with(kLossesInARow);
  std::vector<RestingNode> nodes;
  while (rows.next()) {
    const auto last = std::min(rows.quantity<Seconds>(3), now);  // a clock that was set back makes no rest longer
    const Seconds until = last + rest_after(rows.integer(2));
    if (now < until) nodes.push_back({std::string(rows.text(0)), rows.integer(1), until});
  }
  BERTH_TRY(rows.status());
  return nodes;
}

Result<bool> is_loss_of_a_node(Database& db, std::int64_t job, std::int64_t attempt) {
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT 1 FROM launch_losses l JOIN launch_losses o ON o.node_id = l.node_id AND o.job_id <> "
                          "l.job_id WHERE l.job_id = ?1 AND l.attempt = ?2 AND (SELECT count(*) FROM runs r WHERE "
                          "r.job_id = ?1 AND r.state = 'lost') < ?3 LIMIT 1"));
  const bool is_its = row.with(job, attempt, kMostUncharged).next();
  BERTH_TRY(row.status());
  return is_its;
}

}  // namespace berth
