// SHOW: the tables people ask for most. Everything else is a SELECT away.
#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/store/load_quotas.h"
#include "engine/store/names.h"
#include "engine/store/settings.h"
#include "engine/store/totals.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

double in_units(std::int64_t milli) { return static_cast<double>(milli) / 1000.0; }
double in_gib(MiB amount) { return static_cast<double>(amount.value()) / 1024.0; }

std::vector<Cell> totals_row(const TypeTotals& t, std::string_view name) {
  return {text_or_null(t.pool),
          std::string(name),
          text_or_null(t.device_model),
          t.nodes,
          t.nodes_up,
          t.devices,
          in_units(t.gpu_used.value()),
          t.devices_free,
          t.devices_unhealthy,
          in_units(t.cpu.value()),
          in_units(t.cpu_used.value()),
          in_gib(t.memory),
          in_gib(t.memory_used),
          t.tasks};
}

// Narrow enough for a terminal of 100 columns: use beside size.
ResultTable cluster_for_people(const ClusterTotals& totals) {
  ResultTable table{.title = "cluster",
                    .columns = {{"pool"},
                                {"node_type"},
                                {"device_model"},
                                {"nodes"},
                                {"up"},
                                {"gpus"},
                                {"used", Align::kByType, 1},
                                {"free"},
                                {"cpu", Align::kRight},
                                {"memory", Align::kRight},
                                {"tasks"}},
                    .rows = {}};
  const auto add = [&](const TypeTotals& t, std::string_view name) {
    table.rows.push_back({text_or_null(t.pool), std::string(name), text_or_null(t.device_model), t.nodes, t.nodes_up,
                          t.devices, in_units(t.gpu_used.value()), t.devices_free,
                          fmt::format("{:.0f} of {:.0f}", in_units(t.cpu_used.value()), in_units(t.cpu.value())),
                          fmt::format("{:.0f} of {:.0f} GiB", in_gib(t.memory_used), in_gib(t.memory)), t.tasks});
  };
  for (const TypeTotals& type : totals.types) add(type, type.type);
  if (totals.types.size() > 1) add(totals.all, "all");
  return table;
}

Result<Output> show_cluster(Session& session, const Arguments& arguments) {
  (void)arguments;
  BERTH_ASSIGN(const ClusterTotals totals, cluster_totals(engine_of(session).db()));
  ResultTable table{.title = "cluster",
                    .columns = {{"pool"},
                                {"node_type"},
                                {"device_model"},
                                {"nodes"},
                                {"up"},
                                {"gpus"},
                                {"gpus_used", Align::kByType, 1},
                                {"gpus_free"},
                                {"gpus_unhealthy"},
                                {"cpu", Align::kByType, 0},
                                {"cpu_used", Align::kByType, 1},
                                {"memory_gib", Align::kByType, 0},
                                {"memory_used_gib", Align::kByType, 1},
                                {"tasks"}},
                    .rows = {}};
  for (const TypeTotals& type : totals.types) table.rows.push_back(totals_row(type, type.type));
  Output output;
  std::vector<Bar> bars;
  for (const TypeTotals& type : totals.types) {
    if (type.devices == 0) continue;
    bars.push_back({.label = type.pool.empty() ? type.type : fmt::format("{}/{}", type.pool, type.type),
                    .value = static_cast<double>(type.gpu_used.value()) / static_cast<double>(type.devices),
                    .note = fmt::format("{} of {} GPUs", print_gpu(type.gpu_used), print_count(type.devices))});
  }
  output.add(cluster_for_people(totals), Audience::kPeople);
  output.add(std::move(table), Audience::kPrograms);
  if (!bars.empty()) output.add_chart(draw_bars(bars, 1000, chart_style(session.display)));
  output.add_note(fmt::format("{} running, {} waiting, {} held", counted(totals.jobs_running, "job"),
                              print_count(totals.jobs_pending), print_count(totals.jobs_held)));
  return output;
}

