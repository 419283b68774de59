#include "engine/round/pass.h"

#include <algorithm>

#include "engine/round/quota_placing.h"

namespace berth {

Pass::Pass(RoundState& state, std::span<const Reservation> kept, Seconds now)
    : state_(state), now_(now), backfill_(state, kept, now) {
  if (state.rules().preemption == Preemption::kReclaim) reclaim_.emplace(state, now);
  state_.renew_marks();
}

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
  outcome.refusal = verdict;
  return outcome;
}

PassOutcome Pass::start(const Job& job, std::vector<PlacedTask> placed) {
  state_.start(job, placed, now_);
  backfill_.note_started(job, placed);
  if (reclaim_) reclaim_->settle(job.id);
  PassOutcome outcome;
  outcome.started = true;
  outcome.placed = std::move(placed);
  return outcome;
}

PassOutcome Pass::try_job(const Job& job, bool may_evict) {
  if (!job.after.empty()) return wait(job, Reason::kDependency);
  if (const std::int64_t blocker = backfill_.closed_by(job.queue); blocker != 0) {
    PassOutcome outcome = wait(job, Reason::kBlocked);
    outcome.waiting.behind_job = blocker;
    return outcome;
  }
  const Seconds expected_end = job.expected_end(now_);
  const Seconds end = expected_end < now_ ? kNever : expected_end;
  const QuotaLedger& quotas = state_.quotas();
  const QuotaVerdict verdict =
      quotas.governs() ? quotas.judge(job.queue, quotas.demand_to_start(job), end) : QuotaVerdict{};
  if (!verdict.admitted()) {
    if (may_evict) {
      if (std::optional<PassOutcome> outcome = evict_for(job, end, true)) return *std::move(outcome);
    }
    return refuse(job, verdict);
  }
  std::int64_t would_delay = 0;
  const auto place = [&](const Job& wanted) {
    BackfillAttempt attempt = backfill_.place(wanted);
    would_delay = attempt.would_delay;
    return std::move(attempt.outcome);
  };
  QuotaPlacing placing = place_within_quota(quotas, state_.ledger(), job, end, place);
  while (!placing.outcome.started && would_delay != 0 && !verdict.borrows && backfill_.give_way(would_delay)) {
    placing = place_within_quota(quotas, state_.ledger(), job, end, place);
  }
  if (placing.outcome.started) return start(job, std::move(placing.outcome.placed));
  if (!placing.verdict.admitted()) {
    // On models with quota left it does not fit: that is for a reservation to remedy.
    PassOutcome outcome = refuse(job, placing.verdict);
    return placing.narrowed ? block(job, std::move(outcome), verdict.borrows) : outcome;
  }
  if (placing.outcome.needed == 0) return {};  // all it needs is placed already
  if (backfill_.holds_room_for(job.id)) {
    PassOutcome outcome = wait(job, Reason::kReserved);
    outcome.keeps_room = true;
    return outcome;
  }
  if (may_evict) {
    if (std::optional<PassOutcome> outcome = evict_for(job, end, verdict.borrows)) return *std::move(outcome);
  }
  PassOutcome outcome;
  if (would_delay != 0) {
    outcome = wait(job, Reason::kReserved);
    outcome.waiting.behind_job = would_delay;
    outcome = block(job, std::move(outcome), verdict.borrows);
    outcome.keeps_room = true;
    return outcome;
  }
  const JobOutcome& why = placing.outcome;
  outcome.waiting = {.job = job.id, .reason = why.reason, .group = why.group, .fits = why.fits, .needed = why.needed};
  return block(job, std::move(outcome), verdict.borrows);
}

PassOutcome Pass::block(const Job& job, PassOutcome outcome, bool borrows) {
  outcome.keeps_room = backfill_.note_blocked(job, borrows);
  return outcome;
}

std::optional<PassOutcome> Pass::evict_for(const Job& job, Seconds end, bool borrows) {
  if (!reclaim_ || backfill_.holds_room_for(job.id)) return std::nullopt;
  std::optional<RoomMade> room;
  {
    std::optional<Backfill::Fence> fence;
    room = reclaim_->make_room(job, end, [&] { fence.emplace(backfill_, job.id, borrows); });
  }
  if (!room) return std::nullopt;
  evictions_.insert(evictions_.end(), room->evictions.begin(), room->evictions.end());
  if (!borrows) backfill_.give_way_to(room->outcome.placed);
  backfill_.note_evicted();
  if (!room->reservation) return start(job, std::move(room->outcome.placed));
  backfill_.hold(*std::move(room->reservation));
  PassOutcome outcome = wait(job, Reason::kReserved);
  outcome.keeps_room = true;
  return outcome;
}

}  // namespace berth
