#include "engine/store/drain_records.h"

#include <fmt/format.h>

namespace berth {

Result<std::map<std::string, Drain>> read_drains(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT n.name, d.node_id, d.reason, d.told_at FROM drains d JOIN nodes n ON "
                                          "n.id = d.node_id"));
  std::map<std::string, Drain> drains;
  while (rows.next()) {
    Drain& drain = drains[std::string(rows.text(0))];
    drain.node = rows.integer(1);
    drain.reason = rows.text(2);
    if (!rows.is_null(3)) drain.told_at = rows.quantity<Seconds>(3);
  }
  BERTH_TRY(rows.status());
  return drains;
}

Result<bool> is_drained_by_us(Database& db, std::int64_t node) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT 1 FROM drains WHERE node_id = ?1"));
  const bool is_there = row.with(node).next();
  BERTH_TRY(row.status());
  return is_there;
}

Status add_drain(Change& change, std::int64_t node, const std::string& reason) {
  BERTH_ASSIGN(Statement insert,
               change.db().prepare("INSERT INTO drains (node_id, reason, since) VALUES (?1, ?2, ?3)"));
  return insert.run(node, reason.empty() ? fmt::format("drained by {}", change.actor()) : reason, change.now());
}

Status remove_drain(Change& change, std::int64_t node) {
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM drains WHERE node_id = ?1"));
  return remove.run(node);
}

Status note_drain_told(Database& db, std::int64_t node, Seconds now) {
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE drains SET told_at = ?2 WHERE node_id = ?1"));
  return update.run(node, now);
}

}  // namespace berth