// The list as JSON text for json_each, or nothing when none was given.
Result<std::optional<std::string>> name_filter(const Arguments& arguments, std::string_view argument) {
  if (!arguments.has(argument)) return std::optional<std::string>();
  BERTH_ASSIGN(const std::vector<std::string> names, expand_known_names(arguments.list(argument)));
  std::vector<std::string> quoted;
  for (const std::string& name : names) {
    std::string escaped;
    for (const char c : name) {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
    quoted.push_back("\"" + escaped + "\"");
  }
  return std::optional("[" + join(quoted, ",") + "]");
}

// A filter by a name that nothing has is a slip of the pen, not an empty answer.
Status check_named(Session& session, const Arguments& arguments, std::string_view argument, Thing thing) {
  for (const Value& value : arguments.list(argument)) {
    const std::vector<Value> one{value};
    std::vector<std::string> names{value.text};
    if (thing == Thing::kNode) {
      BERTH_ASSIGN(names, expand_known_names(one));
    }
    for (const std::string& name : names) {
      BERTH_TRY(blame(find_id(engine_of(session).db(), thing, name).status(), value.span));
    }
  }
  return {};
}

// How many rows of a history to show.
Result<std::int64_t> last_count(const Arguments& arguments) {
  if (!arguments.has("count")) return std::int64_t{20};
  const std::int64_t count = arguments.integer("count");
  if (count < 1) return arguments.fail("count", Code::kInvalid, fmt::format("LAST takes at least 1, found {}", count));
  return count;
}

std::optional<std::string> given(const Arguments& arguments, std::string_view name) {
  return arguments.has(name) ? std::optional(arguments.text(name)) : std::nullopt;
}

Result<Output> show_nodes(Session& session, const Arguments& arguments) {
  BERTH_TRY(check_named(session, arguments, "names", Thing::kNode));
  BERTH_TRY(check_named(session, arguments, "pool", Thing::kPool));
  BERTH_ASSIGN(const std::optional<std::string> names, name_filter(arguments, "names"));
  return query_output(session,
                      "SELECT node, type, pool, rack, state, device_model, devices, gpu_used_milli / 1000.0 AS "
                      "gpus_used, devices_unhealthy AS unhealthy, "
                      "cpu_milli / 1000.0 AS cpu, cpu_used_milli / 1000.0 AS cpu_used, memory_mib / 1024.0 AS "
                      "memory_gib, memory_used_mib / 1024.0 AS memory_used_gib, "
                      "tasks, nullif(labels, '{}') AS labels FROM node_usage "
                      "WHERE (?1 IS NULL OR node IN (SELECT value FROM json_each(?1))) AND (?2 IS NULL OR pool = ?2) "
                      "AND (?3 IS NULL OR state = ?3) ORDER BY node_id",
                      names, given(arguments, "pool"), given(arguments, "state"));
}

Result<Output> show_devices(Session& session, const Arguments& arguments) {
  BERTH_TRY(check_named(session, arguments, "names", Thing::kNode));
  BERTH_ASSIGN(const std::optional<std::string> names, name_filter(arguments, "names"));
  return query_output(session,
                      "SELECT node, device_index AS device, device_model, health, used_milli / 1000.0 AS used, "
                      "memory_mib / 1024.0 AS memory_gib, "
                      "memory_used_mib / 1024.0 AS memory_used_gib, tasks FROM device_usage "
                      "WHERE (?1 IS NULL OR node IN (SELECT value FROM json_each(?1))) AND (?2 IS NULL OR health = ?2) "
                      "ORDER BY node_id, device_index",
                      names, arguments.has_word("UNHEALTHY") ? std::optional<std::string>("unhealthy") : std::nullopt);
}

// A job that was told to stop runs until its grace is over or its executor says that it is gone.
constexpr std::string_view kStops =
    "stops(job_id) AS (SELECT job_id FROM runs WHERE end_time IS NULL AND state = 'stopping' UNION SELECT job_id FROM "
    "stopping_jobs)";

Result<Output> show_jobs(Session& session, const Arguments& arguments) {
  BERTH_TRY(check_named(session, arguments, "queue", Thing::kQueue));
  // Of the queue and those below it.
  const std::string with_below = fmt::format(
      "WITH RECURSIVE below(id, name) AS (SELECT id, name FROM queues WHERE name = ?1 UNION SELECT q.id, q.name FROM "
      "queues q JOIN below b ON q.parent_id = b.id), {} ",
      kStops);
  if (arguments.has_word("ALL")) {
    return query_output(
        session,
        with_below +
            "SELECT j.id, j.name AS job, q.name AS queue, iif(j.state = 'running' AND j.id IN stops, "
            "'stopping', j.state) AS state, datetime(j.submit_time, 'unixepoch') AS submitted, "
            "datetime(j.start_time, 'unixepoch') AS started, datetime(j.end_time, 'unixepoch') AS "
            "ended FROM jobs j JOIN queues q ON q.id = j.queue_id WHERE (?1 IS NULL OR q.id IN (SELECT "
            "id FROM below)) AND (?2 IS NULL OR j.state = ?2 OR (?2 = 'stopping' AND j.state = 'running' AND "
            "j.id IN stops)) ORDER BY j.id",
        given(arguments, "queue"), given(arguments, "state"));
  }
  return query_output(
      session,
      with_below +
          "SELECT job_id AS id, job, queue, priority_class, user_name AS user, iif(state = 'running' AND job_id IN "
          "stops, 'stopping', state) AS state, tasks, tasks_placed AS placed, gpu_milli / 1000.0 AS gpus, cpu_milli / "
          "1000.0 AS cpu, memory_mib / 1024.0 AS memory_gib, datetime(submit_time, 'unixepoch') AS submitted, "
          "iif(state = 'pending', wait_reason, NULL) AS wait_reason FROM jobs_now WHERE (?1 IS NULL OR queue IN "
          "(SELECT name FROM below)) AND (?2 IS NULL OR state = ?2 OR (?2 = 'stopping' AND state = 'running' AND "
          "job_id IN stops)) "
          "ORDER BY job_id",
      given(arguments, "queue"), given(arguments, "state"));
}

Result<Output> show_tasks(Session& session, const Arguments& arguments) {
  std::optional<std::int64_t> job;
  if (arguments.has("job")) {
    Result<std::int64_t> found = find_job(engine_of(session).db(), arguments.text("job"));
    if (!found.ok()) return blame(std::move(found).status(), arguments.span("job"));
    job = *found;
  }
  BERTH_ASSIGN(
      ResultTable table,
      query_table(session,
                  fmt::format("WITH {} SELECT job, task_group, task_index AS task, iif(state = 'running' AND job_id IN "
                              "stops, 'stopping', state) AS state, node, device_mask AS devices, gpu_count * gpu_milli "
                              "/ 1000.0 AS gpus, cpu_milli / 1000.0 AS cpu, memory_mib / 1024.0 AS memory_gib FROM "
                              "tasks t WHERE ?1 IS NULL OR job_id = ?1 ORDER BY job_id, group_index, task_index",
                              kStops),
                  job));
  constexpr std::size_t kDevices = 5;
  for (std::vector<Cell>& row : table.rows) {
    const auto* mask = std::get_if<std::int64_t>(&row[kDevices]);
    row[kDevices] = mask == nullptr || *mask == 0 ? Cell(std::monostate())
                                                  : Cell(print_device_mask(static_cast<DeviceMask>(*mask)));
  }
  return Output(std::move(table));
}

template <const char* kSql>
Result<Output> show_sql(Session& session, const Arguments& arguments) {
  (void)arguments;
  return query_output(session, kSql);
}

constexpr char kPools[] =
    "SELECT p.name AS pool, count(n.id) AS nodes, coalesce(sum(t.device_count), 0) AS gpus FROM pools p LEFT JOIN "
    "nodes n ON n.pool_id = p.id "
    "LEFT JOIN node_types t ON t.id = n.type_id GROUP BY p.id ORDER BY p.id";
constexpr char kDeviceModels[] =
    "SELECT m.name AS device_model, m.memory_mib / 1024.0 AS memory_gib, m.speed, coalesce(sum(c.nodes * "
    "t.device_count), 0) AS devices FROM device_models m "
    "LEFT JOIN node_types t ON t.device_model_id = m.id LEFT JOIN (SELECT type_id, count(*) AS nodes FROM nodes GROUP "
    "BY type_id) c ON c.type_id = t.id "
    "GROUP BY m.id ORDER BY m.id";
constexpr char kNodeTypes[] =
    "SELECT t.name AS node_type, t.cpu_milli / 1000.0 AS cpu, t.memory_mib / 1024.0 AS memory_gib, m.name AS "
    "device_model, t.device_count AS devices, "
    "nullif(t.link_groups, '') AS link_groups, (SELECT count(*) FROM nodes n WHERE n.type_id = t.id) AS nodes FROM "
    "node_types t "
    "LEFT JOIN device_models m ON m.id = t.device_model_id ORDER BY t.id";
constexpr char kPriorityClasses[] =
    "SELECT c.name AS priority_class, c.value, (SELECT count(*) FROM jobs j WHERE j.priority_class_id = c.id AND "
    "j.state IN ('pending', 'held', 'running')) AS jobs "
    "FROM priority_classes c ORDER BY c.value DESC, c.name";

// A date of a quota or loan that has passed makes a plan stale as a change does.
Result<Output> show_plans(Session& session, const Arguments&) {
  return query_output(
      session,
      fmt::format(
          "WITH {} SELECT id AS plan, datetime(created_at, 'unixepoch') AS created, kind, state_version, "
          "iif(state = 'open' AND (state_version < (SELECT value FROM meta WHERE key = 'state_version') OR EXISTS "
          "(SELECT 1 FROM dates WHERE moment > json_extract(plan_json, '$.planned_at') AND moment <= ?1)), 'stale', "
          "state) AS state, "
          "json_array_length(plan_json, '$.placements') AS placements, json_array_length(plan_json, '$.waiting') AS "
          "waiting, nullif(statement, '') AS statement FROM plans ORDER BY id",
          kDatesSql),
      engine_of(session).now());
}

Result<Output> show_rounds(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::int64_t count, last_count(arguments));
  return query_output(session,
                      "SELECT * FROM (SELECT id AS round, kind, datetime(started_at, 'unixepoch') AS started, actor, "
                      "order_policy, score_policy, started_jobs, placed_tasks, "
                      "waiting_jobs, round((load_seconds + order_seconds + place_seconds + apply_seconds) * 1000, 1) "
                      "AS milliseconds FROM rounds ORDER BY id DESC LIMIT ?1) ORDER BY round",
                      count);
}

