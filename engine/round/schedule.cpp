#include "engine/round/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "engine/policy/registry.h"
#include "engine/round/demand_classes.h"
#include "engine/round/explain.h"
#include "engine/round/pass.h"
#include "engine/round/room_left.h"
#include "engine/round/stops.h"

namespace berth {

namespace {

bool wants_tasks(const Job& job) {
  for (const TaskGroup& group : job.groups) {
    if (group.placed < group.count) return true;
  }
  return false;
}

Placement placement_of(const Snapshot& snapshot, const Job& job, const PlacedTask& task) {
  return Placement{.job = job.id,
                   .group = task.group,
                   .task = task.task,
                   .node = task.holding.node,
                   .node_id = snapshot.cluster.nodes[static_cast<std::size_t>(task.holding.node)].id,
                   .devices = task.holding.devices,
                   .gpu_milli = task.holding.gpu_milli,
                   .gpu_memory = task.holding.gpu_memory,
                   .cpu = task.holding.cpu,
                   .memory = task.holding.memory};
}

void announce_step(const ScheduleOptions& options, std::string_view step) {
  if (options.step_begins) options.step_begins(step);
}

// What runs, by job, with its tasks. Allocations of jobs that the snapshot does not describe belong to nobody's queue
// and are never evicted.
Status add_running_jobs(const Snapshot& snapshot, RoundState& state) {
  std::map<std::int64_t, RunningJob> running;
  for (const RunningJob& job : snapshot.running) running.emplace(job.job.id, job);
  for (const Job& job : snapshot.jobs) {
    if (job.state == JobState::kRunning)
      running.try_emplace(job.id, RunningJob{.job = job, .start = snapshot.now, .tasks = {}});
  }
  for (const Allocation& a : snapshot.allocations) {
    const auto [entry, is_unknown] = running.try_emplace(a.job);
    RunningJob& run = entry->second;
    if (is_unknown) {
      run.job.id = a.job;
      run.job.state = JobState::kRunning;
      run.job.eviction.preemptible = false;
      run.start = snapshot.now;
    }
    const bool tracked = snapshot.cluster.kind_of(static_cast<std::size_t>(a.node)).device_memory != MiB(0);
    run.tasks.push_back(
        {a.group, a.task, {a.node, a.devices, a.gpu_milli, tracked ? a.gpu_memory : MiB(0), a.cpu, a.memory}, a.start});
  }
  for (auto& [id, run] : running) BERTH_TRY(state.add_running(std::move(run)));
  return {};
}

// Those of jobs that still wait and may start.
std::vector<Reservation> kept_reservations(const Snapshot& snapshot) {
  std::vector<Reservation> kept;
  if (snapshot.reservations.empty()) return kept;
  std::unordered_set<std::int64_t> waiting;
  for (const Job& job : snapshot.jobs) waiting.insert(job.id);
  for (const AssertionHold& hold : snapshot.holds) waiting.erase(hold.job);
  for (const AssertionRefusal& each : snapshot.refused) {
    if (each.counts(snapshot.now, snapshot.rules)) waiting.erase(each.job);
  }
  for (const Reservation& reservation : snapshot.reservations) {
    if (waiting.contains(reservation.job)) kept.push_back(reservation);
  }
  return kept;
}

// One pass over the jobs, and further ones where evictions left room, or somebody comes after owners.
class ScheduleRun {
 public:
  // `kept`: reservations of jobs that still wait.
  ScheduleRun(const Snapshot& snapshot, RoundState& state, Ordering& ordering, const ScheduleOptions& options,
              std::span<const Reservation> kept, SettledStops settled)
      : snapshot_(snapshot),
        state_(state),
        options_(options),
        ordering_(ordering),
        pass_(std::in_place, state, kept_of(kept), snapshot.now) {
    result_.plan.evictions = std::move(settled.ended);
    std::ranges::move(settled.sooner, std::back_inserter(result_.plan.evictions));
    result_.plan.reprieves = std::move(settled.reprieves);
    result_.plan.loan_starts = std::move(settled.loan_starts);
  }

