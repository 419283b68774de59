// Executors: CREATE, ALTER, DROP, SHOW EXECUTORS, which pools use them; RUN SYNC, SHOW DRIFT.
#include <algorithm>
#include <deque>

#include "engine/exec/executor.h"
#include "engine/runtime/executors.h"
#include "engine/runtime/import_queues.h"
#include "engine/runtime/inventory.h"
#include "engine/runtime/scheduled_run.h"
#include "engine/store/database_home.h"
#include "engine/store/executor_records.h"
#include "engine/store/names.h"
#include "engine/store/stray_records.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

// "local, slurm: Between TERM and KILL ..."
std::string sentence_with_types(const ExecutorOption& option) {
  std::vector<std::string> types;
  for (const ExecutorType& type : executor_types()) {
    if (std::ranges::find(type.options, option.name, &ExecutorOption::name) != std::end(type.options))
      types.emplace_back(type.name);
  }
  return fmt::format("{}: {}", join(types, ", "), option.sentence);
}

// The options of all types, each once; which of them a type has is checked when the type is known.
std::span<const OptionRow> executor_options() {
  static std::deque<std::string> sentences;
  static const std::vector<OptionRow> rows = [] {
    std::vector<OptionRow> all;
    for (const ExecutorType& type : executor_types()) {
      for (const ExecutorOption& option : type.options) {
        if (std::ranges::find(all, option.name, &OptionRow::name) != all.end()) continue;
        sentences.push_back(sentence_with_types(option));
        all.push_back({.name = option.name, .kind = "text", .default_value = "", .sentence = sentences.back()});
      }
    }
    all.push_back({.name = "default",
                   .kind = "boolean",
                   .default_value = "false",
                   .sentence = "It runs what is placed on nodes whose pool names no executor."});
    return all;
  }();
  return rows;
}

std::string_view sentence_of_places() {
  static const std::string sentence = [] {
    std::vector<std::string> names;
    for (const ExecutorType& type : executor_types()) {
      for (const ExecutorOption& option : type.options) {
        if (option.is_place) names.emplace_back(option.name);
      }
    }
    return fmt::format(
        "What says where its tasks are found changes only while it runs nothing: {}. A file that is gone may be named "
        "anew once the cluster is known.",
        join(names, ", "));
  }();
  return sentence;
}

// Those of executors of this machine.
std::span<const OptionRow> local_options() {
  static const std::vector<OptionRow> rows = [] {
    std::vector<OptionRow> own;
    const Result<const ExecutorType*> type = find_executor_type("local");
    if (!type.ok()) return own;
    for (const ExecutorOption& option : (*type)->options)
      own.push_back({.name = option.name, .kind = "text", .default_value = "", .sentence = option.sentence});
    return own;
  }();
  return rows;
}

// Those given, on top of what it has; checked.
Status take_options(Session& session, const Arguments& arguments, ExecutorRecord& executor) {
  BERTH_ASSIGN(const ExecutorType* type, find_executor_type(executor.type));
  const Options& options = arguments.options();
  for (const OptionRow& row : executor_options()) {
    if (!options.given(row.name) || row.name == "default") continue;
    executor.options[std::string(row.name)] = options.text(row.name);
    Status fits = read_executor_options(*type, executor.options).status();
    if (fits.ok()) fits = check_executor(engine_of(session), executor);
    if (!fits.ok()) return blame(std::move(fits), options.value(row.name).span);
  }
  if (executor.is_default && options.given("default") && !options.boolean("default")) {
    return options.fail("default", Code::kInvalid, fmt::format("executor '{}' is the default one", executor.name),
                        "make another one the default instead");
  }
  executor.is_default = executor.is_default || (options.given("default") && options.boolean("default"));
  return {};
}

Result<Output> create_executor_statement(Session& session, const Arguments& arguments) {
  ExecutorRecord executor;
  executor.name = arguments.text("name");
  Result<const ExecutorType*> type = find_executor_type(arguments.text("type"));
  if (!type.ok()) return blame(std::move(type).status(), arguments.span("type"));
  executor.type = (*type)->name;
  if (Status named = check_executor_name(executor.name); !named.ok())
    return blame(std::move(named), arguments.span("name"));
  BERTH_TRY(take_options(session, arguments, executor));
  return change_with_note(session, fmt::format("executor {} created", executor.name), [&](Change& change) {
    return blame(create_executor(change, executor), arguments.span("name"));
  });
}

