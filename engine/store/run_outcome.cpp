#include "engine/store/run_outcome.h"

namespace berth {

namespace {

// Of each task: live, well, evicted, failed or lost. ?1 is the run.
constexpr std::string_view kEndsOfTasks =
    "WITH ends AS (SELECT CASE WHEN t.phase IN ('pending', 'starting', 'running') THEN 'live' "
    "WHEN t.end_time >= r.told_at AND t.end_time <= coalesce(r.told_until, t.end_time) "
    "THEN iif(t.said_done, 'well', 'evicted') "
    "WHEN t.phase = 'lost' THEN iif(t.said_done, 'well', 'lost') "
    "WHEN t.exit_code <> 0 OR t.end_signal <> 0 OR t.detail <> '' THEN 'failed' ELSE 'well' END AS kind, "
    "t.detail, t.end_time, t.end_signal, t.group_index, t.task_index "
    "FROM run_tasks t JOIN runs r ON r.id = t.run_id WHERE t.run_id = ?1) ";

struct EndCounts {
  std::int64_t live = 0;
  std::int64_t evicted = 0;
  std::int64_t failed = 0;
  std::int64_t lost = 0;
};

Result<EndCounts> count_ends(Database& db, std::int64_t run) {
  BERTH_ASSIGN(Statement row, db.prepare(std::string(kEndsOfTasks) +
                                         "SELECT count(*) FILTER (WHERE kind = 'live'), count(*) FILTER (WHERE kind = "
                                         "'evicted'), count(*) FILTER (WHERE kind = 'failed'), count(*) FILTER (WHERE "
                                         "kind = 'lost') FROM ends"));
  EndCounts counts;
  if (row.with(run).next()) counts = {row.integer(0), row.integer(1), row.integer(2), row.integer(3)};
  BERTH_TRY(row.status());
  return counts;
}

// What the others were told to stop for, when they were. Else those that ended by themselves speak before those that
// were told to; within one second TERM speaks last, which is what launchers send to the rest of a gang.
Result<std::string> first_bad_end(Database& db, const LiveRun& live) {
  if (live.state == RunState::kStopping &&
      (live.stop_state == RunState::kFailed || live.stop_state == RunState::kLost)) {
    BERTH_ASSIGN(Statement stopped, db.prepare("SELECT detail FROM runs WHERE id = ?1"));
    if (stopped.with(live.id).next() && !stopped.text(0).empty()) return std::string(stopped.text(0));
    BERTH_TRY(stopped.status());
  }
  const std::int64_t run = live.id;
  BERTH_ASSIGN(Statement row,
               db.prepare(std::string(kEndsOfTasks) +
                          "SELECT detail FROM ends WHERE kind IN ('evicted', 'failed', 'lost') ORDER BY kind = "
                          "'evicted', end_time, end_signal IS 15, group_index, task_index LIMIT 1"));
  std::string detail;
  if (row.with(run).next()) detail = row.text(0);
  BERTH_TRY(row.status());
  return detail;
}

RunState state_of_ended(const EndCounts& counts, const LiveRun& run) {
  const bool went_wrong = counts.evicted + counts.failed + counts.lost > 0;
  const bool was_stopped = run.state == RunState::kStopping && run.stop_state;
  if (was_stopped && run.stop_state == RunState::kCancelled) return RunState::kCancelled;
  if (was_stopped && run.stop_state != RunState::kEvicted && went_wrong) return *run.stop_state;
  if (counts.failed > 0) return RunState::kFailed;
  if (counts.lost > 0) return RunState::kLost;
  return counts.evicted > 0 ? RunState::kEvicted : RunState::kSucceeded;
}

}  // namespace

Result<RunOutcome> judge_run(Database& db, const LiveRun& run) {
  BERTH_ASSIGN(const EndCounts counts, count_ends(db, run.id));
  RunOutcome outcome;
  outcome.has_live_tasks = counts.live > 0;
  if (!outcome.has_live_tasks) {
    outcome.state = state_of_ended(counts, run);
  } else if (counts.failed + counts.lost > 0) {
    outcome.state = counts.failed > 0 ? RunState::kFailed : RunState::kLost;
  }
  if (counts.evicted + counts.failed + counts.lost > 0) {
    BERTH_ASSIGN(outcome.detail, first_bad_end(db, run));
  }
  return outcome;
}

}  // namespace berth