  Status run() {
    announce_step(options_, "place");
    promised_ = pass_->promised();
    for (const std::int64_t id : promised_) {
      const auto job = std::ranges::find(snapshot_.jobs, id, &Job::id);
      if (wants_tasks(*job)) BERTH_TRY(try_job(*job));
    }
    BERTH_TRY(try_in_order(*ordering_.sequence));
    while (pass_->leaves_room() && !is_settled_ && ordering_.sequence->failure().empty()) BERTH_TRY(pass_again());
    hold_back(*ordering_.sequence);
    announce_step(options_, "reasons");
    name_reasons();
    result_.plan.evictions.insert(result_.plan.evictions.end(), pass_->evictions().begin(), pass_->evictions().end());
    result_.plan.reservations = pass_->reservations();
    spare_after();
    if (const auto twice = std::ranges::adjacent_find(result_.plan.reservations, {}, &Reservation::job);
        options_.check_invariants && twice != result_.plan.reservations.end())
      return Status(Code::kInternal, fmt::format("job {} has two reservations", twice->job));
    for (ReservedTask* task : reserved_tasks()) {
      task->node_id = snapshot_.cluster.nodes[static_cast<std::size_t>(task->holding.node)].id;
    }
    collect_marks();
    for (const Job& job : snapshot_.jobs) {
      if (!wants_tasks(job)) continue;
      if (const AssertionHold* const hold = find_hold(snapshot_.holds, job.id)) result_.plan.holds.push_back(*hold);
      if (const AssertionHold* const hold = find_hold(snapshot_.surplus_holds, job.id))
        result_.plan.surplus_holds.push_back(*hold);
    }
    return {};
  }

  ScheduleResult result() && {
    result_.counters = state_.placer().candidates().counters();
    return std::move(result_);
  }

 private:
  KeptReservations kept_of(std::span<const Reservation> reservations) const {
    return {.reservations = reservations,
            .jobs = snapshot_.jobs,
            .order = ordering_.policy.get(),
            .input = ordering_.input.get()};
  }

  // The pass may spare a victim that was to stop sooner. The plan then says that it runs on, and no more that it stops.
  void spare_after() {
    Plan& plan = result_.plan;
    for (const std::int64_t job : reprieve_after(state_, *pass_, snapshot_.now)) {
      plan.reprieves.push_back(job);
      std::erase_if(plan.evictions, [&](const Eviction& each) { return each.job == job && each.was_told_before(); });
    }
    std::ranges::sort(plan.reprieves);
  }

  Status try_in_order(JobSequence& sequence) {
    bool is_asked_tried = false;  // the job that is asked for
    for (std::int64_t looked_at = 0;;) {
      if (options_.place && !is_asked_tried && looked_at == *options_.place) {
        BERTH_TRY(try_out_of_place());
        is_asked_tried = true;
        if (!may_fare_better()) break;
      }
      const std::optional<std::int32_t> index = sequence.next();
      if (!index) break;
      if (options_.interrupted != nullptr && options_.interrupted->load(std::memory_order_relaxed)) {
        return Status(Code::kInterrupted, "planning was interrupted; nothing changed");
      }
      const Job& job = snapshot_.jobs[static_cast<std::size_t>(*index)];
      const bool is_tried = std::ranges::binary_search(promised_, job.id) || made_room(job) ||
                            early_.contains(job.id) || started_.contains(job.id) ||
                            (is_asked_tried && job.id == options_.until_job);
      const int levels = sequence.levels_within_quota();
      if (levels == 0) {
        ++looked_at;
        if (pass_->is_first() && !is_asked_tried) result_.order.push_back(job.id);
        if (wants_tasks(job) && !is_tried) BERTH_TRY(try_job(job));
      } else if (wants_tasks(job) && !is_tried && !(options_.place && job.id == options_.until_job)) {
        BERTH_TRY(try_job(job, levels));
      }
      if (job.id != options_.until_job || is_asked_tried) continue;
      is_asked_tried = levels == 0 || early_.contains(job.id);
      if (is_asked_tried && !may_fare_better()) break;
    }
    return {};
  }

  // The job that is asked for has been tried: evictions for others behind it could still leave it room.
  bool may_fare_better() {
    const bool is_last =
        pass_->is_first() ? !pass_->may_evict() && !pass_->leaves_room() : !pass_->is_put_off(options_.until_job);
    is_settled_ = is_last || asked_starts_ || pass_->holds_room_for(options_.until_job);
    return !is_settled_;
  }

  // Those that wait are tried once more; their reasons are those of this pass.
  Status pass_again() {
    const std::vector<Eviction>& made = pass_->evictions();
    result_.plan.evictions.insert(result_.plan.evictions.end(), made.begin(), made.end());
    for (const Placement& placement : result_.plan.placements) started_.insert(placement.job);
    const std::vector<Reservation> kept = pass_->reservations();
    Pass::Rest rest = pass_->take_rest();
    pass_.emplace(state_, kept_of(kept), snapshot_.now, std::move(rest));
    promised_ = pass_->promised();
    failed_ = {};
    std::erase_if(waiting_jobs_, [&](const Job* job) { return !std::ranges::binary_search(promised_, job->id); });
    std::erase_if(result_.plan.waiting,
                  [&](const Waiting& waiting) { return !std::ranges::binary_search(promised_, waiting.job); });
    ordering_.sequence = ordering_.policy->begin(*ordering_.input);
    return try_in_order(*ordering_.sequence);
  }