Result<Output> alter_executor_statement(Session& session, const Arguments& arguments) {
  Result<ExecutorRecord> executor = find_executor(engine_of(session).db(), arguments.text("name"));
  if (!executor.ok()) return blame(std::move(executor).status(), arguments.span("name"));
  BERTH_TRY(take_options(session, arguments, *executor));
  return change_with_note(session, fmt::format("executor {} altered", executor->name),
                          [&](Change& change) { return arguments.point(change_executor(change, *executor)); });
}

Result<Output> drop_executor_statement(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("executor {} dropped", arguments.text("name")), [&](Change& change) {
    return blame(drop_executor(change, arguments.text("name")), arguments.span("name"));
  });
}

Result<Output> adopt_database_statement(Session& session, const Arguments&) {
  return change_with_note(session, "this database drives the work now; the one it was copied from must be out of use",
                          [](Change& change) { return adopt_database(change); });
}

Result<Output> fork_database_statement(Session& session, const Arguments&) {
  return change_with_note(session,
                          "this is a database of its own now: its executors are simulated, and what ran waits again",
                          [](Change& change) { return fork_database(change); });
}

Result<Output> pool_executor_statement(Session& session, const Arguments& arguments) {
  const std::optional<std::string> executor =
      arguments.has("executor") ? std::optional(arguments.text("executor")) : std::nullopt;
  return change_with_note(session, fmt::format("pool {} altered", arguments.text("pool")), [&](Change& change) {
    return arguments.point(set_pool_executor(change, arguments.text("pool"), executor), "pool");
  });
}

Result<Output> show_executors(Session& session, const Arguments&) {
  return query_output(
      session,
      "SELECT e.name AS executor, e.type, e.state, e.is_default, datetime(e.last_contact, 'unixepoch') AS "
      "last_contact, (SELECT group_concat(name, ', ') FROM (SELECT name FROM pools WHERE executor_id = e.id "
      "ORDER BY id)) AS pools, (SELECT count(*) FROM run_tasks t WHERE t.executor_id = e.id AND (phase = "
      "'pending' OR phase = 'starting' OR phase = 'running')) AS live_tasks, (SELECT count(*) FROM outbox o "
      "WHERE o.executor_id = e.id AND o.told_at IS NULL) AS in_flight, nullif(e.options, '{}') AS options, "
      "nullif(e.error, '') AS error FROM executors e ORDER BY e.id");
}

Result<Output> show_executor_types(Session&, const Arguments&) {
  ResultTable types{.title = "types", .columns = {{"type"}, {"what"}}, .rows = {}};
  ResultTable options{
      .title = "options", .columns = {{"type"}, {"option"}, {"kind"}, {"default"}, {"what"}}, .rows = {}};
  for (const ExecutorType& type : executor_types()) {
    types.rows.push_back({std::string(type.name), std::string(type.summary)});
    for (const ExecutorOption& option : type.options) {
      options.rows.push_back({std::string(type.name), std::string(option.name), std::string(option.kind),
                              std::string(option.default_value), std::string(option.sentence)});
    }
  }
  Output output(std::move(types));
  output.add(std::move(options));
  return output;
}

// ---- inventory

Output inventory_output(const InventoryReport& report) {
  Output output;
  output.add(
      {.title = "imported",
       .columns = {{"imported"}, {"also_created"}, {"known"}, {"different"}, {"gone"}},
       .rows = {{report.imported.added, static_cast<std::int64_t>(report.imported.also_created.size()),
                 static_cast<std::int64_t>(report.known.size()), static_cast<std::int64_t>(report.different.size()),
                 static_cast<std::int64_t>(report.gone.size())}}},
      Audience::kPrograms);
  output.add_note(
      fmt::format("{} imported, {} known already", counted(report.imported.added, "node"), report.known.size()));
  if (!report.imported.also_created.empty())
    output.add_note(fmt::format("also created: {}", fmt::join(report.imported.also_created, ", ")));
  for (const std::string& line : report.remarks) output.add_note(line);
  for (const std::string& line : report.different) output.add_note("differs: " + line);
  if (!report.gone.empty()) {
    output.add_note(fmt::format("unknown to the executor: {}; DROP NODES removes them", fmt::join(report.gone, ", ")));
  }
  if (!report.elsewhere.empty()) {
    output.add_note(
        fmt::format("of another executor: {}; ALTER POOL ... SET EXECUTOR gives a pool of its own to this one",
                    fmt::join(report.elsewhere, ", ")));
  }
  output.findings = !report.different.empty() || !report.gone.empty() || !report.elsewhere.empty();
  return output;
}

