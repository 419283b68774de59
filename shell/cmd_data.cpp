// IMPORT, EXPORT, SNAPSHOT, CHECK: data in, data out, and whether they keep their promises.
#include "engine/runtime/import.h"
#include "engine/sim/berth_trace.h"
#include "engine/sim/pai_like.h"
#include "engine/store/check.h"
#include "engine/store/snapshot_file.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/output_file.h"
#include "shell/trace_options.h"

namespace berth {

namespace {

constexpr OptionRow kSkipOptions[] = {
    {.name = "skip_bad_rows",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Leave bad rows out and report them, instead of refusing the file."},
};
constexpr OptionRow kNodesOptions[] = {
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
constexpr OptionRow kJobsOptions[] = {
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
constexpr OptionRow kPastJobsOptions[] = {
    {.name = "create_missing",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Make the queues, pools and (numbered) priority classes that the file names."},
    {.name = "prefix",
     .kind = "text",
     .default_value = "",
     .sentence = "Put before every job's name; without one, names that are numbers get the format's: tiresias-7."},
    {.name = "shift",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Move all times so that the last job ends now."},
};
constexpr auto kImportNodesOptions = option_table(kSkipOptions, kNodesOptions, kNodeFileOptions);
constexpr auto kImportJobsOptions = option_table(kSkipOptions, kJobsOptions, kNodeFileOptions, kJobFileOptions);
constexpr auto kImportTraceOptions = option_table(kSkipOptions, kPastJobsOptions, kNodeFileOptions, kJobFileOptions);
constexpr OptionRow kGenerateOptions[] = {
    {.name = "jobs",
     .kind = "integer",
     .default_value = "100000",
     .minimum = "1",
     .maximum = "20000000",
     .sentence = "How many jobs."},
    {.name = "seed", .kind = "integer", .default_value = "1", .sentence = "Equal seeds give equal files."},
    {.name = "gpus",
     .kind = "integer",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1000000",
     .sentence = "GPUs of the cluster, 64 at least; 0 = in proportion to the jobs, as the published cluster has them."},
    {.name = "days",
     .kind = "integer",
     .default_value = "60",
     .minimum = "1",
     .maximum = "3650",
     .sentence = "Days over which the jobs are submitted."},
    {.name = "replace", .kind = "boolean", .default_value = "false", .sentence = "Overwrite the file when it exists."},
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
  for (const std::string& kept : report.kept) output.add_note("warning: " + kept);
  for (const std::string& skipped : report.skipped) output.add_note("skipped " + skipped);
  output.findings = !report.skipped.empty();
  return output;
}

Result<ImportOptions> common_options(const Session& session, const Arguments& arguments) {
  ImportOptions import;
  import.interrupted = session.interrupt;
  import.format = arguments.text_or("format", "berth");
  if (arguments.has("format")) BERTH_TRY(blame(find_trace_format(import.format).status(), arguments.span("format")));
  import.skip_bad_rows = arguments.options().boolean("skip_bad_rows");
  import.create_missing = arguments.options().boolean("create_missing");
  return import;
}

Status blame_file(Status status, const Arguments& arguments, TraceContent content) {
  return arguments.point(hint_format(std::move(status), arguments, "file", content), "file");
}

Result<Output> import_nodes_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  BERTH_ASSIGN(ImportOptions import, common_options(session, arguments));
  import.trace.node_devices = options.integer("node_devices");
  import.pool = options.text_or("pool", "");
  import.device_memory = options.memory("device_memory");
  Result<ImportReport> report = import_nodes(engine_of(session), arguments.text("file"), import);
  if (!report.ok()) return blame_file(std::move(report).status(), arguments, TraceContent::kNodes);
  return import_output(*report, "node");
}

Result<Output> import_jobs_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  BERTH_ASSIGN(ImportOptions import, common_options(session, arguments));
  import.trace = job_file_options(options);
  import.queue = options.text_or("queue", "");
  import.keep_times = options.boolean("keep_times");
  import.allow_infeasible = options.boolean("allow_infeasible");
  Result<ImportReport> report = import_jobs(engine_of(session), arguments.text("file"), import);
  if (!report.ok()) return blame_file(std::move(report).status(), arguments, TraceContent::kJobs);
  return import_output(*report, "job");
}

Result<Output> import_trace_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  const TraceImport trace{.queue = arguments.text_or("queue", ""),
                          .prefix = options.text_or("prefix", ""),
                          .shift = options.boolean("shift")};
  BERTH_ASSIGN(ImportOptions import, common_options(session, arguments));
  import.trace = job_file_options(options);
  Result<ImportReport> report = import_trace(engine_of(session), arguments.text("file"), import, trace);
  if (!report.ok()) return blame_file(std::move(report).status(), arguments, TraceContent::kJobs);
  Output output = import_output(*report, "past job");
  if (report->left_out > 0)
    output.add_note(fmt::format("left out {} that had not ended", counted(report->left_out, "job")));
  if (report->in_future > 0) {
    output.add_note(
        fmt::format("left out {} with an end in the future; shift = true moves all times so that the last ends now",
                    counted(report->in_future, "job")));
  }
  if (report->too_old) {
    output.add_note(
        "all of them ended longer ago than prediction_retention: nothing is predicted from them; shift = true moves "
        "all "
        "times so that the last ends now");
  }
  return output;
}

PaiLikeOptions generator_options(const Options& options) {
  return {.seed = static_cast<std::uint64_t>(options.integer("seed")),
          .jobs = options.integer("jobs"),
          .gpus = options.integer("gpus"),
          .days = options.integer("days")};
}

Status check_generator(const PaiLikeOptions& options, const Arguments& arguments) {
  Status status = check_pai_like(options);
  if (status.ok() || !arguments.options().given("gpus")) return status;
  return blame(std::move(status), arguments.options().value("gpus").span);
}

// Into the file, with what `output` says of it; to standard output the text alone.
Result<Output> written(Session& session, const Arguments& arguments, std::string text, Output output,
                       FileReaders readers = FileReaders::kAsUsual) {
  const std::string& file = arguments.text("file");
  if (file == "-") {
    Output raw;
    raw.raw = std::move(text);
    return raw;
  }
  BERTH_TRY(blame(check_not_database(file, session.database), arguments.span("file")));
  const bool replace = arguments.options().boolean("replace");
  BERTH_TRY(blame(write_whole_file(file, text, replace, readers), arguments.span("file")));
  return output;
}

Result<Output> generate_nodes_statement(Session& session, const Arguments& arguments) {
  const PaiLikeOptions options = generator_options(arguments.options());
  BERTH_TRY(check_generator(options, arguments));
  const std::vector<TraceNode> nodes = pai_like_nodes(options);
  std::int64_t devices = 0;
  for (const TraceNode& node : nodes) devices += node.devices;
  return written(
      session, arguments, berth_nodes_csv(nodes),
      Output::note(fmt::format("{} with {} written to {}", counted(static_cast<std::int64_t>(nodes.size()), "node"),
                               counted(devices, "GPU"), arguments.text("file"))));
}

Result<Output> generate_trace_statement(Session& session, const Arguments& arguments) {
  const PaiLikeOptions options = generator_options(arguments.options());
  BERTH_TRY(check_generator(options, arguments));
  const PaiLikeTrace trace(options);
  const std::vector<TraceJob> first = {trace.job(0)};  // what one job has, all have
  const BerthJobsWriter writer(first);
  std::string text = writer.header();
  const auto is_interrupted = [&] { return session.interrupt->load(std::memory_order_relaxed); };
  for (std::int64_t j = 0; j < trace.jobs() && !is_interrupted(); ++j) writer.append(text, trace.job(j));
  if (is_interrupted())
    return Status(Code::kInterrupted, "interrupted before the trace was complete; nothing is written");
  const PaiLikeSummary made = trace.summary();
  Output output;
  ResultTable table{
      .title = "generated",
      .columns = {{"jobs"},
                  {"tasks"},
                  {"users"},
                  {"groups"},
                  {"recurring_jobs_pct"},
                  {"gang_tasks_pct"},
                  {"top_user_tasks_pct"},
                  {"mean_gpus"},
                  {"mean_whole_gpus"},
                  {"cluster_gpus"}},
      .rows = {{made.jobs, made.instances, made.users, made.groups, made.recurring_jobs, made.gang_instances,
                made.top_user_instances, made.mean_gpus, made.mean_whole_gpus, made.cluster_gpus}}};
  output.add(std::move(table), Audience::kPrograms);
  output.add_note(fmt::format("{} with {} by {} written to {}", counted(made.jobs, "job"),
                              counted(made.instances, "task"), counted(made.users, "user"), arguments.text("file")));
  output.add_note(
      fmt::format("{:.0f} % of the jobs recur, {:.0f} % of the tasks are in gangs, 5 % of the users have "
                  "{:.0f} % of them",
                  made.recurring_jobs, made.gang_instances, made.top_user_instances));
  output.add_note(
      fmt::format("on average they want {:.0f} GPUs, {:.0f} if every fraction took a whole one; the cluster "
                  "for them has {}",
                  made.mean_gpus, made.mean_whole_gpus, made.cluster_gpus));
  return written(session, arguments, std::move(text), std::move(output));
}

Result<Output> export_statement(Session& session, const Arguments& arguments) {
  if (arguments.has_word("NODES")) {
    BERTH_ASSIGN(std::string text, export_nodes(engine_of(session)));
    return written(session, arguments, std::move(text),
                   Output::note(fmt::format("nodes written to {}", arguments.text("file"))));
  }
  BERTH_ASSIGN(ExportedJobs jobs, export_jobs(engine_of(session)));
  Output output = Output::note(fmt::format("live jobs written to {}", arguments.text("file")));
  if (!jobs.held.empty()) {
    constexpr std::size_t kMostNamed = 10;
    output.add_note(fmt::format("written as held, without the job that failed or was cancelled before {}: {}",
                                jobs.held.size() == 1 ? "it" : "them", join_some(jobs.held, kMostNamed)));
  }
  return written(session, arguments, std::move(jobs.csv), std::move(output), FileReaders::kOwner);
}

Result<Output> snapshot_save(Session& session, const Arguments& arguments) {
  BERTH_TRY(blame(check_not_database(arguments.text("file"), session.database), arguments.span("file")));
  BERTH_TRY(blame(save_snapshot(engine_of(session).db(), arguments.text("file"), arguments.options().boolean("replace"),
                                arguments.has_word("REDACTED") ? Redaction::kNames : Redaction::kNone),
                  arguments.span("file")));
  return Output::note(fmt::format("{} saved to {}",
                                  arguments.has_word("REDACTED") ? "snapshot without names" : "snapshot",
                                  arguments.text("file")));
}

Result<Output> snapshot_load(Session& session, const Arguments& arguments) {
  Runtime& runtime = engine_of(session);
  const Result<std::int64_t> version =
      load_snapshot(runtime.db(), arguments.text("file"), runtime.author(), runtime.now());
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
     .syntax = "IMPORT NODES FROM <file:file> [FORMAT <format:format>] [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = import_nodes_statement,
     .summary = "Adds machines from a CSV file (.gz too), all of it or nothing; node types and device models are made "
                "as needed.",
     .example = "IMPORT NODES FROM 'nodes.csv' WITH (create_missing = true)",
     .options = kImportNodesOptions,
     .details = "FROM '-' reads standard input. Format berth: "
                "name,cpu,memory[,devices,model,device_memory,rack,pool,link_groups,type,"
                "labels,unhealthy,drain,state,speed,price,family]: labels are a JSON object, unhealthy numbers of "
                "devices, drain the reason of a drained node; speed, price and family are of the device model. A model "
                "that is there already stays as it is. Format openb: "
                "sn,cpu_milli,memory_mib,gpu,model. Also the machines of the formats philly, helios, tiresias and "
                "pai2020."},
    {.family = kDataFamily,
     .syntax = "IMPORT JOBS FROM <file:file> [FORMAT <format:format>] [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = import_jobs_statement,
     .summary = "Submits jobs from a CSV file (.gz too), all of it or nothing.",
     .example = "IMPORT JOBS FROM 'jobs.csv' WITH (queue = nlp)",
     .options = kImportJobsOptions,
     .details =
         "FROM '-' reads standard input. Format berth: "
         "name,submit,cpu,memory[,duration,queue,priority,user,group,tasks,min_tasks,gpus,gpu_memory,models,"
         "pool,locality,tag,time_limit,preemptible,checkpoint_every,checkpoint_grace,restart_cost,min_runtime,after,"
         "command,directory,env,image,checkpoint_signal,retries,held,allow_infeasible]; env is a JSON object; "
         "preemptible is yes or no, after names earlier jobs: \"prep|clean\". Other formats: openb, philly, helios, "
         "tiresias, pai_sim, pai2020, dlrm, "
         "gavel, swf. IMPORT TRACE takes jobs that have run already."},
    {.family = kDataFamily,
     .syntax = "IMPORT TRACE [FROM] <file:file> [FORMAT <format:format>] [INTO QUEUE <queue:queue>] [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = import_trace_statement,
     .summary = "Takes jobs that ran elsewhere as history, with times and use: what predictions and right-sizing learn "
                "from.",
     .example = "IMPORT TRACE 'philly_jobs.csv' FORMAT philly WITH (create_missing = true, shift = true)",
     .options = kImportTraceOptions,
     .details =
         "All of the file or nothing; '-' is standard input. A job starts when the file says, else when it was "
         "submitted, and ended well "
         "unless the file says otherwise; one whose duration is not known, or that ends in the future, is left out. "
         "INTO QUEUE takes all jobs, "
         "whatever their own queue."},
    {.family = kDataFamily,
     .syntax = "GENERATE TRACE PAI_LIKE [WITH (<options>)] INTO <file:file>",
     .effect = Effect::kReads,
     .handler = generate_trace_statement,
     .summary =
         "Writes made-up jobs with the published figures of Alibaba's PAI cluster, as CSV that IMPORT and SIMULATE "
         "read.",
     .example = "GENERATE TRACE pai_like WITH (jobs = 100000, seed = 7) INTO 'pai.csv'",
     .options = kGenerateOptions,
     .details =
         "Users and recurring groups of very different size, gangs, fractions of devices, more asked for than is "
         "used, durations from seconds to days. INTO '-' writes to standard output. GENERATE NODES with the same "
         "options makes the cluster for them."},
    {.family = kDataFamily,
     .syntax = "GENERATE NODES PAI_LIKE [WITH (<options>)] INTO <file:file>",
     .effect = Effect::kReads,
     .handler = generate_nodes_statement,
     .summary = "Writes the cluster that belongs to GENERATE TRACE: the published machines, scaled.",
     .example = "GENERATE NODES pai_like WITH (gpus = 6742) INTO 'pai_nodes.csv'",
     .options = kGenerateOptions},
    {.family = kDataFamily,
     .syntax = "EXPORT {NODES | JOBS} TO <file:file> [WITH (<options>)]",
     .effect = Effect::kReads,
     .handler = export_statement,
     .summary = "Writes the machines, or the jobs that wait, are held or run, as CSV that IMPORT reads.",
     .example = "EXPORT NODES TO 'nodes.csv'",
     .options = kReplaceOptions,
     .details = "A name that ends in .gz is compressed; '-' is standard output. A read-only session may write files, "
                "too, but nothing overwrites the open database. IMPORT makes the same nodes and jobs of it; jobs that "
                "run will wait again, and those that wait for a job that failed or was cancelled are held. An "
                "apostrophe stands before text that a spreadsheet would take for a formula. "
                "The variables of jobs are in the file: only its owner may read it."},
    {.family = kDataFamily,
     .syntax = "SNAPSHOT SAVE <file:file> [REDACTED] [WITH (<options>)]",
     .effect = Effect::kReads,
     .handler = snapshot_save,
     .summary = "Copies the whole database, consistent, into a file that Berth can open or load.",
     .example = "SNAPSHOT SAVE 'before.db'",
     .options = kReplaceOptions,
     .details = "A read-only session may save, too; nothing overwrites the open database. REDACTED: fit for a bug "
                "report. Names of nodes, queues, jobs, users and so on become random labels, the same for the same "
                "name; commands, environments, paths and details go; so do assertions, simulations and the history of "
                "the tables. Device models, numbers, times and states stay, and REPLAY ROUND works but for rounds that "
                "policies in Lua planned: their texts are left out, and those rounds with them."},
    {.family = kDataFamily,
     .syntax = "SNAPSHOT LOAD <file:file>",
     .effect = Effect::kChanges,
     .handler = snapshot_load,
     .summary = "Replaces everything in this database by a saved snapshot.",
     .example = "SNAPSHOT LOAD 'before.db'",
     .details = "Jobs that ended after the snapshot was saved wait again, and run again: CANCEL JOB those that are "
                "done. Tasks that began after it run on unknown to it, as strays: a sync finds them and holds their "
                "jobs. Until STOP STRAYS or KEEP STRAYS has let them end, RELEASE JOB is refused for those jobs. No "
                "job of the snapshot is started before a sync has asked every executor what runs.",
     .ask = ask_always,
     .plannable = false},
    {.family = kDataFamily,
     .syntax = "CHECK",
     .effect = Effect::kReads,
     .handler = check_statement,
     .summary = "Verifies every promise the state must keep, from scratch; findings end with exit code 4.",
     .example = "CHECK",
     .details =
         "Reads the whole file and unpacks every record of a round: seconds, some ten where a gigabyte of records "
         "is kept."},
};

}  // namespace

std::span<const CommandRow> data_commands() { return kDataRows; }

}  // namespace berth
