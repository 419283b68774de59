#include "engine/store/launch_losses.h"

#include <algorithm>

namespace berth {

namespace {

constexpr std::int64_t kLossesInARow = 2;
constexpr Seconds kFirstRest{300};
constexpr Seconds kLongestRest{3600};
constexpr std::int64_t kMostUncharged = 5;  // where others were lost, too
constexpr std::int64_t kMostOnOneNode = 8;  // then a launch was lost there every hour
constexpr Seconds kFirstTruce{3600};        // of a job that was kept out
constexpr Seconds kLongestTruce{43200};
constexpr Seconds kRememberedFor{86400};

}  // namespace

Status note_launch_loss(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now,
                        LostBy by) {
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT OR IGNORE INTO launch_losses (node_id, job_id, attempt, time, "
                                            "node_failed) VALUES (?1, ?2, ?3, ?4, ?5)"));
  return insert.run(node, job, attempt, now, by == LostBy::kFailedNode);
}

Status note_kept_out(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now) {
  BERTH_ASSIGN(Statement forget, db.prepare("DELETE FROM kept_out_launches WHERE time <= ?1"));
  BERTH_TRY(forget.run(now - kRememberedFor));
  BERTH_ASSIGN(
      Statement insert,
      db.prepare("INSERT OR REPLACE INTO kept_out_launches (node_id, job_id, attempt, time_limit, time) SELECT "
                 "?1, id, ?3, time_limit_s, ?4 FROM jobs WHERE id = ?2"));
  return insert.run(node, job, attempt, now);
}

Status note_launch_begun(Database& db, std::int64_t node, std::int64_t job) {
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM launch_losses WHERE node_id = ?1"));
  BERTH_TRY(remove.run(node));
  BERTH_ASSIGN(
      Statement let_in,
      db.prepare("DELETE FROM kept_out_launches AS k WHERE node_id = ?1 AND EXISTS (SELECT 1 FROM jobs j WHERE "
                 "j.id = ?2 AND (j.time_limit_s = 0 OR k.time_limit BETWEEN 1 AND j.time_limit_s))"));
  return let_in.run(node, job);
}

Result<bool> keeps_launches_out(Database& db, std::int64_t node) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT 1 FROM kept_out_launches WHERE node_id = ?1 LIMIT 1"));
  const bool keeps_out = row.with(node).next();
  BERTH_TRY(row.status());
  return keeps_out;
}

Status forget_launch_losses(Database& db, std::int64_t node) {
  for (const char* table : {"launch_losses", "kept_out_launches"}) {
    BERTH_ASSIGN(Statement remove, db.prepare(std::string("DELETE FROM ") + table + " WHERE node_id = ?1"));
    BERTH_TRY(remove.run(node));
  }
  return {};
}

Result<std::vector<EvictsNobody>> jobs_kept_out(Database& db, Seconds now) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT job_id, max(time), count(DISTINCT attempt) FROM kept_out_launches "
                                          "WHERE time > ?1 AND time <= ?2 GROUP BY job_id ORDER BY job_id"));
  rows.with(now - kRememberedFor, now);
  std::vector<EvictsNobody> jobs;
  while (rows.next()) {
    Seconds rest = kFirstTruce;
    for (std::int64_t i = 1; i < rows.integer(2) && rest < kLongestTruce; ++i) rest = rest + rest;
    const Seconds until = rows.quantity<Seconds>(1) + std::min(rest, kLongestTruce);
    if (until > now) jobs.push_back({rows.integer(0), until});
  }
  BERTH_TRY(rows.status());
  return jobs;
}

Result<std::vector<RestingNode>> resting_nodes(Database& db, Seconds now) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT n.name, l.time, count(*) FROM launch_losses l JOIN nodes n ON n.id = "
                          "l.node_id WHERE l.node_failed = 0 GROUP BY n.id, l.time ORDER BY n.id, l.time"));
  std::vector<RestingNode> nodes;
  Seconds rest;
  while (rows.next()) {
    if (nodes.empty() || nodes.back().node != rows.text(0)) {
      nodes.push_back({std::string(rows.text(0)), 0, Seconds()});
      rest = Seconds();
    }
    RestingNode& node = nodes.back();
    node.losses += rows.integer(2);
    if (node.losses < kLossesInARow) continue;
    rest = rest == Seconds() ? kFirstRest : std::min(rest + rest, kLongestRest);
    node.until = std::min(rows.quantity<Seconds>(1), now) + rest;  // a clock that was set back makes no rest longer
  }
  BERTH_TRY(rows.status());
  std::erase_if(nodes, [&](const RestingNode& node) { return node.until <= now; });
  return nodes;
}

Result<bool> is_loss_of_a_node(Database& db, std::int64_t job, std::int64_t attempt) {
  BERTH_ASSIGN(Statement kept_out,
               db.prepare("SELECT 1 FROM kept_out_launches WHERE job_id = ?1 AND attempt = ?2 UNION ALL SELECT 1 FROM "
                          "launch_losses WHERE job_id = ?1 AND attempt = ?2 AND node_failed = 1 LIMIT 1"));
  const bool is_the_systems = kept_out.with(job, attempt).next();
  BERTH_TRY(kept_out.status());
  if (is_the_systems) return true;
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT EXISTS (SELECT 1 FROM launch_losses o WHERE o.node_id = l.node_id AND o.job_id <> "
                          "l.job_id), (SELECT count(DISTINCT node_id) FROM launch_losses o WHERE o.job_id = l.job_id), "
                          "(SELECT count(*) FROM runs r WHERE r.job_id = l.job_id AND r.state = 'lost') FROM "
                          "launch_losses l WHERE l.job_id = ?1 AND l.attempt = ?2 ORDER BY 1 DESC LIMIT 1"));
  bool is_its = false;
  if (row.with(job, attempt).next()) {
    const std::int64_t losses = row.integer(2);
    is_its = (row.integer(0) != 0 && losses < kMostUncharged) || (row.integer(1) == 1 && losses < kMostOnOneNode);
  }
  BERTH_TRY(row.status());
  return is_its;
}

}  // namespace berth
