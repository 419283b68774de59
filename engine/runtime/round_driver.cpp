#include "engine/runtime/round_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "engine/model/quota_ledger.h"
#include "engine/policy/queue_outlook.h"
#include "engine/policy/registry.h"
#include "engine/policy/workload.h"
#include "engine/runtime/expected_starts.h"
#include "engine/runtime/hold_back.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/shadow.h"
#include "engine/runtime/sync.h"
#include "engine/store/journal.h"
#include "engine/store/load_quotas.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr int kMostAttempts = 5;
constexpr std::int64_t kRoundsBetweenPrunings = 100;

// Wall time between marks; for reports only, no decision sees it.
class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// `round` becomes the one that was applied.
Result<ApplyResult> apply_round(Runtime& runtime, PlannedRound& round, const Asking& asking) {
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));
  const std::optional<RoundRecord> record = record_if_wanted(settings, round);
  HoldBack without(runtime, settings, round, asking.interrupted);
  Plan plan = std::move(round.schedule.plan);
  Result<ApplyResult> applied = apply_plan(runtime.db(), plan,
                                           {.kind = "schedule",
                                            .actor = runtime.author(),
                                            .now = runtime.now(),
                                            .seconds = round.seconds,
                                            .last_reasons = round.loaded.last_reasons,
                                            .plan_id = 0,
                                            .record = record ? &*record : nullptr,
                                            .plan_without = without.callback(),
                                            .asking = asking,
                                            .accept_new_jobs = true});
  if (!applied.ok() || !applied->replanned) {
    without.take_back();
    round.schedule.plan = std::move(plan);
  }
  return applied;
}

// History past its retention goes now and then, before a round: should that fail, nothing was begun.
Status prune_now_and_then(Runtime& runtime) {
  BERTH_ASSIGN(const std::int64_t last_round, runtime.db().integer("SELECT coalesce(max(id), 0) FROM rounds"));
  if (last_round == 0 || last_round % kRoundsBetweenPrunings != 0) return {};
  const Result<std::int64_t> pruned = prune_history(runtime.db(), runtime.now());
  return pruned.status();
}

// Bit d for each queue on the path of `queue`, itself included: what a job within every quota is marked with.
std::uint32_t marks_of_path(const std::vector<Queue>& queues, std::int32_t queue) {
  int depth = 0;
  for (std::int32_t up = queues[static_cast<std::size_t>(queue)].parent; up >= 0;
       up = queues[static_cast<std::size_t>(up)].parent) {
    ++depth;
  }
  return depth + 1 >= kMarkedDepths ? (1u << kMarkedDepths) - 1 : (1u << (depth + 1)) - 1;
}

bool governs(const QuotaTable& table) {
  const auto says_something = [](const QuotaTerms& terms) { return terms.has_quota || terms.limit < kNoLimit; };
  return std::ranges::any_of(
      table.terms, [&](const std::vector<QuotaTerms>& terms) { return std::ranges::any_of(terms, says_something); });
}

}  // namespace

std::optional<RoundRecord> record_if_wanted(const Settings& settings, const PlannedRound& round) {
  if (!settings.record_rounds) return std::nullopt;
  return record_of(round.loaded.snapshot, round.schedule.plan);
}

Result<Lease> take_round_lease(Runtime& runtime) {
  // Executors are told of what may yet be rolled back.
  if (runtime.in_transaction()) return Status(Code::kConflict, "no round can be run within a transaction");
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));
  return Lease::acquire(
      runtime.db(),
      {.name = "round", .holder = runtime.actor(), .now = runtime.now(), .duration = settings.lease_duration});
}

