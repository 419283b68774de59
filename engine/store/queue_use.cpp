#include "engine/store/queue_use.h"

#include <fmt/format.h>

namespace berth {

namespace {

// What the allocations of a condition hold, by queue and device model.
std::string sums_of(std::string_view condition) {
  return fmt::format(
      "SELECT j.queue_id, coalesce(t.device_model_id, 0), sum(a.cpu_milli), sum(a.memory_mib), sum(a.gpu_milli * "
      "g.gpu_count) FROM allocations a JOIN jobs j ON j.id = a.job_id JOIN task_groups g ON g.job_id = a.job_id AND "
      "g.group_index = a.group_index JOIN nodes n ON n.id = a.node_id JOIN node_types t ON t.id = n.type_id {} "
      "GROUP BY 1, 2",
      condition);
}

Result<QueueUseRows> read_sums(Statement& rows) {
  QueueUseRows use;
  while (rows.next()) {
    const QueueUseRow row{rows.integer(2), rows.integer(3), rows.integer(4)};
    if (row != QueueUseRow()) use[{rows.integer(0), rows.integer(1)}] = row;
  }
  BERTH_TRY(rows.status());
  return use;
}

}  // namespace

Status add_use(Database& db, const QueueUseRows& more) {
  BERTH_ASSIGN(Statement upsert,
               db.prepare("INSERT INTO queue_use (queue_id, model_id, cpu_milli, memory_mib, gpu_milli) VALUES (?1, "
                          "?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET cpu_milli = cpu_milli + ?3, memory_mib = "
                          "memory_mib + ?4, gpu_milli = gpu_milli + ?5"));
  for (const auto& [key, row] : more) BERTH_TRY(upsert.run(key.first, key.second, row.cpu, row.memory, row.gpu));
  return {};
}

Status take_away_use(Change& change, std::int64_t job, std::optional<TaskName> task) {
  BERTH_ASSIGN(Statement rows, change.db().prepare(sums_of("WHERE a.job_id = ?1 AND (?2 IS NULL OR (a.group_index = ?2 "
                                                           "AND a.task_index = ?3))")));
  rows.with(job, task ? std::optional(task->group) : std::nullopt, task ? std::optional(task->task) : std::nullopt);
  BERTH_ASSIGN(QueueUseRows held, read_sums(rows));
  for (auto& [key, row] : held) row = {-row.cpu, -row.memory, -row.gpu};
  return add_use(change.db(), held);
}

Status recount_use(Database& db) {
  BERTH_ASSIGN(const QueueUseRows counted, count_use(db));
  BERTH_TRY(db.execute("DELETE FROM queue_use"));
  return add_use(db, counted);
}

Result<QueueUseRows> read_use(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT queue_id, model_id, cpu_milli, memory_mib, gpu_milli FROM "
                                          "queue_use"));
  return read_sums(rows);
}

Result<QueueUseRows> count_use(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare(sums_of("")));
  return read_sums(rows);
}

}  // namespace berth