  Status try_job(const Job& job, int levels = 0) {
    const Seconds end = state_.quotas().looks_at_end() ? job.expected_end(snapshot_.now) : Seconds(0);
    const MayEvict may_evict = levels > 0 ? MayEvict::kNobody : pass_->may_evict_for(job);
    const std::size_t demand = classes_.of(job, may_evict, end, levels);
    const bool is_held = find_hold(snapshot_.holds, job.id) != nullptr;
    if (const std::optional<std::size_t> failed = failed_.find(demand, evictions()); failed && !is_held) {
      if (levels > 0) return {};
      Waiting again = result_.plan.waiting[*failed];
      again.job = job.id;
      add_waiting(job, again);
      return {};
    }
    ++result_.jobs_tried;
    const std::size_t made = evictions();
    PassOutcome outcome = pass_->try_job(job, true, levels);
    if (levels > 0 && !outcome.started) {
      if (!outcome.keeps_room) failed_.note(demand, evictions());
      return {};
    }
    if (levels > 0) early_.insert(job.id);
    asked_starts_ = asked_starts_ || (outcome.started && job.id == options_.until_job);
    if (outcome.refusal) outcome.waiting.beneficiary = queue_id(state_.quotas().in_the_way(*outcome.refusal));
    for (const PlacedTask& task : outcome.placed) result_.plan.placements.push_back(placement_of(snapshot_, job, task));
    // What was evicted for a job was never there for others.
    if (made == evictions() && pass_->is_first()) {
      for (const PlacedTask& task : outcome.placed) taken_.push_back(task.holding);
    }
    if (!outcome.started) {
      if (outcome.waiting.needed > 0) {
        if (!outcome.keeps_room) failed_.note(demand, evictions(), result_.plan.waiting.size());
        add_waiting(job, outcome.waiting);
      }
      return {};
    }
    if (options_.check_invariants) {
      if (const std::vector<std::string> broken = state_.ledger().violations(); !broken.empty()) {
        return Status(Code::kInternal, fmt::format("after job {}: {}", job.id, broken.front()));
      }
    }
    return {};
  }

  // A job that runs already and is held back gains no more tasks, and does not wait.
  void hold_back(const JobSequence& sequence) {
    for (const HeldBack& held : sequence.held_back()) {
      const Job& job = snapshot_.jobs[static_cast<std::size_t>(held.job)];
      if (job.state == JobState::kRunning || !wants_tasks(job)) continue;
      if (std::ranges::binary_search(promised_, job.id)) continue;  // tried before the order was asked
      Waiting waiting{.job = job.id, .reason = Reason::kPolicy, .words = held.words};
      if (!job.groups.empty()) waiting.needed = job.groups.front().min_tasks;
      add_waiting(job, waiting);
    }
  }

  Status try_out_of_place() {
    const auto job = std::ranges::find(snapshot_.jobs, options_.until_job, &Job::id);
    return job == snapshot_.jobs.end() || !wants_tasks(*job) ? Status() : try_job(*job);
  }

  std::size_t evictions() const { return pass_->evictions().size(); }

  // A running job with tasks still to place that was evicted in this pass, lost some, or is to stop: it gains none.
  bool made_room(const Job& job) const {
    if (job.state != JobState::kRunning) return false;
    const RunningJob* run = state_.running().find(job.id);
    return run == nullptr || run->stop_at >= Seconds(0) ||
           !std::ranges::equal(run->job.groups, job.groups, std::greater_equal(), &TaskGroup::placed,
                               &TaskGroup::placed);
  }

  void add_waiting(const Job& job, const Waiting& waiting) {
    result_.plan.waiting.push_back(waiting);
    waiting_jobs_.push_back(&job);
  }

  // A caller who names one job reads the reason of that one.
  bool is_read(const Job& job) const { return options_.until_job == 0 || job.id == options_.until_job; }

