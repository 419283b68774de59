#include "engine/runtime/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/failpoint.h"
#include "engine/base/text.h"
#include "engine/runtime/node_watch.h"
#include "engine/store/attempt_records.h"
#include "engine/store/job_records.h"
#include "engine/store/load.h"
#include "engine/store/run_outcome.h"
#include "engine/store/run_records.h"
#include "engine/store/settings.h"
#include "engine/store/stray_records.h"

namespace berth {

namespace {

constexpr std::size_t kMostAtOnce = 512;   // rows of an executor between two commits
constexpr std::int64_t kLongestWait = 60;  // seconds until a row is told again
constexpr Seconds kPutOffLong{600};        // a launch that waits for so long is drift
constexpr Seconds kOverdue{30};            // Berth repeats a stop so long after the grace if its tasks still run
constexpr Seconds kLongestOverdue{600};    // the most between two repeats

struct OutboxRow {
  std::int64_t id = 0;
  std::string kind;
  std::int64_t sequence = 0;
  std::int64_t tries = 0;          // failed deliveries; of a stop that its executor took in: deliveries since then
  std::optional<Seconds> told_at;  // when its executor took in a stop, the last time
  Seconds created;
  LiveRun run;
};

// The signal is meant for the program. The shell around it must survive it, to report how the program ends. A trap in
// the command replaces this one, and programs do not inherit it. TERM also stops tasks, so the shell dies of TERM.
std::string outliving_signal(const std::string& checkpoint_signal) {
  if (checkpoint_signal.empty() || checkpoint_signal == "TERM") return {};
  return fmt::format("trap 'berth_told=$(date +%s)' {}\n", checkpoint_signal);
}

// What executors want to know of runs, read one after the other.
class LaunchReader {
 public:
  static Result<LaunchReader> make(Database& db) {
    BERTH_ASSIGN(Statement job,
                 db.prepare("SELECT j.name, q.name, j.user_name, coalesce(j.command, ''), j.working_directory, "
                            "j.environment, j.image, j.time_limit_s, j.checkpoint_signal, j.checkpoint_grace_s FROM "
                            "jobs j JOIN queues q ON "
                            "q.id = j.queue_id WHERE j.id = ?1"));
    BERTH_ASSIGN(Statement tasks,
                 db.prepare("SELECT t.group_index, t.task_index, t.sequence, n.name, a.device_mask, a.gpu_milli, "
                            "a.gpu_memory_mib, a.cpu_milli, a.memory_mib, t.external, t.executor_id FROM run_tasks t "
                            "JOIN nodes n ON n.id = t.node_id LEFT JOIN allocations a ON a.node_id = t.node_id AND "
                            "a.job_id = ?2 AND a.group_index = t.group_index AND a.task_index = t.task_index "
                            "WHERE t.run_id = ?1 ORDER BY t.group_index, t.task_index"));
    return LaunchReader(std::move(job), std::move(tasks));
  }

