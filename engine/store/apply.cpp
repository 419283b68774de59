#include "engine/store/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/base/failpoint.h"
#include "engine/base/text.h"
#include "engine/store/assertion_holds.h"
#include "engine/store/attempt_records.h"
#include "engine/store/change.h"
#include "engine/store/eviction_records.h"
#include "engine/store/journal.h"
#include "engine/store/load_quotas.h"
#include "engine/store/outlook_records.h"
#include "engine/store/queue_use.h"
#include "engine/store/reservation_records.h"
#include "engine/store/run_records.h"
#include "engine/store/wait_records.h"

namespace berth {

namespace {

// Writes one plan inside the transaction of `change`.
class PlanWriter {
 public:
  PlanWriter(Change& change, const Plan& plan, const ApplyRequest& request)
      : change_(change), db_(change.db()), plan_(plan), request_(request) {}

  Result<ApplyResult> write() {
    BERTH_TRY(insert_round());
    BERTH_TRY(evict());
    BERTH_TRY(insert_allocations());
    BERTH_TRY(check_gangs());
    BERTH_TRY(read_waits());
    BERTH_TRY(start_jobs());
    BERTH_TRY(write_launches(change_, result_.round, plan_.placements));
    BERTH_TRY(set_marks());
    BERTH_TRY(note_waits());
    BERTH_TRY(write_reservations(change_, plan_.reservations));
    BERTH_TRY(write_assertion_holds(change_, plan_.holds, plan_.surplus_holds, request_.held_back));
    BERTH_TRY(keep_record());
    BERTH_TRY(finish_round());
    return result_;
  }

 private:
  // Placements of one task group of one job.
  struct PlacedGroup {
    std::int64_t job;
    std::int32_t group;
    std::int32_t tasks;
    const Placement* const* placements;  // in the order of the plan
  };

  // A job that was pending, and its first placement in the plan.
  struct Start {
    std::int64_t job;
    std::int32_t tasks;
    const Placement* first;
  };

  Status insert_round();
  Status insert_allocations();
  std::vector<PlacedGroup> placed_groups();
  MiB device_memory_of(const Placement* p) const {
    return device_memory_[static_cast<std::size_t>(p - plan_.placements.data())];
  }
  Status check_gangs();
  Status check_group(const PlacedGroup& placed, const Statement& row, bool starts);
  Status evict();
  Status read_waits();
  Status start_jobs();
  Status set_marks();
  Status note_waits();
  Status keep_record();
  Status finish_round();
  Status decide(std::int64_t job, std::string_view kind, std::optional<std::string_view> reason,
                std::string_view detail);

