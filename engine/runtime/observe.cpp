#include "engine/runtime/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "engine/base/failpoint.h"
#include "engine/base/text.h"
#include "engine/runtime/cordons.h"
#include "engine/runtime/inventory.h"
#include "engine/runtime/node_watch.h"
#include "engine/runtime/strays.h"
#include "engine/store/eviction_records.h"
#include "engine/store/job_records.h"
#include "engine/store/launch_losses.h"
#include "engine/store/run_outcome.h"
#include "engine/store/run_records.h"
#include "engine/store/run_usage_records.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr Seconds kSettleTime{30};   // until a task that its executor took in must be there
constexpr Seconds kUsualStart{600};  // longer, and it is told
constexpr Seconds kKeptOutFor{300};  // longer, and it is withdrawn

enum class Phase : std::uint8_t { kPending, kStarting, kRunning };
Phase read_phase(std::string_view text) {
  return text == "pending" ? Phase::kPending : text == "starting" ? Phase::kStarting : Phase::kRunning;
}

struct AskedTask {
  std::int64_t node = 0;
  Phase phase = Phase::kPending;
  Seconds since;       // it was taken in, or planned
  std::string detail;  // why it has not begun, as far as is known
};

// The live tasks of one executor, by run; asked[i] belongs to tasks[i].
struct AskedTasks {
  std::vector<LiveTask> tasks;
  std::vector<AskedTask> asked;
  std::vector<LiveRun> runs;          // each once
  std::vector<std::size_t> first_of;  // of each run, into tasks; one more at the end
};

Result<AskedTasks> live_tasks(Database& db, std::int64_t executor) {
  AskedTasks all;
  BERTH_ASSIGN(
      Statement rows,
      db.prepare(
          "SELECT t.run_id, t.group_index, t.task_index, t.sequence, t.external, n.name, t.phase, t.node_id, "
          "r.job_id, r.attempt, r.state, r.stop_state, coalesce(t.start_time, r.start_time), r.generation, r.told_at, "
          "t.detail FROM "
          "run_tasks t "
          "INDEXED BY "
          "run_tasks_live JOIN runs r ON r.id = t.run_id JOIN nodes n ON n.id = t.node_id "
          "WHERE t.executor_id = ?1 AND (t.phase = 'pending' OR t.phase = 'starting' OR t.phase = "
          "'running') ORDER BY t.run_id, t.group_index, t.task_index"));
  rows.with(executor);
  while (rows.next()) {
    if (all.runs.empty() || all.runs.back().id != rows.integer(0)) {
      all.first_of.push_back(all.tasks.size());
      LiveRun& run = all.runs.emplace_back();
      run.id = rows.integer(0);
      run.job = rows.integer(8);
      run.attempt = rows.integer(9);
      BERTH_ASSIGN(run.state, read_run_state(rows.text(10)));
      if (!rows.is_null(11)) {
        BERTH_ASSIGN(run.stop_state, read_run_state(rows.text(11)));
      }
      run.generation = rows.integer(13);
      if (!rows.is_null(14)) run.told_at = rows.quantity<Seconds>(14);
    }
    const LiveRun& run = all.runs.back();
    all.tasks.push_back({.key = {run.job, run.attempt, static_cast<std::int32_t>(rows.integer(1)),
                                 static_cast<std::int32_t>(rows.integer(2)), run.generation},
                         .launch = {run.job, run.attempt, rows.integer(3), run.generation},
                         .external = std::string(rows.text(4)),
                         .node = std::string(rows.text(5))});
    all.asked.push_back(
        {rows.integer(7), read_phase(rows.text(6)), rows.quantity<Seconds>(12), std::string(rows.text(15))});
  }
  BERTH_TRY(rows.status());
  all.first_of.push_back(all.tasks.size());
  return all;
}

std::string end_words(const TaskObservation& seen) {
  std::string words = seen.is_out_of_time     ? "its time limit ended it"
                      : seen.is_out_of_memory ? "it had not enough memory"
                      : seen.signal != 0      ? fmt::format("signal {} ended it", seen.signal)
                                              : fmt::format("exit code {}", seen.exit_code);
  if (!seen.detail.empty()) words += ": " + seen.detail;
  return words;
}

