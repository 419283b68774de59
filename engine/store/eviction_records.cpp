#include "engine/store/eviction_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/failpoint.h"
#include "engine/base/text.h"
#include "engine/store/account_records.h"
#include "engine/store/attempt_records.h"
#include "engine/store/reservation_records.h"
#include "engine/store/run_records.h"
#include "engine/store/settings.h"
#include "engine/store/wait_records.h"

namespace berth {

namespace {

struct VictimRow {
  std::string name;
  std::int64_t queue = 0;
  bool runs = false;
  bool was_told = false;  // it is stopping already
  Seconds stop_at;        // then
};

Result<VictimRow> read_victim(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT j.name, j.queue_id, j.state = 'running', s.stop_at FROM jobs j LEFT "
                                         "JOIN stopping_jobs s ON s.job_id = j.id WHERE j.id = ?1"));
  if (!row.with(job).next()) {
    BERTH_TRY(row.status());
    return Status(Code::kConflict, fmt::format("the plan evicts job {}, which does not exist", job));
  }
  return VictimRow{std::string(row.text(0)), row.integer(1), row.integer(2) != 0, !row.is_null(3),
                   row.quantity<Seconds>(3)};
}

struct BeneficiaryRow {
  std::string name;  // "job bert", "loan 3 of ads"
  std::int64_t queue = 0;
};

Result<BeneficiaryRow> read_beneficiary(Database& db, const Eviction& e) {
  BERTH_ASSIGN(Statement row,
               db.prepare(e.rule == EvictionRule::kLoan
                              ? "SELECT 'loan ' || l.id || ' of ' || q.name, q.id FROM loans l JOIN queues q ON q.id = "
                                "l.lender_id WHERE l.id = ?1"
                              : "SELECT 'job ' || name, queue_id FROM jobs WHERE id = ?1"));
  BeneficiaryRow beneficiary{fmt::format("#{}", e.beneficiary), 0};
  if (row.with(e.beneficiary).next()) beneficiary = {std::string(row.text(0)), row.integer(1)};
  BERTH_TRY(row.status());
  return beneficiary;
}

Result<std::int64_t> count_tasks(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT count(*) FROM allocations WHERE job_id = ?1"));
  const std::int64_t tasks = row.with(job).next() ? row.integer(0) : 0;
  BERTH_TRY(row.status());
  return tasks;
}