Result<std::vector<std::int64_t>> borrowing_starts(Runtime& runtime, const Plan& plan, const PlannedJobs& brought) {
  std::vector<std::int64_t> borrowing;
  BERTH_ASSIGN(const QuotaState departments, load_quotas(runtime.db(), plan.planned_at));
  if (plan.placements.empty() || !governs(departments.quotas)) return borrowing;
  BERTH_ASSIGN(Statement row, runtime.db().prepare("SELECT queue_id, quota_mark FROM jobs WHERE id = ?1"));
  std::set<std::int64_t> seen;
  for (const Placement& placement : plan.placements) {
    const auto planned = brought.find(placement.job);
    const bool has_row = planned == brought.end();
    if (!seen.insert(placement.job).second || (has_row && !row.with(placement.job).next())) continue;
    const std::int32_t queue = queue_index(departments.queues, has_row ? row.integer(0) : planned->second.queue);
    const auto mark = std::ranges::lower_bound(plan.marks, placement.job, {}, &QuotaMark::job);
    const std::uint32_t marks = mark != plan.marks.end() && mark->job == placement.job ? mark->mark
                                : has_row ? static_cast<std::uint32_t>(row.integer(1))
                                          : 0U;
    if (queue >= 0 && (~marks & marks_of_path(departments.queues, queue)) != 0) borrowing.push_back(placement.job);
  }
  BERTH_TRY(row.status());
  return borrowing;
}

std::vector<WorkloadShape> workload_then(const Loaded& loaded, std::span<const RunningJob* const> ended, const Job& was,
                                         const Job& is) {
  std::vector<WorkloadTask> tasks;
  tasks.reserve(loaded.shapes.size());
  for (const ShapeCount& count : loaded.shapes) tasks.push_back({count.shape, count.models_text, count.tasks});
  const auto find = [&](const TaskShape& shape) { return std::ranges::find(tasks, shape, &WorkloadTask::shape); };
  const auto leave = [&](const Job& job) {
    for (const TaskGroup& group : job.groups) {
      if (const auto its = find(group.shape); its != tasks.end()) its->weight -= group.count;
    }
  };
  for (const RunningJob* const run : ended) leave(run->job);
  const auto asks_the_same = [](const TaskGroup& a, const TaskGroup& b) {
    return a.shape == b.shape && a.count == b.count;
  };
  const bool is_changed = !std::ranges::equal(was.groups, is.groups, asks_the_same);
  if (is_changed) leave(was);
  for (std::size_t g = 0; is_changed && g < is.groups.size(); ++g) {
    const TaskGroup& group = is.groups[g];
    if (const auto like = find(group.shape); like != tasks.end()) {
      like->weight += group.count;
    } else {
      const auto before = find(was.groups[g].shape);
      tasks.push_back({group.shape, before != tasks.end() ? before->models_text : "", group.count});
    }
  }
  return typical_workload(tasks);
}

Result<Loaded> load_for_planning(Runtime& runtime, const LoadOptions& options) {
  BERTH_ASSIGN(Loaded loaded, load_state(runtime.db(), options));
  loaded.snapshot.workload = workload_then(loaded, {}, {}, {});
  if (runtime.seed()) loaded.snapshot.seed = *runtime.seed();
  BERTH_TRY(add_scripts(runtime.db(), loaded.snapshot));
  return loaded;
}

Result<ScheduleResult> plan_snapshot(const Snapshot& snapshot, const ScheduleOptions& options) {
  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  BERTH_ASSIGN(ScheduleResult result, plan_schedule_on(snapshot, *planning.state, options));
  result.plan.outlook = queue_outlook(snapshot, result.plan, planning.state->quotas());
  return result;
}

