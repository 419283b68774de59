#include "engine/runtime/strays.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/runtime/node_watch.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

StopRequest request_of(const TaskObservation& task, Seconds grace) {
  StopRequest request;
  request.tasks.push_back({.key = task.key,
                           .launch = {task.key.job, task.key.attempt, task.sequence, task.key.generation},
                           .external = task.external,
                           .node = task.node});
  request.grace = grace;
  return request;
}

Stray stray_of(const TaskObservation& task) {
  return {.job = task.key.job,
          .attempt = task.key.attempt,
          .generation = task.key.generation,
          .group = task.key.group,
          .task = task.key.task,
          .node = task.node};
}

Status note_news(Runtime& runtime, const ExecutorRecord& executor, const StrayNews& news, SyncReport& report) {
  for (const Stray& stray : news.found)
    BERTH_TRY(note_drift(
        runtime, executor,
        {"stray task", stray.words(), "nothing", "runs", "held until STOP STRAYS or KEEP STRAYS decides on it"}));
  for (const Stray& stray : news.gone) {
    const std::string_view asked = stray.verdict == StrayVerdict::kStop ? "stopped, as STOP STRAYS asked: " : "";
    BERTH_TRY(note_drift(runtime, executor,
                         {"stray task", stray.words(), "runs", "ended", fmt::format("{}its node opens", asked)}));
  }
  for (const std::int64_t job : news.left_held)
    BERTH_TRY(note_drift(runtime, executor,
                         {"stray job", fmt::format("job {}", job), "runs", "ended, how is not known",
                          "it stays held: RELEASE JOB runs it again, CANCEL JOB ends it"}));
  report.drifts += std::ssize(news.found) + std::ssize(news.left_held);
  return {};
}

// What a stray is, wherever it runs.
auto key_of(const Stray& s) { return std::tuple(s.job, s.attempt, s.generation, s.group, s.task); }

// Or a job of theirs could start.
Result<bool> differs_from_rows(Database& db, std::int64_t executor, std::vector<Stray> seen) {
  BERTH_ASSIGN(const std::vector<Stray> rows, list_strays(db, executor));
  std::ranges::sort(seen, {}, key_of);
  if (!std::ranges::equal(rows, seen, {}, key_of, key_of)) return true;
  return may_run_twice(db);
}

}  // namespace

Result<StraysSeen> judge_unknown_tasks(Runtime& runtime, const Observation& seen) {
  StraysSeen strays;
  BERTH_ASSIGN(Statement run,
               runtime.db().prepare(
                   "SELECT r.end_time IS NULL AND EXISTS (SELECT 1 FROM run_tasks t WHERE t.run_id = r.id AND "
                   "t.group_index = ?4 AND t.task_index = ?5 AND t.phase <> 'ended' AND t.phase <> 'lost') FROM runs r "
                   "WHERE r.job_id = ?1 AND r.attempt = ?2 AND r.generation = ?3"));
  for (const TaskObservation& task : seen.unknown_tasks) {
    const bool has_run =
        run.with(task.key.job, task.key.attempt, task.key.generation, task.key.group, task.key.task).next();
    const bool is_live = has_run && run.integer(0) != 0;
    BERTH_TRY(run.status());
    if (is_live) continue;
    if (has_run) {
      strays.over.push_back(task);
    } else {
      strays.held.push_back(stray_of(task));
      // Some executors have one machine and do not name it.
      if (task.node.empty() && seen.nodes.size() == 1) strays.held.back().node = seen.nodes.front().node;
      strays.held_tasks.push_back(task);
    }
  }
  return strays;
}

void close_nodes(const std::vector<Stray>& held, Observation& seen) {
  for (NodeObservation& node : seen.nodes) {
    const auto is_there = [&](const Stray& stray) { return stray.node.empty() || stray.node == node.node; };
    const auto stray = std::ranges::find_if(held, is_there);
    if (stray == held.end() || !node.is_ready) continue;
    node.is_cordoned = true;
    node.has_our_cordon = false;
    node.detail = "a stray task runs there: " + stray->words();
  }
}

Status look_after_strays(Runtime& runtime, LiveExecutor& live, const StraysSeen& strays, SyncReport& report) {
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));
  std::vector<StopRequest> requests;
  for (const TaskObservation& task : strays.over) {
    BERTH_TRY(note_drift(runtime, live.record, {"stray task", stray_of(task).words(), "nothing", "runs", "stopped"}));
    ++report.drifts;
    requests.push_back(request_of(task, settings.stop_grace));
  }
  BERTH_ASSIGN(const bool is_news, differs_from_rows(runtime.db(), live.record.id, strays.held));
  if (is_news) {
    StrayNews news;
    const Result<std::int64_t> noted = runtime.change([&](Change& change) -> Status {
      BERTH_ASSIGN(news, note_strays(change, live.record.id, strays.held));
      return {};
    });
    BERTH_TRY(noted.status());
    BERTH_TRY(note_news(runtime, live.record, news, report));
  }
  BERTH_ASSIGN(const std::vector<Stray> held, list_strays(runtime.db(), live.record.id));
  for (const Stray& stray : held) {
    if (stray.verdict == StrayVerdict::kNone) report.strays.push_back(stray);
    if (stray.verdict != StrayVerdict::kStop) continue;
    const auto is_it = [&](const TaskObservation& task) { return key_of(stray_of(task)) == key_of(stray); };
    const auto task = std::ranges::find_if(strays.held_tasks, is_it);
    if (task != strays.held_tasks.end()) requests.push_back(request_of(*task, settings.stop_grace));
  }
  return requests.empty() ? Status() : live.executor->stop(requests).status();
}

}  // namespace berth