// What one executor saw, turned into rows.
//
// Statements of others may come in between: what has ended meanwhile stays so.
class Observer {
 public:
  static Result<Observer> make(Runtime& runtime, const ExecutorRecord& executor, SyncReport& report) {
    Database& db = runtime.db();
    BERTH_ASSIGN(Statement begin,
                 db.prepare("UPDATE run_tasks SET phase = ?4, start_time = ?5, external = ?6, detail = ?7 WHERE "
                            "run_id = ?1 AND group_index = ?2 AND task_index = ?3 AND (phase = 'pending' OR phase = "
                            "'starting')"));
    BERTH_ASSIGN(Statement wait,
                 db.prepare("UPDATE run_tasks SET detail = ?4 WHERE run_id = ?1 AND group_index = ?2 AND task_index = "
                            "?3 AND phase = 'starting'"));
    BERTH_ASSIGN(
        Statement end,
        db.prepare("UPDATE run_tasks SET phase = ?4, start_time = coalesce(?5, start_time), end_time = ?6, "
                   "exit_code = ?7, end_signal = ?8, detail = ?9, cpu_s = ?10, memory_peak_mib = ?11, said_done "
                   "= ?12 WHERE "
                   "run_id = ?1 AND group_index = ?2 AND task_index = ?3 AND (phase = 'pending' OR phase = 'starting' "
                   "OR phase = 'running')"));
    return Observer(runtime, executor, report, std::move(begin), std::move(wait), std::move(end));
  }

