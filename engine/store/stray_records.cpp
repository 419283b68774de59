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

// A job that waits and of which a stray runs.
Status hold_jobs_of_strays(Change& change, std::int64_t executor) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT DISTINCT s.job_id FROM strays s JOIN jobs j ON j.id = s.job_id WHERE s.executor_id = "
                          "?1 AND s.holds_job = 0 AND j.state = 'pending' ORDER BY s.job_id"));
  rows.with(executor);
  std::vector<std::int64_t> jobs;
  while (rows.next()) jobs.push_back(rows.integer(0));
  BERTH_TRY(rows.status());
  BERTH_ASSIGN(Statement mark, db.prepare("UPDATE strays SET holds_job = 1 WHERE job_id = ?1"));
  for (const std::int64_t job : jobs) {
    BERTH_TRY(hold_job(change, job));
    BERTH_TRY(mark.run(job));
  }
  return {};
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
  BERTH_TRY(hold_jobs_of_strays(change, executor));
  BERTH_ASSIGN(Statement held, db.prepare("SELECT 1 FROM strays WHERE job_id = ?1 AND holds_job = 1"));
  BERTH_ASSIGN(Statement others, db.prepare("SELECT 1 FROM strays WHERE job_id = ?1"));
  BERTH_ASSIGN(Statement remove,
               db.prepare("DELETE FROM strays WHERE executor_id = ?1 AND job_id = ?2 AND attempt = ?3 AND generation = "
                          "?4 AND group_index = ?5 AND task_index = ?6"));
  for (const Stray& stray : before) {
    if (is_among(strays, stray)) continue;
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