ImportOptions into_pool(const Arguments& arguments) {
  ImportOptions options;
  options.pool = arguments.text_or("pool", "");
  return options;
}

Result<Output> import_from_executor(Session& session, const Arguments& arguments) {
  Result<InventoryReport> report =
      import_inventory(engine_of(session), arguments.text("executor"), into_pool(arguments));
  if (!report.ok()) return blame(std::move(report).status(), arguments.span("executor"));
  return inventory_output(*report);
}

Result<Output> import_from_local(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  ExecutorOptions given;
  for (const OptionRow& row : local_options()) {
    if (options.given(row.name)) given[std::string(row.name)] = options.text(row.name);
  }
  BERTH_ASSIGN(const std::string executor, local_executor(engine_of(session), given));
  BERTH_ASSIGN(const InventoryReport report, import_inventory(engine_of(session), executor, into_pool(arguments)));
  return inventory_output(report);
}

Result<Output> import_slurm_accounts(Session& session, const Arguments& arguments) {
  Result<QueueImport> report = import_slurm_queues(engine_of(session), arguments.text_or("file", ""));
  if (!report.ok()) {
    return arguments.has("file") ? blame(std::move(report).status(), arguments.span("file"))
                                 : std::move(report).status();
  }
  Output output;
  output.add({.title = "imported",
              .columns = {{"created"}, {"updated"}, {"left_out"}},
              .rows = {{report->created, report->updated, static_cast<std::int64_t>(report->left_out.size())}}},
             Audience::kPrograms);
  output.add_note(fmt::format("{} created, {} updated", counted(report->created, "queue"), report->updated));
  for (const std::string& line : report->left_out) output.add_note("left out: " + line);
  return output;
}

ResultTable sync_table(const SyncOutcome& outcome) {
  return {.title = "sync",
          .columns = {{"asked_tasks"},
                      {"launched"},
                      {"stopped"},
                      {"refused"},
                      {"started_runs"},
                      {"ended_runs"},
                      {"drifts"},
                      {"waiting_effects"},
                      {"unreachable"}},
          .rows = {{outcome.seen.asked_tasks, outcome.dispatched.launches, outcome.dispatched.stops,
                    outcome.dispatched.refused, outcome.seen.started_runs, outcome.seen.ended_runs, outcome.seen.drifts,
                    outcome.dispatched.waiting, static_cast<std::int64_t>(outcome.seen.unreachable.size())}}};
}

Result<Output> run_sync_statement(Session& session, const Arguments&) {
  BERTH_ASSIGN(ScheduledRun run, ScheduledRun::begin(engine_of(session), "sync"));
  const Result<SyncOutcome> done = run_sync(engine_of(session), true, Inventories::kAll);
  BERTH_TRY(run.end(done.status(), done.ok() ? summary_of(*done) : std::string()));
  if (!done.ok()) return done.status();
  const SyncOutcome& outcome = *done;
  Output output;
  output.add(sync_table(outcome), Audience::kPrograms);
  for (const std::string& executor : outcome.seen.unreachable) output.add_note("unreachable: " + executor);
  output.findings = !outcome.seen.unreachable.empty();
  add_strays(outcome.seen.strays, output);
  output.add_note(summary_of(outcome));
  return output;
}

