// SHOW LOG: what tasks write.
#include <chrono>
#include <thread>

#include "engine/exec/executor.h"
#include "engine/runtime/executors.h"
#include "engine/store/names.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/printer.h"

namespace berth {

namespace {

struct LoggedTask {
  std::string executor;
  LiveTask task;
};

// The tasks of the last run of a job, or of the attempt asked for.
Result<std::vector<LoggedTask>> logged_tasks(Session& session, const Arguments& arguments) {
  Database& db = engine_of(session).db();
  Result<std::int64_t> job = find_job(db, arguments.text("job"));
  if (!job.ok()) return blame(std::move(job).status(), arguments.span("job"));
  BERTH_ASSIGN(
      Statement rows,
      db.prepare(
          "SELECT e.name, t.group_index, t.task_index, t.sequence, t.external, n.name, r.attempt, r.generation FROM "
          "run_tasks t JOIN runs r ON r.id = t.run_id JOIN executors e ON e.id = t.executor_id LEFT JOIN "
          "nodes n ON n.id = t.node_id WHERE r.job_id = ?1 AND r.attempt = coalesce(?2, (SELECT max(attempt) "
          "FROM runs WHERE job_id = ?1)) ORDER BY t.group_index, t.task_index"));
  rows.with(*job, arguments.has("attempt") ? std::optional(arguments.integer("attempt")) : std::nullopt);
  std::vector<LoggedTask> tasks;
  while (rows.next()) {
    LoggedTask& logged = tasks.emplace_back();
    logged.executor = rows.text(0);
    logged.task = {.key = {*job, rows.integer(6), static_cast<std::int32_t>(rows.integer(1)),
                           static_cast<std::int32_t>(rows.integer(2)), rows.integer(7)},
                   .launch = {*job, rows.integer(6), rows.integer(3), rows.integer(7)},
                   .external = std::string(rows.text(4)),
                   .node = std::string(rows.text(5))};
  }
  BERTH_TRY(rows.status());
  if (tasks.empty()) {
    return Status(Code::kNotFound, fmt::format("no executor has run job '{}'{}", arguments.text("job"),
                                               arguments.has("attempt") ? " in that attempt" : ""))
        .at(arguments.span("job"));
  }
  return tasks;
}

// As its executor sees it: the tables know it from the next sync on.
Result<bool> has_ended(const LiveExecutor& live, const LiveTask& task) {
  BERTH_ASSIGN(const Observation seen, live.executor->observe(std::span(&task, 1), {}));
  if (seen.tasks.empty()) return true;
  const TaskPhase phase = seen.tasks.front().phase;
  return phase != TaskPhase::kStarting && phase != TaskPhase::kRunning;
}

// As it is; in the JSON modes a value like any other answer, none of an empty log.
Output log_output(std::string text, OutputMode mode) {
  Output output;
  if (mode != OutputMode::kJson && mode != OutputMode::kJsonl) {
    output.raw = std::move(text);
    return output;
  }
  ResultTable table{.title = "", .columns = {{"log"}}, .rows = {}};
  if (!text.empty()) table.rows.push_back({std::move(text)});
  output.add(std::move(table));
  return output;
}

constexpr std::int64_t kMostLogBytes = 1 << 20;
constexpr std::int64_t kMostLogAtOnce = 64 * kMostLogBytes;

Result<Output> show_log(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::vector<LoggedTask> tasks, logged_tasks(session, arguments));
  const std::int64_t rank = arguments.has("rank") ? arguments.integer("rank") : 0;
  if (rank < 0 || rank >= static_cast<std::int64_t>(tasks.size())) {
    return arguments.fail("rank", Code::kNotFound, fmt::format("no task {}", rank),
                          fmt::format("its tasks are 0 to {}", tasks.size() - 1));
  }
  const LogStream stream = arguments.has_word("ERRORS") ? LogStream::kError : LogStream::kOutput;
  BERTH_ASSIGN(const LiveExecutor live,
               reach_executor(engine_of(session), tasks[static_cast<std::size_t>(rank)].executor));
  const OutputMode mode = session.display.mode;
  const bool follows = arguments.has_word("FOLLOW") && session.printer != nullptr;
  const bool in_pieces = follows && mode != OutputMode::kJson;  // which is one value
  std::string all;
  bool is_over = false;
  for (std::int64_t offset = 0;;) {
    const LoggedTask& task = tasks[static_cast<std::size_t>(rank)];
    BERTH_ASSIGN(std::string more, live.executor->log(task.task, stream, offset, kMostLogBytes));
    offset += static_cast<std::int64_t>(more.size());
    if (!in_pieces && offset > kMostLogAtOnce) {
      return log_output(std::move(all), mode)
          .add_note(fmt::format("only the first {} are shown{}", print_memory(MiB(kMostLogAtOnce / kMostLogBytes)),
                                follows ? "" : "; FOLLOW shows all of it"));
    }
    if (!in_pieces) all += more;
    if (!follows && more.empty()) return log_output(std::move(all), mode);
    if (!follows) continue;
    if ((more.empty() && is_over) || session.interrupt->load())
      return in_pieces ? Output() : log_output(std::move(all), mode);
    if (more.empty()) {
      // What it wrote last came after we read: once more.
      BERTH_ASSIGN(is_over, has_ended(live, task.task));
      if (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    } else if (in_pieces) {
      BERTH_TRY(session.printer->show(log_output(std::move(more), mode), session.display));
    }
  }
}

constexpr CommandRow kLogRows[] = {
    {.family = "executors",
     .syntax = "SHOW LOG OF JOB <job:job> [TASK <rank:integer>] [ATTEMPT <attempt:integer>] [ERRORS] [FOLLOW]",
     .effect = Effect::kReads,
     .handler = show_log,
     .summary = "What a task of a job has written; ERRORS its standard error, FOLLOW until it ends.",
     .example = "SHOW LOG OF JOB bert",
     .details = "Control characters are escaped on a terminal, and stay in a file or pipe. Under --json the answer is "
                "one array, [{\"log\": text}], empty while nothing is written; FOLLOW gives it at the end."},
};

}  // namespace

std::span<const CommandRow> log_commands() { return kLogRows; }

}  // namespace berth