  Result<Launch> launch(const LiveRun& run, std::int64_t sequence) {
    Launch launch;
    launch.key = {run.job, run.attempt, sequence, run.generation};
    if (!job_.with(run.job).next())
      return job_.status().ok() ? Status(Code::kCorrupt, fmt::format("run {} has no job", run.id)) : job_.status();
    launch.job_name = job_.text(0);
    launch.queue = job_.text(1);
    launch.user = job_.text(2);
    launch.command = job_.text(3);
    launch.working_directory = job_.text(4);
    if (job_.text(5) != "{}") {
      const auto environment = nlohmann::json::parse(job_.text(5), nullptr, false);
      for (const auto& [name, value] : environment.items()) {
        if (value.is_string()) launch.environment.emplace_back(name, value.get<std::string>());
      }
    }
    launch.image = job_.text(6);
    launch.time_limit = job_.quantity<Seconds>(7);
    launch.checkpoint_signal = job_.text(8);
    launch.command = outliving_signal(launch.checkpoint_signal) + launch.command;
    launch.checkpoint_grace = job_.quantity<Seconds>(9);
    tasks_.with(run.id, run.job);
    for (std::int32_t rank = 0; tasks_.next(); ++rank) {
      launch.peers.emplace_back(tasks_.text(3));
      if (tasks_.integer(2) != sequence) continue;
      launch.tasks.push_back({.group = static_cast<std::int32_t>(tasks_.integer(0)),
                              .task = static_cast<std::int32_t>(tasks_.integer(1)),
                              .rank = rank,
                              .node = std::string(tasks_.text(3)),
                              .devices = static_cast<DeviceMask>(tasks_.integer(4)),
                              .gpu_milli = tasks_.quantity<MilliGpu>(5),
                              .gpu_memory = tasks_.quantity<MiB>(6),
                              .cpu = tasks_.quantity<MilliCpu>(7),
                              .memory = tasks_.quantity<MiB>(8)});
    }
    BERTH_TRY(tasks_.status());
    return launch;
  }

  // Its tasks at that executor, by launch.
  Result<std::vector<StopRequest>> stops(const LiveRun& run, std::int64_t executor) {
    std::map<std::int64_t, StopRequest> by_launch;
    tasks_.with(run.id, run.job);
    while (tasks_.next()) {
      if (tasks_.integer(10) != executor) continue;
      const std::int64_t sequence = tasks_.integer(2);
      by_launch[sequence].tasks.push_back({.key = {run.job, run.attempt, static_cast<std::int32_t>(tasks_.integer(0)),
                                                   static_cast<std::int32_t>(tasks_.integer(1)), run.generation},
                                           .launch = {run.job, run.attempt, sequence, run.generation},
                                           .external = std::string(tasks_.text(9)),
                                           .node = std::string(tasks_.text(3))});
    }
    BERTH_TRY(tasks_.status());
    std::vector<StopRequest> requests;
    for (auto& [sequence, request] : by_launch) requests.push_back(std::move(request));
    return requests;
  }

  // What a victim's job is told first, and how long that lasts.
  Result<std::pair<std::string, Seconds>> signal_of(std::int64_t job) {
    std::pair<std::string, Seconds> signal;
    if (job_.with(job).next()) signal = {std::string(job_.text(8)), job_.quantity<Seconds>(9)};
    BERTH_TRY(job_.status());
    return signal;
  }

 private:
  LaunchReader(Statement job, Statement tasks) : job_(std::move(job)), tasks_(std::move(tasks)) {}
  Statement job_;
  Statement tasks_;
};

class Dispatcher {
 public:
  Dispatcher(Runtime& runtime, Lease& lease, DispatchStops stops, DispatchReport& report)
      : runtime_(runtime), db_(runtime.db()), lease_(lease), stops_(stops), report_(report) {}

  Status run(LiveExecutor& live) {
    BERTH_ASSIGN(const Settings settings, read_settings(db_));
    stop_grace_ = settings.stop_grace;
    BERTH_TRY(leave_unseen(live));
    bool was_called = false;
    for (std::int64_t after = 0; live.reached.ok();) {
      BERTH_ASSIGN(const std::vector<OutboxRow> rows, due_rows(live.record, after));
      if (rows.empty()) break;
      after = rows.back().id;
      BERTH_ASSIGN(Calls calls, read_calls(live, rows));
      was_called |= !calls.launches.empty() || !calls.requests.empty();
      BERTH_TRY(tell(live, calls));
    }
    BERTH_TRY(runtime_.check_right());
    return was_called ? note_contact(db_, live.record, live.reached, runtime_.now()) : Status();
  }

