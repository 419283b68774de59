#include "engine/runtime/backtest_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/sim/trace_model.h"
#include "engine/store/past_jobs.h"

namespace berth {

namespace {

// Columns of the walk over jobs, in its order.
enum HistoryColumn {
  kId,
  kName,
  kQueue,
  kPriorityClass,
  kUser,
  kTag,
  kSubmit,
  kState,
  kStart,
  kEnd,
  kTimeLimit,
  kPreemptible,
  kCheckpointInterval,
  kCheckpointGrace,
  kRestartCost,
  kMinRuntime,
  kPredicted,
  kEvictions,
  kDependencies,
  kHeldMilliSeconds,
  kWasHeld,
};

// ?1 = the beginning. A job that its user held from its submission on, or before it ever ran at the beginning, arrives
// when it is released.
constexpr std::string_view kHistoryColumns =
    "j.id, j.name, q.name, coalesce(c.name, ''), j.user_name, j.tag, max(j.submit_time, coalesce((SELECT "
    "max(w.to_time) FROM wait_stretches w WHERE w.job_id = j.id AND w.cause = 'held' AND (w.from_time <= j.submit_time "
    "OR (w.from_time < ?1 AND w.to_time > ?1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id AND "
    "r.start_time <= w.from_time)))), 0)) AS arrival, j.state, j.start_time, j.end_time, "
    "j.time_limit_s, j.preemptible, j.checkpoint_interval_s, j.checkpoint_grace_s, j.restart_cost_s, j.min_runtime_s, "
    "j.predicted_p50_s, j.evictions, EXISTS (SELECT 1 FROM dependencies d WHERE d.job_id = j.id), j.attained_milli_s + "
    "iif(j.state <> 'running', 0, (SELECT coalesce(sum(a.gpu_milli * g.gpu_count * max(0, ?3 - a.start_time)), 0) FROM "
    "allocations a JOIN task_groups g ON g.job_id = a.job_id AND g.group_index = a.group_index WHERE a.job_id = "
    "j.id)), "
    "EXISTS (SELECT 1 FROM wait_stretches w WHERE w.job_id = j.id AND w.cause = 'held') "
    "FROM jobs j JOIN queues q ON q.id = j.queue_id LEFT JOIN priority_classes c ON c.id = j.priority_class_id ";

struct Attempt {
  Seconds start;
  Seconds end;
  bool is_imported = false;  // it ran elsewhere, and nobody said when it started
};

// What an attempt that did not end the job lost, and what the next one began with.
Seconds undone_by(const TraceTerms& terms, const Attempt& attempt) {
  const Seconds elapsed = attempt.end - attempt.start;
  Seconds unsaved = elapsed;
  if (terms.checkpoint_grace > Seconds(0)) {
    unsaved = Seconds(0);
  } else if (const Seconds every = terms.checkpoint_every.value_or(Seconds(0)); every > Seconds(0)) {
    unsaved = Seconds(elapsed.value() % every.value());
  }
  return unsaved + terms.restart_cost.value_or(Seconds(0));
}

// Work from the start of attempt `first` to the end of the last one.
Seconds work_from(const TraceTerms& terms, const std::vector<Attempt>& attempts, std::size_t first) {
  Seconds work;
  for (std::size_t i = first; i < attempts.size(); ++i) {
    work += attempts[i].end - attempts[i].start;
    if (i + 1 < attempts.size()) work -= undone_by(terms, attempts[i]);
  }
  return std::max(work, Seconds(0));
}

class HistoryReader {
 public:
  HistoryReader(Runtime& runtime, const HistoryRequest& request) : runtime_(runtime), request_(request) {}

  Result<RecordedHistory> read() {
    BERTH_ASSIGN(const Transaction one_view, Transaction::begin_read(db()));
    BERTH_TRY(read_window());
    if (history_.counted.empty()) return nothing_there();
    BERTH_TRY(read_learnt());
    BERTH_TRY(read_held());
    if (request_.asks_for_use) BERTH_TRY(read_used());
    return std::move(history_);
  }

 private:
  Database& db() { return runtime_.db(); }
  Status read_window();
  Status add(const Statement& row);
  Status read_learnt();
  Status read_held();
  Status read_used();
  Status nothing_there();
  TraceJob job_of(const Statement& row) const;
  Status add_groups(std::int64_t id, TraceJob& job);
  Result<std::vector<Attempt>> attempts_of(const Statement& row);
  Result<JobResult> recorded_of(const Statement& row, const std::vector<Attempt>& attempts, bool has_ended);
  Status leave_out_holds(const Statement& row, JobResult& recorded);
  void resume(const std::vector<Attempt>& attempts, Seconds assumed, const TraceJob& job);