Status note_decision(Change& change, std::int64_t round, const Eviction& e, const VictimRow& victim,
                     const BeneficiaryRow& beneficiary, bool ends_now) {
  Database& db = change.db();
  auto tasks = static_cast<std::int64_t>(e.tasks.size());
  if (e.whole) {
    BERTH_ASSIGN(tasks, count_tasks(db, e.job));
  }
  BERTH_ASSIGN(
      Statement insert,
      db.prepare("INSERT INTO evictions (round_id, time, victim_id, victim_queue_id, beneficiary_id, "
                 "beneficiary_queue_id, rule, tasks, whole, lost_gpu_milli_s, state, why, candidates) "
                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, nullif(?12, 'unknown'), nullif(?13, 0))"));
  BERTH_TRY(insert.run(round, change.now(), e.job, victim.queue, e.beneficiary, beneficiary.queue,
                       eviction_rule_name(e.rule), tasks, e.whole, e.lost, ends_now ? "done" : "stopping",
                       victim_choice_reason_name(e.why), e.candidates));
  if (ends_now) BERTH_TRY(account_eviction(change, db.last_row_id()));
  BERTH_ASSIGN(Statement count, db.prepare("UPDATE jobs SET evictions = evictions + 1 WHERE id = ?1"));
  return count.run(e.job);
}

// `is_run`: by an executor, which has a signal to send if the job has one.
Status tell_to_stop(Change& change, const Eviction& e, Seconds stop_at, bool is_run) {
  BERTH_ASSIGN(Statement insert,
               change.db().prepare("INSERT INTO stopping_jobs (job_id, beneficiary_id, rule, stop_at, signal_to_come) "
                                   "SELECT ?1, ?2, ?3, ?4, ?5 AND checkpoint_signal <> '' FROM jobs WHERE id = ?1"));
  return insert.run(e.job, e.beneficiary, eviction_rule_name(e.rule), stop_at, is_run);
}

// Those with whom it was to stop are gone.
Status stop_sooner(Change& change, const Eviction& e) {
  BERTH_ASSIGN(Statement lost,
               change.db().prepare("UPDATE evictions SET lost_gpu_milli_s = ?2 WHERE victim_id = ?1 AND "
                                   "state = 'stopping'"));
  BERTH_TRY(lost.run(e.job, e.lost));
  BERTH_ASSIGN(Statement stop, change.db().prepare("UPDATE stopping_jobs SET stop_at = ?2 WHERE job_id = ?1"));
  return stop.run(e.job, e.stop_at);
}

// The usual time from one round or sync to the next; 0 = there were too few to know. One pause, or one round by hand,
// does not change it.
Result<Seconds> usual_gap(Database& db, Seconds now) {
  BERTH_ASSIGN(Statement rounds,
               db.prepare("SELECT DISTINCT started_at FROM (SELECT started_at FROM rounds ORDER BY id "
                          "DESC LIMIT 16) WHERE started_at < ?1 ORDER BY started_at DESC LIMIT 3"));
  rounds.with(now);
  std::vector<Seconds> gaps;
  for (Seconds later = now; rounds.next(); later = rounds.quantity<Seconds>(0)) {
    gaps.push_back(later - rounds.quantity<Seconds>(0));
  }
  BERTH_TRY(rounds.status());
  std::ranges::sort(gaps);
  std::optional<Seconds> gap;
  if (gaps.size() > 1) gap = gaps[(gaps.size() - 1) / 2];
  BERTH_ASSIGN(Statement sync, db.prepare("SELECT interval_s FROM scheduled_runs WHERE kind = 'sync' AND ?1 - "
                                          "started_at <= 2 * interval_s"));
  if (sync.with(now).next()) gap = std::min(gap.value_or(sync.quantity<Seconds>(0)), sync.quantity<Seconds>(0));
  BERTH_TRY(sync.status());
  return gap.value_or(Seconds(0));
}

struct DueSignal {
  std::int64_t job = 0;
  Seconds stop_at;
};
// With the moment at which the job is to stop if it gets its signal now. One without a grace gets it with the stop.
Result<std::vector<DueSignal>> due_signals(Database& db, Seconds now) {
  std::vector<DueSignal> due;
  BERTH_ASSIGN(const std::int64_t any, db.integer("SELECT EXISTS (SELECT 1 FROM stopping_jobs WHERE signal_to_come)"));
  if (any == 0) return due;
  BERTH_ASSIGN(const Seconds gap, usual_gap(db, now));
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT s.job_id, iif(j.checkpoint_grace_s > 0, max(s.stop_at, ?1 + j.checkpoint_grace_s), "
                          "s.stop_at) FROM stopping_jobs s JOIN jobs j ON j.id = s.job_id WHERE s.signal_to_come AND "
                          "s.stop_at <= ?1 + j.checkpoint_grace_s + iif(j.checkpoint_grace_s > 0, ?2, 0) ORDER BY "
                          "s.job_id"));
  rows.with(now + kEndDelayOfExecutors, gap);
  while (rows.next()) due.push_back({rows.integer(0), rows.quantity<Seconds>(1)});
  BERTH_TRY(rows.status());
  return due;
}

