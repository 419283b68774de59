#include "engine/runtime/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "engine/base/failpoint.h"
#include "engine/base/text.h"
#include "engine/runtime/admit_policy.h"
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

class NodeImport {
 public:
  NodeImport(Change& change, const ImportOptions& options, ImportReport& report)
      : change_(change), options_(options), report_(report), missing_(change, options.create_missing, report) {}

  Status run(std::span<const TraceNode> nodes, std::vector<Status> unreadable) {
    BERTH_TRY(read_types());
    NodeAdder adder(change_);
    RowErrors errors(options_, report_, std::move(unreadable));
    std::vector<const TraceNode*> added;
    for (const TraceNode& node : nodes) {
      const Status done = add(node, adder);
      if (done.ok()) added.push_back(&node);
      BERTH_TRY(errors.take(done, node.place));
      if (added.size() == nodes.size() / 2) failpoint("mid_write");
    }
    BERTH_TRY(errors.verdict());
    BERTH_TRY(adder.finish());
    for (const TraceNode* node : added) BERTH_TRY(bring_into_state(*node).prefixed(node->place));
    report_.added = static_cast<std::int64_t>(added.size());
    return {};
  }

 private:
  Status read_types() {
    BERTH_ASSIGN(Statement rows,
                 change_.db().prepare("SELECT t.cpu_milli, t.memory_mib, coalesce(m.name, ''), t.device_count, "
                                      "coalesce(t.link_groups, ''), t.name FROM node_types t LEFT JOIN device_models m "
                                      "ON m.id = t.device_model_id ORDER BY t.id"));
    while (rows.next()) {
      const TypeContents contents{rows.integer(0), rows.integer(1), std::string(rows.text(2)),
                                  static_cast<std::int32_t>(rows.integer(3)), std::string(rows.text(4))};
      contents_of_type_[std::string(rows.text(5))] = contents;
      types_.try_emplace(contents, rows.text(5));
    }
    return rows.status();
  }

  Status add(const TraceNode& node, NodeAdder& adder) {
    const std::string pool = node.pool.empty() ? options_.pool : node.pool;
    BERTH_TRY(missing_.ensure_pool(pool));
    if (node.devices > 0) BERTH_TRY(ensure_model(node));
    BERTH_ASSIGN(const std::string type, ensure_type(node));
    return adder.add({.name = node.name, .type = type, .pool = pool, .rack = node.rack, .labels = node.labels})
        .prefixed(fmt::format("in node '{}'", node.name));
  }

  Status bring_into_state(const TraceNode& node) {
    DeviceMask unhealthy = 0;
    for (const std::int32_t device : node.unhealthy) unhealthy |= DeviceMask{1} << device;
    if (unhealthy != 0) BERTH_TRY(set_device_health(change_, node.name, unhealthy, Health::kUnhealthy));
    const std::string names[] = {node.name};
    if (node.drain) {
      BERTH_TRY(drain_nodes(change_, names, *node.drain));
    } else if (node.state == NodeState::kDraining || node.state == NodeState::kDrained) {
      BERTH_TRY(set_node_state(change_, names, NodeState::kDraining));
    }
    if (node.state != NodeState::kDown && node.state != NodeState::kBooting) return {};
    BERTH_TRY(set_node_state(change_, names, NodeState::kDown));
    return node.state == NodeState::kDown ? Status() : set_node_state(change_, names, NodeState::kBooting);
  }

  Status ensure_model(const TraceNode& node) {
    if (!models_.insert(node.model).second) return {};
    const Result<std::int64_t> found = find_id(change_.db(), Thing::kDeviceModel, node.model);
    if (found.ok()) return compare_model(node);
    if (found.status().code() != Code::kNotFound) return found.status();
    DeviceModelRequest request{.name = node.model,
                               .memory = node.device_memory == MiB(0) ? options_.device_memory : node.device_memory};
    if (node.about_model) {
      request.speed = node.about_model->speed;
      request.price_milli = node.about_model->price_milli;
      request.family = node.about_model->family;
    }
    BERTH_TRY(add_device_model(change_, request));
    report_.also_created.push_back(fmt::format("device model {}", node.model));
    return {};
  }

