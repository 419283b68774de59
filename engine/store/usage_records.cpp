#include "engine/store/usage_records.h"

#include <algorithm>

#include "engine/policy/decayed_use.h"

namespace berth {

Status read_usage(Database& db, Snapshot& snapshot) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT queue_id, gpu_milli_s, updated_at FROM decayed_usage "
                                          "ORDER BY queue_id"));
  while (rows.next()) {
    const auto queue = std::ranges::lower_bound(snapshot.queues, rows.integer(0), {}, &Queue::id);
    if (queue == snapshot.queues.end() || queue->id != rows.integer(0)) continue;
    queue->decayed_usage =
        rows.real(1) * decay_over(snapshot.now - rows.quantity<Seconds>(2), snapshot.order_knobs.usage_half_life);
  }
  return rows.status();
}

Status add_usage(Change& change, std::int64_t queue, double service, Seconds half_life) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement row, db.prepare("SELECT gpu_milli_s, updated_at FROM decayed_usage WHERE queue_id = ?1"));
  double usage = service;
  if (row.with(queue).next()) usage += row.real(0) * decay_over(change.now() - row.quantity<Seconds>(1), half_life);
  BERTH_TRY(row.status());
  BERTH_ASSIGN(Statement put, db.prepare("INSERT OR REPLACE INTO decayed_usage (queue_id, gpu_milli_s, updated_at) "
                                         "VALUES (?1, ?2, ?3)"));
  return put.run(queue, usage, change.now());
}

}  // namespace berth