// The eviction that a stopping job was told of is over, one way or the other; one that was not carried out counts no
// more.
Status close_stop(Change& change, std::int64_t job, std::string_view state) {
  if (state == "done") {
    BERTH_ASSIGN(Statement row, change.db().prepare("SELECT id FROM evictions WHERE victim_id = ?1 AND state = "
                                                    "'stopping'"));
    if (row.with(job).next()) BERTH_TRY(account_eviction(change, row.integer(0)));
    BERTH_TRY(row.status());
  } else {
    BERTH_ASSIGN(Statement count,
                 change.db().prepare("UPDATE jobs SET evictions = evictions - 1 WHERE id = ?1 AND EXISTS "
                                     "(SELECT 1 FROM evictions WHERE victim_id = ?1 AND state = 'stopping')"));
    BERTH_TRY(count.run(job));
  }
  BERTH_ASSIGN(Statement update,
               change.db().prepare("UPDATE evictions SET state = ?2, lost_gpu_milli_s = iif(?2 = 'done', "
                                   "lost_gpu_milli_s, 0) WHERE victim_id = ?1 AND state = 'stopping'"));
  return update.run(job, state);
}

// Of which the job was told last. One that was withdrawn after its victim had been told stands again: a signal cannot
// be taken back.
Result<Eviction> told_eviction(Change& change, std::int64_t job) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement reopen,
               db.prepare("UPDATE evictions SET state = 'stopping' WHERE id = (SELECT max(id) FROM evictions WHERE "
                          "victim_id = ?1) AND state = 'withdrawn'"));
  BERTH_TRY(reopen.run(job));
  if (db.changed_rows() > 0) {
    BERTH_ASSIGN(Statement count, db.prepare("UPDATE jobs SET evictions = evictions + 1 WHERE id = ?1"));
    BERTH_TRY(count.run(job));
  }
  BERTH_ASSIGN(Statement row, db.prepare("SELECT beneficiary_id, rule FROM evictions WHERE victim_id = ?1 AND state = "
                                         "'stopping' ORDER BY id DESC LIMIT 1"));
  if (!row.with(job).next()) {
    BERTH_TRY(row.status());
    return Status(Code::kInternal, fmt::format("job {} was not told to stop", job));
  }
  Eviction e;
  e.job = job;
  e.whole = true;
  e.beneficiary = row.integer(0);
  BERTH_ASSIGN(e.rule, read_eviction_rule(row.text(1)));
  return e;
}

Status evict_job(Change& change, const Eviction& e, const BeneficiaryRow& beneficiary, Seconds ended) {
  BERTH_TRY(end_attempt(change, e.job, RunState::kEvicted,
                        fmt::format("{} for {}", eviction_rule_name(e.rule), beneficiary.name), ended));
  BERTH_TRY(begin_wait(change, e.job, cause_of(e.rule), beneficiary.queue, ended));
  failpoint("mid_eviction");
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE jobs SET state = 'pending', last_eviction = ?2 "
                                                     "WHERE id = ?1"));
  return update.run(e.job, change.now());
}

Status evict_surplus(Change& change, const Eviction& e, const VictimRow& victim) {
  BERTH_TRY(end_tasks(change, e.job, e.tasks));
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE jobs SET last_eviction = ?2 WHERE id = ?1"));
  BERTH_TRY(update.run(e.job, change.now()));
  BERTH_ASSIGN(Statement broken,
               change.db().prepare("SELECT 1 FROM task_groups g WHERE g.job_id = ?1 AND g.min_tasks > (SELECT "
                                   "count(*) FROM allocations a WHERE a.job_id = ?1 AND a.group_index = "
                                   "g.group_index)"));
  if (broken.with(e.job).next()) {
    return Status(Code::kConflict, fmt::format("the plan leaves job '{}' with less than its gang", victim.name));
  }
  return broken.status();
}

}  // namespace

