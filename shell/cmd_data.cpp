// IMPORT, EXPORT, SNAPSHOT, CHECK: data in, data out, and whether they keep their promises.
#include "engine/runtime/import.h"
#include "engine/store/check.h"
#include "engine/store/snapshot_file.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/output_file.h"

namespace berth {

namespace {

constexpr OptionRow kImportNodesOptions[] = {
    {.name = "skip_bad_rows",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Leave bad rows out and report them, instead of refusing the file."},
    {.name = "create_missing",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Make the pools that the file names."},
    {.name = "pool", .kind = "text", .default_value = "", .sentence = "Pool of rows that name none."},
    {.name = "device_memory",
     .kind = "memory",
     .default_value = "0",
     .sentence = "Memory of new device models whose memory the file does not say; 0 = not tracked."},
};
constexpr OptionRow kImportJobsOptions[] = {
    {.name = "skip_bad_rows",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Leave bad rows out and report them, instead of refusing the file."},
    {.name = "create_missing",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Make the queues and (numbered) priority classes that the file names."},
    {.name = "queue", .kind = "text", .default_value = "", .sentence = "Queue of rows that name none."},
    {.name = "keep_times",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Submitted when the file says, not now."},
    {.name = "allow_infeasible",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Accept jobs that no node of this cluster could ever run."},
};
constexpr OptionRow kReplaceOptions[] = {
    {.name = "replace", .kind = "boolean", .default_value = "false", .sentence = "Overwrite the file when it exists."},
};

Output import_output(const ImportReport& report, std::string_view noun) {
  Output output;
  ResultTable table{.title = "imported",
                    .columns = {{"imported"}, {"also_created"}, {"skipped"}},
                    .rows = {{report.added, static_cast<std::int64_t>(report.also_created.size()),
                              static_cast<std::int64_t>(report.skipped.size())}}};
  output.add(std::move(table), Audience::kPrograms);
  output.add_note(fmt::format("{} imported", counted(report.added, noun)));
  if (!report.also_created.empty())
    output.add_note(fmt::format("also created: {}", fmt::join(report.also_created, ", ")));
  for (const std::string& skipped : report.skipped) output.add_note("skipped " + skipped);
  output.findings = !report.skipped.empty();
  return output;
}

ImportOptions common_options(const Arguments& arguments) {
  ImportOptions import;
  import.format = arguments.text_or("format", "berth");
  import.skip_bad_rows = arguments.options().boolean("skip_bad_rows");
  import.create_missing = arguments.options().boolean("create_missing");
  return import;
}

Result<Output> import_nodes_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  ImportOptions import = common_options(arguments);
  import.pool = options.text_or("pool", "");
  import.device_memory = options.memory("device_memory");
  Result<ImportReport> report = import_nodes(engine_of(session), arguments.text("file"), import);
  if (!report.ok()) return blame(std::move(report).status(), arguments.span("file"));
  return import_output(*report, "node");
}

Result<Output> import_jobs_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  ImportOptions import = common_options(arguments);
  import.queue = options.text_or("queue", "");
  import.keep_times = options.boolean("keep_times");
  import.allow_infeasible = options.boolean("allow_infeasible");
  Result<ImportReport> report = import_jobs(engine_of(session), arguments.text("file"), import);
  if (!report.ok()) return blame(std::move(report).status(), arguments.span("file"));
  return import_output(*report, "job");
}

Result<Output> export_statement(Session& session, const Arguments& arguments) {
  const bool nodes = arguments.has_word("NODES");
  const std::string& file = arguments.text("file");
  BERTH_TRY(blame(check_not_database(file, session.database), arguments.span("file")));
  BERTH_ASSIGN(std::string text, nodes ? export_nodes(engine_of(session)) : export_jobs(engine_of(session)));
  if (file == "-") {
    Output output;
    output.raw = std::move(text);
    return output;
  }
  BERTH_TRY(blame(write_whole_file(file, text, arguments.options().boolean("replace")), arguments.span("file")));
  return Output::note(fmt::format("{} written to {}", nodes ? "nodes" : "live jobs", file));
}

Result<Output> snapshot_save(Session& session, const Arguments& arguments) {
  BERTH_TRY(blame(check_not_database(arguments.text("file"), session.database), arguments.span("file")));
  BERTH_TRY(
      blame(save_snapshot(engine_of(session).db(), arguments.text("file"), arguments.options().boolean("replace")),
            arguments.span("file")));
  return Output::note(fmt::format("snapshot saved to {}", arguments.text("file")));
}

Result<Output> snapshot_load(Session& session, const Arguments& arguments) {
  Runtime& runtime = engine_of(session);
  const Result<std::int64_t> version =
      load_snapshot(runtime.db(), arguments.text("file"), runtime.actor(), runtime.now());
  if (!version.ok()) return blame(version.status(), arguments.span("file"));
  return Output::note(fmt::format("snapshot {} loaded; the state version is now {}", arguments.text("file"), *version));
}

Result<Output> check_statement(Session& session, const Arguments& arguments) {
  (void)arguments;
  BERTH_ASSIGN(const std::vector<Finding> findings, check_state(engine_of(session).db()));
  ResultTable table{.title = "", .columns = {{"promise"}, {"object"}, {"finding"}}, .rows = {}};
  for (const Finding& finding : findings) table.rows.push_back({finding.promise, finding.object, finding.sentence});
  Output output;
  output.findings = !findings.empty();
  output.add_note(findings.empty() ? fmt::format("all {} promises hold", check_promises().size())
                                   : fmt::format("{}: this database was changed past Berth, or Berth has a bug",
                                                 counted(static_cast<std::int64_t>(findings.size()), "finding")));
  if (findings.empty()) {
    output.add(std::move(table), Audience::kPrograms);
  } else {
    output.add(std::move(table));
  }
  return output;
}

constexpr std::string_view kDataFamily = "data";

constexpr CommandRow kDataRows[] = {
    {.family = kDataFamily,
     .syntax = "IMPORT NODES FROM <file:file> [FORMAT <format:berth|openb>] [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = import_nodes_statement,
     .summary = "Adds machines from a CSV file (.gz too), all of it or nothing; node types and device models are made "
                "as needed.",
     .example = "IMPORT NODES FROM 'nodes.csv' WITH (create_missing = true)",
     .options = kImportNodesOptions,
     .details = "Format berth: name,cpu,memory[,devices,model,device_memory,rack,pool,link_groups]. Format openb: "
                "sn,cpu_milli,memory_mib,gpu,model."},
    {.family = kDataFamily,
     .syntax = "IMPORT JOBS FROM <file:file> [FORMAT <format:berth|openb>] [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = import_jobs_statement,
     .summary = "Submits jobs from a CSV file (.gz too), all of it or nothing.",
     .example = "IMPORT JOBS FROM 'jobs.csv' WITH (queue = nlp)",
     .options = kImportJobsOptions,
     .details = "Format berth: "
                "name,submit,cpu,memory[,duration,queue,priority,user,group,tasks,min_tasks,gpus,gpu_memory,models,"
                "pool,locality]."},
    {.family = kDataFamily,
     .syntax = "EXPORT {NODES | JOBS} TO <file:file> [WITH (<options>)]",
     .effect = Effect::kReads,
     .handler = export_statement,
     .summary = "Writes the machines, or the jobs that wait, are held or run, as CSV that IMPORT reads.",
     .example = "EXPORT NODES TO 'nodes.csv'",
     .options = kReplaceOptions,
     .details = "A name that ends in .gz is compressed; '-' is standard output. A read-only session may write files, "
                "too, but nothing overwrites the open database."},
    {.family = kDataFamily,
     .syntax = "SNAPSHOT SAVE <file:file> [WITH (<options>)]",
     .effect = Effect::kReads,
     .handler = snapshot_save,
     .summary = "Copies the whole database, consistent, into a file that Berth can open or load.",
     .example = "SNAPSHOT SAVE 'before.db'",
     .options = kReplaceOptions,
     .details = "A read-only session may save, too; nothing overwrites the open database."},
    {.family = kDataFamily,
     .syntax = "SNAPSHOT LOAD <file:file>",
     .effect = Effect::kChanges,
     .handler = snapshot_load,
     .summary = "Replaces everything in this database by a saved snapshot.",
     .example = "SNAPSHOT LOAD 'before.db'",
     .ask = ask_always},
    {.family = kDataFamily,
     .syntax = "CHECK",
     .effect = Effect::kReads,
     .handler = check_statement,
     .summary = "Verifies every promise the state must keep, from scratch; findings end with exit code 4.",
     .example = "CHECK"},
};

}  // namespace

std::span<const CommandRow> data_commands() { return kDataRows; }

}  // namespace berth
