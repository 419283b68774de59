// SUBMIT, CANCEL, HOLD, RELEASE, ALTER, FINISH.
#include <functional>
#include <set>

#include "engine/base/text.h"
#include "engine/runtime/admit_policy.h"
#include "engine/runtime/behind_words.h"
#include "engine/runtime/job_file.h"
#include "engine/store/database_home.h"
#include "engine/store/names.h"
#include "engine/store/run_usage_records.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/usage_options.h"

namespace berth {

namespace {

// What one task of a group asks for; in WITH for a job of one group, in GROUP ... () for several.
#define BERTH_GROUP_OPTIONS(option_set)                                                              \
  {.name = "tasks",                                                                                  \
   .kind = "integer",                                                                                \
   .default_value = "1",                                                                             \
   .minimum = "1",                                                                                   \
   .maximum = "1000000",                                                                             \
   .sentence = "Equal tasks in the group.",                                                          \
   .set = option_set},                                                                               \
      {.name = "min_tasks",                                                                          \
       .kind = "integer",                                                                            \
       .default_value = "",                                                                          \
       .minimum = "1",                                                                               \
       .maximum = "1000000",                                                                         \
       .sentence =                                                                                   \
           "Tasks that must start together; default: all. Evictions take the others first: those "   \
           "in the way, of two alike the higher number.",                                            \
       .set = option_set},                                                                           \
      {.name = "gpus",                                                                               \
       .kind = "gpu",                                                                                \
       .default_value = "0",                                                                         \
       .sentence = "GPUs of a task: 2, or a part of one: 0.5.",                                      \
       .set = option_set},                                                                           \
      {.name = "gpu_memory",                                                                         \
       .kind = "memory",                                                                             \
       .default_value = "0",                                                                         \
       .sentence = "Device memory of a fraction; default: the same fraction of it.",                 \
       .set = option_set},                                                                           \
      {.name = "cpu",                                                                                \
       .kind = "cpu",                                                                                \
       .default_value = "1",                                                                         \
       .minimum = "1m",                                                                              \
       .sentence = "CPU cores of a task.",                                                           \
       .set = option_set},                                                                           \
      {.name = "memory",                                                                             \
       .kind = "memory",                                                                             \
       .default_value = "1GiB",                                                                      \
       .minimum = "1MiB",                                                                            \
       .sentence = "Memory of a task.",                                                              \
       .set = option_set},                                                                           \
      {.name = "models",                                                                             \
       .kind = "device_model",                                                                       \
       .default_value = "",                                                                          \
       .sentence = "Allowed device models or families of them: A100 or (A100, H100); default: any.", \
       .set = option_set,                                                                            \
       .many = true},                                                                                \
      {.name = "pool",                                                                               \
       .kind = "pool",                                                                               \
       .default_value = "",                                                                          \
       .sentence = "Only nodes of this pool.",                                                       \
       .set = option_set},                                                                           \
      {.name = "locality",                                                                           \
       .kind = "any|rack|node|link_group",                                                           \
       .default_value = "any",                                                                       \
       .sentence = "How close together the group's tasks must lie.",                                 \
       .set = option_set},                                                                           \
  {                                                                                                  \
    .name = "preferred", .kind = "boolean", .default_value = "false",                                \
    .sentence = "True: the locality is tried first and given up level by level.", .set = option_set  \
  }

constexpr OptionRow kSubmitOptions[] = {
    BERTH_GROUP_OPTIONS(""),
    {.name = "user", .kind = "text", .default_value = "", .sentence = "Whose job it is; default: who submits it."},
    {.name = "tag",
     .kind = "text",
     .default_value = "",
     .sentence = "The same for what comes again (script, arguments, data): durations are predicted by it."},
    {.name = "time_limit", .kind = "duration", .default_value = "0", .sentence = "Longest run time; 0 = none."},
    {.name = "held",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Wait for RELEASE before any round looks at it."},
    {.name = "checkpoint_every",
     .kind = "duration",
     .default_value = "0",
     .sentence = "How often it writes a checkpoint: more is not lost when it is evicted; 0 = never."},
    {.name = "checkpoint_grace",
     .kind = "duration",
     .default_value = "0",
     .sentence = "Time the job gets to write one more checkpoint when it must stop. Tasks beyond min_tasks get none."},
    {.name = "restart_cost",
     .kind = "duration",
     .default_value = "0",
     .sentence = "Time until it is back where it was after a restart."},
    {.name = "min_runtime",
     .kind = "duration",
     .default_value = "",
     .sentence = "It is not evicted before it has run that long; default: the setting."},
    {.name = "preemptible", .kind = "boolean", .default_value = "true", .sentence = "False: it is never evicted."},
    {.name = "after",
     .kind = "job",
     .default_value = "",
     .sentence = "Jobs that must finish before it starts: prep or (prep, clean).",
     .many = true},
    {.name = "command",
     .kind = "text",
     .default_value = "",
     .sentence =
         "What an executor starts for each task, by /bin/sh; without it Berth keeps the books and starts nothing."},
    {.name = "directory",
     .kind = "text",
     .default_value = "",
     .sentence = "The command's working directory; default: the executor's."},
    {.name = "env",
     .kind = "text",
     .default_value = "",
     .sentence = "Variables of its environment: 'EPOCHS=10' or ('EPOCHS=10', 'SEED=7').",
     .many = true,
     .secret = true},
    {.name = "image",
     .kind = "text",
     .default_value = "",
     .sentence = "Container image, for executors that need one; default: the executor's."},
    {.name = "checkpoint_signal",
     .kind = "HUP|INT|QUIT|USR1|USR2|TERM|CONT",
     .default_value = "",
     .sentence = "Sent to its tasks when it is told to stop for another; its checkpoint_grace follows."},
    {.name = "retries",
     .kind = "integer",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1000",
     .sentence = "How often it is started again after it has failed."},
    {.name = "allow_infeasible",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Accept a job that no node of this cluster could ever run."},
    BERTH_GROUP_OPTIONS("group"),
};
#undef BERTH_GROUP_OPTIONS

constexpr OptionRow kFileOptions[] = {
    {.name = "allow_infeasible",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Accept a job that no node of this cluster could ever run."},
};

constexpr OptionRow kEndOptions[] = {
    {.name = "failed", .kind = "boolean", .default_value = "false", .sentence = "It ended badly."},
    {.name = "detail",
     .kind = "text",
     .default_value = "",
     .sentence = "What to remember of it, such as an exit code."},
};
constexpr auto kFinishOptions = option_table(kEndOptions, kUsageOptions);

Result<TaskGroupRequest> group_from(const Options& options) {
  TaskGroupRequest group;
  group.count = options.integer("tasks");
  if (options.given("min_tasks")) {
    group.min_tasks = options.integer("min_tasks");
    if (*group.min_tasks > group.count) {
      return options.fail("min_tasks", Code::kInvalid,
                          fmt::format("min_tasks {} of a group of {}", *group.min_tasks, counted(group.count, "task")));
    }
  }
  if (const Status status = set_gpus(group, options.gpu("gpus")); !status.ok()) {
    return options.fail("gpus", status.code(), status.message(), status.hint());
  }
  if (options.given("gpu_memory") && (group.gpu_count != 1 || group.gpu_milli == kWholeDevice)) {
    return options.fail("gpu_memory", Code::kInvalid, "gpu_memory is for a fraction of a device",
                        "a whole device comes with all its memory");
  }
  group.gpu_memory = options.memory("gpu_memory");
  group.cpu = options.cpu("cpu");
  group.memory = options.memory("memory");
  for (const Value& model : options.list("models")) {
    for (const std::string_view name : split(model.text, '|')) group.models.emplace_back(trim(name));
  }
  group.pool = options.text_or("pool", "");
  BERTH_ASSIGN(group.locality, read_locality(options.text("locality")));
  group.locality_required = !options.boolean("preferred");
  return group;
}

JobTerms terms_from(const Options& options) {
  JobTerms terms;
  terms.preemptible = options.boolean("preemptible");
  terms.checkpoint_every = options.duration("checkpoint_every");
  terms.checkpoint_grace = options.duration("checkpoint_grace");
  terms.restart_cost = options.duration("restart_cost");
  if (options.given("min_runtime")) terms.min_runtime = options.duration("min_runtime");
  for (const Value& job : options.list("after")) terms.after.push_back(job.text);
  return terms;
}

Result<JobCommand> command_from(const Options& options) {
  JobCommand command;
  command.command = options.text_or("command", "");
  command.working_directory = options.text_or("directory", "");
  for (const Value& variable : options.list("env")) {
    auto read = read_variable(variable.text);
    if (!read.ok()) return blame(std::move(read).status(), variable.span);
    command.environment.push_back(*std::move(read));
  }
  command.image = options.text_or("image", "");
  command.checkpoint_signal = options.text_or("checkpoint_signal", "");
  command.retries = options.integer("retries");
  if (Status status = check_command(command); !status.ok()) {
    for (const std::string_view option : {"directory", "env", "image", "checkpoint_signal", "retries"}) {
      if (options.given(option)) return blame(std::move(status), options.list(option).front().span);
    }
    return status;
  }
  return command;
}

// An admit policy may change the request.
Result<Output> submitted(Session& session, JobRequest request, const std::function<Status(Status)>& blame_it) {
  std::int64_t id = 0;
  std::string name = request.name;
  const Result<std::int64_t> version = engine_of(session).change([&](Change& change) -> Status {
    Result<AdmitPolicy> policy = AdmitPolicy::make(change);
    Status admitted = policy.ok() ? policy->admit(request) : std::move(policy).status();
    if (!admitted.ok()) return blame_it(std::move(admitted));
    Result<std::int64_t> submitted_id = submit_job(change, request);
    if (!submitted_id.ok()) return blame_it(std::move(submitted_id).status());
    id = *submitted_id;
    BERTH_ASSIGN(name, name_of(change.db(), Thing::kJob, id));
    return {};
  });
  if (!version.ok()) return version.status();
  std::int64_t tasks = 0;
  for (const TaskGroupRequest& group : request.groups) tasks += group.count;
  Output output = Output::note(fmt::format("job {} submitted as number {}: {}{}", name, id, counted(tasks, "task"),
                                           request.held ? ", held" : ""));
  BERTH_ASSIGN(const std::string policy, rightsized_by(engine_of(session).db(), id));
  if (!policy.empty()) {
    output.add_note(fmt::format("right-sized by {}: it gets less than it asks for, see SHOW JOB {}", policy, name));
  }
  if (!request.command.command.empty()) {
    BERTH_ASSIGN(const std::int64_t executors, engine_of(session).db().integer("SELECT count(*) FROM executors"));
    if (executors == 0)
      output.add_note("warning: there is no executor, nobody will run its command: CREATE EXECUTOR here TYPE local");
  }
  return output;
}

Result<Output> submit_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  JobRequest request;
  request.name = arguments.text("name");
  if (request.name.find_first_of("[]") != std::string::npos) {
    return arguments.fail("name", Code::kInvalid,
                          fmt::format("'{}' looks like many names, and this is one job", request.name),
                          "a job may have many equal tasks: WITH (tasks = 10)");
  }
  request.queue = arguments.text("queue");
  request.priority_class = arguments.text_or("class", "");
  request.user = options.text_or("user", "");
  request.tag = options.text_or("tag", "");
  request.time_limit = options.duration("time_limit");
  request.held = options.boolean("held");
  request.terms = terms_from(options);
  BERTH_ASSIGN(request.command, command_from(options));
  request.allow_infeasible = options.boolean("allow_infeasible");
  if (arguments.groups("groups").empty()) {
    BERTH_ASSIGN(TaskGroupRequest group, group_from(options));
    request.groups.push_back(std::move(group));
  } else {
    for (const OptionRow& row : kSubmitOptions) {
      if (row.set == "group" && options.given(row.name)) {
        return options.fail(row.name, Code::kInvalid,
                            fmt::format("{} belongs into the parentheses of a GROUP when there are groups", row.name));
      }
    }
    for (const Arguments& group_arguments : arguments.groups("groups")) {
      BERTH_ASSIGN(TaskGroupRequest group, group_from(group_arguments.options("group")));
      group.name = group_arguments.text("group");
      request.groups.push_back(std::move(group));
    }
  }
  return submitted(session, request, [&](Status status) { return arguments.point(std::move(status), "name"); });
}

Result<Output> submit_from_file(Session& session, const Arguments& arguments) {
  Result<JobRequest> request = read_job_file(arguments.text("file"));
  if (!request.ok()) return blame(std::move(request).status(), arguments.span("file"));
  if (arguments.options().boolean("allow_infeasible")) request->allow_infeasible = true;
  return submitted(session, *request, [&](Status status) {
    return blame(std::move(status).prefixed(arguments.text("file")), arguments.span("file"));
  });
}

// Applies `function` to every job named; all of them or none.
Result<Output> change_jobs(Session& session, const Arguments& arguments,
                           const std::function<Status(Change&, std::int64_t)>& function, std::string_view done) {
  std::set<std::int64_t> changed;  // a job may be named twice, or by its name and by its number
  const auto change_each = [&](Change& change) -> Status {
    changed.clear();
    for (const Value& job : arguments.list("jobs")) {
      Result<std::int64_t> id = find_job(change.db(), job.text);
      if (!id.ok()) return blame(std::move(id).status(), job.span);
      if (changed.insert(*id).second) BERTH_TRY(blame(function(change, *id), job.span));
    }
    return {};
  };
  BERTH_TRY(engine_of(session).change(change_each).status());
  return Output::note(fmt::format("{} {}", counted(std::ssize(changed), "job"), done));
}

Result<Output> cancel_statement(Session& session, const Arguments& arguments) {
  std::int64_t told = 0;
  std::set<std::int64_t> cancelled;
  BERTH_ASSIGN(Output output, change_jobs(
                                  session, arguments,
                                  [&](Change& change, std::int64_t job) -> Status {
                                    BERTH_ASSIGN(const auto run, live_run_of(change.db(), job));
                                    told += run ? 1 : 0;
                                    cancelled.insert(job);
                                    return cancel_job(change, job);
                                  },
                                  "cancelled"));
  std::set<std::string> behind;
  for (const std::int64_t job : cancelled) {
    BERTH_ASSIGN(const std::vector<std::string> names, jobs_waiting_for(engine_of(session).db(), job));
    behind.insert(names.begin(), names.end());
  }
  if (!behind.empty()) {
    output.add_note(fmt::format("never to start, as {} after {}: {}", behind.size() == 1 ? "it comes" : "they come",
                                cancelled.size() == 1 ? "it" : "them", join_some({behind.begin(), behind.end()}, 5)));
  }
  if (told == 0) return output;
  if (const Status home = check_no_copy(engine_of(session).db()); !home.ok()) {
    output.add_note(fmt::format("{} not stopped: {}", counted(told, "running job"), home.message()));
  } else {
    output.add_note(
        fmt::format("{} to stop: cancelled when the next RUN ALL or RUN SYNC has told {}, and that says that {} gone",
                    told == 1 ? std::string("1 running job is") : counted(told, "running job") + " are",
                    told == 1 ? "its executor" : "the executor of each", told == 1 ? "it is" : "the job is"));
  }
  return output;
}
Result<Output> hold_statement(Session& session, const Arguments& arguments) {
  return change_jobs(session, arguments, hold_job, "held");
}
Result<Output> release_statement(Session& session, const Arguments& arguments) {
  return change_jobs(session, arguments, release_job, "released");
}

Result<Output> alter_statement(Session& session, const Arguments& arguments) {
  const std::optional<std::string> name =
      arguments.has("class") ? std::optional(arguments.text("class")) : std::nullopt;
  return change_jobs(
      session, arguments,
      [&](Change& change, std::int64_t job) -> Status {
        Status done = set_job_priority(change, job, name);
        if (done.code() != Code::kNotFound) return done;
        return blame(std::move(done), arguments.span("class"));
      },
      "altered");
}

Result<Output> finish_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  const JobState state = options.boolean("failed") ? JobState::kFailed : JobState::kFinished;
  const std::string detail = options.text_or("detail", "");
  const UsageSample usage = usage_from(options);
  return change_jobs(
      session, arguments,
      [&](Change& change, std::int64_t job) -> Status {
        BERTH_TRY(end_job(change, job, state, detail));
        return is_empty(usage) ? Status() : record_usage(change, job, "", usage);
      },
      state == JobState::kFailed ? "failed" : "finished");
}

Result<std::string> ask_before_cancel(Session& session, const Arguments& arguments) {
  (void)session;
  std::set<std::string> names;
  for (const Value& job : arguments.list("jobs")) names.insert(job.text);
  const std::size_t count = names.size();
  return count < 2 ? std::string() : fmt::format("Cancel {} jobs?", count);
}

constexpr std::string_view kJobFamily = "jobs";

constexpr CommandRow kJobRows[] = {
    {.family = kJobFamily,
     .syntax = "SUBMIT JOB <name:new_name> IN QUEUE <queue:queue> [PRIORITY <class:priority_class>] [groups:{GROUP "
               "<group:new_name> (<options:group>)}, ...] "
               "[WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = submit_statement,
     .summary = "Asks for a job to run: one or more groups of equal tasks that start together.",
     .example = "SUBMIT JOB bert IN QUEUE nlp PRIORITY urgent WITH (tasks = 8, gpus = 4, cpu = 16, memory = 64GiB, "
                "models = (A100, H100), locality = rack)",
     .options = kSubmitOptions,
     .details = "A job starts when every group can place min_tasks of its tasks in the same round; nothing of it "
                "starts before. Several groups: SUBMIT JOB ads IN "
                "QUEUE ads GROUP worker (tasks = 4, gpus = 1), GROUP server (tasks = 2, cpu = 8).\n"
                "A command finds in its environment: BERTH_JOB, BERTH_JOB_NAME, BERTH_ATTEMPT, BERTH_TASK_GROUP, "
                "BERTH_TASK, BERTH_RANK, BERTH_GANG_SIZE, BERTH_NODE, BERTH_PEERS (nodes by rank), BERTH_CPUS, "
                "BERTH_MEMORY_MIB, BERTH_GPU_SHARE, BERTH_GPU_MEMORY_MIB and BERTH_DONE_FILE.\n"
                "A task that is told to stop for another job may save its work and exit: however it ends, the job "
                "waits again, and no retry is used. A task whose work is done all the same says so: "
                "echo done >\"$BERTH_DONE_FILE\". When every task has said so, or had ended well before, the job is "
                "finished.\n"
                "A task whose end nobody saw is lost, even if it ended well: its node failed, or whoever looked after "
                "it was killed. So is one that somebody else told to end: the machine shut down, Slurm preempted it, "
                "its pod was deleted. Its job starts again, and no retry is used.\n"
                "When the job has ended, another may have its name: then the name means the one that lives, or the "
                "last; SHOW JOB 12 shows the one with that number."},
    {.family = kJobFamily,
     .syntax = "SUBMIT JOB FROM <file:file> [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = submit_from_file,
     .summary = "Submits the job that a JSON file describes.",
     .example = "SUBMIT JOB FROM 'bert.json'",
     .options = kFileOptions,
     .details =
         "Keys: name, queue, priority, user, tag, time_limit, held, checkpoint_every, checkpoint_grace, restart_cost, "
         "min_runtime, preemptible, after, command, directory, env, image, checkpoint_signal, retries, groups; of a "
         "group: name, tasks, min_tasks, "
         "gpus, gpu_memory, cpu, memory, models, pool, "
         "locality, locality_required. A job of one group may have the group's keys at the top."},
    {.family = kJobFamily,
     .syntax = "CANCEL {JOB | JOBS} <jobs:job>, ...",
     .effect = Effect::kChanges,
     .handler = cancel_statement,
     .summary = "Ends jobs, waiting or running. One that an executor runs keeps its room until its processes are gone.",
     .example = "CANCEL JOB bert",
     .details = "The next RUN ALL or RUN SYNC tells its executor to stop it; until then it runs on.",
     .ask = ask_before_cancel},
    {.family = kJobFamily,
     .syntax = "HOLD {JOB | JOBS} <jobs:job>, ...",
     .effect = Effect::kChanges,
     .handler = hold_statement,
     .summary = "Keeps waiting jobs from starting until they are released.",
     .example = "HOLD JOB bert"},
    {.family = kJobFamily,
     .syntax = "RELEASE {JOB | JOBS} <jobs:job>, ...",
     .effect = Effect::kChanges,
     .handler = release_statement,
     .summary = "Lets held jobs wait for their turn again.",
     .example = "RELEASE JOB bert",
     .details = "After a restore it is refused for a job of which a task still runs from before: STOP STRAYS ends that "
                "task and releases the job, KEEP STRAYS lets it run to its end."},
    {.family = kJobFamily,
     .syntax = "ALTER {JOB | JOBS} <jobs:job>, ... SET PRIORITY {<class:priority_class> | NONE}",
     .effect = Effect::kChanges,
     .handler = alter_statement,
     .summary = "Gives jobs that wait, are held or run another priority class.",
     .example = "ALTER JOB bert SET PRIORITY urgent"},
    {.family = kJobFamily,
     .syntax = "FINISH {JOB | JOBS} <jobs:job>, ... [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = finish_statement,
     .summary = "Says that running jobs have ended by themselves; what they held is free.",
     .example = "FINISH JOB bert WITH (detail = 'exit code 0')",
     .options = kFinishOptions},
};

}  // namespace

std::span<const CommandRow> job_commands() { return kJobRows; }

}  // namespace berth
