#include "engine/store/run_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 9> kRunStateNames = {"pending", "starting", "running", "stopping", "succeeded",
                                                            "failed",  "evicted",  "lost",    "cancelled"};

// Effects of one round, or of one statement, numbered on.
class OutboxWriter {
 public:
  static Result<OutboxWriter> make(Database& db, std::int64_t round, Seconds now) {
    BERTH_ASSIGN(const std::int64_t last,
                 round > 0
                     ? db.integer(fmt::format("SELECT coalesce(max(seq), 0) FROM outbox WHERE round_id = {}", round))
                     : db.integer("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'outbox'"));
    BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO outbox (round_id, seq, executor_id, kind, run_id, sequence, "
                                              "created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
    return OutboxWriter(std::move(insert), round, last, now);
  }
  Status put(std::int64_t executor, std::string_view kind, std::int64_t run, std::int64_t sequence) {
    return insert_.run(round_, ++seq_, executor, kind, run, sequence, now_);
  }

 private:
  OutboxWriter(Statement insert, std::int64_t round, std::int64_t last, Seconds now)
      : insert_(std::move(insert)), round_(round), seq_(last), now_(now) {}
  Statement insert_;
  std::int64_t round_;
  std::int64_t seq_;
  Seconds now_;
};

Status note_change(Database& db, std::int64_t run, std::string_view from, RunState to, std::string_view detail,
                   Seconds now) {
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO run_changes (run_id, time, from_state, to_state, detail) "
                                            "VALUES (?1, ?2, ?3, ?4, ?5)"));
  return insert.run(run, now, from, run_state_name(to), detail);
}

// Tells every executor that has live tasks of the run.
Status tell_executors(Change& change, std::int64_t run, std::string_view kind) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement executors,
               db.prepare("SELECT DISTINCT executor_id FROM run_tasks WHERE run_id = ?1 AND (phase = 'pending' OR "
                          "phase = 'starting' OR phase = 'running') ORDER BY executor_id"));
  executors.with(run);
  std::vector<std::int64_t> told;
  while (executors.next()) told.push_back(executors.integer(0));
  BERTH_TRY(executors.status());
  BERTH_ASSIGN(OutboxWriter outbox, OutboxWriter::make(db, 0, change.now()));
  for (const std::int64_t executor : told) BERTH_TRY(outbox.put(executor, kind, run, 0));
  return {};
}

// Which executor each placement goes to, of jobs that have a command; 0 = none.
class LaunchTargets {
 public:
  static Result<LaunchTargets> make(Database& db) {
    BERTH_ASSIGN(Statement executor,
                 db.prepare("SELECT coalesce(p.executor_id, (SELECT id FROM executors WHERE is_default = 1), 0) "
                            "FROM nodes n LEFT JOIN pools p ON p.id = n.pool_id WHERE n.id = ?1"));
    BERTH_ASSIGN(Statement command, db.prepare("SELECT command IS NOT NULL FROM jobs WHERE id = ?1"));
    return LaunchTargets(std::move(executor), std::move(command));
  }
  Result<std::int64_t> of(const Placement& placement) {
    BERTH_ASSIGN(const std::int64_t has_command, value_of(placement.job, command_, commands_));
    if (has_command == 0) return std::int64_t{0};
    return value_of(placement.node_id, executor_, executors_);
  }

 private:
  LaunchTargets(Statement executor, Statement command) : executor_(std::move(executor)), command_(std::move(command)) {}
  static Result<std::int64_t> value_of(std::int64_t key, Statement& row, std::map<std::int64_t, std::int64_t>& known) {
    const auto [entry, is_new] = known.try_emplace(key, 0);
    if (!is_new) return entry->second;
    if (row.with(key).next()) entry->second = row.integer(0);
    BERTH_TRY(row.status());
    return entry->second;
  }
  Statement executor_;
  Statement command_;
  std::map<std::int64_t, std::int64_t> executors_;
  std::map<std::int64_t, std::int64_t> commands_;
};

// The live run of a job, made if there is none; 0 = there shall be none: it began without an executor, so what joins it
// now would run without the rest of its gang.
Result<std::int64_t> run_for_launch(Change& change, std::int64_t round, std::int64_t job) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::optional<LiveRun> live, live_run_of(db, job));
  if (live) return live->id;
  BERTH_ASSIGN(
      Statement insert,
      db.prepare("INSERT INTO runs (generation, job_id, attempt, state, start_time, tasks, gpu_milli, nodes) SELECT "
                 "coalesce((SELECT value FROM meta WHERE key = 'generation'), 0), ?1, 1 + "
                 "(SELECT coalesce(max(attempt), 0) FROM runs WHERE job_id = ?1), 'pending', ?2, 0, 0, '[]' WHERE "
                 "NOT EXISTS (SELECT 1 FROM allocations WHERE job_id = ?1 AND round_id IS NOT ?3)"));
  BERTH_TRY(insert.run(job, change.now(), round));
  if (db.changed_rows() == 0) return std::int64_t{0};
  const std::int64_t run = db.last_row_id();
  BERTH_TRY(note_change(db, run, "", RunState::kPending, "", change.now()));
  return run;
}

}  // namespace