  Status take_in(const AskedTasks& all, const Observation& seen) {
    // That tasks begin and end does not concern the state yet; that runs end does.
    BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(runtime_.db()));
    BERTH_TRY(runtime_.check_right());
    for (std::size_t r = 0; r < all.runs.size(); ++r) {
      has_begun_ = false;
      for (std::size_t i = all.first_of[r]; i < std::min(all.first_of[r + 1], seen.tasks.size()); ++i)
        BERTH_TRY(note_task(all.runs[r], all.asked[i], all.tasks[i], seen.tasks[i]));
      BERTH_TRY(note_running(all.runs[r]));
    }
    failpoint("mid_observe");
    return transaction.commit();
  }

  // Launches that their nodes have kept out for long: other nodes may have room.
  Status withdraw_kept_out() {
    if (kept_out_.empty()) return {};
    return runtime_
        .change([&](Change& change) -> Status {
          for (const KeptOut& each : kept_out_) BERTH_TRY(withdraw(change, each));
          return {};
        })
        .status();
  }

  // Runs some of whose tasks have ended, as far as that means anything for the run: seen now, or before a crash.
  Status settle_runs() {
    BERTH_ASSIGN(
        Statement rows,
        runtime_.db().prepare("SELECT r.job_id, EXISTS (SELECT 1 FROM run_tasks t WHERE t.run_id = r.id AND "
                              "(t.phase = 'pending' OR t.phase = 'starting' OR t.phase = 'running')) AS is_live, "
                              "EXISTS (SELECT 1 FROM run_tasks t WHERE t.run_id = r.id AND (t.phase = 'lost' OR "
                              "t.phase = 'ended' AND t.detail <> '')) AS is_bad FROM runs r INDEXED BY runs_live "
                              "WHERE r.end_time IS NULL AND (NOT is_live OR (is_bad AND r.state <> 'stopping'))"));
    std::vector<std::int64_t> jobs;
    while (rows.next()) jobs.push_back(rows.integer(0));
    BERTH_TRY(rows.status());
    if (jobs.empty()) return {};
    return runtime_
        .change([&](Change& change) -> Status {
          for (const std::int64_t job : jobs) BERTH_TRY(settle(change, job));
          return {};
        })
        .status();
  }

 private:
  struct KeptOut {
    LiveRun run;
    std::string why;
  };

  Observer(Runtime& runtime, const ExecutorRecord& executor, SyncReport& report, Statement begin, Statement wait,
           Statement end)
      : runtime_(runtime),
        executor_(executor),
        report_(report),
        begin_(std::move(begin)),
        wait_(std::move(wait)),
        end_(std::move(end)) {}

  Status note_task(const LiveRun& run, const AskedTask& asked, const LiveTask& task, const TaskObservation& seen) {
    const bool is_news = asked.phase != Phase::kRunning || seen.phase != TaskPhase::kRunning ||
                         runtime_.now() - asked.since < kBeginsWithin;
    if (is_news && seen.begin == TaskBegin::kBegan) BERTH_TRY(note_launch_begun(runtime_.db(), asked.node, run.job));
    switch (seen.phase) {
      case TaskPhase::kStarting: {
        if (asked.phase == Phase::kRunning) return {};
        const Seconds waited = runtime_.now() - asked.since;
        if (seen.is_stuck || (!seen.may_wait && waited > kUsualStart)) BERTH_TRY(note_stuck(task, asked, seen));
        if (seen.is_kept_out) {
          BERTH_TRY(note_kept_out(runtime_.db(), asked.node, run.job, run.attempt, runtime_.now()));
          if (waited > kKeptOutFor && asked.phase == Phase::kStarting) kept_out_.push_back({run, seen.detail});
        }
        if (asked.phase == Phase::kStarting)
          return seen.detail == asked.detail ? Status() : wait_.run(run.id, task.key.group, task.key.task, seen.detail);
        return begin_.run(run.id, task.key.group, task.key.task, "starting", runtime_.now(), seen.external,
                          seen.detail);
      }
      case TaskPhase::kRunning: {
        if (asked.phase == Phase::kRunning) return {};
        has_begun_ = true;
        const Seconds started = by_our_clock(seen.started).value_or(runtime_.now());
        return begin_.run(run.id, task.key.group, task.key.task, "running", started, seen.external, "");
      }
      case TaskPhase::kEnded: {
        has_begun_ = true;
        // By the cluster, or by Berth in a state that was undone since. A signal of an eviction that was withdrawn
        // explains no end that the cluster brought; judge_run() sees to one that it brought before the signal was over.
        if ((seen.was_told_by_others || (seen.was_told && !run.told_at)) && !seen.said_done &&
            run.state != RunState::kStopping)
          return note_end(run, task, seen, "lost", "it was told to end, and not by this state: " + end_words(seen));
        return note_end(run, task, seen, "ended", seen.succeeded() ? "" : end_words(seen));
      }
      case TaskPhase::kVanished: {
        has_begun_ = true;
        const bool was_lost = seen.begin == TaskBegin::kLost || seen.begin == TaskBegin::kNodeFailed;
        if (was_lost && run.state != RunState::kStopping)
          BERTH_TRY(note_launch_loss(runtime_.db(), asked.node, run.job, run.attempt, runtime_.now(),
                                     seen.begin == TaskBegin::kLost ? LostBy::kThisNode : LostBy::kFailedNode));
        return note_end(run, task, seen, "lost", seen.detail.empty() ? "it vanished" : seen.detail);
      }
      case TaskPhase::kAbsent: break;
    }
    // Nobody has it. One that is to stop is gone then; one that was taken in must be there after a while.
    const bool is_gone = run.state == RunState::kStopping ||
                         (asked.phase != Phase::kPending && runtime_.now() - asked.since > kSettleTime);
    return is_gone ? note_end(run, task, seen, "lost", "its executor knows nothing of it") : Status();
  }

  // Said once of an attempt, by the first of its tasks.
  Status note_stuck(const LiveTask& task, const AskedTask& asked, const TaskObservation& seen) {
    Drift drift = waiting_task(task.key.job, task.key.attempt, seen.detail.empty() ? "it has not begun" : seen.detail);
    if (seen.is_kept_out) drift.repair = "it is withdrawn when it has waited for five minutes";
    BERTH_ASSIGN(Statement said, runtime_.db().prepare("SELECT 1 FROM drift WHERE executor_id = ?1 AND kind = ?4 AND "
                                                       "object = ?2 AND time >= ?3"));
    const bool was_said = said.with(executor_.id, drift.object, asked.since, drift.kind).next();
    BERTH_TRY(said.status());
    if (was_said) return {};
    ++report_.drifts;
    return note_drift(runtime_, executor_, drift);
  }

  Status note_end(const LiveRun& run, const LiveTask& task, const TaskObservation& seen, std::string_view phase,
                  const std::string& detail) {
    BERTH_ASSIGN(const bool is_own_end, ended_untold(run, seen));
    const bool has_ended = phase == "ended";
    Seconds ended = by_our_clock(seen.ended).value_or(runtime_.now());
    // Nobody says when a vanished task ended. It was there when it was told to stop.
    if (run.told_at && (seen.was_told || seen.ended < Seconds(0))) ended = std::max(ended, *run.told_at);
    return end_.run(run.id, task.key.group, task.key.task, phase, by_our_clock(seen.started), ended,
                    has_ended ? std::optional<std::int64_t>(seen.exit_code) : std::nullopt,
                    has_ended ? std::optional<std::int64_t>(seen.signal) : std::nullopt, detail, seen.use.cpu_seconds,
                    seen.use.memory_peak, seen.said_done || is_own_end);
  }

  // Well, before its executor told it that it is to stop, or could be told that.
  Result<bool> ended_untold(const LiveRun& run, const TaskObservation& seen) {
    if (!seen.succeeded() || seen.was_told) return false;
    if (seen.is_untold) return true;
    BERTH_ASSIGN(Statement row, runtime_.db().prepare("SELECT 1 FROM outbox WHERE run_id = ?1 AND executor_id = ?2 AND "
                                                      "kind <> 'launch' AND told_at IS NULL LIMIT 1"));
    const bool is_still_to_be_told = row.with(run.id, executor_.id).next();
    BERTH_TRY(row.status());
    return is_still_to_be_told;
  }

  // What a node's clock says, which may be ahead of ours or behind: nothing seen is still to come.
  std::optional<Seconds> by_our_clock(Seconds time) const {
    return time >= Seconds(0) ? std::optional(std::min(time, runtime_.now())) : std::nullopt;
  }

  // When the last of its tasks has begun, it runs.
  Status note_running(const LiveRun& run) {
    if (!has_begun_ || (run.state != RunState::kStarting && run.state != RunState::kPending)) return {};
    // A statement may have told it to stop while we looked.
    BERTH_ASSIGN(std::optional<LiveRun> at, live_run_of(runtime_.db(), run.job));
    if (!at || at->id != run.id || at->state == RunState::kStopping) return {};
    if (at->state == RunState::kPending) {  // taken in, and its acknowledgement was lost
      BERTH_TRY(set_run_state(runtime_.db(), *at, RunState::kStarting, "found", runtime_.now()));
      at->state = RunState::kStarting;
    }
    BERTH_ASSIGN(Statement unborn, runtime_.db().prepare("SELECT 1 FROM run_tasks WHERE run_id = ?1 AND (phase = "
                                                         "'pending' OR phase = 'starting') LIMIT 1"));
    const bool has_unborn = unborn.with(run.id).next();
    BERTH_TRY(unborn.status());
    if (has_unborn) return {};
    ++report_.started_runs;
    return set_run_state(runtime_.db(), *at, RunState::kRunning, "", runtime_.now());
  }

  // Not one of which something runs.
  Status withdraw(Change& change, const KeptOut& kept_out) {
    BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(change.db(), kept_out.run.job));
    if (!run || run->id != kept_out.run.id || run->state == RunState::kRunning) return {};
    BERTH_ASSIGN(Statement begun, change.db().prepare("SELECT 1 FROM run_tasks WHERE run_id = ?1 AND phase NOT IN "
                                                      "('pending', 'starting') LIMIT 1"));
    const bool has_begun = begun.with(run->id).next();
    BERTH_TRY(begun.status());
    if (has_begun) return {};
    return stop_run(change, *run, RunState::kLost, "withdrawn before it began: " + kept_out.why);
  }

  // After some of its tasks have ended.
  Status settle(Change& change, std::int64_t job) {
    BERTH_ASSIGN(std::optional<LiveRun> run, live_run_of(change.db(), job));
    if (!run) return {};
    BERTH_ASSIGN(const RunOutcome outcome, judge_run(change.db(), *run));
    if (outcome.has_live_tasks) {
      return outcome.state == RunState::kSucceeded ? Status() : stop_run(change, *run, outcome.state, outcome.detail);
    }
    ++report_.ended_runs;
    if (outcome.state == RunState::kLost) ++report_.lost_runs;
    BERTH_TRY(conclude_run(change, *run, outcome.state, outcome.detail));
    return outcome.state == RunState::kSucceeded ? record_peaks(change, *run) : Status();
  }

  // What its tasks used feeds right-sizing: of each group the means, and the peak of the task that used most.
  Status record_peaks(Change& change, const LiveRun& run) {
    BERTH_ASSIGN(
        Statement rows,
        change.db().prepare("SELECT g.name, max(t.memory_peak_mib), sum(t.cpu_s) * 1000 / max(1, sum(t.end_time - "
                            "t.start_time)) FROM run_tasks t JOIN task_groups g ON g.job_id = ?2 AND "
                            "g.group_index = t.group_index WHERE t.run_id = ?1 GROUP BY t.group_index"));
    rows.with(run.id, run.job);
    std::vector<std::pair<std::string, UsageSample>> samples;
    while (rows.next()) {
      UsageSample sample;
      if (!rows.is_null(1)) sample.memory_peak = rows.quantity<MiB>(1);
      if (!rows.is_null(2)) sample.cpu_mean = rows.quantity<MilliCpu>(2);
      if (sample != UsageSample{}) samples.emplace_back(rows.text(0), sample);
    }
    BERTH_TRY(rows.status());
    for (const auto& [group, sample] : samples) BERTH_TRY(record_usage(change, run.job, group, sample));
    return {};
  }

  Runtime& runtime_;
  const ExecutorRecord& executor_;
  SyncReport& report_;
  Statement begin_;
  Statement wait_;  // why it has not begun
  Statement end_;
  std::vector<KeptOut> kept_out_;
  bool has_begun_ = false;  // of the run just noted
};