Result<EvictionCounts> write_evictions(Change& change, std::int64_t round, const Plan& plan, bool are_gone) {
  EvictionCounts counts;
  for (const Eviction& e : plan.evictions) {
    BERTH_ASSIGN(const VictimRow victim, read_victim(change.db(), e.job));
    if (!victim.runs) {
      return Status(Code::kConflict, fmt::format("job '{}' does not run: it cannot be evicted", victim.name));
    }
    BERTH_ASSIGN(const BeneficiaryRow beneficiary, read_beneficiary(change.db(), e));
    const Seconds stop_at =
        victim.was_told ? e.stop_at : change.now() + std::max(Seconds(0), e.stop_at - plan.planned_at);
    BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(change.db(), e.job));
    if (run && !e.whole) {
      return Status(Code::kConflict,
                    fmt::format("an executor runs job '{}': it gives up all of its tasks or none", victim.name));
    }
    if (victim.was_told && stop_at < victim.stop_at) BERTH_TRY(stop_sooner(change, e));
    const bool ends_now = (!run || are_gone) && (!e.whole || stop_at <= change.now());
    if (!victim.was_told) BERTH_TRY(note_decision(change, round, e, victim, beneficiary, ends_now));
    if (run && ends_now) BERTH_TRY(stop_run(change, *run, RunState::kEvicted, ""));
    if (!e.whole) {
      BERTH_TRY(evict_surplus(change, e, victim));
      ++counts.shrunk;
    } else if (ends_now) {
      if (victim.was_told) BERTH_TRY(close_stop(change, e.job, "done"));
      BERTH_TRY(evict_job(change, e, beneficiary, change.now()));
      ++counts.ended;
    } else if (!victim.was_told) {
      BERTH_TRY(tell_to_stop(change, e, stop_at, run.has_value()));
      ++counts.stopping;
      BERTH_TRY(send_due_signals(change));  // before the stop
    }
    if (run && !ends_now && stop_at <= change.now() + kEndDelayOfExecutors)
      BERTH_TRY(stop_run(change, *run, RunState::kEvicted, ""));
  }
  BERTH_TRY(send_due_signals(change));
  return counts;
}

Result<bool> has_due_signals(Database& db, Seconds now) {
  BERTH_ASSIGN(const std::vector<DueSignal> due, due_signals(db, now));
  return !due.empty();
}

Status send_due_signals(Change& change) {
  BERTH_ASSIGN(const std::vector<DueSignal> due, due_signals(change.db(), change.now()));
  if (due.empty()) return {};
  BERTH_ASSIGN(Statement sent,
               change.db().prepare("UPDATE stopping_jobs SET signal_to_come = 0, stop_at = ?2 WHERE job_id = ?1"));
  for (const DueSignal& signal : due) {
    BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(change.db(), signal.job));
    if (run) BERTH_TRY(signal_run(change, *run));
    BERTH_TRY(sent.run(signal.job, signal.stop_at));
  }
  return {};
}

Status finish_eviction(Change& change, std::int64_t job, Seconds ended) {
  BERTH_ASSIGN(const Eviction e, told_eviction(change, job));
  BERTH_ASSIGN(const BeneficiaryRow beneficiary, read_beneficiary(change.db(), e));
  BERTH_TRY(close_stop(change, job, "done"));
  if (e.rule != EvictionRule::kLoan) {
    BERTH_ASSIGN(const Settings settings, read_settings(change.db()));
    BERTH_TRY(keep_reservation(change, e.beneficiary, change.now() + settings.rules.reservation_ttl));
  }
  return evict_job(change, e, beneficiary, ended);
}

Status forgive_eviction(Change& change, std::int64_t job) { return close_stop(change, job, "ended"); }

Status withdraw_evictions(Change& change, std::span<const std::int64_t> jobs) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement stop, db.prepare("DELETE FROM stopping_jobs WHERE job_id = ?1"));
  for (const std::int64_t job : jobs) {
    BERTH_ASSIGN(const VictimRow victim, read_victim(db, job));
    if (!victim.runs || !victim.was_told) {
      return Status(Code::kConflict, fmt::format("job '{}' is not stopping: it cannot be told to run on", victim.name));
    }
    BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(db, job));
    if (run && run->state == RunState::kStopping) continue;  // its executor has been told
    if (run) BERTH_TRY(withdraw_signal(change, *run));
    BERTH_TRY(close_stop(change, job, "withdrawn"));
    BERTH_TRY(stop.run(job));
  }
  return {};
}

}  // namespace berth
