#include "engine/store/attempt_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/failpoint.h"
#include "engine/policy/decayed_use.h"
#include "engine/store/queue_use.h"
#include "engine/store/settings.h"
#include "engine/store/usage_records.h"

namespace berth {

namespace {

// What the tasks of job ?1, or one of them, hold: by the time since when they do.
constexpr std::string_view kHeldByTasks =
    "SELECT j.queue_id, a.start_time, sum(a.gpu_milli * g.gpu_count) FROM allocations a "
    "JOIN jobs j ON j.id = a.job_id JOIN task_groups g ON g.job_id = a.job_id AND g.group_index = a.group_index "
    "WHERE a.job_id = ?1 AND (?2 IS NULL OR (a.group_index = ?2 AND a.task_index = ?3)) "
    "GROUP BY j.queue_id, a.start_time ORDER BY a.start_time";

Status note_use(Change& change, std::int64_t job, std::optional<TaskName> task, Seconds end, Seconds half_life) {
  BERTH_ASSIGN(Statement held, change.db().prepare(kHeldByTasks));
  held.with(job, task ? std::optional(task->group) : std::nullopt, task ? std::optional(task->task) : std::nullopt);
  std::int64_t queue = 0;
  std::int64_t used = 0;
  double decayed = 0;
  bool holds_some = false;
  while (held.next()) {
    const auto start = held.quantity<Seconds>(1);
    const auto gpu = held.quantity<MilliGpu>(2);
    holds_some = true;
    queue = held.integer(0);
    used += gpu.value() * std::max(Seconds(0), end - start).value();
    decayed += decayed_service(gpu, start, end, change.now(), half_life);
  }
  BERTH_TRY(held.status());
  if (task && !holds_some) {
    return Status(Code::kConflict, fmt::format("job {} does not run task {}.{}", job, task->group, task->task));
  }
  if (used == 0) return {};
  BERTH_TRY(add_usage(change, queue, decayed, half_life));
  BERTH_ASSIGN(Statement attained,
               change.db().prepare("UPDATE jobs SET attained_milli_s = attained_milli_s + ?2 WHERE id = ?1"));
  return attained.run(job, used);
}

// Draining nodes on which the job has tasks.
Result<std::vector<std::int64_t>> draining_nodes_of(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement nodes,
               db.prepare("SELECT DISTINCT a.node_id FROM allocations a JOIN nodes n ON n.id = a.node_id "
                          "WHERE a.job_id = ?1 AND n.state = 'draining'"));
  nodes.with(job);
  std::vector<std::int64_t> draining;
  while (nodes.next()) draining.push_back(nodes.integer(0));
  BERTH_TRY(nodes.status());
  return draining;
}

Status drain_when_empty(Database& db, std::span<const std::int64_t> nodes) {
  BERTH_ASSIGN(Statement drained, db.prepare("UPDATE nodes SET state = 'drained' WHERE id = ?1 AND NOT EXISTS "
                                             "(SELECT 1 FROM allocations WHERE node_id = ?1)"));
  for (const std::int64_t node : nodes) BERTH_TRY(drained.run(node));
  return {};
}

Result<Seconds> half_life_of_usage(Database& db) {
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  return settings.order_knobs.usage_half_life;
}

// The attempt as a row: of a run that an executor has, its own row.
Status note_end(Change& change, std::int64_t job, RunState ended, std::string_view detail, Seconds at) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::optional<LiveRun> live, live_run_of(db, job));
  std::int64_t run = 0;
  if (live) {
    run = live->id;
    BERTH_TRY(end_live_run(change, *live, ended, detail, at));
  } else {
    BERTH_ASSIGN(
        Statement insert,
        db.prepare("INSERT INTO runs (job_id, attempt, state, start_time, end_time, tasks, gpu_milli, nodes, "
                   "detail) SELECT ?1, 1 + coalesce(max(attempt), 0), ?2, (SELECT coalesce(start_time, 0) FROM "
                   "jobs WHERE id = ?1), (SELECT max(?3, coalesce(start_time, 0)) FROM jobs WHERE id = ?1), 0, 0, "
                   "'[]', ?4 FROM runs WHERE job_id = ?1"));
    BERTH_TRY(insert.run(job, run_state_name(ended), at, detail));
    run = db.last_row_id();
  }
  return note_held(db, run, job);
}

}  // namespace

Status end_attempt(Change& change, std::int64_t job, RunState ended, std::string_view detail, Seconds at) {
  Database& db = change.db();
  change.use_changed();
  BERTH_ASSIGN(const Seconds half_life, half_life_of_usage(db));
  BERTH_TRY(note_use(change, job, std::nullopt, at, half_life));
  BERTH_TRY(note_end(change, job, ended, detail, at));
  BERTH_ASSIGN(const std::vector<std::int64_t> draining, draining_nodes_of(db, job));
  BERTH_TRY(take_away_use(change, job));
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM allocations WHERE job_id = ?1"));
  BERTH_TRY(remove.run(job));
  failpoint("mid_write");
  BERTH_TRY(drain_when_empty(db, draining));
  BERTH_ASSIGN(Statement stop, db.prepare("DELETE FROM stopping_jobs WHERE job_id = ?1"));
  BERTH_TRY(stop.run(job));
  BERTH_ASSIGN(Statement mark, db.prepare("UPDATE jobs SET quota_mark = 0 WHERE id = ?1 AND quota_mark <> 0"));
  return mark.run(job);
}

Status note_size(Change& change, std::int64_t job, std::int64_t gained_in_round) {
  BERTH_ASSIGN(Statement insert,
               change.db().prepare(
                   "INSERT INTO run_sizes (job_id, from_time, to_time, gpu_milli) SELECT job_id, since, ?2, gpu_milli "
                   "FROM (SELECT j.id AS job_id, max(j.start_time, coalesce((SELECT max(to_time) FROM run_sizes WHERE "
                   "job_id = j.id), 0)) AS since, (SELECT coalesce(sum(a.gpu_milli * g.gpu_count), 0) FROM allocations "
                   "a JOIN task_groups g ON g.job_id = a.job_id AND g.group_index = a.group_index WHERE a.job_id = "
                   "j.id AND a.round_id IS NOT ?3) AS gpu_milli FROM jobs j WHERE j.id = ?1) WHERE since < ?2"));
  return insert.run(job, change.now(), gained_in_round);
}

Status end_tasks(Change& change, std::int64_t job, std::span<const TaskName> tasks) {
  Database& db = change.db();
  change.use_changed();
  BERTH_ASSIGN(const Seconds half_life, half_life_of_usage(db));
  BERTH_TRY(note_size(change, job, 0));
  BERTH_ASSIGN(const std::vector<std::int64_t> draining, draining_nodes_of(db, job));
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM allocations WHERE job_id = ?1 AND group_index = ?2 AND "
                                            "task_index = ?3"));
  for (const TaskName& task : tasks) {
    BERTH_TRY(note_use(change, job, task, change.now(), half_life));
    BERTH_TRY(take_away_use(change, job, task));
    BERTH_TRY(remove.run(job, task.group, task.task));
  }
  return drain_when_empty(db, draining);
}

}  // namespace berth
