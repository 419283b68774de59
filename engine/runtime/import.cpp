#include "engine/runtime/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "engine/base/text.h"
#include "engine/runtime/import_names.h"
#include "engine/sim/trace.h"
#include "engine/store/cluster_records.h"
#include "engine/store/job_records.h"
#include "engine/store/names.h"
#include "engine/store/queue_records.h"

namespace berth {

namespace {

using TypeContents = std::tuple<std::int64_t, std::int64_t, std::string, std::int32_t,
                                std::string>;  // cpu, memory, model, devices, links

TypeContents contents_of(const TraceNode& node) {
  return {node.cpu.value(), node.memory.value(), node.devices == 0 ? "" : node.model, node.devices, node.link_groups};
}

std::string type_name(const TraceNode& node) {
  const std::string devices = node.devices == 0 ? "cpu" : fmt::format("{}x{}", to_lower(node.model), node.devices);
  return fmt::format("{}-{}c-{}", devices, print_cpu(node.cpu), to_lower(print_memory(node.memory)));
}

Result<std::map<TypeContents, std::string>> node_types_by_contents(Database& db) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare(
          "SELECT t.cpu_milli, t.memory_mib, coalesce(m.name, ''), t.device_count, coalesce(t.link_groups, ''), t.name "
          "FROM node_types t LEFT JOIN device_models m ON m.id = t.device_model_id ORDER BY t.id DESC"));
  std::map<TypeContents, std::string> types;
  while (rows.next()) {
    types[{rows.integer(0), rows.integer(1), std::string(rows.text(2)), static_cast<std::int32_t>(rows.integer(3)),
           std::string(rows.text(4))}] = rows.text(5);
  }
  BERTH_TRY(rows.status());
  return types;
}

class NodeImport {
 public:
  NodeImport(Change& change, const ImportOptions& options, ImportReport& report)
      : change_(change), options_(options), report_(report), missing_(change, options.create_missing, report) {}

  Status run(std::span<const TraceNode> nodes) {
    BERTH_ASSIGN(types_, node_types_by_contents(change_.db()));
    std::vector<NodeRequest> requests;
    requests.reserve(nodes.size());
    for (const TraceNode& node : nodes) {
      Result<NodeRequest> request = request_for(node);
      if (!request.ok()) return std::move(request).status().prefixed(node.place);
      requests.push_back(*std::move(request));
    }
    BERTH_TRY(add_nodes(change_, requests));
    report_.added = static_cast<std::int64_t>(requests.size());
    return {};
  }

 private:
  Result<NodeRequest> request_for(const TraceNode& node) {
    const std::string pool = node.pool.empty() ? options_.pool : node.pool;
    BERTH_TRY(missing_.ensure_pool(pool));
    if (node.devices > 0) BERTH_TRY(ensure_model(node));
    BERTH_ASSIGN(const std::string type, ensure_type(node));
    return NodeRequest{.name = node.name, .type = type, .pool = pool, .rack = node.rack, .labels = {}};
  }

  Status ensure_model(const TraceNode& node) {
    if (!models_.insert(node.model).second) return {};
    const Result<std::int64_t> found = find_id(change_.db(), Thing::kDeviceModel, node.model);
    if (found.ok() || found.status().code() != Code::kNotFound) return found.status();
    const MiB memory = node.device_memory == MiB(0) ? options_.device_memory : node.device_memory;
    BERTH_TRY(add_device_model(change_, {.name = node.model, .memory = memory}));
    report_.also_created.push_back(fmt::format("device model {}", node.model));
    return {};
  }

  Result<std::string> ensure_type(const TraceNode& node) {
    std::string& type = types_[contents_of(node)];
    if (!type.empty()) return type;
    const std::string base = type_name(node);
    std::string name = base;
    for (int number = 2; check_new_name(change_.db(), Thing::kNodeType, name).code() == Code::kExists; ++number)
      name = fmt::format("{}-{}", base, number);
    BERTH_TRY(add_node_type(change_, {.name = name,
                                      .cpu = node.cpu,
                                      .memory = node.memory,
                                      .device_model = node.devices == 0 ? "" : node.model,
                                      .device_count = node.devices,
                                      .link_groups = node.link_groups}));
    report_.also_created.push_back(fmt::format("node type {}", name));
    type = name;
    return name;
  }

  Change& change_;
  const ImportOptions& options_;
  ImportReport& report_;
  MissingNames missing_;
  std::set<std::string> models_;
  std::map<TypeContents, std::string> types_;
};

}  // namespace

Result<ImportReport> import_nodes(Runtime& runtime, const std::string& path, const ImportOptions& options) {
  BERTH_ASSIGN(
      const ReadRecords<TraceNode> read,
      read_trace_nodes(options.format, path, {.skip_bad_rows = options.skip_bad_rows, .format = options.trace}));
  BERTH_ASSIGN(ImportReport report, import_nodes(runtime, read.records, options));
  report.skipped = import_sentences(read.skipped);
  return report;
}

Result<ImportReport> import_nodes(Runtime& runtime, std::span<const TraceNode> nodes, const ImportOptions& options) {
  ImportReport report;
  if (nodes.empty()) return report;
  const Result<std::int64_t> version =
      runtime.change([&](Change& change) { return NodeImport(change, options, report).run(nodes); });
  if (!version.ok()) return version.status();
  return report;
}

Result<ImportReport> import_jobs(Runtime& runtime, const std::string& path, const ImportOptions& options) {
  BERTH_ASSIGN(
      const ReadRecords<TraceJob> read,
      read_trace_jobs(options.format, path, {.skip_bad_rows = options.skip_bad_rows, .format = options.trace}));
  ImportReport report;
  report.skipped = import_sentences(read.skipped);
  if (read.records.empty()) return report;
  const Result<std::int64_t> version = runtime.change([&](Change& change) -> Status {
    MissingNames missing(change, options.create_missing, report);
    for (const TraceJob& job : read.records) {
      const std::string& queue = job.queue.empty() ? options.queue : job.queue;
      if (queue.empty())
        return Status(Code::kInvalid, fmt::format("{}: the row names no queue", job.place),
                      "WITH (queue = ...) says where such jobs go");
      Status ready = missing.ensure_queue(queue);
      if (ready.ok()) ready = missing.ensure_priority_class(job.priority);
      if (!ready.ok()) return std::move(ready).prefixed(job.place);
    }
    BERTH_ASSIGN(Submitter submitter, Submitter::make(change));
    for (const TraceJob& job : read.records) {
      JobRequest request;
      request.name = job.name;
      request.queue = job.queue.empty() ? options.queue : job.queue;
      request.priority_class = job.priority;
      request.user = job.user;
      request.tag = job.tag;
      request.time_limit = job.time_limit;
      request.terms = {.preemptible = job.terms.preemptible,
                       .checkpoint_every = job.terms.checkpoint_every,
                       .checkpoint_grace = job.terms.checkpoint_grace,
                       .restart_cost = job.terms.restart_cost,
                       .min_runtime = job.terms.min_runtime,
                       .after = job.terms.after};
      if (options.keep_times) request.submit_time = job.submit;
      request.allow_infeasible = options.allow_infeasible;
      for (const TraceTaskGroup& group : job.groups) request.groups.push_back(group_request(group));
      Result<std::int64_t> id = submitter.submit(request);
      if (!id.ok()) {
        Status error = std::move(id).status().prefixed(job.place);
        if (!options.skip_bad_rows) return error;
        report.skipped.push_back(error.message());
        continue;
      }
      ++report.added;
    }
    return submitter.finish();
  });
  if (!version.ok()) return version.status();
  return report;
}

}  // namespace berth