  // Where not one task fits, the nodes know why; asked once per shape, at the end of the pass.
  void name_reasons() {
    std::unordered_map<TaskShape, Reason, TaskShapeHash> dominant;
    for (std::size_t i = 0; i < waiting_jobs_.size(); ++i) {
      if (!is_read(*waiting_jobs_[i])) continue;
      Waiting& waiting = result_.plan.waiting[i];
      if (waiting.reason != Reason::kNone) continue;
      const TaskShape& shape = waiting_jobs_[i]->groups[static_cast<std::size_t>(waiting.group)].shape;
      const auto [entry, added] = dominant.try_emplace(shape, Reason::kNone);
      if (added) entry->second = explain_shape(state_.ledger(), shape).dominant;
      // It fits now: a filter keeps it off, or evictions for a job behind it left room.
      if (entry->second == Reason::kNone)
        entry->second = snapshot_.filter_policy.empty() ? Reason::kOrder : Reason::kPolicy;
      waiting.reason = entry->second;
    }
    std::optional<RoomLeft> room;  // made when somebody lacks GPUs
    for (std::size_t i = 0; i < waiting_jobs_.size(); ++i) {
      if (!is_read(*waiting_jobs_[i])) continue;
      Waiting& waiting = result_.plan.waiting[i];
      if (waiting.behind_job != 0 && waiting.beneficiary == 0) waiting.beneficiary = queue_of(waiting.behind_job);
      if (waiting.reason != Reason::kGpu && waiting.reason != Reason::kGang) continue;
      const TaskShape& shape = waiting_jobs_[i]->groups[static_cast<std::size_t>(waiting.group)].shape;
      const std::int32_t needed = std::max(1, waiting.needed);
      if (!room) room.emplace(state_.ledger(), snapshot_.cluster, taken_);
      waiting.in_pieces = room->is_in_pieces(shape, needed);
      waiting.passed_over = room->was_there(shape, needed - waiting.fits);
    }
  }

  // Its id; 0 = none.
  std::int64_t queue_of(std::int64_t job) const {
    const Job* const found = find_job(snapshot_.jobs, job);
    return found == nullptr ? 0 : queue_id(found->queue);
  }

  std::int64_t queue_id(std::int32_t queue) const {
    return queue < 0 ? 0 : snapshot_.queues[static_cast<std::size_t>(queue)].id;
  }

  std::vector<ReservedTask*> reserved_tasks() {
    std::vector<ReservedTask*> tasks;
    for (Reservation& reservation : result_.plan.reservations) {
      for (ReservedTask& task : reservation.tasks) tasks.push_back(&task);
    }
    return tasks;
  }

  // Of jobs that run after the round: those that changed, and those that are new.
  void collect_marks() {
    if (!state_.quotas().governs()) return;
    state_.renew_marks();
    std::unordered_map<std::int64_t, std::uint32_t> before;
    for (const RunningJob& job : snapshot_.running) before.emplace(job.job.id, job.quota_mark);
    for (const RunningJob& job : state_.running().all()) {
      const auto known = before.find(job.job.id);
      const std::uint32_t old = known == before.end() ? 0 : known->second;
      if (job.quota_mark != old) result_.plan.marks.push_back({job.job.id, job.quota_mark});
    }
    std::ranges::sort(result_.plan.marks, {}, &QuotaMark::job);
  }

