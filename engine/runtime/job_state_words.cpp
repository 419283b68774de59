#include "engine/runtime/job_state_words.h"

#include <fmt/format.h>

namespace berth {

namespace {

// Tasks that were placed and told, and of which their executor says that they have not begun.
Result<std::string> running_sentence(Database& db, std::int64_t job) {
  BERTH_ASSIGN(
      Statement row,
      db.prepare("SELECT count(*) FILTER (WHERE t.phase IN ('pending', 'starting')), count(*), "
                 "coalesce(max(iif(t.phase = 'starting', t.detail, '')), ''), coalesce((SELECT max(o.error) FROM "
                 "outbox o WHERE o.run_id = r.id), '') FROM runs r JOIN run_tasks t ON t.run_id = r.id WHERE r.job_id "
                 "= ?1 AND r.end_time IS NULL"));
  const bool has_unborn = row.with(job).next() && row.integer(0) > 0;
  BERTH_TRY(row.status());
  if (!has_unborn) return std::string("all its tasks run");
  const std::int64_t unborn = row.integer(0);
  const std::string which =
      row.integer(1) == 1 ? std::string("its task has")
                          : fmt::format("{} of its {} tasks {}", unborn, row.integer(1), unborn == 1 ? "has" : "have");
  const std::string_view why = row.text(2).empty() ? row.text(3) : row.text(2);
  return fmt::format("its room is held, and {} not begun{}{}", which, why.empty() ? "" : ": ", why);
}

Result<std::string> failed_sentence(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT detail FROM runs WHERE job_id = ?1 ORDER BY attempt DESC LIMIT 1"));
  std::string how;
  if (row.with(job).next()) how = row.text(0);
  BERTH_TRY(row.status());
  return how.empty() ? std::string("it has failed") : fmt::format("it has failed: {}", how);
}

}  // namespace

Result<std::string> state_sentence(Database& db, std::int64_t job, JobState state) {
  switch (state) {
    case JobState::kRunning: return running_sentence(db, job);
    case JobState::kFailed: return failed_sentence(db, job);
    case JobState::kHeld: return std::string("it is held: no round looks at it");
    case JobState::kFinished: return std::string("it has finished");
    case JobState::kCancelled: return std::string("it was cancelled");
    case JobState::kPending: break;
  }
  return fmt::format("it is {}", job_state_name(state));
}

}  // namespace berth