 private:
  // Jobs that may run since before a restore are not started until all executors have said what they run; the others
  // until this one has, for what it runs may stand in their places.
  Status leave_unseen(const LiveExecutor& live) {
    BERTH_ASSIGN(last_unseen_, last_unseen_job(db_));
    if (last_unseen_ == 0) return {};
    BERTH_ASSIGN(const bool was_asked, was_asked_since_restore(db_, live.record.id));
    if (!was_asked) last_unseen_ = std::numeric_limits<std::int64_t>::max();
    BERTH_ASSIGN(Statement why, db_.prepare("UPDATE outbox SET error = ?3 WHERE executor_id = ?1 AND kind = 'launch' "
                                            "AND run_id IN (SELECT id FROM runs WHERE job_id <= ?2)"));
    BERTH_TRY(why.run(live.record.id, last_unseen_,
                      "the database was restored, and not all executors were asked since whether it runs already: "
                      "RUN SYNC asks them"));
    report_.waiting += db_.changed_rows();
    return {};
  }

  Result<std::vector<OutboxRow>> due_rows(const ExecutorRecord& executor, std::int64_t after) {
    BERTH_ASSIGN(
        Statement rows,
        db_.prepare(
            "SELECT o.id, o.kind, o.sequence, o.tries, r.id, r.job_id, r.attempt, r.state, r.generation, o.created_at, "
            "o.told_at FROM outbox o "
            "JOIN runs r ON r.id = o.run_id WHERE o.executor_id = ?1 AND (o.next_try <= ?2 OR (o.told_at IS NULL AND "
            "o.next_try > ?2 + ?5) OR o.told_at > ?2) AND o.id > ?3 AND (o.kind <> 'launch' OR r.job_id > ?6) AND "
            "(o.kind = 'launch' OR NOT ?7 OR (o.kind = 'stop' AND o.told_at IS NULL AND r.stop_state IS NOT 'evicted') "
            "OR (o.tries = 0 AND ?8)) AND (o.told_at IS NULL OR EXISTS (SELECT 1 FROM run_tasks t WHERE t.run_id = "
            "o.run_id AND t.executor_id = o.executor_id AND t.phase IN ('pending', 'starting', 'running'))) "
            "ORDER BY o.id LIMIT ?4"));
    // Later than that is no row's time: the clock was set back.
    rows.with(executor.id, runtime_.now(), after, static_cast<std::int64_t>(kMostAtOnce), kLongestWait, last_unseen_,
              stops_ == DispatchStops::kNew, executor.state != "down");
    std::vector<OutboxRow> due;
    while (rows.next()) {
      OutboxRow& row = due.emplace_back();
      row.id = rows.integer(0);
      row.kind = rows.text(1);
      row.sequence = rows.integer(2);
      row.tries = rows.integer(3);
      row.created = rows.quantity<Seconds>(9);
      if (!rows.is_null(10)) row.told_at = rows.quantity<Seconds>(10);
      row.run.id = rows.integer(4);
      row.run.job = rows.integer(5);
      row.run.attempt = rows.integer(6);
      BERTH_ASSIGN(row.run.state, read_run_state(rows.text(7)));
      row.run.generation = rows.integer(8);
    }
    BERTH_TRY(rows.status());
    return due;
  }

  struct Told {
    const OutboxRow* row;
    Delivery delivery;
  };
  // What rows come to, in the executor's words.
  struct Calls {
    std::vector<Launch> launches;
    std::vector<const OutboxRow*> launched;  // of each launch
    std::vector<StopRequest> requests;
    std::vector<const OutboxRow*> stopped;  // of each request
    std::vector<Told> told;                 // needs no call
  };

