#include "engine/store/reservation_records.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

namespace berth {

namespace {

// What the tables keep of a reservation: all but the node's index.
bool says_the_same(const Reservation& a, const Reservation& b) {
  const auto same_task = [](const ReservedTask& x, const ReservedTask& y) {
    return x.group == y.group && x.task == y.task && x.node_id == y.node_id && x.holding.devices == y.holding.devices &&
           x.holding.gpu_milli == y.holding.gpu_milli && x.holding.gpu_memory == y.holding.gpu_memory &&
           x.holding.cpu == y.holding.cpu && x.holding.memory == y.holding.memory;
  };
  return a.job == b.job && a.kind == b.kind && a.made_at == b.made_at && a.expected == b.expected &&
         a.expires == b.expires && std::ranges::equal(a.tasks, b.tasks, same_task);
}

std::optional<Seconds> stored_expiry(const Reservation& reservation) {
  return reservation.expires < Seconds(0) ? std::nullopt : std::optional(reservation.expires);
}

void in_task_order(Reservation& reservation) {
  std::ranges::sort(reservation.tasks, {}, [](const ReservedTask& task) { return std::pair(task.group, task.task); });
}

// With node ids alone; the holdings' nodes are -1.
Result<std::vector<Reservation>> read_stored_reservations(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT r.job_id, r.kind, r.made_at, r.expected, r.expires, t.group_index, "
                                          "t.task_index, t.node_id, t.device_mask, t.gpu_milli, t.gpu_memory_mib, "
                                          "t.cpu_milli, t.memory_mib FROM reservations r LEFT JOIN reserved_tasks t "
                                          "ON t.job_id = r.job_id ORDER BY r.job_id, t.group_index, t.task_index"));
  std::vector<Reservation> reservations;
  while (rows.next()) {
    if (reservations.empty() || reservations.back().job != rows.integer(0)) {
      Reservation& reservation = reservations.emplace_back();
      reservation.job = rows.integer(0);
      BERTH_ASSIGN(reservation.kind, read_reservation_kind(rows.text(1)));
      reservation.made_at = rows.quantity<Seconds>(2);
      reservation.expected = rows.quantity<Seconds>(3);
      if (!rows.is_null(4)) reservation.expires = rows.quantity<Seconds>(4);
    }
    if (rows.is_null(5)) continue;
    ReservedTask task;
    task.group = static_cast<std::int32_t>(rows.integer(5));
    task.task = static_cast<std::int32_t>(rows.integer(6));
    task.node_id = rows.integer(7);
    task.holding.node = -1;
    task.holding.devices = static_cast<DeviceMask>(rows.integer(8));
    task.holding.gpu_milli = rows.quantity<MilliGpu>(9);
    task.holding.gpu_memory = rows.quantity<MiB>(10);
    task.holding.cpu = rows.quantity<MilliCpu>(11);
    task.holding.memory = rows.quantity<MiB>(12);
    reservations.back().tasks.push_back(task);
  }
  BERTH_TRY(rows.status());
  return reservations;
}

}  // namespace

Result<std::vector<Reservation>> read_reservations(Database& db, IdIndex& nodes, const Cluster& cluster) {
  BERTH_ASSIGN(std::vector<Reservation> reservations, read_stored_reservations(db));
  const auto is_nowhere = [&](const ReservedTask& task) {
    const NodeIndex node = task.holding.node;
    return node < 0 || static_cast<int>(std::bit_width(task.holding.devices)) >
                           cluster.kind_of(static_cast<std::size_t>(node)).device_count;
  };
  std::erase_if(reservations, [&](Reservation& reservation) {
    for (ReservedTask& task : reservation.tasks) task.holding.node = nodes.find(task.node_id);
    return std::ranges::any_of(reservation.tasks, is_nowhere);
  });
  return reservations;
}

Status write_reservations(Change& change, std::span<const Reservation> wanted) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::vector<Reservation> present, read_stored_reservations(db));
  if (present.empty() && wanted.empty()) return {};
  std::set<std::int64_t> same;
  for (const Reservation& old : present) {
    const auto found = std::ranges::lower_bound(wanted, old.job, {}, &Reservation::job);
    if (found != wanted.end() && found->job == old.job) {
      Reservation sorted = *found;
      in_task_order(sorted);
      if (says_the_same(old, sorted)) {
        same.insert(old.job);
        continue;
      }
    }
    BERTH_TRY(drop_reservation(change, old.job));
  }
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO reservations (job_id, kind, made_at, expected, expires) "
                                            "VALUES (?1, ?2, ?3, ?4, ?5)"));
  BERTH_ASSIGN(Statement task, db.prepare("INSERT INTO reserved_tasks (job_id, group_index, task_index, node_id, "
                                          "device_mask, gpu_milli, gpu_memory_mib, cpu_milli, memory_mib) "
                                          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
  for (const Reservation& r : wanted) {
    if (same.contains(r.job)) continue;
    BERTH_TRY(insert.run(r.job, reservation_kind_name(r.kind), r.made_at, r.expected, stored_expiry(r)));
    for (const ReservedTask& t : r.tasks) {
      const Holding& h = t.holding;
      BERTH_TRY(task.run(r.job, t.group, t.task, t.node_id, h.devices, h.gpu_milli, h.gpu_memory, h.cpu, h.memory));
    }
  }
  return {};
}

Status keep_reservation(Change& change, std::int64_t job, Seconds until) {
  BERTH_ASSIGN(Statement keep, change.db().prepare("UPDATE reservations SET expires = ?2 WHERE job_id = ?1 AND kind = "
                                                   "'eviction' AND expires < ?2"));
  return keep.run(job, until);
}

Status drop_reservation(Change& change, std::int64_t job) {
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM reservations WHERE job_id = ?1"));
  return remove.run(job);  // its tasks go with it
}

}  // namespace berth
