// Whose turn it is, where ranks move with what queues use: see backfill.h.
#include <algorithm>
#include <utility>

#include "engine/round/backfill.h"
#include "engine/round/reserved_room.h"
#include "engine/round/start_search.h"

namespace berth {

bool Backfill::close_behind(const Job& job, bool borrows) {
  const bool closes = closed_by(job) == 0;
  if (!fits_one_day(job)) return false;
  close(job, borrows);
  if (!ranks_move_) return false;
  const Reservation* row = row_of(job);
  if (row != nullptr) {
    unbound_.push_back(*row);
  } else if (state_.rules().backfill == BackfillMode::kNonePerQueue) {
    if (closes) unbound_.push_back({.job = job.id, .made_at = now_, .expected = now_, .tasks = {}});
    return is_like_first(job);
  }
  note_waiter(job, borrows);
  if (oldest_ && takes_turn(oldest_->job)) make_first(oldest_->job, true);
  return is_like_first(job);
}

Seconds steps_back_until(const Job& job, const RoundRules& rules) {
  const Seconds rest((job.eviction.evictions - 1) * rules.reservation_ttl.value());
  return job.eviction.last_eviction + std::min(rest, rules.most_behind());
}

bool Backfill::steps_back(const Job& job, bool borrows) const {
  return borrows && now_ < steps_back_until(job, state_.rules());
}

bool Backfill::note_closed(const Job& job) {
  if (!ranks_move_ || row_of(job) != nullptr) return false;
  if (has_its_gang(job)) return false;
  const QuotaLedger& quotas = state_.quotas();
  if (closed_by_ == 0) return take_queues_over(job);
  if (quotas.governs() && !quotas.judge(job.queue, quotas.demand_to_start(job), last_end_of(job, now_)).admitted())
    return false;
  note_waiter(job, false);
  if (is_first_new_ && oldest_ && takes_turn(oldest_->job)) make_first(oldest_->job, true);
  return false;
}

bool Backfill::take_queues_over(const Job& job) {
  const std::int64_t closer = closed_queues_[static_cast<std::size_t>(job.queue)].job;
  if (!goes_before_holder(job, closer)) return false;
  QuotaVerdict alone;
  {
    QuotaLedger& quotas = state_.quotas();
    const HoldsRestored restored(quotas);
    quotas.drop_holds_of(closer);
    alone = quotas.judge(job.queue, quotas.demand_to_start(job), last_end_of(job, now_));
  }
  if (alone.admitted()) return true;
  (void)take_limit_over(job, closer);
  for (QueueCloser& each : closed_queues_) {
    if (each.job == closer) each = {};
  }
  note_refused(job, alone);
  return false;
}

void Backfill::note_later(const Job& job) {
  if (closed_by_ == job.id) closed_by_ = 0;
  const Reservation* const row = row_of(job);
  if (row != nullptr && !is_held(job.id)) unbound_.push_back(*row);
}

bool Backfill::withstands(const Job& job) const {
  const Reservation* const row = row_of(job);
  if (row != nullptr) return !gives_way(true, *row);
  // Under a fixed order such a mode has no reservation to tell: the first in line waits for reservation_ttl at most.
  return state_.rules().keeps_order_of_all() && !gives_way_as_first(job);
}

void Backfill::hold_quota(const Job& job, const LimitHolds::ServedWithout& served_without) {
  const BackfillMode mode = state_.rules().backfill;
  if (mode != BackfillMode::kEasy && mode != BackfillMode::kConservative) return;
  // Where ranks move it has its turn by its age; when, nobody knows.
  const bool has_waited = ranks_move_ && now_ > job.in_line_since() + state_.rules().reservation_ttl;
  std::optional<Seconds> otherwise = ranks_move_ ? std::optional(now_) : expected_start(job.id);
  if (has_waited) otherwise = Seconds(kNoLimit);
  if (!otherwise) otherwise = limits_.held_until(job.id);
  limits_.hold_quota(job, has_waited || is_behind_evicted(job), otherwise, served_without);
}

bool Backfill::is_behind_evicted(const Job& job) const {
  const auto is_it = [&](const Held& held) { return held.came_back && held.borrows && held.queue != job.queue; };
  const auto came_back = [&](std::int64_t holder) { return holders_back_.contains(holder); };
  return std::ranges::any_of(held_, is_it) || std::ranges::any_of(set_aside_, is_it) ||
         std::ranges::any_of(limits_.holders_above(job), came_back);
}

bool Backfill::takes_turn(const Job& job) {
  if (first_ == 0) return true;
  if (!is_first_new_ || !goes_by_age(job, age_of(first_job_)) || !fits_one_day(job)) return false;
  if (state_.rules().backfill == BackfillMode::kEasy) {
    drop_held(first_);
    state_.quotas().drop_holds_of(first_);
  }
  return true;
}

// Queues that use nothing rank alike, whatever came first.
bool Backfill::uses_nothing(std::int32_t queue) const {
  const QuotaLedger& quotas = state_.quotas();
  if (queue < 0) return false;
  for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
    if (quotas.used(queue, r) > 0) return false;
  }
  return true;
}

