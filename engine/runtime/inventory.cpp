#include "engine/runtime/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "engine/base/text.h"
#include "engine/runtime/executors.h"
#include "engine/runtime/node_watch.h"
#include "engine/store/cluster_records.h"

namespace berth {

namespace {

struct KnownNode {
  MilliCpu cpu;
  MiB memory;
  std::int64_t devices = 0;
  std::int64_t executor = 0;
};

Result<std::map<std::string, KnownNode>> known_nodes(Database& db) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare("SELECT n.name, t.cpu_milli, t.memory_mib, t.device_count, coalesce(p.executor_id, (SELECT id FROM "
                 "executors WHERE is_default = 1), 0) FROM nodes n JOIN node_types t ON t.id = n.type_id LEFT JOIN "
                 "pools p ON p.id = n.pool_id"));
  std::map<std::string, KnownNode> known;
  while (rows.next()) {
    known[std::string(rows.text(0))] = {rows.quantity<MilliCpu>(1), rows.quantity<MiB>(2), rows.integer(3),
                                        rows.integer(4)};
  }
  BERTH_TRY(rows.status());
  return known;
}

// Those of the nodes that another executor would be told to use, by their pool or as the default one.
Result<std::vector<std::string>> run_elsewhere(Database& db, std::int64_t executor,
                                               const std::set<std::string>& names) {
  BERTH_ASSIGN(const auto known, known_nodes(db));
  std::vector<std::string> elsewhere;
  for (const std::string& name : names) {
    const auto node = known.find(name);
    if (node != known.end() && node->second.executor != executor) elsewhere.push_back(name);
  }
  return elsewhere;
}

std::string contents(MilliCpu cpu, MiB memory, std::int64_t devices) {
  return fmt::format("{} cores, {}, {}", print_cpu(cpu), print_memory(memory), print_counted(devices, "device"));
}

Status check_model(const InventoryNode& node) {
  if (node.devices == 0 || !node.model.empty()) return {};
  return Status(Code::kInvalid, fmt::format("node '{}' has {} whose model is not known{}", node.name,
                                            print_counted(node.devices, "device"),
                                            node.model_from.empty() ? "" : ": it has no " + node.model_from));
}

TraceNode record_of(const InventoryNode& node, const std::string& executor) {
  return {.name = node.name,
          .cpu = node.cpu,
          .memory = node.memory,
          .devices = node.devices,
          .model = node.model,
          .device_memory = node.device_memory,
          .rack = node.rack,
          .pool = node.pool,
          .link_groups = node.link_groups,
          .place = fmt::format("executor {}", executor)};
}

// Pools that the import made belong to the executor that named them.
Status claim_pools(Runtime& runtime, const LiveExecutor& live, const std::vector<std::string>& created) {
  const std::string prefix = "pool ";
  for (const std::string& made : created) {
    if (!made.starts_with(prefix) || live.record.is_default) continue;
    BERTH_TRY(runtime
                  .change([&](Change& change) {
                    return set_pool_executor(change, made.substr(prefix.size()), live.record.name);
                  })
                  .status());
  }
  return {};
}

// ---- as RUN SYNC sees it

struct InventoryRow {
  std::string kind;  // of the table's
  std::string here;
  std::string there;

  bool operator==(const InventoryRow&) const = default;
};
using InventoryRows = std::map<std::string, InventoryRow>;  // by node

Result<InventoryRows> read_inventory_drift(Database& db, std::int64_t executor) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT node, kind, here, there FROM inventory_drift WHERE executor_id = ?1"));
  InventoryRows found;
  rows.with(executor);
  while (rows.next())
    found[std::string(rows.text(0))] = {std::string(rows.text(1)), std::string(rows.text(2)),
                                        std::string(rows.text(3))};
  BERTH_TRY(rows.status());
  return found;
}