  const Snapshot& snapshot_;
  RoundState& state_;
  const ScheduleOptions& options_;
  Ordering& ordering_;
  std::optional<Pass> pass_;
  bool asked_starts_ = false;                 // of until_job
  bool is_settled_ = false;                   // its fate is known
  std::vector<std::int64_t> promised_;        // see Pass
  std::unordered_set<std::int64_t> started_;  // in the first pass, of two
  ScheduleResult result_;
  std::vector<const Job*> waiting_jobs_;  // parallel to plan.waiting
  std::vector<Holding> taken_;            // by jobs that started on what was free
  DemandClasses classes_;
  FailedDemands failed_;                    // remembered: the place in plan.waiting
  std::unordered_set<std::int64_t> early_;  // started on what is their queue's own, before anybody borrowed
};

}  // namespace

Result<Planning> planning_of(const Snapshot& snapshot) {
  Planning planning;
  BERTH_ASSIGN(planning.score, score_of(snapshot));
  BERTH_ASSIGN(planning.victim_cost, victim_cost_of(snapshot));
  planning.state = std::make_unique<RoundState>(RoundSetup{.cluster = &snapshot.cluster,
                                                           .queues = snapshot.queues,
                                                           .priority_classes = snapshot.priority_classes,
                                                           .quotas = &snapshot.quotas,
                                                           .score = planning.score.get(),
                                                           .victim_cost = planning.victim_cost.get(),
                                                           .rules = snapshot.rules,
                                                           .holds = snapshot.holds,
                                                           .surplus_holds = snapshot.surplus_holds,
                                                           .kept_off = snapshot.kept_off,
                                                           .refused = snapshot.refused,
                                                           .seed = snapshot.seed,
                                                           .now = snapshot.now});
  BERTH_TRY(add_running_jobs(snapshot, *planning.state));
  planning.state->renew_pledges(kept_reservations(snapshot), snapshot.jobs);
  return planning;
}

Result<Ordering> ordering_of(const Snapshot& snapshot, const RoundState& state) {
  Ordering ordering;
  BERTH_ASSIGN(ordering.policy, make_order(snapshot.order_policy, snapshot.scripts));
  ordering.input = std::make_unique<OrderInput>(OrderInput{.now = snapshot.now,
                                                           .seed = snapshot.seed,
                                                           .jobs = snapshot.jobs,
                                                           .priority_classes = snapshot.priority_classes,
                                                           .queues = snapshot.queues,
                                                           .aging_interval = snapshot.aging_interval,
                                                           .quotas = &state.quotas(),
                                                           .knobs = snapshot.order_knobs});
  ordering.sequence = ordering.policy->begin(*ordering.input);
  return ordering;
}

Result<ScheduleResult> plan_schedule_on(const Snapshot& snapshot, RoundState& state, const ScheduleOptions& options) {
  announce_step(options, "order");
  BERTH_ASSIGN(Ordering ordering, ordering_of(snapshot, state));
  std::vector<Reservation> kept = kept_reservations(snapshot);
  // A promise is also void where what is due to a lender refuses it.
  if (std::ranges::find(kept, ReservationKind::kEviction, &Reservation::kind) != kept.end())
    BERTH_TRY(keep_for_lenders(state, snapshot.jobs, snapshot.now));
  drop_void_promises(state, snapshot.jobs, snapshot.now, kept);
  state.quotas().keep_nothing();
  const StartsThen starts = options.tries_loans ? starts_then(snapshot, options) : StartsThen();
  const std::vector<std::int64_t> spared = spare_needless(state, kept, snapshot.jobs, snapshot.now);
  BERTH_ASSIGN(SettledStops settled, settle_stops(state, kept, snapshot.jobs, snapshot.now, starts));
  settled.reprieves.insert(settled.reprieves.end(), spared.begin(), spared.end());
  ScheduleRun run(snapshot, state, ordering, options, kept, std::move(settled));
  BERTH_TRY(run.run());
  ScheduleResult result = std::move(run).result();
  if (std::string failure = ordering.sequence->failure(); !failure.empty())
    result.failures.push_back({PolicyKind::kOrder, snapshot.order_policy, std::move(failure)});
  const NodeScore& score = *state.setup().score;
  if (std::string failure = score.failure(); !failure.empty())
    result.failures.push_back({PolicyKind::kScore, snapshot.score_policy, std::move(failure)});
  if (std::string failure = score.filter_failure(); !failure.empty())
    result.failures.push_back({PolicyKind::kFilter, snapshot.filter_policy, std::move(failure)});
  if (VictimCost* const cost = state.setup().victim_cost; cost != nullptr && !cost->failure().empty())
    result.failures.push_back({PolicyKind::kVictim, snapshot.victim_policy, cost->failure()});
  result.plan.version = snapshot.version;
  result.plan.planned_at = snapshot.now;
  result.plan.seed = snapshot.seed;
  result.plan.order_policy = snapshot.order_policy;
  result.plan.score_policy = snapshot.score_policy;
  return result;
}

Result<ScheduleResult> plan_schedule(const Snapshot& snapshot, const ScheduleOptions& options) {
  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  return plan_schedule_on(snapshot, *planning.state, options);
}

Result<Ledger> ledger_of(const Snapshot& snapshot) {
  Ledger ledger(snapshot.cluster);
  for (const Allocation& a : snapshot.allocations) {
    const bool tracked = snapshot.cluster.kind_of(static_cast<std::size_t>(a.node)).device_memory != MiB(0);
    const Holding holding{a.node, a.devices, a.gpu_milli, tracked ? a.gpu_memory : MiB(0), a.cpu, a.memory};
    if (Status placed = ledger.place(holding); !placed.ok()) {
      return Status(Code::kCorrupt,
                    fmt::format("job {} task {}.{} does not fit the node it runs on: {}", a.job, a.group, a.task,
                                placed.message()),
                    "CHECK; names everything that is broken");
    }
  }
  ledger.commit();
  return ledger;
}

}  // namespace berth