bool Backfill::goes_by_age(const Job& job, const Age& ranked) const {
  if (uses_nothing(job.queue)) return age_of(job) < ranked;
  return state_.rules().goes_by_age(job.in_line_since(), ranked.first);
}

// Else the other would start first and be evicted for it.
bool Backfill::goes_by_class(const Job& job, const Job& first) const {
  if (!ranks_move_ || job.queue < 0 || job.queue != first.queue || first.id == job.id) return false;
  if (state_.class_value(job) <= state_.class_value(first)) return false;
  return !state_.rules().goes_by_age(first.in_line_since(), job.in_line_since()) &&
         order_->goes_first(job, first, *input_);
}

bool Backfill::higher_class_waits(const Job& first) const {
  return std::ranges::any_of(input_->jobs, [&](const Job& job) {
    return job.state != JobState::kRunning && job.after.empty() && state_.running().find(job.id) == nullptr &&
           goes_by_class(job, first);
  });
}

bool Backfill::is_passed_by_class(const Job& first) const {
  return ranks_move_ && std::ranges::any_of(input_->jobs, [&](const Job& job) { return goes_by_class(job, first); });
}

void Backfill::make_first(const Job& job, bool is_new) {
  if (first_ != job.id) is_first_new_ = is_new;
  set_first(job);
  drop_waiter(first_);
}

void Backfill::drop_waiter(std::int64_t job) {
  for (std::optional<Waiter>* const waiter : {&oldest_, &highest_}) {
    if (*waiter && (*waiter)->job.id == job) waiter->reset();
  }
}

void Backfill::note_waiter(const Job& job, bool borrows) {
  if (!ranks_move_ || job.id == first_) return;
  const bool is_older = !oldest_ || age_of(job) <= age_of(oldest_->job);
  if ((!is_older && highest_) || !fits_one_day(job)) return;
  if (is_older) oldest_ = {job, borrows};
  if (!highest_) highest_ = {job, borrows};
}

void Backfill::note_behind(const Job& job, const QuotaVerdict& refusal) {
  const auto comes_before = [&](const Behind& each) {
    return each.refusal.queue == refusal.queue && each.refusal.resource == refusal.resource &&
           !(ranks_move_ && goes_by_age(job, age_of(each.job)));
  };
  if (std::ranges::none_of(behind_, comes_before) && limits_.may_admit(job)) behind_.push_back({job, refusal});
}

bool Backfill::goes_before_holder(const Job& job, std::int64_t holder) {
  const auto found = std::ranges::find(new_at_limits_, holder, &std::pair<std::int64_t, Age>::first);
  return ranks_move_ && found != new_at_limits_.end() && goes_by_age(job, found->second) && limits_.may_admit(job) &&
         fits_one_day(job);
}

bool Backfill::take_limit_over(const Job& job, std::int64_t holder) {
  if (!goes_before_holder(job, holder)) return false;
  std::erase_if(new_at_limits_, [&](const auto& each) { return each.first == holder; });
  state_.quotas().drop_holds_of(holder);
  std::erase_if(unbound_, [&](const Reservation& row) { return row.job == holder; });
  return true;
}

void Backfill::pass_limit_on(const Job& started) {
  QuotaLedger& quotas = state_.quotas();
  for (const Behind& each : std::exchange(behind_, {})) {
    const Job& job = each.job;
    if (job.id == started.id) continue;
    quotas.judge_for(job.id, kNever);
    const QuotaVerdict verdict = quotas.judge(job.queue, quotas.demand_to_start(job), last_end_of(job, now_));
    if (verdict.admitted()) {
      note_waiter(job, verdict.borrows);
    } else {
      note_refused(job, verdict);
    }
  }
  quotas.judge_for(started.id, kNever);
}

