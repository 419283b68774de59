#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "engine/runtime/import.h"
#include "engine/sim/berth_trace.h"

namespace berth {

namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

Result<Texts> read_texts(std::string_view json, std::string_view what) {
  const auto object = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!object.is_object()) return Status(Code::kCorrupt, fmt::format("{} are no JSON object: {}", what, json));
  Texts texts;
  for (const auto& [key, value] : object.items())
    texts.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  return texts;
}

}  // namespace

Result<std::string> export_nodes(Runtime& runtime) {
  BERTH_ASSIGN(
      Statement rows,
      runtime.db().prepare(
          "SELECT n.name, t.cpu_milli, t.memory_mib, t.device_count, coalesce(m.name, ''), coalesce(m.memory_mib, 0), "
          "coalesce(n.rack, ''), coalesce(p.name, ''), coalesce(t.link_groups, ''), t.name, n.labels, (SELECT "
          "group_concat(device_index, ' ') FROM (SELECT device_index FROM devices WHERE node_id = n.id AND health <> "
          "'healthy' ORDER BY device_index)), d.reason, n.state, m.speed, m.price_milli, coalesce(m.family, '') FROM "
          "nodes n JOIN node_types "
          "t ON "
          "t.id = n.type_id "
          "LEFT JOIN device_models m ON m.id = t.device_model_id LEFT JOIN pools p ON p.id = n.pool_id LEFT JOIN "
          "drains "
          "d ON d.node_id = n.id ORDER BY n.id"));
  std::vector<TraceNode> nodes;
  while (rows.next()) {
    TraceNode node;
    node.name = rows.text(0);
    node.cpu = rows.quantity<MilliCpu>(1);
    node.memory = rows.quantity<MiB>(2);
    node.devices = static_cast<std::int32_t>(rows.integer(3));
    node.model = rows.text(4);
    node.device_memory = rows.quantity<MiB>(5);
    node.rack = rows.text(6);
    node.pool = rows.text(7);
    node.link_groups = rows.text(8);
    node.type = rows.text(9);
    BERTH_ASSIGN(node.labels, read_texts(rows.text(10), "the labels of a node"));
    for (const std::string_view device : split(rows.text(11), ' ')) {
      if (device.empty()) continue;
      BERTH_ASSIGN(const std::int64_t index, read_integer(device));
      node.unhealthy.push_back(static_cast<std::int32_t>(index));
    }
    if (!rows.is_null(12)) node.drain = rows.text(12);
    BERTH_ASSIGN(node.state, read_node_state(rows.text(13)));
    if (node.state == NodeState::kDraining || node.state == NodeState::kDrained)
      node.state = node.drain ? NodeState::kUp : NodeState::kDrained;
    if (!rows.is_null(14)) {
      TraceModel& model = node.about_model.emplace();
      model.speed = rows.real(14);
      if (!rows.is_null(15)) model.price_milli = rows.integer(15);
      model.family = rows.text(16);
    }
    nodes.push_back(std::move(node));
  }
  BERTH_TRY(rows.status());
  return berth_nodes_csv(nodes);
}

Result<ExportedJobs> export_jobs(Runtime& runtime) {
  BERTH_ASSIGN(
      Statement rows,
      runtime.db().prepare(
          "SELECT j.id, j.name, q.name, coalesce(c.name, ''), coalesce(j.user_name, ''), j.submit_time, g.name, "
          "g.task_count, g.min_tasks, "
          "g.cpu_milli, g.memory_mib, g.gpu_count, g.gpu_milli, g.gpu_memory_mib, coalesce(g.models, ''), "
          "coalesce(p.name, ''), g.locality, "
          "g.locality_required, j.tag, coalesce(j.time_limit_s, 0), j.preemptible, j.checkpoint_interval_s, "
          "j.checkpoint_grace_s, j.restart_cost_s, j.min_runtime_s, (SELECT json_group_array(name) FROM (SELECT a.name "
          "FROM dependencies d JOIN jobs a ON a.id = d.after_id WHERE d.job_id = j.id AND d.state = 'open' ORDER BY "
          "a.id)), coalesce(j.command, ''), j.working_directory, j.environment, j.image, j.checkpoint_signal, "
          "j.retry_limit, j.state = 'held', j.allow_infeasible, EXISTS (SELECT 1 FROM dependencies b WHERE b.job_id = "
          "j.id AND b.state = 'broken') FROM jobs j JOIN queues q ON q.id = j.queue_id JOIN "
          "task_groups g ON g.job_id = j.id "
          "LEFT JOIN priority_classes c ON c.id = j.priority_class_id LEFT JOIN pools p ON p.id = g.pool_id "
          "WHERE j.state IN ('pending', 'held', 'running') ORDER BY j.id, g.group_index"));
  std::vector<TraceJob> jobs;
  ExportedJobs exported;
  std::int64_t last = -1;
  while (rows.next()) {
    if (rows.integer(0) != last) {
      last = rows.integer(0);
      TraceJob job;
      job.name = rows.text(1);
      job.queue = rows.text(2);
      job.priority = rows.text(3);
      job.user = rows.text(4);
      job.submit = rows.quantity<Seconds>(5);
      job.tag = rows.text(18);
      job.time_limit = rows.quantity<Seconds>(19);
      TraceTerms& terms = job.terms;
      terms.preemptible = rows.integer(20) != 0;
      // 0 is also what a job has that said nothing.
      if (rows.integer(21) > 0) terms.checkpoint_every = rows.quantity<Seconds>(21);
      terms.checkpoint_grace = rows.quantity<Seconds>(22);
      if (rows.integer(23) > 0) terms.restart_cost = rows.quantity<Seconds>(23);
      if (!rows.is_null(24)) terms.min_runtime = rows.quantity<Seconds>(24);
      for (const auto& name : nlohmann::json::parse(rows.text(25), nullptr, false)) terms.after.push_back(name);
      if (!rows.text(26).empty()) {
        TraceCommand& work = job.command.emplace_back();
        work.command = rows.text(26);
        work.directory = rows.text(27);
        BERTH_ASSIGN(work.environment, read_texts(rows.text(28), "the variables of a job"));
        work.image = rows.text(29);
        work.checkpoint_signal = rows.text(30);
        work.retries = rows.integer(31);
      }
      const bool never_starts = rows.integer(34) != 0;
      if (never_starts) exported.held.push_back(job.name);
      job.held = rows.integer(32) != 0 || never_starts;
      job.allow_infeasible = rows.integer(33) != 0;
      jobs.push_back(std::move(job));
    }
    TraceTaskGroup group;
    group.name = rows.text(6);
    group.tasks = static_cast<std::int32_t>(rows.integer(7));
    group.min_tasks = static_cast<std::int32_t>(rows.integer(8));
    group.cpu = rows.quantity<MilliCpu>(9);
    group.memory = rows.quantity<MiB>(10);
    group.gpu_count = static_cast<std::int32_t>(rows.integer(11));
    group.gpu_milli = rows.quantity<MilliGpu>(12);
    group.gpu_memory = rows.quantity<MiB>(13);
    group.models = rows.text(14);
    group.pool = rows.text(15);
    BERTH_ASSIGN(group.locality, read_locality(rows.text(16)));
    group.locality_required = rows.integer(17) != 0;
    jobs.back().groups.push_back(std::move(group));
  }
  BERTH_TRY(rows.status());
  exported.csv = berth_jobs_csv(jobs);
  return exported;
}

}  // namespace berth