// Jobs chosen as victims get their signal when their grace begins, and are told to end when it is over.
Status tell_of_graces(Runtime& runtime) {
  BERTH_ASSIGN(const bool are_signals_due, has_due_signals(runtime.db(), runtime.now()));
  if (are_signals_due) {  // one that is late moves the end of its grace
    BERTH_TRY(runtime.change([](Change& change) { return send_due_signals(change); }).status());
  }
  BERTH_ASSIGN(
      Statement rows,
      runtime.db().prepare("SELECT s.job_id FROM stopping_jobs s JOIN runs r ON r.job_id = s.job_id AND r.end_time "
                           "IS NULL AND r.state <> 'stopping' WHERE s.stop_at <= ?1 ORDER BY s.job_id"));
  rows.with(runtime.now() + kEndDelayOfExecutors);
  std::vector<std::int64_t> jobs;
  while (rows.next()) jobs.push_back(rows.integer(0));
  BERTH_TRY(rows.status());
  if (jobs.empty()) return {};
  return runtime
      .change([&](Change& change) -> Status {
        for (const std::int64_t job : jobs) {
          BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(change.db(), job));
          if (run) BERTH_TRY(stop_run(change, *run, RunState::kEvicted, "its grace is over"));
        }
        return {};
      })
      .status();
}