Result<Output> show_drift(Session& session, const Arguments&) {
  Output output;
  BERTH_ASSIGN(
      ResultTable drift,
      query_table(session,
                  "SELECT datetime(d.time, 'unixepoch') AS time, coalesce(e.name, '#' || d.executor_id) AS "
                  "executor, d.kind, d.object, d.expected, d.found, d.repair FROM drift d LEFT JOIN executors e ON "
                  "e.id = d.executor_id ORDER BY d.id DESC LIMIT 50"));
  drift.title = "drift";
  output.add(std::move(drift));
  BERTH_ASSIGN(
      ResultTable strays,
      query_table(session,
                  "SELECT s.job_id AS job, j.name, s.attempt, s.group_index || '.' || s.task_index AS task, "
                  "nullif(s.node, '') AS node, e.name AS executor, datetime(s.since, 'unixepoch') AS since, "
                  "CASE s.verdict WHEN 'none' THEN 'held' ELSE s.verdict END AS verdict, CASE WHEN j.id IS NULL THEN "
                  "'no such job here' WHEN j.state = 'held' THEN 'held: not told how the stray ends' ELSE j.state END "
                  "AS job_here, CASE s.verdict WHEN 'none' THEN 'STOP STRAYS ends it, KEEP STRAYS lets it run, "
                  "unrecorded' WHEN 'keep' THEN 'when it has ended, its node opens' ELSE 'the next sync stops it' END "
                  "AS next FROM strays s LEFT JOIN "
                  "jobs j ON j.id = s.job_id LEFT JOIN executors e ON e.id = s.executor_id ORDER BY "
                  "s.executor_id, s.job_id, s.attempt, s.generation, s.group_index, s.task_index"));
  strays.title = "strays";
  if (!strays.rows.empty()) output.add(std::move(strays));
  BERTH_ASSIGN(ResultTable nodes,
               query_table(session,
                           "SELECT n.name AS node, n.state, h.state AS health, datetime(h.since, 'unixepoch') AS "
                           "since, h.failures, h.detail FROM node_health h JOIN nodes n ON n.id = h.node_id WHERE "
                           "h.state <> 'good' ORDER BY n.id"));
  nodes.title = "nodes";
  if (!nodes.rows.empty()) output.add(std::move(nodes));
  BERTH_ASSIGN(ResultTable foreign,
               query_table(session,
                           "SELECT n.name AS node, f.what, f.cpu_milli / 1000.0 AS cpu, f.memory_mib / 1024.0 AS "
                           "memory_gib, f.gpu_count AS gpus, datetime(f.since, 'unixepoch') AS since FROM "
                           "foreign_use f JOIN nodes n ON n.id = f.node_id ORDER BY n.id, f.what"));
  foreign.title = "foreign";
  if (!foreign.rows.empty()) output.add(std::move(foreign));
  BERTH_ASSIGN(ResultTable inventory,
               query_table(session,
                           "SELECT i.node, e.name AS executor, i.kind, i.here, i.there, datetime(i.since, "
                           "'unixepoch') AS since FROM inventory_drift i JOIN executors e ON e.id = i.executor_id "
                           "LEFT JOIN nodes n ON n.name = i.node WHERE (n.id IS NULL) = (i.kind = 'new') ORDER BY "
                           "e.id, i.node"));
  inventory.title = "inventory";
  if (!inventory.rows.empty()) output.add(std::move(inventory));
  return output;
}

constexpr std::string_view kExecutorFamily = "executors";