  // The model that is here stays as it is.
  Status compare_model(const TraceNode& node) {
    BERTH_ASSIGN(Statement row, change_.db().prepare("SELECT memory_mib, speed, price_milli, coalesce(family, '') FROM "
                                                     "device_models WHERE name = ?1"));
    if (!row.with(node.model).next()) return row.status();
    const MiB memory = row.quantity<MiB>(0);
    const TraceModel here{.speed = row.real(1),
                          .price_milli = row.is_null(2) ? std::nullopt : std::optional(row.integer(2)),
                          .family = std::string(row.text(3))};
    const TraceModel said = node.about_model.value_or(here);
    const bool says_memory = node.about_model || node.device_memory != MiB(0);
    std::vector<std::string> others;
    const auto compare = [&](std::string_view what, bool differs, const std::string& is, const std::string& in_file) {
      if (differs) others.push_back(fmt::format("{} {}, not {}", what, is, in_file));
    };
    const auto price = [](const std::optional<std::int64_t>& milli) {
      return milli ? fmt::format("{}", static_cast<double>(*milli) / 1000) : std::string("usual");
    };
    compare("memory", says_memory && memory != node.device_memory, print_memory(memory),
            print_memory(node.device_memory));
    compare("speed", fmt::format("{}", here.speed) != fmt::format("{}", said.speed), fmt::format("{}", here.speed),
            fmt::format("{}", said.speed));
    compare("price", here.price_milli != said.price_milli, price(here.price_milli), price(said.price_milli));
    compare("family", here.family != said.family, fmt::format("'{}'", here.family), fmt::format("'{}'", said.family));
    if (!others.empty())
      report_.kept.push_back(fmt::format("device model {} stays as it is here: {}", node.model, join(others, ", ")));
    return {};
  }

  // A type of the name that the file gives; without one, any that has the same.
  Result<std::string> ensure_type(const TraceNode& node) {
    const TypeContents contents = contents_of(node);
    if (node.type.empty()) {
      if (const auto same = types_.find(contents); same != types_.end()) return same->second;
    } else {
      BERTH_ASSIGN(const bool is_there, has_type(node.type, contents));
      if (is_there) return node.type;
    }
    const std::string base = node.type.empty() ? type_name(node) : node.type;
    std::string name = base;
    for (int number = 2;
         node.type.empty() && check_new_name(change_.db(), Thing::kNodeType, name).code() == Code::kExists; ++number) {
      name = fmt::format("{}-{}", base, number);
    }
    BERTH_TRY(add_node_type(change_, {.name = name,
                                      .cpu = node.cpu,
                                      .memory = node.memory,
                                      .device_model = node.devices == 0 ? "" : node.model,
                                      .device_count = node.devices,
                                      .link_groups = node.link_groups}));
    report_.also_created.push_back(fmt::format("node type {}", name));
    contents_of_type_[name] = contents;
    types_.try_emplace(contents, name);
    return name;
  }

  // kConflict when the type of that name is another.
  Result<bool> has_type(const std::string& name, const TypeContents& contents) {
    const auto known = contents_of_type_.find(name);
    if (known == contents_of_type_.end()) return false;
    if (known->second == contents) return true;
    return Status(Code::kConflict, fmt::format("node type '{}' is another here", name),
                  "without the column type a node gets a type that has what it has");
  }

  Change& change_;
  const ImportOptions& options_;
  ImportReport& report_;
  MissingNames missing_;
  std::set<std::string> models_;
  std::map<TypeContents, std::string> types_;             // the oldest
  std::map<std::string, TypeContents> contents_of_type_;  // by name
};

class JobImport {
 public:
  JobImport(Change& change, const ImportOptions& options, ImportReport& report)
      : change_(change), options_(options), report_(report), missing_(change, options.create_missing, report) {}

  Status begin() {
    BERTH_ASSIGN(Submitter submitter, Submitter::make(change_));
    submitter_.emplace(std::move(submitter));
    BERTH_ASSIGN(AdmitPolicy policy, AdmitPolicy::make(change_));
    policy_.emplace(std::move(policy));
    return {};
  }