struct LookedAt {
  LiveExecutor* live = nullptr;
  AskedTasks asked;
  Observation seen;
};

Status forget_ended(const LookedAt& at) {
  std::vector<LiveTask> ended;
  for (std::size_t i = 0; i < std::min(at.asked.tasks.size(), at.seen.tasks.size()); ++i) {
    const TaskPhase phase = at.seen.tasks[i].phase;
    if (phase == TaskPhase::kEnded || phase == TaskPhase::kVanished) ended.push_back(at.asked.tasks[i]);
  }
  return ended.empty() ? Status() : at.live->executor->forget(ended);
}

// One that does not answer is among the unreachable, and is asked again another time.
Status take_unreachable(const LiveExecutor& live, const Status& said, SyncReport& report) {
  if (said.code() != Code::kUnavailable) return said;
  report.unreachable.push_back(fmt::format("{}: {}", live.record.name, said.message()));
  return {};
}

// What its nodes are to be told, and which there are.
Status look_after_nodes(Runtime& runtime, Lease& lease, LiveExecutor& live, const Observation& seen,
                        Inventories inventories, SyncReport& report) {
  BERTH_TRY(watch_nodes(runtime, live.record, seen, report));
  BERTH_TRY(lease.keep(runtime.now()));
  BERTH_TRY(take_unreachable(live, mend_cordons(runtime, live, seen, report), report));
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));
  if (inventories == Inventories::kNowAndThen && runtime.now() - live.record.inventory_at < settings.inventory_every)
    return {};
  BERTH_TRY(lease.keep(runtime.now()));
  return take_unreachable(live, watch_inventory(runtime, live, settings.import_new_nodes, report), report);
}

}  // namespace

