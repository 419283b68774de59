#include "engine/store/stray_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "engine/base/text.h"
#include "engine/store/job_records.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 3> kVerdictNames = {"none", "stop", "keep"};

auto stray_key(const Stray& stray) {
  return std::tie(stray.job, stray.attempt, stray.generation, stray.group, stray.task);
}

Result<JobState> state_of_job(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT state FROM jobs WHERE id = ?1"));
  const bool is_known = row.with(job).next();
  BERTH_TRY(row.status());
  return is_known ? read_job_state(row.text(0)) : Result(JobState::kCancelled);
}

// Jobs that have strays and wait, or were placed since the restore (those up to ?1) and nobody was told so.
constexpr std::string_view kMayRunTwice =
    "SELECT DISTINCT j.id, j.state = 'running' FROM strays s JOIN jobs j ON j.id = s.job_id WHERE j.state = 'pending' "
    "OR (j.state = 'running' AND j.id <= ?1 AND EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id AND r.end_time IS "
    "NULL AND r.state = 'pending' AND NOT EXISTS (SELECT 1 FROM run_tasks t WHERE t.run_id = r.id AND t.phase <> "
    "'pending'))) ORDER BY j.id";

// Jobs that a round placed on the node of a stray before a sync had found it; their executor was not told to start
// them.
constexpr std::string_view kBesideStrays =
    "SELECT DISTINCT r.job_id FROM strays s JOIN nodes n ON n.name = s.node JOIN run_tasks t ON t.node_id = n.id JOIN "
    "runs r ON r.id = t.run_id WHERE r.end_time IS NULL AND r.state = 'pending' AND NOT EXISTS (SELECT 1 FROM "
    "run_tasks o WHERE o.run_id = r.id AND o.phase <> 'pending') AND NOT EXISTS (SELECT 1 FROM outbox o WHERE "
    "o.run_id = r.id AND (o.kind <> 'launch' OR o.tries > 0)) ORDER BY r.job_id";

std::string next_step_for(const Stray& stray) {
  switch (stray.verdict) {
    case StrayVerdict::kStop: return "RUN ALL stops it; when it has ended, the job is released by itself";
    case StrayVerdict::kKeep:
      return fmt::format(
          "wait for its end, or STOP STRAYS OF JOB {0}; then RELEASE JOB {0} runs the job again, CANCEL "
          "JOB {0} ends it",
          stray.job);
    case StrayVerdict::kNone: break;
  }
  return fmt::format(
      "STOP STRAYS OF JOB {0} ends it, and then the job is released by itself; KEEP STRAYS OF JOB {0} "
      "lets it run to its end",
      stray.job);
}

}  // namespace

std::string Stray::words() const {
  return fmt::format("job {} attempt {} task {}.{}{}", job, attempt, group, task, node.empty() ? "" : " on " + node);
}

Result<std::vector<Stray>> list_strays(Database& db, std::int64_t executor) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare("SELECT job_id, attempt, generation, group_index, task_index, node, verdict FROM strays WHERE "
                 "?1 = 0 OR executor_id = ?1 ORDER BY executor_id, job_id, attempt, generation, group_index, "
                 "task_index"));
  rows.with(executor);
  std::vector<Stray> strays;
  while (rows.next()) {
    const auto verdict = std::ranges::find(kVerdictNames, rows.text(6)) - kVerdictNames.begin();
    strays.push_back({rows.integer(0), rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4),
                      std::string(rows.text(5)), static_cast<StrayVerdict>(verdict)});
  }
  BERTH_TRY(rows.status());
  return strays;
}

Result<std::optional<StrayOfJob>> stray_of_job(Database& db, std::int64_t job) {
  BERTH_ASSIGN(std::vector<Stray> strays, list_strays(db));
  std::erase_if(strays, [&](const Stray& stray) { return stray.job != job; });
  if (strays.empty()) return std::optional<StrayOfJob>();
  // What nobody has decided on comes first.
  const Stray& stray = *std::ranges::min_element(strays, {}, &Stray::verdict);
  return std::optional(
      StrayOfJob{fmt::format("a task of it still runs from before the database was restored: {}", stray.words()),
                 next_step_for(stray)});
}

Result<bool> may_run_twice(Database& db) {
  BERTH_ASSIGN(const std::int64_t unseen, last_unseen_job(db));
  BERTH_ASSIGN(Statement rows, db.prepare(kMayRunTwice));
  const bool is_any = rows.with(unseen).next();
  BERTH_TRY(rows.status());
  BERTH_ASSIGN(Statement beside, db.prepare(kBesideStrays));
  const bool is_beside = beside.next();
  BERTH_TRY(beside.status());
  return is_any || is_beside;
}