  Runtime& runtime_;
  const HistoryRequest& request_;
  RecordedHistory history_;
};

TraceJob HistoryReader::job_of(const Statement& row) const {
  TraceJob job;
  job.name = row.text(kName);
  job.place = fmt::format("job '{}'", job.name);
  job.queue = row.text(kQueue);
  job.priority = row.text(kPriorityClass);
  job.user = row.text(kUser);
  job.tag = row.text(kTag);
  job.submit = row.quantity<Seconds>(kSubmit);
  job.time_limit = row.quantity<Seconds>(kTimeLimit);
  job.terms.preemptible = row.integer(kPreemptible) != 0;
  job.terms.checkpoint_every = row.quantity<Seconds>(kCheckpointInterval);
  job.terms.checkpoint_grace = row.quantity<Seconds>(kCheckpointGrace);
  job.terms.restart_cost = row.quantity<Seconds>(kRestartCost);
  if (!row.is_null(kMinRuntime)) job.terms.min_runtime = row.quantity<Seconds>(kMinRuntime);
  return job;
}

Status HistoryReader::add_groups(std::int64_t id, TraceJob& job) {
  BERTH_ASSIGN(Statement rows,
               db().prepare("SELECT g.name, g.task_count, g.min_tasks, g.cpu_milli, g.memory_mib, g.gpu_count, "
                            "g.gpu_milli, g.gpu_memory_mib, coalesce(g.models, ''), coalesce(p.name, ''), g.locality, "
                            "g.locality_required FROM task_groups g LEFT JOIN pools p ON p.id = g.pool_id "
                            "WHERE g.job_id = ?1 ORDER BY g.group_index"));
  rows.with(id);
  while (rows.next()) {
    TraceTaskGroup& group = job.groups.emplace_back();
    group.name = rows.text(0);
    group.tasks = static_cast<std::int32_t>(rows.integer(1));
    group.min_tasks = static_cast<std::int32_t>(rows.integer(2));
    group.cpu = rows.quantity<MilliCpu>(3);
    group.memory = rows.quantity<MiB>(4);
    group.gpu_count = static_cast<std::int32_t>(rows.integer(5));
    group.gpu_milli = rows.quantity<MilliGpu>(6);
    group.gpu_memory = rows.quantity<MiB>(7);
    group.models = rows.text(8);
    group.pool = rows.text(9);
    BERTH_ASSIGN(group.locality, read_locality(rows.text(10)));
    group.locality_required = rows.integer(11) != 0;
  }
  if (job.groups.size() == 1) job.groups.front().name.clear();  // results name its tasks as trace files do
  return rows.status();
}

// Ended ones, and the one that runs, up to now.
Result<std::vector<Attempt>> HistoryReader::attempts_of(const Statement& row) {
  std::vector<Attempt> attempts;
  BERTH_ASSIGN(Statement rows, db().prepare("SELECT start_time, coalesce(end_time, ?2), detail = ?3 FROM runs "
                                            "WHERE job_id = ?1 ORDER BY attempt"));
  rows.with(row.integer(kId), runtime_.now(), kImported);
  while (rows.next()) {
    const auto start = rows.quantity<Seconds>(0);
    attempts.push_back({start, std::max(rows.quantity<Seconds>(1), start), rows.integer(2) != 0});
  }
  BERTH_TRY(rows.status());
  if (row.text(kState) != "running") return attempts;
  const auto start = row.quantity<Seconds>(kStart);
  if (attempts.empty() || attempts.back().start < start) {
    attempts.push_back({start, std::max(runtime_.now(), start)});
  }
  return attempts;
}

Result<JobResult> HistoryReader::recorded_of(const Statement& row, const std::vector<Attempt>& attempts,
                                             bool has_ended) {
  JobResult recorded;
  if (attempts.empty()) return recorded;
  recorded.start = attempts.front().start;
  if (has_ended) recorded.end = row.quantity<Seconds>(kEnd);
  recorded.delivered = row.integer(kHeldMilliSeconds);
  if (row.integer(kWasHeld) != 0) BERTH_TRY(leave_out_holds(row, recorded));
  if (row.integer(kEvictions) == 0) return recorded;
  recorded.evictions = static_cast<std::int32_t>(row.integer(kEvictions));
  BERTH_ASSIGN(Statement lost, db().prepare("SELECT coalesce(sum(lost_gpu_milli_s), 0) FROM evictions "
                                            "WHERE victim_id = ?1 AND state = 'done'"));
  if (lost.with(row.integer(kId)).next()) recorded.lost = lost.integer(0);
  BERTH_TRY(lost.status());
  return recorded;
}

// What its user held it for since it arrived was no waiting: as if it had started and ended so much earlier.
Status HistoryReader::leave_out_holds(const Statement& row, JobResult& recorded) {
  BERTH_ASSIGN(Statement holds, db().prepare("SELECT to_time, to_time - from_time FROM wait_stretches WHERE job_id = "
                                             "?1 AND cause = 'held' AND from_time >= ?2"));
  holds.with(row.integer(kId), row.quantity<Seconds>(kSubmit));
  Seconds before_start;
  Seconds in_all;
  while (holds.next()) {
    if (holds.quantity<Seconds>(0) <= recorded.start) before_start += holds.quantity<Seconds>(1);
    in_all += holds.quantity<Seconds>(1);
  }
  recorded.start -= before_start;
  if (recorded.end >= Seconds(0)) recorded.end -= in_all;
  return holds.status();
}

// The job just added was submitted before the beginning: what is left of it then.
void HistoryReader::resume(const std::vector<Attempt>& attempts, Seconds assumed, const TraceJob& job) {
  ResumedJob resumed{
      .job = history_.jobs.size() - 1, .start = Seconds(-1), .left = *job.duration, .first_start = Seconds(-1)};
  if (!attempts.empty() && attempts.front().start < request_.from) resumed.first_start = attempts.front().start;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (attempts[i].end <= request_.from) {
      resumed.left = i + 1 < attempts.size() ? work_from(job.terms, attempts, i + 1) + assumed : assumed;
    } else if (attempts[i].start < request_.from) {
      resumed.start = attempts[i].start;
      resumed.left = work_from(job.terms, attempts, i) + assumed;
      ++history_.running_at_start;
      break;
    }
  }
  history_.resumed.push_back(resumed);
}

Status HistoryReader::add(const Statement& row) {
  BERTH_ASSIGN(const JobState state, read_job_state(row.text(kState)));
  const bool has_ended = !row.is_null(kEnd);
  BERTH_ASSIGN(const std::vector<Attempt> attempts, attempts_of(row));
  const bool is_withdrawn = has_ended && attempts.empty();
  const bool waited_for_room =
      row.integer(kDependencies) == 0 && row.quantity<Seconds>(kEnd) > row.quantity<Seconds>(kSubmit);
  if (is_withdrawn && !waited_for_room) {
    ++history_.never_ran;
    return {};
  }
  if (state == JobState::kHeld && attempts.empty()) {
    ++history_.still_held;
    return {};
  }
  history_.released += row.integer(kWasHeld);
  if (!has_ended) ++history_.unfinished;
  if (!has_ended && request_.unfinished == Unfinished::kLeftOut) return {};
  TraceJob job = job_of(row);
  BERTH_TRY(add_groups(row.integer(kId), job));
  job.outcome = has_ended ? state : JobState::kFinished;
  const Seconds done = work_from(job.terms, attempts, 0);
  Seconds assumed;  // beyond what has been seen
  if (!has_ended || is_withdrawn) {
    Seconds expected = request_.default_duration;
    if (job.time_limit > Seconds(0)) expected = job.time_limit;
    if (!row.is_null(kPredicted)) expected = row.quantity<Seconds>(kPredicted);
    assumed = std::max(expected - done, Seconds(0));
  }
  job.duration = done + assumed;
  history_.dependent += row.integer(kDependencies);
  history_.withdrawn += is_withdrawn ? 1 : 0;
  if (attempts.empty() && row.integer(kDependencies) == 0) {
    history_.accepted.push_back({.job = history_.jobs.size(),
                                 .until = is_withdrawn ? row.quantity<Seconds>(kEnd) : runtime_.now(),
                                 .leaves = is_withdrawn});
  }
  history_.jobs.push_back(std::move(job));
  const TraceJob& added = history_.jobs.back();
  if (added.submit < request_.from) {
    resume(attempts, assumed, added);
    return {};
  }
  BERTH_ASSIGN(const JobResult recorded, recorded_of(row, attempts, has_ended));
  const bool ran_elsewhere = !attempts.empty() && attempts.front().is_imported;
  history_.knows_waits = history_.knows_waits || !ran_elsewhere || recorded.start > added.submit;
  history_.counted.push_back({.name = added.name, .queue = -1, .submit = added.submit, .duration = *added.duration});
  history_.recorded.push_back(recorded);
  return {};
}

Status HistoryReader::read_window() {
  BERTH_ASSIGN(Statement rows,
               db().prepare(fmt::format("SELECT {} WHERE j.submit_time < ?2 AND arrival < ?2 AND (arrival >= ?1 OR "
                                        "j.end_time IS NULL OR j.end_time > ?1) ORDER BY arrival, j.id",
                                        kHistoryColumns)));
  rows.with(request_.from, request_.to, runtime_.now());
  while (rows.next()) BERTH_TRY(add(rows));
  history_.first_counted = history_.jobs.size() - history_.counted.size();
  return rows.status();
}

// As a database learns of ends (prediction_records.h): nothing of a run that went on from a checkpoint, for it is only
// a part.
Status HistoryReader::read_learnt() {
  BERTH_ASSIGN(Statement rows, db().prepare(fmt::format(
                                   "SELECT {} WHERE j.end_time <= ?1 AND j.end_time > j.start_time AND NOT "
                                   "(j.evictions > 0 AND (j.checkpoint_interval_s > 0 OR j.checkpoint_grace_s > 0)) "
                                   "AND j.start_time IS NOT NULL ORDER BY j.end_time, j.id",
                                   kHistoryColumns)));
  rows.with(request_.from);
  while (rows.next()) {
    TraceJob job = job_of(rows);
    const auto end = rows.quantity<Seconds>(kEnd);
    const Seconds duration = end - rows.quantity<Seconds>(kStart);
    BERTH_ASSIGN(const JobState state, read_job_state(rows.text(kState)));
    if (!teaches_duration(state, duration, job.time_limit)) continue;
    BERTH_TRY(add_groups(rows.integer(kId), job));
    history_.learnt.push_back({features_of(job), duration, end});
  }
  return rows.status();
}

// A run held what it held last since run_sizes says no more. ?1 to ?2: the stretch that counts.
constexpr std::string_view kHeldSql =
    "WITH held (job_id, gpu_milli, from_time, to_time) AS ("
    "SELECT job_id, gpu_milli, from_time, to_time FROM run_sizes WHERE from_time < ?2 AND to_time > ?1 UNION ALL "
    "SELECT job_id, gpu_milli, max(start_time, coalesce((SELECT max(s.to_time) FROM run_sizes s WHERE s.job_id = "
    "runs.job_id AND s.to_time <= coalesce(runs.end_time, ?2)), 0)), coalesce(end_time, ?2) FROM runs "
    "WHERE start_time < ?2 AND coalesce(end_time, ?2) > ?1 UNION ALL "
    // Those that run without an executor: they become runs when they end.
    "SELECT j.id, s.gpu_total_milli, max(j.start_time, coalesce((SELECT max(z.to_time) FROM run_sizes z WHERE z.job_id "
    "= j.id), 0)), ?2 FROM live_jobs j JOIN allocation_sizes s ON s.job_id = j.id WHERE j.state = 'running' "
    "AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id AND r.end_time IS NULL)) ";

Status HistoryReader::read_held() {
  BERTH_ASSIGN(Statement sum, db().prepare(fmt::format("{}SELECT coalesce(sum(gpu_milli * max(0, min(to_time, ?2) - "
                                                       "max(from_time, ?1))), 0) FROM held",
                                                       kHeldSql)));
  if (sum.with(request_.from, std::min(request_.to, runtime_.now())).next()) history_.held = sum.integer(0);
  return sum.status();
}

Status HistoryReader::read_used() {
  BERTH_ASSIGN(Statement rows,
               db().prepare(fmt::format("{}SELECT q.name, h.gpu_milli, h.from_time, min(h.to_time, ?2) FROM held h "
                                        "JOIN jobs j ON j.id = h.job_id JOIN queues q ON q.id = j.queue_id WHERE "
                                        "h.gpu_milli > 0 AND h.from_time < min(h.to_time, ?2) ORDER BY h.from_time, "
                                        "h.job_id",
                                        kHeldSql)));
  rows.with(Seconds(0), request_.from);
  while (rows.next()) {
    history_.used.push_back({.queue = std::string(rows.text(0)),
                             .gpu = rows.quantity<MilliGpu>(1),
                             .start = rows.quantity<Seconds>(2),
                             .end = rows.quantity<Seconds>(3)});
  }
  return rows.status();
}

Status HistoryReader::nothing_there() {
  const std::string between = fmt::format("between {} and {}", print_time(request_.from), print_time(request_.to));
  BERTH_ASSIGN(Statement row, db().prepare("SELECT count(*), min(submit_time), max(submit_time) FROM jobs"));
  if (!row.next()) return row.status();
  if (row.integer(0) == 0) {
    return Status(Code::kInvalid, "this database has no jobs to go by", "IMPORT TRACE brings jobs that ran elsewhere");
  }
  if (history_.unfinished + history_.never_ran + history_.still_held > 0) {
    return Status(Code::kInvalid, fmt::format("of what was submitted {} no job is known to its end", between));
  }
  return Status(Code::kInvalid, fmt::format("no job was submitted {}", between),
                fmt::format("the first was at {}, the last at {}", print_time(row.quantity<Seconds>(1)),
                            print_time(row.quantity<Seconds>(2))));
}

}  // namespace

Result<RecordedHistory> read_recorded_history(Runtime& runtime, const HistoryRequest& request) {
  return HistoryReader(runtime, request).read();
}

}  // namespace berth