Result<SyncReport> observe_executors(Runtime& runtime, Lease& lease, std::vector<LiveExecutor>& executors,
                                     Inventories inventories) {
  SyncReport report;
  const CheckedChanges checked(runtime, [&] { return lease.check(); });
  BERTH_TRY(tell_of_graces(runtime));
  std::vector<LookedAt> looked_at;
  for (LiveExecutor& live : executors) {
    BERTH_ASSIGN(AskedTasks all, live_tasks(runtime.db(), live.record.id));
    BERTH_ASSIGN(const std::vector<std::string> nodes, nodes_of_executor(runtime.db(), live.record));
    BERTH_ASSIGN(const std::int64_t unseen, last_unseen_job(runtime.db()));
    const bool is_idle = all.tasks.empty() && nodes.empty() && unseen == 0;
    if (is_idle && inventories == Inventories::kNowAndThen) continue;
    report.asked_tasks += static_cast<std::int64_t>(all.tasks.size());
    BERTH_TRY(lease.keep(runtime.now()));
    const bool was_silent = !live.reached.ok();
    Result<Observation> seen =
        was_silent ? Result<Observation>(live.reached) : live.executor->observe(all.tasks, nodes);
    live.reached = seen.status();
    BERTH_TRY(lease.keep(runtime.now()));  // what it said may have taken long
    if (!was_silent) BERTH_TRY(note_contact(runtime.db(), live.record, live.reached, runtime.now()));
    if (!seen.ok()) {
      report.unreachable.push_back(fmt::format("{}: {}", live.record.name, seen.status().message()));
      continue;
    }
    BERTH_ASSIGN(Observer observer, Observer::make(runtime, live.record, report));
    BERTH_TRY(observer.take_in(all, *seen));
    BERTH_TRY(close_resting_nodes(runtime, *seen));
    BERTH_ASSIGN(const StraysSeen strays, judge_unknown_tasks(runtime, *seen));
    close_nodes(strays.held, *seen);
    BERTH_TRY(look_after_nodes(runtime, lease, live, *seen, inventories, report));
    BERTH_TRY(observer.settle_runs());
    BERTH_TRY(observer.withdraw_kept_out());
    BERTH_TRY(lease.keep(runtime.now()));
    BERTH_TRY(look_after_strays(runtime, live, strays, report));
    BERTH_TRY(lease.keep(runtime.now()));
    if (unseen != 0) BERTH_TRY(note_asked(runtime.db(), live.record.id));
    looked_at.push_back({&live, std::move(all), *std::move(seen)});
  }
  // Two may keep their records in one folder: nothing goes before both have looked.
  for (const LookedAt& each : looked_at) {
    BERTH_TRY(lease.keep(runtime.now()));
    (void)forget_ended(each);  // what is left over is found and forgotten another time
  }
  // Of executors that were asked before, or could not be: their strays may be of jobs that have just come to wait.
  BERTH_ASSIGN(const bool may_start, may_run_twice(runtime.db()));
  if (may_start) BERTH_TRY(runtime.change([](Change& change) { return hold_jobs_of_strays(change); }).status());
  return report;
}

}  // namespace berth