Result<Output> show_events(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::int64_t count, last_count(arguments));
  return query_output(session,
                      "SELECT * FROM (SELECT id AS event, datetime(time, 'unixepoch') AS time, state_version, kind, "
                      "object, actor, nullif(detail, '') AS detail, nullif(statement, '') AS statement "
                      "FROM events ORDER BY id DESC LIMIT ?1) ORDER BY event",
                      count);
}

constexpr std::string_view kShowFamily = "show";

constexpr CommandRow kShowRows[] = {
    {.family = kShowFamily,
     .syntax = "SHOW CLUSTER",
     .effect = Effect::kReads,
     .handler = show_cluster,
     .summary = "The cluster in a few lines: nodes, GPUs, CPU and memory by pool and node type, and how full they are.",
     .example = "SHOW CLUSTER"},
    {.family = kShowFamily,
     .syntax =
         "SHOW NODES [<names:node_range>, ...] [IN POOL <pool:pool>] [STATE <state:up|draining|drained|down|booting>]",
     .effect = Effect::kReads,
     .handler = show_nodes,
     .summary = "Machines with what they have and what is used.",
     .example = "SHOW NODES IN POOL train STATE up"},
    {.family = kShowFamily,
     .syntax = "SHOW [UNHEALTHY] DEVICES [ON <names:node_range>, ...]",
     .effect = Effect::kReads,
     .handler = show_devices,
     .summary = "Devices one by one: health, use, memory.",
     .example = "SHOW DEVICES ON train001"},
    {.family = kShowFamily,
     .syntax = "SHOW [ALL] JOBS [IN QUEUE <queue:queue>] [STATE "
               "<state:pending|held|running|stopping|finished|failed|cancelled>]",
     .effect = Effect::kReads,
     .handler = show_jobs,
     .summary = "Jobs that wait, are held or run; ALL adds those that have ended. Of a queue: with those below it. "
                "Those that are stopping are among the running ones.",
     .example = "SHOW JOBS IN QUEUE nlp STATE pending"},
    {.family = kShowFamily,
     .syntax = "SHOW TASKS [OF JOB <job:job>]",
     .effect = Effect::kReads,
     .handler = show_tasks,
     .summary = "Tasks one by one: where each runs, or that it waits.",
     .example = "SHOW TASKS OF JOB bert"},
    {.family = kShowFamily,
     .syntax = "SHOW POOLS",
     .effect = Effect::kReads,
     .handler = show_sql<kPools>,
     .summary = "Pools and their size.",
     .example = "SHOW POOLS"},
    {.family = kShowFamily,
     .syntax = "SHOW DEVICE MODELS",
     .effect = Effect::kReads,
     .handler = show_sql<kDeviceModels>,
     .summary = "Device models and how many there are.",
     .example = "SHOW DEVICE MODELS"},
    {.family = kShowFamily,
     .syntax = "SHOW NODE TYPES",
     .effect = Effect::kReads,
     .handler = show_sql<kNodeTypes>,
     .summary = "Node types and how many nodes have them.",
     .example = "SHOW NODE TYPES"},
    {.family = kShowFamily,
     .syntax = "SHOW PRIORITY CLASSES",
     .effect = Effect::kReads,
     .handler = show_sql<kPriorityClasses>,
     .summary = "Priority classes, highest first.",
     .example = "SHOW PRIORITY CLASSES"},
    {.family = kShowFamily,
     .syntax = "SHOW PLANS",
     .effect = Effect::kReads,
     .handler = show_plans,
     .summary = "Saved plans: open, stale or applied.",
     .example = "SHOW PLANS"},
    {.family = kShowFamily,
     .syntax = "SHOW ROUNDS [LAST <count:integer>]",
     .effect = Effect::kReads,
     .handler = show_rounds,
     .summary = "Rounds that ran, newest last.",
     .example = "SHOW ROUNDS LAST 5"},
    {.family = kShowFamily,
     .syntax = "SHOW EVENTS [LAST <count:integer>]",
     .effect = Effect::kReads,
     .handler = show_events,
     .summary = "What was changed, by whom, by which statement, newest last.",
     .example = "SHOW EVENTS LAST 50"},
};

}  // namespace

std::span<const CommandRow> show_commands() { return kShowRows; }

}  // namespace berth
