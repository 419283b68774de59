#include "engine/runtime/job_state_words.h"

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/store/settings.h"
#include "engine/store/stray_records.h"

namespace berth {

namespace {

// "executor here could not be reached since ..." of the row's executor; empty = there is no row.
Result<std::string> words_of_silence(Statement& row) {
  std::string words;
  if (row.next())
    words = row.is_null(1) ? fmt::format("executor {} could not be reached yet", row.text(0))
                           : fmt::format("executor {} could not be reached since {}", row.text(0),
                                         print_time(row.quantity<Seconds>(1)));
  BERTH_TRY(row.status());
  return words;
}

// Of an executor that has live tasks of the job and does not answer.
Result<std::string> silence_of(Database& db, std::int64_t job) {
  BERTH_ASSIGN(
      Statement row,
      db.prepare("SELECT e.name, e.last_contact FROM runs r JOIN run_tasks t ON t.run_id = r.id JOIN executors "
                 "e ON e.id = t.executor_id WHERE r.job_id = ?1 AND r.end_time IS NULL AND e.state = 'down' "
                 "AND t.phase IN ('pending', 'starting', 'running') ORDER BY e.id LIMIT 1"));
  return words_of_silence(row.with(job));
}

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
  std::string why(row.text(2));
  if (why.empty()) {
    BERTH_ASSIGN(why, silence_of(db, job));
  }
  if (why.empty()) why = row.text(3);
  return fmt::format("its room is held, and {} not begun{}{}", which, why.empty() ? "" : ": ", why);
}

// Says why the job stops, whether its executor was told, and when it ends at the latest. Empty: it does not stop.
Result<std::string> stopping_sentence(Database& db, std::int64_t job, Seconds now) {
  BERTH_ASSIGN(const std::optional<JobStop> stop, job_stop(db, job));
  if (!stop) return std::string();
  const std::string whom = stop->beneficiary.empty() ? "" : fmt::format(" for {}", stop->beneficiary);
  if (!stop->is_told) {
    const std::string order = stop->is_cancelled ? std::string("it was cancelled") : "it is to stop" + whom;
    return stop->silence.empty() ? order + ", and its executor is told by the next RUN ALL or RUN SYNC"
                                 : fmt::format("{}, but nobody was told: {}", order, stop->silence);
  }
  std::string by = fmt::format("it is to end by {} at the latest", print_time(stop->end));
  if (stop->end < now) by = fmt::format("it was to end by {}, and {}", print_time(stop->end), overdue_words(*stop));
  if (stop->is_cancelled) return fmt::format("it was cancelled and told to stop: {}", by);
  if (stop->beneficiary.empty()) return fmt::format("it was told to stop: {}", by);
  return fmt::format("it was told to stop{}: {}{} then waits again", whom, by, stop->end < now ? "; it" : ", and");
}

Result<std::string> failed_sentence(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT detail FROM runs WHERE job_id = ?1 ORDER BY attempt DESC LIMIT 1"));
  std::string how;
  if (row.with(job).next()) how = row.text(0);
  BERTH_TRY(row.status());
  return how.empty() ? std::string("it has failed") : fmt::format("it has failed: {}", how);
}

}  // namespace

Result<std::string> silence_of_closed_nodes(Database& db) {
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT e.name, e.last_contact FROM executors e WHERE e.state = 'down' AND EXISTS (SELECT 1 "
                          "FROM nodes n JOIN node_health h ON h.node_id = n.id LEFT JOIN pools p ON p.id = n.pool_id "
                          "WHERE n.state <> 'up' AND h.state = 'cordoned' AND coalesce(p.executor_id, (SELECT id FROM "
                          "executors WHERE is_default = 1)) = e.id) ORDER BY e.id LIMIT 1"));
  return words_of_silence(row.with());
}

Result<std::optional<JobStop>> job_stop(Database& db, std::int64_t job) {
  BERTH_ASSIGN(
      Statement row,
      db.prepare(
          "SELECT s.rule, coalesce(b.name, s.beneficiary_id), s.stop_at, r.id IS NOT NULL, r.state = "
          "'stopping' AND r.stop_state = 'cancelled', (SELECT max(time) FROM run_changes WHERE run_id = "
          "r.id AND r.state = 'stopping' AND to_state = 'stopping'), EXISTS (SELECT 1 FROM outbox o WHERE "
          "o.run_id = r.id AND o.told_at IS NULL AND (o.kind = 'signal' OR (o.kind = 'stop' AND (j.checkpoint_signal = "
          "'' OR r.stop_state = 'cancelled')))), r.told_at IS NOT NULL FROM jobs j LEFT JOIN stopping_jobs "
          "s ON s.job_id = j.id LEFT JOIN jobs b ON b.id = s.beneficiary_id AND s.rule <> 'loan' LEFT "
          "JOIN runs r ON r.job_id = j.id AND r.end_time IS NULL WHERE j.id = ?1"));
  const bool is_there = row.with(job).next();
  BERTH_TRY(row.status());
  const bool is_evicted = is_there && !row.is_null(0);
  const bool is_stopped = is_there && !row.is_null(5);
  if (!is_evicted && !is_stopped) return std::optional<JobStop>();
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  JobStop stop;
  stop.has_executor = row.integer(3) != 0;
  stop.end = row.quantity<Seconds>(is_stopped ? 5 : 2) + (stop.has_executor ? settings.stop_grace : Seconds(0));
  stop.is_cancelled = is_stopped && row.integer(4) != 0;
  if (is_evicted && !stop.is_cancelled)
    stop.beneficiary = fmt::format("{} {} (rule {})", row.text(0) == "loan" ? "loan" : "job", row.text(1), row.text(0));
  BERTH_ASSIGN(stop.silence, silence_of(db, job));
  // Before its signal or its end is due nothing is there to tell.
  stop.is_told = row.integer(6) == 0 && (stop.silence.empty() || is_stopped || row.integer(7) != 0);
  return std::optional(std::move(stop));
}

std::string overdue_words(const JobStop& stop) {
  if (!stop.has_executor) return "the next round ends it";
  return fmt::format("its executor has not yet said that it ended{}{}", stop.silence.empty() ? "" : ": ", stop.silence);
}

Result<bool> is_stopping(Database& db, std::int64_t job) {
  BERTH_ASSIGN(const std::optional<JobStop> stop, job_stop(db, job));
  return stop.has_value();
}

Result<std::string> state_sentence(Database& db, std::int64_t job, JobState state, Seconds now) {
  switch (state) {
    case JobState::kRunning: {
      BERTH_ASSIGN(std::string stopping, stopping_sentence(db, job, now));
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
