#include "engine/runtime/metrics.h"

#include <fmt/format.h>

#include <string_view>

namespace berth {

namespace {

// One metric: the last column of the query is its value, those before are labels under their names.
struct MetricRow {
  std::string_view name;
  std::string_view help;
  std::string_view sql;
};

constexpr MetricRow kMetrics[] = {
    {"berth_nodes", "Nodes by state.", "SELECT state, count(*) FROM nodes GROUP BY state ORDER BY state"},
    {"berth_devices", "Devices by model, on nodes that are up.",
     "SELECT m.name AS model, sum(t.device_count) FROM nodes n JOIN node_types t ON t.id = n.type_id JOIN "
     "device_models m ON "
     "m.id = t.device_model_id WHERE n.state = 'up' GROUP BY m.id ORDER BY m.name"},
    {"berth_gpus_allocated", "GPUs that jobs hold, by model.",
     "SELECT m.name AS model, sum(u.gpu_milli) / 1000.0 FROM queue_use u JOIN device_models m ON m.id = u.model_id "
     "GROUP BY "
     "m.id ORDER BY m.name"},
    {"berth_jobs", "Jobs that have not ended, by queue and state.",
     "SELECT q.name AS queue, j.state, count(*) FROM jobs j INDEXED BY jobs_live JOIN queues q ON q.id = j.queue_id "
     "WHERE "
     "j.end_time IS NULL GROUP BY q.id, j.state ORDER BY q.name, j.state"},
    {"berth_jobs_waiting", "Jobs that wait, by reason.",
     "SELECT coalesce(wait_reason, 'new') AS reason, count(*) FROM jobs INDEXED BY jobs_live WHERE end_time IS NULL "
     "AND state "
     "= 'pending' GROUP BY 1 ORDER BY 1"},
    {"berth_queue_gpus", "GPUs that the jobs of a queue hold.",
     "SELECT q.name AS queue, sum(u.gpu_milli) / 1000.0 FROM queue_use u JOIN queues q ON q.id = u.queue_id GROUP BY "
     "q.id "
     "ORDER BY q.name"},
    {"berth_executor_up", "1 = the executor answered when it was last asked.",
     "SELECT name AS executor, state = 'up' FROM executors ORDER BY id"},
    {"berth_executor_last_contact_seconds", "When the executor last answered, Unix time.",
     "SELECT name AS executor, last_contact FROM executors WHERE last_contact IS NOT NULL ORDER BY id"},
    {"berth_runs_live", "Runs at executors, by state.",
     "SELECT state, count(*) FROM runs WHERE end_time IS NULL GROUP BY state ORDER BY state"},
    {"berth_outbox", "Effects that executors are still to be told of.",
     "SELECT count(*) FROM outbox WHERE told_at IS NULL"},
    {"berth_nodes_out_of_order", "Nodes that their executor does not find in order, by what is known.",
     "SELECT state AS health, count(*) FROM node_health WHERE state <> 'good' GROUP BY state ORDER BY state"},
    {"berth_round_seconds", "How long the last round of each kind took.",
     "SELECT kind, seconds FROM scheduled_runs ORDER BY kind"},
    {"berth_round_started_seconds", "When the last round of each kind began, Unix time.",
     "SELECT kind, started_at FROM scheduled_runs ORDER BY kind"},
    {"berth_round_ok", "1 = the last round of that kind went well.",
     "SELECT kind, result = 'done' FROM scheduled_runs ORDER BY kind"},
    {"berth_state_version", "Accepted statements and rounds.", "SELECT value FROM meta WHERE key = 'state_version'"},
};

std::string label_value(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

Result<std::string> metrics_text(Runtime& runtime) {
  std::string text;
  for (const MetricRow& metric : kMetrics) {
    BERTH_ASSIGN(Statement rows, runtime.db().prepare(metric.sql));
    text += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", metric.name, metric.help, metric.name);
    const int value = rows.column_count() - 1;
    while (rows.next()) {
      std::string labels;
      for (int column = 0; column < value; ++column) {
        labels += fmt::format("{}{}=\"{}\"", column == 0 ? "" : ",", rows.column_name(column),
                              label_value(rows.text(column)));
      }
      text += fmt::format("{}{} {}\n", metric.name, labels.empty() ? "" : "{" + labels + "}", rows.real(value));
    }
    BERTH_TRY(rows.status());
  }
  return text;
}

}  // namespace berth