  // Nothing is left of a job that is refused.
  Status add(const TraceJob& job) {
    JobRequest request = request_for(job);
    if (request.queue.empty())
      return Status(Code::kInvalid, "the row names no queue", "WITH (queue = ...) says where such jobs go");
    BERTH_TRY(policy_->admit(request));
    BERTH_TRY(missing_.ensure_queue(request.queue));
    BERTH_TRY(missing_.ensure_priority_class(request.priority_class));
    BERTH_TRY(submitter_->submit(request).status());
    policy_->note(request);
    ++report_.added;
    return {};
  }

  Status finish() { return submitter_->finish(); }

 private:
  JobRequest request_for(const TraceJob& job) const {
    JobRequest request;
    request.name = job.name;
    request.queue = job.queue.empty() ? options_.queue : job.queue;
    request.priority_class = job.priority;
    request.user = job.user;
    request.tag = job.tag;
    request.time_limit = job.time_limit;
    request.terms = {.preemptible = job.terms.preemptible,
                     .checkpoint_every = job.terms.checkpoint_every.value_or(Seconds(0)),
                     .checkpoint_grace = job.terms.checkpoint_grace,
                     .restart_cost = job.terms.restart_cost.value_or(Seconds(0)),
                     .min_runtime = job.terms.min_runtime,
                     .after = job.terms.after};
    for (const TraceCommand& work : job.command) {
      request.command = {.command = work.command,
                         .working_directory = work.directory,
                         .environment = work.environment,
                         .image = work.image,
                         .checkpoint_signal = work.checkpoint_signal,
                         .retries = work.retries};
    }
    if (options_.keep_times) request.submit_time = job.submit;
    request.held = job.held;
    request.allow_infeasible = options_.allow_infeasible || job.allow_infeasible;
    for (const TraceTaskGroup& group : job.groups) request.groups.push_back(group_request(group));
    return request;
  }

  Change& change_;
  const ImportOptions& options_;
  ImportReport& report_;
  MissingNames missing_;
  std::optional<Submitter> submitter_;
  std::optional<AdmitPolicy> policy_;
};

Result<ImportReport> import_read_nodes(Runtime& runtime, std::span<const TraceNode> nodes,
                                       std::vector<Status> unreadable, const ImportOptions& options) {
  ImportReport report;
  if (nodes.empty()) {
    BERTH_TRY(RowErrors(options, report, std::move(unreadable)).verdict());
    return report;
  }
  const Result<std::int64_t> version = runtime.change(
      [&](Change& change) { return NodeImport(change, options, report).run(nodes, std::move(unreadable)); });
  if (!version.ok()) return version.status();
  return report;
}

}  // namespace

Result<ImportReport> import_nodes(Runtime& runtime, const std::string& path, const ImportOptions& options) {
  BERTH_ASSIGN(ReadRecords<TraceNode> read,
               read_trace_nodes(options.format, path,
                                {.skip_bad_rows = true, .format = options.trace, .interrupted = options.interrupted}));
  return import_read_nodes(runtime, read.records, std::move(read.skipped), options);
}

Result<ImportReport> import_nodes(Runtime& runtime, std::span<const TraceNode> nodes, const ImportOptions& options) {
  return import_read_nodes(runtime, nodes, {}, options);
}

Result<ImportReport> import_jobs(Runtime& runtime, const std::string& path, const ImportOptions& options) {
  BERTH_ASSIGN(ReadRecords<TraceJob> read,
               read_trace_jobs(options.format, path,
                               {.skip_bad_rows = true, .format = options.trace, .interrupted = options.interrupted}));
  ImportReport report;
  RowErrors errors(options, report, std::move(read.skipped));
  if (read.records.empty()) {
    BERTH_TRY(errors.verdict());
    return report;
  }
  const Result<std::int64_t> version = runtime.change([&](Change& change) -> Status {
    JobImport import(change, options, report);
    BERTH_TRY(import.begin());
    for (const TraceJob& job : read.records) BERTH_TRY(errors.take(import.add(job), job.place));
    BERTH_TRY(errors.verdict());
    return import.finish();
  });
  if (!version.ok()) return version.status();
  return report;
}

}  // namespace berth