std::vector<CommandRow> make_rows() {
  return {
      {.family = kExecutorFamily,
       .syntax = "CREATE EXECUTOR <name:new_name> TYPE <type:executor_type> [WITH (<options>)]",
       .effect = Effect::kChanges,
       .handler = create_executor_statement,
       .summary = "Names a place where jobs really run; the first one is the default of all pools.",
       .example = "CREATE EXECUTOR here TYPE local",
       .options = executor_options(),
       .details =
           "SHOW EXECUTOR TYPES lists the types and which options each has. Jobs with a command are started by the "
           "executor of the pool that their nodes are in."},
      {.family = kExecutorFamily,
       .syntax = "ALTER EXECUTOR <name:executor> WITH (<options>)",
       .effect = Effect::kChanges,
       .handler = alter_executor_statement,
       .summary = "Changes options of an executor.",
       .example = "ALTER EXECUTOR here WITH (default = true)",
       .options = executor_options(),
       .details = sentence_of_places()},
      {.family = kExecutorFamily,
       .syntax = "DROP EXECUTOR <name:executor>",
       .effect = Effect::kChanges,
       .handler = drop_executor_statement,
       .summary = "Removes an executor that runs nothing and that no pool uses; the default one goes last.",
       .example = "DROP EXECUTOR here",
       .ask = ask_always},
      {.family = kExecutorFamily,
       .syntax = "ALTER DATABASE ADOPT",
       .effect = Effect::kChanges,
       .handler = adopt_database_statement,
       .summary = "Lets this file drive the work at its executors, though it is a copy of the one that did.",
       .example = "ALTER DATABASE ADOPT",
       .details = "A copy has the same jobs under the same keys, so rounds there tell nobody and RUN SYNC is refused. "
                  "The other file must be out of use: two would stop each other's jobs. A file that was moved on its "
                  "device, with its folder of executors, or restored where it was, is no copy; one on another host "
                  "is, and so is one in whose old place a copy lies. Copies that were made before the first CREATE "
                  "EXECUTOR become databases of their own. Where the folder is gone, what ran is given up as lost and "
                  "may start again. A restored or "
                  "adopted file gives new tasks new keys; tasks that it does not know are held: see "
                  "HELP STOP STRAYS.",
       .ask = ask_always},
      {.family = kExecutorFamily,
       .syntax = "ALTER DATABASE FORK",
       .effect = Effect::kChanges,
       .handler = fork_database_statement,
       .summary = "Makes a copy a database of its own, to try things out: nothing of the original's work is touched.",
       .example = "ALTER DATABASE FORK",
       .details =
           "It gets a new tag, its executors become simulated ones, and jobs that run wait again; CREATE EXECUTOR "
           "makes real ones.",
       .ask = ask_always},
      {.family = kExecutorFamily,
       .syntax = "ALTER POOL <pool:pool> SET EXECUTOR {<executor:executor> | NONE}",
       .effect = Effect::kChanges,
       .handler = pool_executor_statement,
       .summary = "Says which executor runs what is placed on a pool's nodes; NONE = the default one.",
       .example = "ALTER POOL train SET EXECUTOR here"},
      {.family = kExecutorFamily,
       .syntax = "SHOW EXECUTORS",
       .effect = Effect::kReads,
       .handler = show_executors,
       .summary = "Executors: whether they answer, since when, what runs there and what they are still to be told.",
       .example = "SHOW EXECUTORS"},
      {.family = kExecutorFamily,
       .syntax = "SHOW EXECUTOR TYPES",
       .effect = Effect::kReads,
       .handler = show_executor_types,
       .summary = "The types of executors and their options.",
       .example = "SHOW EXECUTOR TYPES"},
      {.family = kExecutorFamily,
       .syntax = "IMPORT NODES FROM EXECUTOR <executor:executor> [INTO POOL <pool:new_name>]",
       .effect = Effect::kChanges,
       .handler = import_from_executor,
       .summary = "Adds the machines that an executor knows; what is there already is compared and told.",
       .example = "IMPORT NODES FROM EXECUTOR here"},
      {.family = kExecutorFamily,
       .syntax = "IMPORT NODES FROM LOCAL [INTO POOL <pool:new_name>] [WITH (<options>)]",
       .effect = Effect::kChanges,
       .handler = import_from_local,
       .summary = "Adds this machine, with its GPUs, and the executor that runs jobs on it.",
       .example = "IMPORT NODES FROM LOCAL WITH (fake_gpus = 4)",
       .options = local_options()},
      {.family = kExecutorFamily,
       .syntax = "IMPORT QUEUES FROM SLURM [<file:file>]",
       .effect = Effect::kChanges,
       .handler = import_slurm_accounts,
       .summary = "Makes queues of a site's Slurm accounts: the tree, shares as weights, group limits as limits.",
       .example = "IMPORT QUEUES FROM SLURM",
       .details =
           "Asks sacctmgr, or reads a file of what it printed. What Berth has no word for (limits of users, numbers "
           "of jobs) is told."},
      {.family = kExecutorFamily,
       .syntax = "RUN SYNC",
       .effect = Effect::kChanges,
       .handler = run_sync_statement,
       .summary = "Asks the executors what is true: tasks that began, ended or are lost, nodes that fail or come back.",
       .example = "RUN SYNC",
       .details =
           "What is true wins; SHOW DRIFT lists what was found other than expected. Berth tells effects that "
           "wait in the outbox again. It also repeats stops whose tasks still run 30 s after their grace. Drains are "
           "passed on, and "
           "the nodes that executors have are compared with those here: new ones are only told, unless setting "
           "import_new_nodes is true. A node that loses launches one after the other before they begin drains: for "
           "five minutes, then longer each time, until RESUME NODES. No job is charged for it when the node has lost "
           "those of several."},
      {.family = kExecutorFamily,
       .syntax = "SHOW DRIFT",
       .effect = Effect::kReads,
       .handler = show_drift,
       .summary = "What syncs found other than the tables said: nodes out of order, work that is not ours, nodes that "
                  "came, went or changed.",
       .example = "SHOW DRIFT"},
  };
}

}  // namespace

std::span<const CommandRow> executor_commands() {
  static const std::vector<CommandRow> kRows = make_rows();
  return kRows;
}

}  // namespace berth