Status hold_jobs_of_strays(Change& change) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t unseen, last_unseen_job(db));
  BERTH_ASSIGN(Statement rows, db.prepare(kMayRunTwice));
  rows.with(unseen);
  std::vector<std::pair<std::int64_t, bool>> jobs;
  while (rows.next()) jobs.emplace_back(rows.integer(0), rows.integer(1) != 0);
  BERTH_TRY(rows.status());
  BERTH_ASSIGN(Statement mark, db.prepare("UPDATE strays SET holds_job = 1 WHERE job_id = ?1"));
  BERTH_ASSIGN(Statement untold,
               db.prepare("UPDATE run_tasks SET phase = 'lost', end_time = ?2, detail = 'nobody was told' WHERE run_id "
                          "IN (SELECT id FROM runs WHERE job_id = ?1 AND end_time IS NULL)"));
  // The executor was not told to start it.
  const auto take_back = [&](std::int64_t job, const std::string& why) -> Status {
    BERTH_TRY(untold.run(job, change.now()));
    return forget_run(change, job, "nobody was told: " + why);
  };
  for (const auto& [job, is_placed] : jobs) {
    if (is_placed) BERTH_TRY(take_back(job, "a task of it runs from before the restore"));
    BERTH_ASSIGN(const JobState state, state_of_job(db, job));
    if (state == JobState::kPending) BERTH_TRY(hold_job(change, job));
    BERTH_TRY(mark.run(job));
  }
  BERTH_ASSIGN(Statement beside, db.prepare(kBesideStrays));
  std::vector<std::int64_t> placed;
  while (beside.next()) placed.push_back(beside.integer(0));
  BERTH_TRY(beside.status());
  for (const std::int64_t job : placed) BERTH_TRY(take_back(job, "a stray task runs on its node"));
  return {};
}

Result<std::int64_t> last_unseen_job(Database& db) {
  return db.integer(
      "SELECT coalesce((SELECT value FROM meta WHERE key = 'restored_jobs' AND EXISTS (SELECT 1 FROM executors e WHERE "
      "NOT EXISTS (SELECT 1 FROM meta a WHERE a.key = 'asked_' || e.id))), 0)");
}

Result<bool> was_asked_since_restore(Database& db, std::int64_t executor) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT 1 FROM meta WHERE key = 'asked_' || ?1"));
  const bool was_asked = row.with(executor).next();
  BERTH_TRY(row.status());
  return was_asked;
}

Status note_asked(Database& db, std::int64_t executor) {
  BERTH_ASSIGN(Statement put, db.prepare("INSERT INTO meta (key, value) SELECT 'asked_' || ?1, 1 WHERE EXISTS (SELECT "
                                         "1 FROM meta WHERE key = 'restored_jobs') AND NOT EXISTS (SELECT 1 FROM meta "
                                         "WHERE key = 'asked_' || ?1)"));
  return put.run(executor);
}

Result<std::vector<std::string>> nodes_of_strays(Database& db) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare("SELECT n.name FROM node_health h JOIN nodes n ON n.id = h.node_id WHERE h.state = 'cordoned' "
                 "AND EXISTS (SELECT 1 FROM strays s WHERE s.node = n.name OR s.node = '') ORDER BY n.id"));
  std::vector<std::string> nodes;
  while (rows.next()) nodes.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return nodes;
}

Result<StrayNews> note_strays(Change& change, std::int64_t executor, const std::vector<Stray>& strays) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::vector<Stray> before, list_strays(db, executor));
  const auto is_among = [](const std::vector<Stray>& all, const Stray& stray) {
    return std::ranges::any_of(all, [&](const Stray& each) { return stray_key(each) == stray_key(stray); });
  };
  StrayNews news;
  BERTH_ASSIGN(Statement insert,
               db.prepare("INSERT INTO strays (executor_id, job_id, attempt, generation, group_index, "
                          "task_index, node, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  for (const Stray& stray : strays) {
    if (is_among(before, stray)) continue;
    BERTH_TRY(insert.run(executor, stray.job, stray.attempt, stray.generation, stray.group, stray.task, stray.node,
                         change.now()));
    news.found.push_back(stray);
  }
  BERTH_TRY(hold_jobs_of_strays(change));
  BERTH_ASSIGN(Statement held, db.prepare("SELECT 1 FROM strays WHERE job_id = ?1 AND holds_job = 1"));
  BERTH_ASSIGN(Statement others, db.prepare("SELECT 1 FROM strays WHERE job_id = ?1"));
  BERTH_ASSIGN(Statement remove,
               db.prepare("DELETE FROM strays WHERE executor_id = ?1 AND job_id = ?2 AND attempt = ?3 AND generation = "
                          "?4 AND group_index = ?5 AND task_index = ?6"));
  for (const Stray& stray : before) {
    if (is_among(strays, stray)) continue;
    news.gone.push_back(stray);
    const bool holds = held.with(stray.job).next();
    BERTH_TRY(held.status());
    BERTH_TRY(remove.run(executor, stray.job, stray.attempt, stray.generation, stray.group, stray.task));
    const bool is_last = !others.with(stray.job).next();
    BERTH_TRY(others.status());
    BERTH_ASSIGN(const JobState state, state_of_job(db, stray.job));
    if (!holds || !is_last || state != JobState::kHeld) continue;
    if (stray.verdict == StrayVerdict::kStop) {
      BERTH_TRY(release_job(change, stray.job));
    } else {
      news.left_held.push_back(stray.job);
    }
  }
  return news;
}

Result<std::int64_t> judge_strays(Change& change, std::optional<std::int64_t> job, StrayVerdict verdict) {
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE strays SET verdict = ?1 WHERE ?2 IS NULL OR job_id = ?2"));
  const std::string_view name = kVerdictNames[static_cast<std::size_t>(verdict)];
  BERTH_TRY(update.run(name, job));
  const std::int64_t count = change.db().changed_rows();
  if (count == 0) {
    return job ? Status(Code::kNotFound, fmt::format("no stray task of job {} is known", *job))
               : Status(Code::kNotFound, "no stray tasks are known");
  }
  BERTH_TRY(change.record(fmt::format("{} strays", name), job ? std::to_string(*job) : std::string("all"),
                          print_counted(count, "task")));
  return count;
}

}  // namespace berth