Result<PlannedRound> plan_round(Runtime& runtime, const RoundOptions& options) {
  PlannedRound round;
  Stopwatch watch;
  BERTH_ASSIGN(round.loaded,
               load_for_planning(runtime, {.now = runtime.now(), .node_names = true, .also_job = std::nullopt}));
  Snapshot& snapshot = round.loaded.snapshot;
  snapshot.holds.clear();
  snapshot.surplus_holds.clear();
  snapshot.kept_off.clear();
  if (!options.order_policy.empty()) snapshot.order_policy = options.order_policy;
  if (!options.score_policy.empty()) snapshot.score_policy = options.score_policy;
  if (!options.order_policy.empty() || !options.score_policy.empty()) BERTH_TRY(add_scripts(runtime.db(), snapshot));
  round.seconds.load = watch.lap();

  ScheduleOptions schedule_options;
  schedule_options.interrupted = options.interrupted;
  schedule_options.step_begins = [&](std::string_view step) {
    if (step == "place") round.seconds.order = watch.lap();
  };
  BERTH_TRY(plan_loaded(runtime, round, schedule_options));
  round.seconds.place = watch.lap();
  return round;
}

Status plan_loaded(Runtime& runtime, PlannedRound& round, const ScheduleOptions& options) {
  for (;;) {
    BERTH_ASSIGN(round.schedule, plan_snapshot(round.loaded.snapshot, options));
    if (round.schedule.failures.empty()) return {};
    // Without them, from the start: half a round by one policy and half by another is nobody's.
    BERTH_TRY(replace_failed(runtime.db(), round.schedule.failures, round.loaded.snapshot));
    std::ranges::move(round.schedule.failures, std::back_inserter(round.failures));
  }
}

namespace {

// Once for each assertion that stops round after round: an event of every round would hide all others. The state stays
// what it was, and so do plans.
Result<bool> is_noted(Database& db, std::string_view kind, std::string_view assertion) {
  BERTH_ASSIGN(Statement last, db.prepare("SELECT kind, object FROM events ORDER BY id DESC LIMIT 1"));
  const bool is_known = last.next() && last.text(0) == kind && last.text(1) == assertion;
  BERTH_TRY(last.status());
  return is_known;
}

Status note_refusal(Runtime& runtime, const std::vector<BrokenAssertion>& broken) {
  constexpr std::string_view kKind = "refuse round";
  BERTH_ASSIGN(const bool is_known, is_noted(runtime.db(), kKind, broken.back().name));
  if (is_known) return {};
  for (const BrokenAssertion& each : broken)
    BERTH_TRY(write_event(runtime.db(), runtime.now(), kKind, each.name, describe(each)));
  return {};
}

// Of an assertion that could not be asked: its name and why.
Status note_failure(Runtime& runtime, const std::string& assertion, const Status& failed) {
  constexpr std::string_view kKind = "fail assertion";
  BERTH_ASSIGN(const bool is_known, is_noted(runtime.db(), kKind, assertion));
  if (is_known) return {};
  return write_event(runtime.db(), runtime.now(), kKind, assertion,
                     fmt::format("no round is applied: {}; {}", failed.message(), failed.hint()));
}

}  // namespace

Result<RoundReport> run_round(Runtime& runtime, const RoundOptions& options) {
  BERTH_TRY(runtime.check_writable());
  BERTH_ASSIGN(Lease lease, take_round_lease(runtime));
  BERTH_TRY(prune_now_and_then(runtime));
  for (int attempt = 1;; ++attempt) {
    BERTH_ASSIGN(PlannedRound round, plan_round(runtime, options));
    std::string failed;
    Result<ApplyResult> applied = apply_round(runtime, round, {.interrupted = options.interrupted, .failed = &failed});
    if (!applied.ok() && applied.status().code() == Code::kConflict && attempt < kMostAttempts) continue;
    if (!applied.ok()) {
      if (!failed.empty()) BERTH_TRY(note_failure(runtime, failed, applied.status()));
      return std::move(applied).status();
    }
    BERTH_TRY(note_failures(runtime, round.failures));
    if (applied->is_refused()) {
      BERTH_TRY(note_refusal(runtime, applied->broken));
      return RoundReport{std::move(round.schedule.plan), *applied, round.seconds, round.schedule.counters, {}, {},
                         std::move(round.failures)};
    }
    BERTH_ASSIGN(const DispatchReport dispatched, dispatch_now(runtime, lease));
    // The round is done: what cannot be told now is told by a later one.
    (void)tell_expected_starts(runtime, round.loaded.snapshot);
    Status watched = watch_shadows(runtime, round, applied->round);
    return RoundReport{std::move(round.schedule.plan), *applied,   round.seconds,
                       round.schedule.counters,        dispatched, std::move(watched),
                       std::move(round.failures)};
  }
}

