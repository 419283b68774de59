#include "engine/store/foreign_use.h"

#include <algorithm>
#include <bit>
#include <set>

namespace berth {

namespace {

// What is left of a node beside our own tasks.
struct NodeRest {
  MilliCpu cpu;
  MiB memory;
  DeviceMask devices = 0;  // wholly free
  MiB device_memory;
};

NodeRest rest_of(const Snapshot& snapshot, std::size_t node) {
  const NodeKind& kind = snapshot.cluster.kind_of(node);
  NodeRest rest{kind.cpu, kind.memory, (DeviceMask{1} << kind.device_count) - 1, kind.device_memory};
  for (const Allocation& a : snapshot.allocations) {
    if (static_cast<std::size_t>(a.node) != node) continue;
    rest.cpu -= a.cpu;
    rest.memory -= a.memory;
    rest.devices &= ~a.devices;
  }
  return rest;
}

DeviceMask lowest(DeviceMask devices, std::int64_t count) {
  DeviceMask chosen = 0;
  for (; count > 0 && devices != 0; --count) {
    const DeviceMask first = devices & (~devices + 1);
    chosen |= first;
    devices &= ~first;
  }
  return chosen;
}

}  // namespace

Result<ForeignUseRows> read_foreign_use(Database& db, const std::vector<std::int64_t>& nodes) {
  const std::set<std::int64_t> wanted(nodes.begin(), nodes.end());
  ForeignUseRows all;
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT node_id, what, cpu_milli, memory_mib, gpu_count, device_mask FROM foreign_use"));
  while (rows.next()) {
    if (!wanted.contains(rows.integer(0))) continue;
    all[{rows.integer(0), std::string(rows.text(1))}] = {rows.quantity<MilliCpu>(2), rows.quantity<MiB>(3),
                                                         rows.integer(4), static_cast<DeviceMask>(rows.integer(5))};
  }
  BERTH_TRY(rows.status());
  return all;
}

Status write_foreign_use(Change& change, const ForeignUseRows& before, const ForeignUseRows& now) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM foreign_use WHERE node_id = ?1 AND what = ?2"));
  BERTH_ASSIGN(
      Statement put,
      db.prepare("INSERT INTO foreign_use (node_id, what, cpu_milli, memory_mib, gpu_count, device_mask, since) "
                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (node_id, what) DO UPDATE SET cpu_milli = "
                 "excluded.cpu_milli, memory_mib = excluded.memory_mib, gpu_count = excluded.gpu_count, "
                 "device_mask = excluded.device_mask"));
  for (const auto& [key, row] : before) {
    if (!now.contains(key)) BERTH_TRY(remove.run(key.first, key.second));
  }
  for (const auto& [key, row] : now) {
    BERTH_TRY(put.run(key.first, key.second, row.cpu, row.memory, row.gpu_count, static_cast<std::int64_t>(row.devices),
                      change.now()));
  }
  return {};
}

Status load_foreign_use(Database& db, IdIndex& nodes, Snapshot& snapshot) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT node_id, cpu_milli, memory_mib, gpu_count, device_mask FROM foreign_use "
                          "ORDER BY node_id, what"));
  std::vector<Allocation> foreign;
  NodeRest rest;
  std::int64_t last = 0;
  while (rows.next()) {
    const std::int32_t node = nodes.find(rows.integer(0));
    if (node < 0) continue;
    if (rows.integer(0) != last) rest = rest_of(snapshot, static_cast<std::size_t>(node));
    last = rows.integer(0);
    Allocation taken;
    taken.job = -last;
    taken.task = static_cast<std::int32_t>(foreign.size());
    taken.node = node;
    taken.cpu = std::min(rest.cpu, rows.quantity<MilliCpu>(1));
    taken.memory = std::min(rest.memory, rows.quantity<MiB>(2));
    const auto known = static_cast<DeviceMask>(rows.integer(4));
    taken.devices = known != 0 ? known & rest.devices : lowest(rest.devices, rows.integer(3));
    if (taken.devices != 0) {
      taken.gpu_milli = kWholeDevice;
      taken.gpu_memory = rest.device_memory;
    }
    rest.cpu -= taken.cpu;
    rest.memory -= taken.memory;
    rest.devices &= ~taken.devices;
    foreign.push_back(taken);
  }
  BERTH_TRY(rows.status());
  snapshot.allocations.insert(snapshot.allocations.end(), foreign.begin(), foreign.end());
  return {};
}

}  // namespace berth