std::optional<Seconds> Backfill::keeps_its_nodes(const Job& job, const Reservation& row,
                                                 const QuotaVerdict& refusal) const {
  const BackfillMode mode = state_.rules().backfill;
  if (mode != BackfillMode::kEasy && mode != BackfillMode::kConservative) return std::nullopt;
  const bool is_due = row.expected <= now_;
  if ((row.tasks.empty() && !is_due) || limits_.is_held(job, refusal)) return std::nullopt;
  if (!is_due) {
    const std::optional<Seconds> admitted = limits_.admitted_from(job);
    return admitted && *admitted <= row.expected ? admitted : std::nullopt;
  }
  return refusal.reason == Reason::kLenderKeeps ? std::nullopt : limits_.admitted_by_time_limits(job, row.expected);
}

bool Backfill::keep_nodes(const Job& job, const Reservation& row, const QuotaVerdict& refusal) {
  const std::optional<Seconds> admitted = keeps_its_nodes(job, row, refusal);
  if (!admitted) return false;
  if (first_ != job.id || !has_reservation(job.id)) {
    drop_held(job.id);
    const bool has_turn = ranks_move_ ? first_ == job.id || takes_turn(job) : backfilled() == 0;
    if (!has_turn || !reserve(job, limits_.wants_to_borrow(job), true, *admitted)) return false;
    make_first(job, false);
  }
  keep_room_under_limits(job, row);
  return true;
}

void Backfill::promise_alone() {
  const auto is_firsts = [&](const Held& held) {
    return held.reservation.job == first_ && held.reservation.kind == ReservationKind::kBackfill && !held.is_due;
  };
  const auto first = std::ranges::find_if(held_, is_firsts);
  if (!ranks_move_ || state_.rules().backfill != BackfillMode::kConservative || first == held_.end()) return;
  const Held promised = *first;
  QuotaLedger& quotas = state_.quotas();
  const HoldsRestored restored(quotas);
  std::vector<Held> all = held_;
  std::erase_if(held_, [](const Held& held) { return held.reservation.kind == ReservationKind::kBackfill; });
  for (const Held& held : all) {
    const bool is_of_this_pass = held.reservation.kind == ReservationKind::kBackfill;
    if (is_of_this_pass && find_row(held.reservation.job) == nullptr) quotas.drop_holds_of(held.reservation.job);
  }
  forget_timeline();
  quotas.judge_for(first_, promised.reservation.made_at);
  const std::optional<StartFound> found = earliest_start(state_, timeline(), gang_of(first_job_), promised.duration,
                                                         {.before = promised.reservation.expected});
  held_ = std::move(all);
  forget_timeline();
  if (!found) return;
  Reservation& row = std::ranges::find_if(held_, is_firsts)->reservation;
  row.expected = found->time;
  row.tasks = reserved_tasks(found->placed, state_.cluster());
}

Reservation Backfill::for_next_round(const Reservation& held) const {
  if (!ranks_move_ || held.kind != ReservationKind::kBackfill || held.job == first_) return held;
  if (const Reservation* const before = find_row(held.job)) {
    Reservation row = *before;
    row.tasks.clear();
    return row;
  }
  Reservation row = held;
  row.expires = now_;
  return row;
}

void Backfill::end_turn() {
  const bool closes = state_.rules().backfill == BackfillMode::kNone;
  if (closes && closed_by_ == first_) {
    closed_by_ = 0;
    is_closer_to_come_ = false;
  }
  first_ = 0;
  is_first_new_ = false;
  if (closes || state_.rules().backfill == BackfillMode::kNonePerQueue || !oldest_) return;
  const bool by_age = !highest_ || goes_by_age(oldest_->job, age_of(highest_->job));
  const Waiter next = by_age ? *oldest_ : *highest_;
  const Job& job = next.job;
  drop_waiter(job.id);
  if (is_held(job.id)) return make_first(job, true);
  if (state_.rules().backfill == BackfillMode::kEasy && backfilled() > 0) return;
  state_.quotas().judge_for(job.id, kNever);
  if (!reserve(job, next.borrows, true, now_)) return;
  make_first(job, true);
  keep_room_under_limits(job, held_.back().reservation);
}

}  // namespace berth
