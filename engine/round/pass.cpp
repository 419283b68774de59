#include "engine/round/pass.h"

#include <algorithm>
#include <bit>

namespace berth {

namespace {

// The models a job may still use when those of `resource` are used up: 0 = none.
bool exclude_models(Job& job, ModelSet models, std::size_t model_count) {
  const ModelSet all = model_count >= 64 ? ~ModelSet{0} : (ModelSet{1} << model_count) - 1;
  bool some_left = true;
  for (TaskGroup& group : job.groups) {
    if (group.shape.gpu_count == 0) continue;
    const ModelSet left = (group.shape.models == 0 ? all : group.shape.models) & ~models;
    some_left = some_left && left != 0;
    group.shape.models = left;
  }
  return some_left;
}

}  // namespace

Pass::Pass(RoundState& state, std::span<const Reservation> kept, Seconds now)
    : state_(state), now_(now), backfill_(state, kept, now), reclaim_(state, now) {}

std::int64_t Pass::queue_id(std::int32_t queue) const {
  return queue < 0 ? 0 : state_.setup().queues[static_cast<std::size_t>(queue)].id;
}

PassOutcome Pass::wait(const Job& job, Reason reason) const {
  PassOutcome outcome;
  outcome.waiting.job = job.id;
  outcome.waiting.reason = reason;
  for (const TaskGroup& group : job.groups) outcome.waiting.needed += std::max(0, group.min_tasks - group.placed);
  return outcome;
}

PassOutcome Pass::refuse(const Job& job, const QuotaVerdict& verdict) const {
  PassOutcome outcome = wait(job, verdict.reason);
  outcome.waiting.queue = queue_id(verdict.queue);
  outcome.waiting.resource = state_.quotas().table().resources[static_cast<std::size_t>(verdict.resource)].name;
  outcome.waiting.short_by = verdict.short_by;
  outcome.waiting.beneficiary = queue_id(job.queue);
  return outcome;
}

PassOutcome Pass::try_job(const Job& job) {
  if (job.waits_for_others) return wait(job, Reason::kDependency);
  if (const std::int64_t blocker = backfill_.closed_by(job.queue); blocker != 0) {
    PassOutcome outcome = wait(job, Reason::kBlocked);
    outcome.waiting.behind_job = blocker;
    return outcome;
  }
  QuotaVerdict verdict;
  if (state_.quotas().governs() && job.queue >= 0) {
    const Seconds end = job.expected_end(now_);
    verdict =
        state_.quotas().judge(job.queue, state_.quotas().demand_to_start(job), end < now_ ? Seconds(kNoLimit) : end);
    if (!verdict.admitted()) return refuse(job, verdict);
  }
  BackfillAttempt attempt = place_within_quota(job, verdict);
  PassOutcome outcome;
  if (attempt.outcome.started) {
    state_.start(job, attempt.outcome.placed, now_);
    outcome.started = true;
    outcome.placed = std::move(attempt.outcome.placed);
    return outcome;
  }
  if (!verdict.admitted()) return refuse(job, verdict);
  if (attempt.outcome.needed == 0) return outcome;  // all it needs is placed already
  if (state_.rules().preemption == Preemption::kReclaim) {
    if (std::optional<RoomMade> room = reclaim_.make_room(job)) {
      evictions_.insert(evictions_.end(), room->evictions.begin(), room->evictions.end());
      if (!room->reservation) {
        state_.start(job, room->outcome.placed, now_);
        outcome.started = true;
        outcome.placed = std::move(room->outcome.placed);
        return outcome;
      }
      backfill_.hold(*std::move(room->reservation));
      outcome = wait(job, Reason::kReserved);
      outcome.keeps_room = true;
      return outcome;
    }
  }
  if (attempt.would_delay != 0) {
    outcome = wait(job, Reason::kReserved);
    outcome.waiting.behind_job = attempt.would_delay;
    outcome.keeps_room = true;
    return outcome;
  }
  backfill_.note_blocked(job);
  const JobOutcome& why = attempt.outcome;
  outcome.waiting = {.job = job.id, .reason = why.reason, .group = why.group, .fits = why.fits, .needed = why.needed};
  return outcome;
}

BackfillAttempt Pass::place_within_quota(const Job& job, QuotaVerdict& verdict) {
  const QuotaLedger& quotas = state_.quotas();
  if (!quotas.governs() || job.queue < 0) return backfill_.place(job);
  // Surplus tasks only as far as the quota takes them.
  Job wanted = job;
  Amounts demand = quotas.demand_to_start(job);
  for (TaskGroup& group : wanted.groups) {
    std::int32_t tasks = std::max(group.min_tasks, group.placed);
    Amounts one_more = demand;
    for (; tasks < group.count; ++tasks) {
      quotas.add_demand(group.shape, 1, one_more);
      if (!quotas.judge(job.queue, one_more).admitted()) break;
      demand = one_more;
    }
    group.count = tasks;
  }
  // Where it will run decides which models it counts for. Those without room are left out, one after the other.
  for (;;) {
    BackfillAttempt attempt = backfill_.place(wanted);
    if (!attempt.outcome.started) return attempt;
    Amounts taken = quotas.none();
    for (const PlacedTask& task : attempt.outcome.placed) quotas.add_holding(task.holding, taken);
    const Seconds end = job.expected_end(now_);
    verdict = quotas.judge(job.queue, taken, end < now_ ? Seconds(kNoLimit) : end);
    if (verdict.admitted()) return attempt;
    for (auto task = attempt.outcome.placed.rbegin(); task != attempt.outcome.placed.rend(); ++task) {
      (void)state_.ledger().release(task->holding);
    }
    state_.ledger().commit();
    attempt.outcome.started = false;
    attempt.outcome.placed.clear();
    const ModelSet used_up = quotas.table().resources[static_cast<std::size_t>(verdict.resource)].models;
    if (used_up == 0 || !exclude_models(wanted, used_up, state_.cluster().models.size())) return attempt;
  }
}

}  // namespace berth