std::string_view run_state_name(RunState state) { return kRunStateNames[static_cast<std::size_t>(state)]; }

Result<RunState> read_run_state(std::string_view text) {
  const auto found = std::ranges::find(kRunStateNames, text);
  if (found == kRunStateNames.end()) return Status(Code::kCorrupt, fmt::format("'{}' is not a state of a run", text));
  return static_cast<RunState>(found - kRunStateNames.begin());
}

RunState run_state_of(JobState ended) {
  if (ended == JobState::kFailed) return RunState::kFailed;
  return ended == JobState::kCancelled ? RunState::kCancelled : RunState::kSucceeded;
}

Result<std::optional<LiveRun>> live_run_of(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT id, attempt, state, stop_state, generation, told_at FROM runs WHERE "
                                         "job_id = ?1 AND end_time IS NULL"));
  if (!row.with(job).next()) {
    BERTH_TRY(row.status());
    return std::optional<LiveRun>();
  }
  LiveRun run;
  run.id = row.integer(0);
  run.job = job;
  run.attempt = row.integer(1);
  BERTH_ASSIGN(run.state, read_run_state(row.text(2)));
  if (!row.is_null(3)) {
    BERTH_ASSIGN(run.stop_state, read_run_state(row.text(3)));
  }
  run.generation = row.integer(4);
  if (!row.is_null(5)) run.told_at = row.quantity<Seconds>(5);
  return std::optional(run);
}

Status write_launches(Change& change, std::int64_t round, std::span<const Placement> placements) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t any, db.integer("SELECT EXISTS (SELECT 1 FROM executors)"));
  if (any == 0 || placements.empty()) return {};
  BERTH_ASSIGN(LaunchTargets targets, LaunchTargets::make(db));
  std::vector<std::pair<std::int64_t, const Placement*>> launched;  // by job, then executor
  for (const Placement& placement : placements) {
    BERTH_ASSIGN(const std::int64_t executor, targets.of(placement));
    if (executor != 0) launched.emplace_back(executor, &placement);
  }
  std::sort(launched.begin(), launched.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->job, a.first, a.second->group, a.second->task) <
           std::tie(b.second->job, b.first, b.second->group, b.second->task);
  });
  BERTH_ASSIGN(Statement last, db.prepare("SELECT coalesce(max(sequence), -1) FROM run_tasks WHERE run_id = ?1"));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO run_tasks (run_id, group_index, task_index, executor_id, "
                                            "sequence, node_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  BERTH_ASSIGN(OutboxWriter outbox, OutboxWriter::make(db, round, change.now()));
  std::int64_t run = 0;
  std::int64_t sequence = 0;
  for (std::size_t i = 0; i < launched.size(); ++i) {
    const auto& [executor, placement] = launched[i];
    const bool is_same_job = i > 0 && launched[i - 1].second->job == placement->job;
    if (!is_same_job) {
      BERTH_ASSIGN(run, run_for_launch(change, round, placement->job));
      sequence = last.with(run).next() ? last.integer(0) : -1;
      BERTH_TRY(last.status());
      if (run != 0) BERTH_TRY(note_held(db, run, placement->job));
    }
    if (run == 0) continue;
    if (!is_same_job || launched[i - 1].first != executor) BERTH_TRY(outbox.put(executor, "launch", run, ++sequence));
    BERTH_TRY(insert.run(run, placement->group, placement->task, executor, sequence, placement->node_id));
  }
  return {};
}

Status set_run_state(Database& db, const LiveRun& run, RunState to, std::string_view detail, Seconds now) {
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE runs SET state = ?2 WHERE id = ?1"));
  BERTH_TRY(update.run(run.id, run_state_name(to)));
  return note_change(db, run.id, run_state_name(run.state), to, detail, now);
}