Result<PlanReport> save_round_plan(Runtime& runtime, const RoundOptions& options) {
  BERTH_TRY(runtime.check_writable());
  PlanReport report;
  BERTH_ASSIGN(report.round, plan_round(runtime, options));
  Plan whole = std::move(report.round.schedule.plan);
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));
  HoldBack without(runtime, settings, report.round, options.interrupted);
  ApplyRequest request{.actor = runtime.author(), .now = runtime.now()};
  request.last_reasons = report.round.loaded.last_reasons;
  request.plan_without = without.callback();
  request.asking.interrupted = options.interrupted;
  BERTH_ASSIGN(ApplyResult outlook, foretell_plan(runtime.db(), whole, request));
  if (!outlook.replanned) {
    without.take_back();
    report.round.schedule.plan = std::move(whole);
  }
  report.broken = std::move(outlook.broken);
  report.held_back = std::move(outlook.held_back);
  const std::optional<RoundRecord> record = record_if_wanted(settings, report.round);
  BERTH_ASSIGN(report.id, save_plan(runtime.db(), report.round.schedule.plan, "schedule", runtime.now(),
                                    record ? &*record : nullptr));
  return report;
}

Status check_not_applied(Runtime& runtime, const SavedPlan& saved) {
  BERTH_ASSIGN(Statement row, runtime.db().prepare("SELECT state = 'applied' FROM plans WHERE id = ?1"));
  const bool is_applied = row.with(saved.id).next() && row.integer(0) != 0;
  BERTH_TRY(row.status());
  if (!is_applied) return {};
  return Status(Code::kConflict, fmt::format("plan {} was applied before", saved.id), makes_anew(saved.statement));
}

Result<RoundReport> apply_saved_plan(Runtime& runtime, std::int64_t id, const std::atomic<bool>* interrupted) {
  BERTH_TRY(runtime.check_writable());
  BERTH_ASSIGN(SavedPlan saved, load_plan(runtime.db(), id));
  BERTH_TRY(check_not_applied(runtime, saved));
  BERTH_ASSIGN(Lease lease, take_round_lease(runtime));
  BERTH_TRY(check_not_applied(runtime, saved));  // by whom we have waited for
  const Result<ApplyResult> applied = apply_plan(runtime.db(), saved.plan,
                                                 {.kind = saved.kind,
                                                  .actor = runtime.author(),
                                                  .now = runtime.now(),
                                                  .seconds = {},
                                                  .last_reasons = {},
                                                  .plan_id = id,
                                                  .record = nullptr,
                                                  .plan_without = {},
                                                  .asking = {.interrupted = interrupted},
                                                  .accept_new_jobs = false});
  if (!applied.ok()) return applied.status();
  if (applied->is_refused()) return RoundReport{std::move(saved.plan), *applied, {}, {}, {}, {}, {}};
  BERTH_ASSIGN(const DispatchReport dispatched, dispatch_now(runtime, lease));
  return RoundReport{std::move(saved.plan), *applied, {}, {}, dispatched, {}, {}};
}

Result<std::vector<BrokenAssertion>> broken_by_saved_plan(Runtime& runtime, const SavedPlan& saved,
                                                          const std::atomic<bool>* interrupted) {
  ApplyRequest request{.actor = runtime.author(), .now = runtime.now()};
  request.asking.interrupted = interrupted;
  BERTH_ASSIGN(ApplyResult outlook, foretell_plan(runtime.db(), saved.plan, request));
  return std::move(outlook.broken);
}

}  // namespace berth