  Change& change_;
  Database& db_;
  const Plan& plan_;
  const ApplyRequest& request_;
  ApplyResult result_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::optional<Statement> insert_decision_;
  std::int64_t decision_seq_ = 0;
  std::vector<LastReason> read_waits_;  // when the request brings none
  std::optional<LastReasons> waits_;
  std::optional<WaitWriter> wait_writer_;
  EvictionCounts evictions_;
  std::vector<Start> starting_;
  std::vector<MiB> device_memory_;          // of a device of each placement's node
  std::vector<const Placement*> by_group_;  // by job, then group, then the order of the plan
};

Status PlanWriter::insert_round() {
  BERTH_ASSIGN(
      Statement insert,
      db_.prepare(
          "INSERT INTO rounds (kind, state_version, started_at, actor, order_policy, score_policy, seed, placed_tasks, "
          "started_jobs, waiting_jobs, load_seconds, order_seconds, place_seconds, apply_seconds) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11, ?12, 0)"));
  result_.placed_tasks = static_cast<std::int64_t>(plan_.placements.size());
  result_.waiting_jobs = static_cast<std::int64_t>(plan_.waiting.size());
  BERTH_TRY(insert.run(request_.kind, plan_.version, request_.now, request_.actor.name, plan_.order_policy,
                       plan_.score_policy, static_cast<std::int64_t>(plan_.seed), result_.placed_tasks,
                       result_.waiting_jobs, request_.seconds.load, request_.seconds.order, request_.seconds.place));
  result_.round = db_.last_row_id();
  BERTH_ASSIGN(insert_decision_, db_.prepare("INSERT INTO decisions (round_id, seq, job_id, kind, reason, detail) "
                                             "VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  return {};
}

Status PlanWriter::insert_allocations() {
  BERTH_ASSIGN(
      Statement insert,
      db_.prepare(
          "INSERT INTO allocations (node_id, job_id, group_index, task_index, device_mask, gpu_milli, gpu_memory_mib, "
          "cpu_milli, memory_mib, start_time, round_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"));
  // In the table's own order (node, job, group, task): neighbours share pages, and the triggers' ranges stay in the
  // cache.
  std::vector<const Placement*> by_node;
  by_node.reserve(plan_.placements.size());
  for (const Placement& placement : plan_.placements) by_node.push_back(&placement);
  std::sort(by_node.begin(), by_node.end(), [](const Placement* a, const Placement* b) {
    return std::tie(a->node_id, a->job, a->group, a->task) < std::tie(b->node_id, b->job, b->group, b->task);
  });
  BERTH_ASSIGN(Statement device,
               db_.prepare("SELECT m.memory_mib, m.id FROM nodes n JOIN node_types t ON t.id = n.type_id "
                           "LEFT JOIN device_models m ON m.id = t.device_model_id WHERE n.id = ?1"));
  BERTH_ASSIGN(Statement queue, db_.prepare("SELECT queue_id FROM jobs WHERE id = ?1"));
  QueueUseRows more;
  device_memory_.resize(plan_.placements.size());
  MiB device_memory;
  std::int64_t model = 0;
  for (std::size_t i = 0; i < by_node.size(); ++i) {
    const Placement& p = *by_node[i];
    if (i == 0 || by_node[i - 1]->node_id != p.node_id) {
      const bool is_there = device.with(p.node_id).next();
      BERTH_TRY(device.status());
      device_memory = is_there ? device.quantity<MiB>(0) : MiB(0);
      model = is_there ? device.integer(1) : 0;
    }
    device_memory_[static_cast<std::size_t>(&p - plan_.placements.data())] = device_memory;
    Status inserted = insert.run(p.node_id, p.job, p.group, p.task, p.devices, p.gpu_milli, p.gpu_memory, p.cpu,
                                 p.memory, request_.now, result_.round);
    if (!inserted.ok()) {
      return std::move(inserted).prefixed(
          fmt::format("placing task {}.{} of job {} on node {}", p.group, p.task, p.job, p.node_id));
    }
    QueueUseRow& use = more[{queue.with(p.job).next() ? queue.integer(0) : 0, model}];
    BERTH_TRY(queue.status());
    use.cpu += p.cpu.value();
    use.memory += p.memory.value();
    use.gpu += p.gpu_milli.value() * std::popcount(p.devices);
    if (i == by_node.size() / 2) failpoint("mid_write");
  }
  return add_use(db_, more);
}

// By job, then group.
std::vector<PlanWriter::PlacedGroup> PlanWriter::placed_groups() {
  by_group_.reserve(plan_.placements.size());
  for (const Placement& placement : plan_.placements) by_group_.push_back(&placement);
  std::sort(by_group_.begin(), by_group_.end(), [](const Placement* a, const Placement* b) {
    return std::tie(a->job, a->group, a) < std::tie(b->job, b->group, b);
  });
  std::vector<PlacedGroup> groups;
  for (const Placement* const& p : by_group_) {
    if (!groups.empty() && groups.back().job == p->job && groups.back().group == p->group) {
      ++groups.back().tasks;
    } else {
      groups.push_back({p->job, p->group, 1, &p});
    }
  }
  return groups;
}

// Re-checks what the plan promises about gangs against the tables: each job starts with min_tasks of every group, and
// each placement takes what its group asks for.
Status PlanWriter::check_gangs() {
  const std::vector<PlacedGroup> groups = placed_groups();
  BERTH_ASSIGN(Statement rows,
               db_.prepare("SELECT j.state, j.name, g.group_index, g.task_count, g.min_tasks, g.cpu_milli, "
                           "g.memory_mib, g.gpu_count, g.gpu_milli, g.gpu_memory_mib "
                           "FROM jobs j JOIN task_groups g ON g.job_id = j.id WHERE j.id = ?1 ORDER BY g.group_index"));
  for (auto first = groups.begin(); first != groups.end();) {
    const std::int64_t job = first->job;
    const auto end = std::find_if(first, groups.end(), [&](const PlacedGroup& each) { return each.job != job; });
    rows.with(job);
    Start start{job, 0, *first->placements};
    bool starts = false;
    while (rows.next()) {
      starts = rows.text(0) == "pending";
      if (!starts && rows.text(0) != "running") {
        return Status(Code::kConflict, fmt::format("job '{}' is {}: it cannot start", rows.text(1), rows.text(0)));
      }
      const auto placed =
          std::find_if(first, end, [&](const PlacedGroup& each) { return each.group == rows.integer(2); });
      const PlacedGroup none{job, static_cast<std::int32_t>(rows.integer(2)), 0, nullptr};
      BERTH_TRY(check_group(placed == end ? none : *placed, rows, starts));
      if (placed == end) continue;
      start.tasks += placed->tasks;
      start.first = std::min(start.first, *placed->placements);
    }
    BERTH_TRY(rows.status());
    if (starts) starting_.push_back(start);
    if (!starts) BERTH_TRY(note_size(change_, first->job, result_.round));
    first = end;
  }
  return {};
}

Status PlanWriter::check_group(const PlacedGroup& placed, const Statement& row, bool starts) {
  if (starts && placed.tasks < row.integer(4)) {
    return Status(Code::kConflict,
                  fmt::format("the plan starts job '{}' with {} of the {} tasks of group {} that must start together",
                              row.text(1), placed.tasks, row.integer(4), placed.group));
  }
  TaskShape asked;
  asked.cpu = row.quantity<MilliCpu>(5);
  asked.memory = row.quantity<MiB>(6);
  asked.gpu_count = static_cast<std::int32_t>(row.integer(7));
  asked.gpu_milli = row.quantity<MilliGpu>(8);
  asked.gpu_memory = row.quantity<MiB>(9);
  const bool as_asked = std::all_of(placed.placements, placed.placements + placed.tasks, [&](const Placement* p) {
    return p->cpu == asked.cpu && p->memory == asked.memory && std::popcount(p->devices) == asked.gpu_count &&
           p->gpu_milli == asked.gpu_milli && p->gpu_memory == device_memory_for(asked, device_memory_of(p));
  });
  if (as_asked && placed.tasks <= row.integer(3)) return {};
  return Status(Code::kConflict,
                fmt::format("the plan does not give job '{}' what group {} of it asks for", row.text(1), placed.group));
}

Status PlanWriter::decide(std::int64_t job, std::string_view kind, std::optional<std::string_view> reason,
                          std::string_view detail) {
  return insert_decision_->run(result_.round, decision_seq_++, job, kind, reason, detail);
}

// What frees room goes before what takes it.
Status PlanWriter::evict() {
  // A plan may withdraw a stop and tell the same job again for another one, or withdraw a stop of its own.
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> last;
  BERTH_ASSIGN(Statement told, change_.db().prepare("SELECT 1 FROM stopping_jobs WHERE job_id = ?1"));
  for (const std::int64_t job : plan_.reprieves) {
    const bool is_told = told.with(job).next() && std::ranges::find(first, job) == first.end();
    BERTH_TRY(told.status());
    (is_told ? first : last).push_back(job);
  }
  BERTH_TRY(withdraw_evictions(change_, first));
  BERTH_ASSIGN(evictions_, write_evictions(change_, result_.round, plan_, request_.stopped_are_gone));
  result_.evicted_jobs = evictions_.ended;
  result_.stopping_jobs = evictions_.stopping;
  result_.shrunk_jobs = evictions_.shrunk;
  result_.reprieved_jobs = static_cast<std::int64_t>(plan_.reprieves.size());
  return withdraw_evictions(change_, last);
}

Status PlanWriter::read_waits() {
  std::span<const LastReason> last_reasons = request_.last_reasons;
  if (last_reasons.empty() && !(plan_.waiting.empty() && starting_.empty())) {
    BERTH_ASSIGN(read_waits_, read_last_reasons(db_));
    last_reasons = read_waits_;
  }
  waits_.emplace(last_reasons);
  BERTH_ASSIGN(wait_writer_, WaitWriter::make(change_));
  return {};
}

Status PlanWriter::start_jobs() {
  BERTH_ASSIGN(Statement update,
               db_.prepare("UPDATE jobs SET state = 'running', start_time = ?2, wait_reason = NULL, wait_cause = NULL, "
                           "wait_beneficiary_id = NULL, wait_since = NULL WHERE id = ?1"));
  // By job id: neighbouring rows share pages.
  for (const Start& start : starting_) {
    if (const LastReason* last = waits_->find(start.job); last != nullptr) BERTH_TRY(wait_writer_->end(*last));
    BERTH_TRY(update.run(start.job, request_.now));
  }
  // Decisions are numbered in the order in which they were taken.
  std::sort(starting_.begin(), starting_.end(), [](const Start& a, const Start& b) { return a.first < b.first; });
  for (const Start& start : starting_) {
    BERTH_TRY(decide(start.job, "start", std::nullopt, fmt::format("{{\"tasks\":{}}}", start.tasks)));
  }
  result_.started_jobs = static_cast<std::int64_t>(starting_.size());
  return {};
}

Status PlanWriter::set_marks() {
  BERTH_ASSIGN(Statement update, db_.prepare("UPDATE jobs SET quota_mark = ?2 WHERE id = ?1 AND state = 'running'"));
  for (const QuotaMark& mark : plan_.marks) BERTH_TRY(update.run(mark.job, mark.mark));
  return {};
}

// A hundred thousand jobs may wait; only those that wait for something else than last time are written.
Status PlanWriter::note_waits() {
  std::vector<const Waiting*> changed;
  for (const Waiting& waiting : plan_.waiting) {
    if (!finds_the_same(waiting, waits_->find(waiting.job))) changed.push_back(&waiting);
  }
  for (const Waiting* waiting : changed) {
    BERTH_TRY(decide(
        waiting->job, "wait", reason_name(waiting->reason),
        fmt::format("{{\"group\":{},\"fits\":{},\"needed\":{}}}", waiting->group, waiting->fits, waiting->needed)));
  }
  std::sort(changed.begin(), changed.end(), [](const Waiting* a, const Waiting* b) { return a->job < b->job; });
  for (const Waiting* waiting : changed) BERTH_TRY(wait_writer_->judge(*waiting, waits_->find(waiting->job)));
  result_.changed_reasons = static_cast<std::int64_t>(changed.size());
  return {};
}

// Timed apart from the rest of the round.
Status PlanWriter::keep_record() {
  if (request_.record == nullptr) return {};
  const auto begun = std::chrono::steady_clock::now();
  BERTH_ASSIGN(const WrittenRecord written, write_round_record(db_, *request_.record, request_.now));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  begun_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(taken);
  BERTH_ASSIGN(Statement update, db_.prepare("UPDATE rounds SET record_id = ?2, record_seconds = ?3 WHERE id = ?1"));
  return update.run(result_.round, written.id, request_.record->seconds + taken.count());
}

Status PlanWriter::finish_round() {
  if (request_.plan_id != 0) {
    BERTH_ASSIGN(Statement mark, db_.prepare("UPDATE plans SET state = 'applied' WHERE id = ?1"));
    BERTH_TRY(mark.run(request_.plan_id));
    BERTH_ASSIGN(Statement record, db_.prepare("UPDATE rounds SET record_id = (SELECT record_id FROM plans "
                                               "WHERE id = ?2) WHERE id = ?1"));
    BERTH_TRY(record.run(result_.round, request_.plan_id));
  }
  std::string detail =
      fmt::format("{} started, {} placed, {} waiting", print_counted(result_.started_jobs, "job"),
                  print_counted(result_.placed_tasks, "task"), print_counted(result_.waiting_jobs, "job"));
  if (evictions_.ended > 0) detail += fmt::format(", {} evicted", evictions_.ended);
  if (evictions_.shrunk > 0) detail += fmt::format(", {} shrunk", evictions_.shrunk);
  if (evictions_.stopping > 0) detail += fmt::format(", {} told to stop", evictions_.stopping);
  if (result_.reprieved_jobs > 0) detail += fmt::format(", {} told to run on", result_.reprieved_jobs);
  BERTH_TRY(change_.record("run " + request_.kind, fmt::format("round {}", result_.round), detail));
  result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  BERTH_ASSIGN(Statement update,
               db_.prepare("UPDATE rounds SET started_jobs = ?2, apply_seconds = ?3, decisions = ?4 WHERE "
                           "id = ?1"));
  return update.run(result_.round, result_.started_jobs, result_.seconds, decision_seq_);
}

// Whether all that happened since `version` are new jobs: they take nothing away from a plan.
Result<bool> only_submissions_since(Database& db, std::int64_t version) {
  BERTH_ASSIGN(Statement others,
               db.prepare("SELECT count(*), sum(kind NOT IN ('submit job', 'submit jobs')) FROM events "
                          "WHERE state_version > ?1"));
  others.with(version);
  if (!others.next()) return others.status().ok() ? Result<bool>(false) : Result<bool>(others.status());
  return others.integer(0) > 0 && others.integer(1) == 0;
}

Status check_no_date_passed(Database& db, const Plan& plan, Seconds now) {
  // A clock may have been set back.
  BERTH_ASSIGN(const std::vector<std::string> passed,
               dates_passed(db, std::min(plan.planned_at, now), std::max(plan.planned_at, now)));
  if (passed.empty()) return {};
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> named(passed.begin(),
                                 passed.begin() + static_cast<std::ptrdiff_t>(std::min(passed.size(), kMostNamed)));
  if (passed.size() > kMostNamed) named.push_back(fmt::format("and {} more", passed.size() - kMostNamed));
  return Status(Code::kConflict, fmt::format("the state has moved since the plan was made: {}", join(named, "; ")),
                "PLAN SCHEDULE; makes a new one");
}

Status check_version(Database& db, const Plan& plan, const ApplyRequest& request, std::int64_t present) {
  if (request.accept_new_jobs && plan.version < present) {
    BERTH_ASSIGN(const bool harmless, only_submissions_since(db, plan.version));
    if (harmless) return check_no_date_passed(db, plan, request.now);
  }
  return check_not_moved(db, plan, present, request.now);
}

}  // namespace

Status check_not_moved(Database& db, const Plan& plan, std::int64_t present_version, Seconds now) {
  if (plan.version == present_version) return check_no_date_passed(db, plan, now);
  if (plan.version > present_version) {
    return Status(Code::kConflict, fmt::format("the plan was made for state version {}, this database is at {}",
                                               plan.version, present_version));
  }
  BERTH_ASSIGN(const std::string moves, describe_moves_since(db, plan.version));
  return Status(Code::kConflict,
                fmt::format("the state has moved since the plan was made (version {}, now {}): {}", plan.version,
                            present_version, moves),
                "make a new plan");
}

Result<ApplyResult> write_plan(Change& change, const Plan& plan, const ApplyRequest& request) {
  change.use_changed();  // and with time dated quotas and loans do
  PlanWriter writer(change, plan, request);
  BERTH_ASSIGN(ApplyResult result, writer.write());
  BERTH_TRY(write_outlook(change.db(), plan.outlook));
  return result;
}

Result<ApplyResult> apply_plan(Database& db, const Plan& plan, const ApplyRequest& request) {
  BERTH_ASSIGN(Change change, Change::begin(db, request.actor, request.now));
  BERTH_TRY(check_version(db, plan, request, change.version_before()));
  BERTH_ASSIGN(const AssertionWatch watch, AssertionWatch::begin(db, request.asking));
  BERTH_ASSIGN(ApplyResult result, write_watched_plan(change, plan, request, watch));
  if (result.is_refused()) return result;
  BERTH_ASSIGN(result.version, change.commit());
  return result;
}

Result<ApplyResult> foretell_plan(Database& db, const Plan& plan, const ApplyRequest& request) {
  BERTH_ASSIGN(Change change, Change::begin(db, request.actor, request.now));
  BERTH_ASSIGN(const AssertionWatch watch, AssertionWatch::begin(db, request.asking));
  if (!watch.watches_anything()) return ApplyResult();
  return write_watched_plan(change, plan, request, watch);
}

}  // namespace berth