  Result<Calls> read_calls(const LiveExecutor& live, const std::vector<OutboxRow>& rows) {
    BERTH_ASSIGN(LaunchReader reader, LaunchReader::make(db_));
    Calls calls;
    for (const OutboxRow& row : rows) {
      if (row.kind == "launch" && row.run.state == RunState::kStopping) {
        // Nobody wants it any more. It may have been told before, but then it is told to stop as well.
        calls.told.push_back({&row, {}});
      } else if (row.kind == "launch") {
        BERTH_ASSIGN(Launch launch, reader.launch(row.run, row.sequence));
        calls.launches.push_back(std::move(launch));
        calls.launched.push_back(&row);
      } else {
        BERTH_ASSIGN(std::vector<StopRequest> of_run, reader.stops(row.run, live.record.id));
        BERTH_ASSIGN(const auto signal, reader.signal_of(row.run.job));
        if (of_run.empty()) calls.told.push_back({&row, {}});
        for (StopRequest& request : of_run) {
          if (row.kind == "stop") {
            request.grace = stop_grace_;
            request.is_overdue = is_overdue(row);
          } else {
            request.signal = signal.first;
            request.lasts = signal.second;
          }
          calls.requests.push_back(std::move(request));
          calls.stopped.push_back(&row);
        }
      }
    }
    return calls;
  }

  // What comes of the calls is taken in.
  Status tell(LiveExecutor& live, Calls& calls) {
    Status& reached = live.reached;
    failpoint("before_delivery");
    BERTH_TRY(lease_.keep(runtime_.now()));
    if (!calls.launches.empty()) reached = collect(live.executor->launch(calls.launches), calls.launched, calls.told);
    if (reached.ok() && !calls.requests.empty()) {
      BERTH_TRY(note_signals(calls));
      reached = collect(live.executor->stop(calls.requests), calls.stopped, calls.told);
      BERTH_TRY(note_signals(calls));  // some may have been sent late
    }
    failpoint("after_delivery");
    BERTH_TRY(take_in(calls.told, calls.launches));
    BERTH_TRY(note_untaken(live.record, calls.told));
    return note_overdue(live.record, calls.told);
  }

  // Notes that signals are sent, or tried: a task that ends from now on may have ended for one.
  Status note_signals(const Calls& calls) {
    std::set<std::int64_t> runs;
    for (const OutboxRow* const row : calls.stopped) {
      if (row->kind == "signal") runs.insert(row->run.id);
    }
    if (runs.empty()) return {};
    BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db_));
    BERTH_TRY(runtime_.check_right());
    for (const std::int64_t run : runs) BERTH_TRY(note_signalled(db_, run, runtime_.now(), stop_grace_));
    return transaction.commit();
  }

  // Launches that an executor has put off for long.
  Status note_untaken(const ExecutorRecord& executor, const std::vector<Told>& told) {
    for (const auto& [row, delivery] : told) {
      const bool is_late = row->kind == "launch" && delivery.state == DeliveryState::kUnknown &&
                           runtime_.now() - row->created >= kPutOffLong;
      if (!is_late || delivery.detail.empty()) continue;
      BERTH_TRY(note_news(executor, waiting_task(row->run.job, row->run.attempt, delivery.detail)));
    }
    return {};
  }

  // Stops that were told again.
  Status note_overdue(const ExecutorRecord& executor, const std::vector<Told>& told) {
    for (const auto& [row, delivery] : told) {
      if (is_overdue(*row))
        BERTH_TRY(note_news(executor, unstopped_task(row->run.job, row->run.attempt, delivery.detail)));
    }
    return {};
  }

  Status note_news(const ExecutorRecord& executor, const Drift& drift) {
    BERTH_ASSIGN(const bool is_new, is_news(db_, executor, drift));
    return is_new ? note_drift(runtime_, executor, drift) : Status();
  }