Status stop_run(Change& change, const LiveRun& run, RunState stop_state, std::string_view detail) {
  if (run.state == RunState::kStopping) {
    if (stop_state != RunState::kCancelled) return {};
    BERTH_ASSIGN(Statement cancel, change.db().prepare("UPDATE runs SET stop_state = 'cancelled' WHERE id = ?1"));
    return cancel.run(run.id);
  }
  BERTH_ASSIGN(Statement update,
               change.db().prepare("UPDATE runs SET state = 'stopping', stop_state = ?2, detail = ?3 WHERE id = ?1"));
  BERTH_TRY(update.run(run.id, run_state_name(stop_state), detail));
  if (stop_state == RunState::kEvicted) {
    BERTH_ASSIGN(Statement told, change.db().prepare("UPDATE runs SET told_at = coalesce(told_at, ?2), told_until = "
                                                     "NULL WHERE id = ?1"));
    BERTH_TRY(told.run(run.id, change.now()));
  }
  BERTH_TRY(note_change(change.db(), run.id, run_state_name(run.state), RunState::kStopping,
                        fmt::format("{}{}{}", run_state_name(stop_state), detail.empty() ? "" : ": ", detail),
                        change.now()));
  return tell_executors(change, run.id, "stop");
}

Result<Seconds> end_of_tasks(Change& change, const LiveRun& run) {
  BERTH_ASSIGN(Statement row,
               change.db().prepare("SELECT max(r.start_time, min(?2, coalesce((SELECT max(end_time) FROM run_tasks "
                                   "WHERE run_id = r.id), ?2))) FROM runs r WHERE r.id = ?1"));
  const Seconds end = row.with(run.id, change.now()).next() ? row.quantity<Seconds>(0) : change.now();
  BERTH_TRY(row.status());
  return end;
}

Status note_held(Database& db, std::int64_t run, std::int64_t job) {
  BERTH_ASSIGN(
      Statement held,
      db.prepare("UPDATE runs SET (tasks, gpu_milli, nodes) = (SELECT count(*), coalesce(sum(a.gpu_milli * "
                 "g.gpu_count), 0), json_group_array(DISTINCT n.name) FROM allocations a JOIN nodes n ON n.id = "
                 "a.node_id JOIN task_groups g ON g.job_id = a.job_id AND g.group_index = a.group_index "
                 "WHERE a.job_id = ?2) WHERE id = ?1"));
  return held.run(run, job);
}

Status end_live_run(Change& change, const LiveRun& run, RunState ended, std::string_view detail, Seconds at) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE runs SET state = ?2, end_time = max(?3, start_time), detail = ?4 "
                                            "WHERE id = ?1"));
  BERTH_TRY(update.run(run.id, run_state_name(ended), at, detail));
  BERTH_TRY(note_change(db, run.id, run_state_name(run.state), ended, detail, change.now()));
  BERTH_ASSIGN(Statement told, db.prepare("DELETE FROM outbox WHERE run_id = ?1"));
  return told.run(run.id);
}

Status signal_run(Change& change, const LiveRun& run) {
  BERTH_ASSIGN(Statement row, change.db().prepare("SELECT checkpoint_signal <> '' FROM jobs WHERE id = ?1"));
  const bool has_signal = row.with(run.job).next() && row.integer(0) != 0;
  BERTH_TRY(row.status());
  if (!has_signal || run.state == RunState::kStopping) return {};
  return tell_executors(change, run.id, "signal");
}

Status note_signalled(Database& db, std::int64_t run, Seconds now, Seconds stop_grace) {
  // told_at stays while tasks may still end for an earlier signal. told_until does not bind a run that is told to stop.
  // Tasks have as long after a signal as after a stop.
  BERTH_ASSIGN(Statement told,
               db.prepare("UPDATE runs SET told_at = iif(told_until >= ?2, told_at, ?2), told_until = "
                          "max(coalesce(told_until, 0), (SELECT max(?2 + j.checkpoint_grace_s, coalesce(s.stop_at, 0)) "
                          "FROM jobs j LEFT JOIN stopping_jobs s ON s.job_id = j.id WHERE j.id = runs.job_id) + ?3) "
                          "WHERE id = ?1 AND state <> 'stopping'"));
  return told.run(run, now, stop_grace);
}

Status withdraw_signal(Change& change, const LiveRun& run) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement unheard,
               db.prepare("UPDATE runs SET told_until = told_until + ?2 WHERE id = ?1 AND EXISTS (SELECT 1 FROM outbox "
                          "WHERE run_id = ?1 AND kind = 'signal' AND created_at <= told_at)"));
  BERTH_TRY(unheard.run(run.id, kMayStillArrive));
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM outbox WHERE run_id = ?1 AND kind = 'signal'"));
  return remove.run(run.id);
}

}  // namespace berth