Status write_inventory_drift(Runtime& runtime, std::int64_t executor, const InventoryRows& before,
                             const InventoryRows& now) {
  if (before == now) return {};
  Database& db = runtime.db();
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM inventory_drift WHERE executor_id = ?1 AND node = ?2"));
  BERTH_ASSIGN(Statement put, db.prepare("INSERT INTO inventory_drift (executor_id, node, kind, here, there, since) "
                                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  for (const auto& [node, row] : before) {
    const auto found = now.find(node);
    if (found == now.end() || found->second != row) BERTH_TRY(remove.run(executor, node));
  }
  for (const auto& [node, row] : now) {
    const auto found = before.find(node);
    if (found == before.end() || found->second != row)
      BERTH_TRY(put.run(executor, node, row.kind, row.here, row.there, runtime.now()));
  }
  return transaction.commit();
}

InventoryRows differences(const std::map<std::string, KnownNode>& known, const std::vector<InventoryNode>& nodes,
                          std::int64_t executor) {
  InventoryRows rows;
  std::set<std::string> seen;
  for (const InventoryNode& node : nodes) {
    seen.insert(node.name);
    const std::string there = contents(node.cpu, node.memory, node.devices);
    const auto found = known.find(node.name);
    if (found == known.end()) {
      rows[node.name] = {"new", "no such node", there};
    } else if (const std::string here = contents(found->second.cpu, found->second.memory, found->second.devices);
               found->second.executor == executor && here != there) {
      rows[node.name] = {"different", here, there};
    }
  }
  for (const auto& [name, node] : known) {
    if (node.executor == executor && !seen.contains(name))
      rows[name] = {"gone", contents(node.cpu, node.memory, node.devices), "not in its inventory"};
  }
  return rows;
}

// Whether a node in that pool would be this executor's.
Result<bool> would_be_of(Database& db, const ExecutorRecord& executor, const std::string& pool) {
  if (pool.empty()) return executor.is_default;
  BERTH_ASSIGN(Statement row, db.prepare("SELECT coalesce(executor_id, (SELECT id FROM executors WHERE is_default = "
                                         "1)) = ?2 FROM pools WHERE name = ?1"));
  const bool is_there = row.with(pool, executor.id).next();
  const bool is_ours = !is_there || row.integer(0) != 0;
  BERTH_TRY(row.status());
  return is_ours;
}

// Those that are its own to add; their names.
Result<std::set<std::string>> add_nodes_of(Runtime& runtime, const LiveExecutor& live,
                                           const std::vector<InventoryNode>& nodes, const InventoryRows& rows) {
  std::set<std::string> names;
  std::vector<TraceNode> fresh;
  for (const InventoryNode& node : nodes) {
    const auto row = rows.find(node.name);
    if (row == rows.end() || row->second.kind != "new" || !node.is_ready) continue;
    BERTH_ASSIGN(const bool is_own, would_be_of(runtime.db(), live.record, node.pool));
    if (!is_own) continue;
    BERTH_TRY(check_model(node));
    fresh.push_back(record_of(node, live.record.name));
    names.insert(node.name);
  }
  if (fresh.empty()) return names;
  ImportOptions options;
  options.create_missing = true;
  BERTH_ASSIGN(const ImportReport imported, import_nodes(runtime, fresh, options));
  BERTH_TRY(claim_pools(runtime, live, imported.also_created));
  return names;
}

struct DeviceRows {
  std::int64_t node = 0;
  DeviceMask healthy = 0;
  DeviceMask idle = 0;
  DeviceMask gone = 0;  // marked so before
};

Result<DeviceRows> read_devices(Database& db, const std::string& node) {
  BERTH_ASSIGN(
      Statement row,
      db.prepare("SELECT d.node_id, d.device_index, d.health = 'healthy', NOT EXISTS (SELECT 1 FROM "
                 "allocations a WHERE a.node_id = d.node_id AND (a.device_mask >> d.device_index) & 1), EXISTS "
                 "(SELECT 1 FROM gone_devices g WHERE g.node_id = d.node_id AND g.device_index = "
                 "d.device_index) FROM devices d JOIN nodes n ON n.id = d.node_id WHERE n.name = ?1"));
  row.with(node);
  DeviceRows rows;
  while (row.next()) {
    const DeviceMask device = DeviceMask{1} << row.integer(1);
    rows.node = row.integer(0);
    if (row.integer(2) != 0) rows.healthy |= device;
    if (row.integer(3) != 0) rows.idle |= device;
    if (row.integer(4) != 0) rows.gone |= device;
  }
  BERTH_TRY(row.status());
  return rows;
}

// Which of a node's devices are gone. Where the executor tells only how many there are, those that somebody has marked
// unhealthy are taken for that, then idle ones, from the last on: what runs holds some that are there.
DeviceMask gone_devices(const InventoryNode& node, std::int64_t known, const DeviceRows& rows) {
  if (node.devices >= known) return node.gone;
  const int marked = static_cast<int>(known) - std::popcount(rows.healthy | rows.gone);
  const int missing = std::max(0, static_cast<int>(known) - node.devices - marked);
  DeviceMask gone = rows.gone & ~rows.healthy;
  while (std::popcount(gone) > missing) gone &= gone - 1;
  for (int device = kMaxDevices - 1; device >= 0 && std::popcount(gone) < missing; --device) {
    const DeviceMask mask = DeviceMask{1} << device;
    if ((rows.idle & rows.healthy & mask) != 0) gone |= mask;
  }
  return gone;
}

Status change_gone(Change& change, const std::string& node, std::int64_t id, DeviceMask devices, Health health) {
  const bool is_back = health == Health::kHealthy;
  if (!is_back) BERTH_TRY(set_device_health(change, node, devices, health));
  BERTH_ASSIGN(Statement put,
               change.db().prepare(is_back ? "DELETE FROM gone_devices WHERE node_id = ?1 AND device_index = ?2"
                                           : "INSERT INTO gone_devices (node_id, device_index) VALUES (?1, ?2)"));
  for (DeviceMask left = devices; left != 0; left &= left - 1) BERTH_TRY(put.run(id, std::countr_zero(left)));
  return is_back ? set_device_health(change, node, devices, health) : Status();
}

// Nothing new is placed on devices that are gone, until they are back.
Status watch_devices(Runtime& runtime, const LiveExecutor& live, const InventoryNode& node, std::int64_t known,
                     SyncReport& report) {
  BERTH_ASSIGN(const DeviceRows rows, read_devices(runtime.db(), node.name));
  const DeviceMask gone = gone_devices(node, known, rows);
  const auto mark = [&](DeviceMask devices, Health health, const std::string& found, const std::string& repair) {
    if (devices == 0) return Status();
    const Status changed =
        runtime.change([&](Change& change) { return change_gone(change, node.name, rows.node, devices, health); })
            .status();
    if (!changed.ok()) return changed;
    ++report.drifts;
    return note_drift(
        runtime, live.record,
        {"device", fmt::format("{} {}", node.name, print_device_mask(devices)), "in order", found, repair});
  };
  BERTH_TRY(mark(gone & rows.healthy, Health::kUnhealthy, node.detail.empty() ? "gone" : node.detail,
                 "unhealthy: nothing new is placed there"));
  return mark(rows.gone & ~gone, Health::kHealthy, "back", "healthy");
}

std::string advice(const std::string& kind, const std::string& executor) {
  if (kind == "new") return fmt::format("IMPORT NODES FROM EXECUTOR {} adds it", executor);
  return kind == "gone" ? "DROP NODES removes it" : "ALTER NODE says what it is";
}

}  // namespace

Result<InventoryReport> import_inventory(Runtime& runtime, const std::string& executor, ImportOptions options) {
  BERTH_ASSIGN(const LiveExecutor live, reach_executor(runtime, executor));
  BERTH_ASSIGN(const std::vector<InventoryNode> nodes, live.executor->inventory());
  BERTH_ASSIGN(const auto known, known_nodes(runtime.db()));
  InventoryReport report;
  std::vector<TraceNode> fresh;
  std::set<std::string> seen;
  for (const InventoryNode& node : nodes) {
    seen.insert(node.name);
    if (!node.is_ready || !node.detail.empty())
      report.remarks.push_back(fmt::format("{}: {}{}", node.name, node.is_ready ? "" : "not ready ", node.detail));
    const auto found = known.find(node.name);
    if (found == known.end()) {
      BERTH_TRY(check_model(node));
      fresh.push_back(record_of(node, executor));
      continue;
    }
    report.known.push_back(node.name);
    const std::string here = contents(found->second.cpu, found->second.memory, found->second.devices);
    const std::string there = contents(node.cpu, node.memory, node.devices);
    if (here != there) report.different.push_back(fmt::format("{}: {} here, {} there", node.name, here, there));
  }
  for (const auto& [name, node] : known) {
    if (node.executor == live.record.id && !seen.contains(name)) report.gone.push_back(name);
  }
  options.create_missing = true;
  if (!fresh.empty()) {
    BERTH_ASSIGN(report.imported, import_nodes(runtime, fresh, options));
  }
  BERTH_TRY(claim_pools(runtime, live, report.imported.also_created));
  BERTH_ASSIGN(report.elsewhere, run_elsewhere(runtime.db(), live.record.id, seen));
  return report;
}

Status watch_inventory(Runtime& runtime, LiveExecutor& live, bool adds_new_nodes, SyncReport& report) {
  BERTH_ASSIGN(const std::vector<InventoryNode> nodes, live.executor->inventory());
  BERTH_TRY(runtime.check_right());
  BERTH_TRY(note_inventory(runtime.db(), live.record, runtime.now()));
  if (nodes.empty()) return {};
  BERTH_ASSIGN(const auto known, known_nodes(runtime.db()));
  BERTH_ASSIGN(const InventoryRows before, read_inventory_drift(runtime.db(), live.record.id));
  InventoryRows rows = differences(known, nodes, live.record.id);
  std::set<std::string> added;
  std::string why_not;
  if (adds_new_nodes) {
    Result<std::set<std::string>> names = add_nodes_of(runtime, live, nodes, rows);
    if (names.ok()) added = *std::move(names);
    if (!names.ok()) why_not = "not added: " + names.status().message();
  }
  for (const auto& [node, row] : rows) {
    const auto found = before.find(node);
    const bool is_added = added.contains(node);
    if (!is_added && found != before.end() && found->second == row) continue;
    ++report.drifts;
    const std::string repair = is_added                                ? "added"
                               : row.kind == "new" && !why_not.empty() ? why_not
                                                                       : advice(row.kind, live.record.name);
    const std::string_view kind = row.kind == "new" ? "new node" : row.kind == "gone" ? "node gone" : "capacity";
    BERTH_TRY(note_drift(runtime, live.record, {std::string(kind), node, row.here, row.there, repair}));
  }
  for (const InventoryNode& node : nodes) {
    const auto found = known.find(node.name);
    if (found != known.end() && found->second.executor == live.record.id)
      BERTH_TRY(watch_devices(runtime, live, node, found->second.devices, report));
  }
  for (const std::string& node : added) rows.erase(node);
  return write_inventory_drift(runtime, live.record.id, before, rows);
}

Result<std::string> local_executor(Runtime& runtime, const ExecutorOptions& given) {
  BERTH_ASSIGN(const std::vector<ExecutorRecord> executors, list_executors(runtime.db()));
  const auto found = std::ranges::find(executors, "local", &ExecutorRecord::type);
  ExecutorRecord executor;
  if (found != executors.end()) executor = *found;
  for (const auto& [name, value] : given) executor.options[name] = value;
  if (found != executors.end() && given.empty()) return executor.name;
  const bool is_new = found == executors.end();
  if (is_new) {
    executor.name = "local";
    executor.type = "local";
  }
  BERTH_TRY(check_executor(runtime, executor));
  // Nothing is written down of one that cannot say what it has.
  BERTH_ASSIGN(const std::unique_ptr<Executor> opened, open_executor(runtime, executor));
  BERTH_TRY(opened->inventory().status());
  BERTH_TRY(runtime
                .change([&](Change& change) {
                  return is_new ? create_executor(change, executor) : change_executor(change, executor);
                })
                .status());
  return executor.name;
}

}  // namespace berth
