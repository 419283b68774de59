#include "engine/runtime/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/text.h"
#include "engine/runtime/executors.h"

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

Result<std::string> local_executor(Runtime& runtime, const ExecutorOptions& given) {
  BERTH_ASSIGN(const std::vector<ExecutorRecord> executors, list_executors(runtime.db()));
  const auto found = std::ranges::find(executors, "local", &ExecutorRecord::type);
  ExecutorRecord executor;
  if (found != executors.end()) executor = *found;
  for (const auto& [name, value] : given) executor.options[name] = value;
  BERTH_ASSIGN(const ExecutorType* type, find_executor_type("local"));
  BERTH_TRY(read_executor_options(*type, executor.options).status());
  if (found != executors.end() && given.empty()) return executor.name;
  const bool is_new = found == executors.end();
  if (is_new) {
    executor.name = "local";
    executor.type = "local";
  }
  BERTH_TRY(check_executor(runtime, executor));
  BERTH_TRY(runtime
                .change([&](Change& change) {
                  return is_new ? create_executor(change, executor) : alter_executor(change, executor);
                })
                .status());
  return executor.name;
}

}  // namespace berth
