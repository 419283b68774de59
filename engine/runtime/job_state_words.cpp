#include "engine/runtime/job_state_words.h"

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/store/settings.h"
#include "engine/store/stray_records.h"

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

// Why the job was told to stop, and the latest time of its end: its grace, then stop_grace. Empty: nobody told it.
Result<std::string> stopping_sentence(Database& db, std::int64_t job) {
  BERTH_ASSIGN(
      Statement row,
      db.prepare("SELECT s.rule, coalesce(b.name, s.beneficiary_id), s.stop_at, r.id IS NOT NULL, r.state = "
                 "'stopping' AND r.stop_state = 'cancelled', (SELECT max(time) FROM run_changes WHERE run_id = "
                 "r.id AND r.state = 'stopping' AND to_state = 'stopping') FROM jobs j LEFT JOIN stopping_jobs "
                 "s ON s.job_id = j.id LEFT JOIN jobs b ON b.id = s.beneficiary_id AND s.rule <> 'loan' LEFT "
                 "JOIN runs r ON r.job_id = j.id AND r.end_time IS NULL WHERE j.id = ?1"));
  const bool is_there = row.with(job).next();
  BERTH_TRY(row.status());
  const bool is_evicted = is_there && !row.is_null(0);
  const bool is_stopped = is_there && !row.is_null(5);
  if (!is_evicted && !is_stopped) return std::string();
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  const Seconds grace = row.integer(3) != 0 ? settings.stop_grace : Seconds(0);
  const Seconds end = row.quantity<Seconds>(is_stopped ? 5 : 2) + grace;
  const std::string by = fmt::format("it is to end by {} at the latest", print_time(end));
  if (is_stopped && row.integer(4) != 0) return fmt::format("it was cancelled and told to stop: {}", by);
  if (!is_evicted) return fmt::format("it was told to stop: {}", by);
  const bool is_loan = row.text(0) == "loan";
  return fmt::format("it was told to stop for {} {} (rule {}): {}, and then waits again", is_loan ? "loan" : "job",
                     row.text(1), row.text(0), by);
}

Result<std::string> failed_sentence(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT detail FROM runs WHERE job_id = ?1 ORDER BY attempt DESC LIMIT 1"));
  std::string how;
  if (row.with(job).next()) how = row.text(0);
  BERTH_TRY(row.status());
  return how.empty() ? std::string("it has failed") : fmt::format("it has failed: {}", how);
}

}  // namespace

Result<bool> is_stopping(Database& db, std::int64_t job) {
  BERTH_ASSIGN(const std::string said, stopping_sentence(db, job));
  return !said.empty();
}

Result<std::string> state_sentence(Database& db, std::int64_t job, JobState state) {
  switch (state) {
    case JobState::kRunning: {
      BERTH_ASSIGN(std::string stopping, stopping_sentence(db, job));
      return stopping.empty() ? running_sentence(db, job) : stopping;
    }
    case JobState::kFailed: return failed_sentence(db, job);
    case JobState::kHeld: {
      BERTH_ASSIGN(const std::optional<StrayOfJob> stray, stray_of_job(db, job));
      return stray ? "it is held: " + stray->sentence : std::string("it is held: no round looks at it");
    }
    case JobState::kFinished: return std::string("it has finished");
    case JobState::kCancelled: return std::string("it was cancelled");
    case JobState::kPending: break;
  }
  return fmt::format("it is {}", job_state_name(state));
}

}  // namespace berth