  static Status collect(Result<std::vector<Delivery>> answers, const std::vector<const OutboxRow*>& rows,
                        std::vector<Told>& told) {
    if (!answers.ok()) return std::move(answers).status();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      told.push_back(
          {rows[i], i < answers->size() ? std::move((*answers)[i]) : Delivery{DeliveryState::kUnknown, "", ""}});
    }
    return {};
  }

  // What the executor answered, as rows. Refusals end runs, so they are a change of the state; the rest is not.
  Status take_in(const std::vector<Told>& told, const std::vector<Launch>& launches) {
    if (told.empty()) return {};
    BERTH_TRY(take_in_quietly(told, launches));
    for (const Told& each : told) {
      if (each.delivery.state != DeliveryState::kRefused || each.row->kind != "launch") continue;
      BERTH_TRY(runtime_.change([&](Change& change) { return refuse(change, *each.row, each.delivery); }).status());
      ++report_.refused;
    }
    return {};
  }

  Status take_in_quietly(const std::vector<Told>& told, const std::vector<Launch>& launches) {
    BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db_));
    BERTH_TRY(runtime_.check_right());
    BERTH_ASSIGN(Statement remove, db_.prepare("DELETE FROM outbox WHERE id = ?1"));
    BERTH_ASSIGN(Statement later,
                 db_.prepare("UPDATE outbox SET tries = tries + 1, next_try = ?2, error = ?3 WHERE id = ?1"));
    BERTH_ASSIGN(Statement heard, db_.prepare("UPDATE outbox SET tries = iif(told_at IS NULL, 1, tries + 1), told_at = "
                                              "?2, next_try = ?3, error = '' WHERE id = ?1"));
    BERTH_ASSIGN(
        Statement tasks,
        db_.prepare("UPDATE run_tasks SET phase = 'starting', external = ?3, start_time = ?4 WHERE run_id = ?1 "
                    "AND sequence = ?2 AND phase = 'pending'"));
    BERTH_ASSIGN(Statement pending, db_.prepare("SELECT 1 FROM runs WHERE id = ?1 AND state = 'pending'"));
    std::map<std::int64_t, bool> is_told;  // by row: all of its requests were taken in
    for (const Told& each : told) {
      const auto [entry, is_new] = is_told.try_emplace(each.row->id, true);
      entry->second = entry->second && each.delivery.state != DeliveryState::kUnknown;
    }
    for (std::size_t i = 0; i < told.size(); ++i) {
      const auto& [row, delivery] = told[i];
      if (!is_told.at(row->id)) {
        const std::int64_t wait = std::min(kLongestWait, std::int64_t{1} << std::min<std::int64_t>(row->tries, 6));
        BERTH_TRY(later.run(row->id, runtime_.now() + Seconds(wait), delivery.detail));
        ++report_.waiting;
        continue;
      }
      const bool is_launch = row->kind == "launch";
      if (is_launch && delivery.state == DeliveryState::kRefused) continue;
      if (row->kind == "stop") {
        BERTH_TRY(heard.run(row->id, runtime_.now(), runtime_.now() + time_until_overdue(*row)));
      } else {
        BERTH_TRY(remove.run(row->id));
      }
      if (!is_launch) {
        ++report_.stops;
      } else if (row->run.state != RunState::kStopping) {
        BERTH_TRY(tasks.run(row->run.id, row->sequence, delivery.external, runtime_.now()));
        const bool is_pending = pending.with(row->run.id).next();
        BERTH_TRY(pending.status());
        if (is_pending) BERTH_TRY(set_run_state(db_, row->run, RunState::kStarting, "", runtime_.now()));
        ++report_.launches;
      }
    }
    for (const Launch& launch : launches) report_.tasks += static_cast<std::int64_t>(launch.tasks.size());
    failpoint("before_acknowledge");
    return transaction.commit();
  }

  // Its executor took in the stop, and the grace is over.
  bool is_overdue(const OutboxRow& row) const { return row.told_at && runtime_.now() - *row.told_at >= stop_grace_; }

  // Berth repeats a stop that it tells now after this time, if its tasks still run.
  Seconds time_until_overdue(const OutboxRow& row) const {
    const std::int64_t before = row.told_at ? std::min<std::int64_t>(row.tries, 5) : 0;
    const Seconds first = stop_grace_ + kOverdue;
    return std::max(first, std::min(kLongestOverdue, Seconds(first.value() << before)));
  }

  // Tasks that an elastic job was to gain, beyond what it needs: they are taken back, and it runs on. False: they are
  // not, or others have been added since.
  static Result<bool> drop_growth(Change& change, const OutboxRow& row) {
    Database& db = change.db();
    BERTH_ASSIGN(Statement rows,
                 db.prepare("SELECT t.group_index, t.task_index, (SELECT count(*) FROM run_tasks o WHERE o.run_id = "
                            "t.run_id AND o.group_index = t.group_index AND o.sequence <> t.sequence AND o.phase IN "
                            "('pending', 'starting', 'running')) >= g.min_tasks AND NOT EXISTS (SELECT 1 FROM "
                            "run_tasks o WHERE o.run_id = t.run_id AND o.sequence <> t.sequence AND o.group_index = "
                            "t.group_index AND o.task_index > t.task_index) FROM run_tasks t JOIN runs r ON r.id = "
                            "t.run_id JOIN task_groups g ON g.job_id = r.job_id AND g.group_index = t.group_index "
                            "WHERE t.run_id = ?1 AND t.sequence = ?2 AND r.state <> 'stopping'"));
    rows.with(row.run.id, row.sequence);
    std::vector<TaskName> tasks;
    while (rows.next()) {
      if (rows.integer(2) == 0) return false;
      tasks.push_back({static_cast<std::int32_t>(rows.integer(0)), static_cast<std::int32_t>(rows.integer(1))});
    }
    BERTH_TRY(rows.status());
    if (tasks.empty()) return false;
    BERTH_TRY(end_tasks(change, row.run.job, tasks));
    BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM run_tasks WHERE run_id = ?1 AND sequence = ?2"));
    BERTH_TRY(remove.run(row.run.id, row.sequence));
    return true;
  }

  static Status refuse(Change& change, const OutboxRow& row, const Delivery& delivery) {
    Database& db = change.db();
    BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM outbox WHERE id = ?1"));
    BERTH_TRY(remove.run(row.id));
    BERTH_ASSIGN(const bool was_growth, row.sequence > 0 ? drop_growth(change, row) : Result<bool>(false));
    if (was_growth) {
      BERTH_ASSIGN(const std::string job, job_name(db, row.run.job));
      return change.record("growth refused", job, delivery.detail);
    }
    BERTH_ASSIGN(Statement tasks, db.prepare("UPDATE run_tasks SET phase = 'ended', end_time = ?3, detail = ?4 WHERE "
                                             "run_id = ?1 AND sequence = ?2 AND (phase = 'pending' OR phase = "
                                             "'starting' OR phase = 'running')"));
    const std::string why = "refused: " + delivery.detail;
    BERTH_TRY(tasks.run(row.run.id, row.sequence, change.now(), why));
    BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(db, row.run.job));
    if (!run || run->id != row.run.id) return {};
    BERTH_ASSIGN(const RunOutcome outcome, judge_run(db, *run));
    if (outcome.has_live_tasks) return stop_run(change, *run, outcome.state, outcome.detail);
    BERTH_TRY(conclude_run(change, *run, outcome.state, outcome.detail));
    return hold_jobs_of_strays(change);
  }

  Runtime& runtime_;
  Database& db_;
  Lease& lease_;
  DispatchStops stops_;
  DispatchReport& report_;
  Seconds stop_grace_;
  std::int64_t last_unseen_ = 0;
};

}  // namespace

Result<DispatchReport> dispatch(Runtime& runtime, Lease& lease, std::vector<LiveExecutor>& executors,
                                DispatchStops stops) {
  DispatchReport report;
  const CheckedChanges checked(runtime, [&] { return lease.check(); });
  for (LiveExecutor& live : executors) BERTH_TRY(Dispatcher(runtime, lease, stops, report).run(live));
  return report;
}

}  // namespace berth
