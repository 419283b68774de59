#include "engine/round/backfill.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/round/reserved_room.h"
#include "engine/round/start_search.h"

namespace berth {

namespace {

DemandKey backfill_demand(const Job& job) {
  DemandKey key;
  for (const TaskGroup& group : job.groups) append_demand(group, key);
  return key;
}

}  // namespace

Backfill::Backfill(RoundState& state, const KeptReservations& kept, Seconds now)
    : state_(state),
      now_(now),
      jobs_(kept.jobs),
      order_(kept.order),
      input_(kept.input),
      ranks_move_(kept.ranks_move()),
      limits_(state, now) {
  for (const Reservation& reservation : kept.reservations) {
    if (reservation.expires >= Seconds(0) && reservation.expires <= now) continue;
    if (reservation.kind == ReservationKind::kBackfill) {
      kept_.push_back({.reservation = reservation});
    } else if (std::ranges::all_of(reservation.tasks, [&](const ReservedTask& task) {
                 return may_use_node(state.ledger(), task.holding);
               })) {
      const Job* const job = find_job(jobs_, reservation.job);
      hold(reservation, job != nullptr ? end_of(*job) - now_ : state_.rules().default_duration);
    }
  }
  if (!ranks_move_ || kept_.empty()) return;
  for (Kept& each : kept_) each.job = find_job(jobs_, each.reservation.job);
  std::erase_if(kept_, [](const Kept& each) { return each.job == nullptr; });
  begin_with_kept();
}

void Backfill::begin_with_kept() {
  if (state_.rules().backfill == BackfillMode::kGreedy) return kept_.clear();
  const bool closes = state_.rules().keeps_order_of_all();
  std::ranges::sort(kept_, {},
                    [](const Kept& kept) { return std::pair(kept.reservation.made_at, kept.reservation.job); });
  for (const Kept& kept : kept_) {
    const Job& job = *kept.job;
    const Reservation& row = kept.reservation;
    const bool is_due = row.expected <= now_;
    QuotaLedger& quotas = state_.quotas();
    quotas.judge_for(job.id, row.made_at);
    const QuotaVerdict verdict = quotas.judge(job.queue, quotas.demand_to_start(job), last_end_of(job, now_));
    if (!verdict.admitted()) {
      if (verdict.held_for != 0 || is_over(job, row, verdict) || !fits_one_day(job)) continue;
      if (closes) close_limit(job, verdict, row.made_at);
      if (closes || !is_due) continue;
      const std::optional<Seconds> admitted = first_ == 0 ? keeps_its_nodes(job, row, verdict) : std::nullopt;
      if (admitted) {
        set_first(job);
        (void)bind(row, job, limits_.wants_to_borrow(job), *admitted);
      }
      keep_room_under_limits(job, row);
      continue;
    }
    if (first_ != 0 && (closes || !is_due)) continue;
    // One that could not start if everything ended, on nodes and under quotas as they are now, keeps its place. It
    // holds nothing, and has not the turn.
    const bool fits_by_its_tasks = !quotas.governs() && is_room_for(row, job, state_);
    if (!fits_by_its_tasks && !fits_one_day(job)) continue;
    const bool has_turn =
        first_ == 0 &&
        !(closes && (gives_way(verdict.borrows, row) || (verdict.borrows && row.tasks.empty() && waits_for_late(job))));
    if (has_turn) set_first(job);
    if (has_turn && closes) {
      close(job, verdict.borrows);
      is_closer_to_come_ = true;
    } else if (has_turn && is_due) {
      (void)bind(row, job, verdict.borrows, now_);
    }
    if (!closes && is_due) keep_room_under_limits(job, row);
  }
}

// Room that is held for somebody whose victims are stopping stays his.
bool Backfill::bind(const Reservation& row, const Job& job, bool borrows, Seconds admitted) {
  if (row.tasks.empty() || !is_room_for(row, job, state_)) return false;
  Held held;
  held.reservation = row;
  held.duration = end_of(job) - now_;
  held.start = std::max(free_from(row, job, borrows, held.duration), admitted);
  if (held.start >= kNever) return false;
  held.is_due = row.expected <= now_;
  if (held.is_due) held.passes = passes_by(row);
  held.borrows = borrows;
  held.gives_way = gives_way(borrows, row);
  held.came_back = job.eviction.evictions > 0;
  held.queue = job.queue;
  add_to_timeline(held);
  held_.push_back(std::move(held));
  return true;
}

bool Backfill::is_over(const Job& job, const Reservation& row, const QuotaVerdict& refusal) const {
  if (!limits_.may_admit(job)) return true;
  const bool is_lent = refusal.reason == Reason::kLenderKeeps && !refusal.is_owner && limits_.wants_to_borrow(job);
  if (!is_lent || now_ < row.expected + state_.rules().reservation_ttl) return false;
  // What others borrow comes back to be lent; what owners use may not.
  return std::ranges::none_of(state_.running().all(), [&](const RunningJob& run) {
    const std::uint32_t all = state_.quotas().all_marks(run.job.queue);
    return (run.quota_mark & all) != all && !is_late(run);
  });
}

bool Backfill::gives_way(bool borrows, const Reservation& row) const {
  return borrows && (now_ < row.expected + state_.rules().reservation_ttl || waits_for_late(row));
}

void Backfill::turn_to(const Job& job, bool is_last) {
  hold_again();
  const Reservation* row = nullptr;
  if (const auto kept = std::ranges::find(kept_, job.id, [](const Kept& k) { return k.reservation.job; });
      kept != kept_.end()) {
    kept->is_settled = kept->is_settled || is_last;
    row = &kept->reservation;
  }
  if (is_last && job.id == first_) is_closer_to_come_ = false;
  // A job for which victims were told to stop was admitted at that moment, and takes what they used.
  constexpr Seconds kBeforeAll{std::numeric_limits<std::int64_t>::min()};
  const Seconds age = ranks_move_ && row != nullptr ? row->made_at : kNever;
  const bool is_promised = holds_room_for(job.id);
  state_.quotas().judge_for(job.id, is_promised ? kBeforeAll : age, certain_end_of(job), is_promised ? now_ : kNever);
}

Seconds Backfill::end_of(const Job& job) const {
  if (const RunningJob* running = state_.running().find(job.id)) return expected_end_of(*running, state_.rules(), now_);
  const Seconds end = job.expected_end(now_);
  return end < now_ ? now_ + state_.rules().default_duration : std::max(end, now_ + Seconds(1));
}

Seconds Backfill::end_of_told(const RunningJob& job) const {
  const bool runs_on = job.makes_room_for_a_job() && !holds_room_for(job.stops_for) && !job.is_bound_to_stop(now_);
  return runs_on ? untold_end_of(job, state_.rules(), now_) : expected_end_of(job, state_.rules(), now_);
}

Seconds Backfill::certain_end_of(const Job& job) const {
  if (job.time_limit <= Seconds(0)) return kNever;
  const RunningJob* const running = state_.running().find(job.id);
  return (running != nullptr ? running->start : now_) + job.time_limit;
}

Timeline& Backfill::timeline() {
  if (timeline_) return *timeline_;
  timeline_.emplace(now_);
  const std::span<const RunTimes> times = state_.running().times();
  const RoundRules& rules = state_.rules();
  std::vector<RunEnd> ends(times.size());
  for (std::size_t place = 0; place < times.size(); ++place) {
    ends[place].tasks = times[place].tasks;
    if (!times[place].is_told) {
      ends[place].time = untold_end_of(times[place], rules, now_);
      continue;
    }
    const RunningJob& run = state_.running().all()[place];
    ends[place].time = end_of_told(run);
    if (run.makes_room_for_a_job() && holds_room_for(run.stops_for)) ends[place].leaves_for = run.stops_for;
  }
  timeline_->look_at(state_.running(), std::move(ends));
  for (const Held& held : held_) add_to_timeline(held);
  return *timeline_;
}

void Backfill::forget_timeline() {
  timeline_.reset();
  refused_.clear();
  booked_.clear();
}

void Backfill::add_to_timeline(const Held& held) {
  const Reservation& reservation = held.reservation;
  const Seconds to = std::max({held.start, reservation.expected, reservation.expires}) + held.duration;
  if (reservation.kind == ReservationKind::kEviction) return timeline_->promise(reservation.job, reservation.tasks, to);
  timeline_->reserve(reservation.job, reservation.tasks, held.is_due ? now_ : reservation.expected, to);
  if (held.is_due) timeline_->close(reservation.job, reservation.tasks, held.start, held.passes);
}

const Reservation* Backfill::find_row(std::int64_t job) const {
  const auto kept = std::ranges::find(kept_, job, [](const Kept& k) { return k.reservation.job; });
  return kept != kept_.end() ? &kept->reservation : nullptr;
}

const Reservation* Backfill::kept_for(const Job& job) const {
  const Reservation* row = row_of(job);
  return row != nullptr && is_room_for(*row, job, state_) ? row : nullptr;
}

bool Backfill::is_like_first(const Job& job) const {
  const auto first = std::ranges::find(kept_, first_, [](const Kept& k) { return k.reservation.job; });
  return ranks_move_ && first != kept_.end() && !first->is_settled && first->job->queue == job.queue &&
         backfill_demand(*first->job) == backfill_demand(job);
}

void Backfill::keep_room_under_limits(const Job& job, const Reservation& row) {
  if (!state_.quotas().governs()) return;
  const bool borrows = limits_.wants_to_borrow(job);
  const bool yields = gives_way(borrows, row) || (borrows && row.tasks.empty() && shares_limits_with_late(job));
  const auto held = std::ranges::find(held_, job.id, [](const Held& h) { return h.reservation.job; });
  if (borrows && job.eviction.evictions > 0) holders_back_.insert(job.id);
  limits_.hold(job, {.made_at = row.made_at,
                     .from = row.expected,
                     .yields = yields,
                     .tasks = row.tasks,
                     .start = held != held_.end() ? std::optional(held->start) : std::nullopt});
}

void Backfill::keep_row(const Job& job, Reservation row) {
  row.tasks.clear();
  if (fits_one_day(job)) keep_room_under_limits(job, row);  // else it keeps its place alone
  unbound_.push_back(std::move(row));
}

void Backfill::drop_held(std::int64_t job) {
  const auto is_of_it = [&](const Held& held) {
    return held.reservation.job == job && held.reservation.kind == ReservationKind::kBackfill;
  };
  if (std::erase_if(held_, is_of_it) > 0) forget_timeline();
  std::erase_if(set_aside_, is_of_it);
}

bool Backfill::is_held(std::int64_t job) const {
  const auto is_its = [&](const Held& held) { return held.reservation.job == job; };
  return std::ranges::any_of(held_, is_its) || std::ranges::any_of(set_aside_, is_its);
}

std::int64_t Backfill::delayed_by(std::span<const PlacedTask> placed, Timeline::TaskEnd end, std::int64_t job) {
  const auto counts = [&](const Held& held) { return held.reservation.job != job; };
  if (std::ranges::none_of(held_, counts)) return 0;
  for (const PlacedTask& task : placed) {
    const std::int64_t delayed = timeline().delays(state_.ledger(), task.holding, end, job);
    if (delayed != 0) return delayed;
  }
  return 0;
}

// With what is reserved until `end` taken away.
JobOutcome Backfill::place_beside_reservations(const Job& job, Timeline::TaskEnd end) {
  Ledger& ledger = state_.ledger();
  std::vector<Holding> shade;
  for (const NodeIndex node : timeline().reserved_nodes()) {
    timeline().append_shade(ledger, node, now_, end, kNoneEnded, job.id, shade);
  }
  for (const Holding& holding : shade) (void)ledger.place(holding);
  JobOutcome outcome = state_.placer().place_job(job);
  for (const Holding& holding : shade) (void)ledger.release(holding);
  return outcome;
}

bool Backfill::place_as_reserved(const Job& job, Timeline::TaskEnd end, JobOutcome& outcome) {
  const auto held = std::ranges::find(held_, job.id, [](const Held& h) { return h.reservation.job; });
  const Reservation* reservation = held != held_.end() ? &held->reservation : kept_for(job);
  if (reservation == nullptr || !is_room_for(*reservation, job, state_)) return false;
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  std::vector<PlacedTask> placed;
  for (const ReservedTask& task : reservation->tasks) {
    if (!ledger.place(task.holding).ok()) {
      ledger.rollback(before);
      return false;
    }
    placed.push_back({task.group, task.task, task.holding});
  }
  // While its victims run, it would take what others leave.
  const bool is_promised = holds_room_for(job.id) && !has_victims_left(job.id);
  if (placed.empty() || (!is_promised && delayed_by(placed, end, job.id) != 0)) {
    ledger.rollback(before);
    return false;
  }
  outcome = {.started = true, .placed = std::move(placed)};
  return true;
}

BackfillAttempt Backfill::place(const Job& job, bool is_part) {
  BackfillAttempt attempt;
  if (held_.empty() && kept_.empty()) {
    attempt.outcome = state_.placer().place_job(job);
    return attempt;
  }
  const Timeline::TaskEnd end{end_of(job), certain_end_of(job)};
  Ledger& ledger = state_.ledger();
  ClosedNodes closed(ledger);
  if (waits_for_its_victims(job)) {
    if (place_as_reserved(job, end, attempt.outcome)) return attempt;
    if (state_.rules().keeps_order_of_all()) {
      for (const TaskGroup& group : job.groups) attempt.outcome.needed += tasks_needed(group);
      return attempt;
    }
    close_due_nodes(job, closed);
  }
  const RowsBefore rows_before(*this, job);
  const Ledger::Checkpoint before = ledger.checkpoint();
  const bool has_room = has_reservation(job.id) || kept_for(job) != nullptr;
  if (const auto refused = refused_.empty() || has_room ? refused_.end() : refused_.find(backfill_demand(job));
      refused != refused_.end() && end.expected >= refused->second.end.expected &&
      end.certain >= refused->second.end.certain) {
    attempt.would_delay = refused->second.would_delay;
  } else {
    attempt.outcome = state_.placer().place_job(job);
    if (!attempt.outcome.started) {
      if (!is_part) place_as_reserved(job, end, attempt.outcome);
      return attempt;
    }
    const std::int64_t delayed = delayed_by(attempt.outcome.placed, end, job.id);
    if (delayed == 0) return attempt;
    ledger.rollback(before);
    attempt.outcome = place_beside_reservations(job, end);
    if (attempt.outcome.started || (!is_part && place_as_reserved(job, end, attempt.outcome))) return attempt;
    attempt.would_delay = delayed;
    if (!has_room) refused_.insert_or_assign(backfill_demand(job), Refusal{end, delayed});
  }
  attempt.outcome = {};
  for (const TaskGroup& group : job.groups) attempt.outcome.needed += tasks_needed(group);
  return attempt;
}

std::int64_t Backfill::backfilled() const {
  return std::ranges::count(held_, ReservationKind::kBackfill, [](const Held& held) { return held.reservation.kind; });
}

void Backfill::close(const Job& job, bool borrows) {
  if (state_.rules().backfill == BackfillMode::kNonePerQueue && job.queue >= 0) return close_branch(job, job.queue);
  if (closed_by_ != 0) return;
  closed_by_ = job.id;
  does_closer_borrow_ = borrows;
  closer_ = job;
  is_passed_by_class_ = is_passed_by_class(job);
}

void Backfill::close_branch(const Job& job, std::int32_t branch) {
  const std::span<const Queue> queues = state_.setup().queues;
  closed_queues_.resize(queues.size());
  const QueueCloser closer{.job = job.id,
                           .queue = job.queue,
                           .demand = state_.quotas().demand_to_start(job),
                           .end = last_end_of(job, now_),
                           .withstands = withstands(job)};
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const bool is_below = state_.rules().backfill == BackfillMode::kNonePerQueue && branch == job.queue
                              ? q == static_cast<std::size_t>(branch)
                              : state_.quotas().lies_in(static_cast<std::int32_t>(q), branch);
    QueueCloser& before = closed_queues_[q];
    if (is_below && (before.job == 0 || gives_way_to(before, job))) before = closer;
  }
}

void Backfill::close_limit(const Job& job, const QuotaVerdict& refusal, Seconds made_at) {
  close_branch(job, refusal.queue);
  const bool is_lent = refusal.reason == Reason::kLenderKeeps;
  if (is_lent && state_.rules().backfill == BackfillMode::kNone) limits_.close_lent(job, made_at);
}

bool Backfill::note_blocked(const Job& job, bool borrows) {
  const BackfillMode mode = state_.rules().backfill;
  if (mode == BackfillMode::kGreedy) return false;
  if (holds_room_for(job.id)) return true;  // until its victims have stopped
  if (steps_back(job, borrows)) {
    drop_held(job.id);
    if (first_ == job.id) end_turn();
    return is_like_first(job);
  }
  if (state_.rules().keeps_order_of_all()) return close_behind(job, borrows);
  const Reservation* row = row_of(job);
  drop_held(job.id);
  const bool is_first = ranks_move_ ? first_ == job.id || takes_turn(job) : backfilled() == 0;
  const bool may_reserve = mode == BackfillMode::kEasy
                               ? is_first && backfilled() == 0
                               : (ranks_move_ && is_first) || backfilled() < state_.rules().backfill_depth;
  if (may_reserve && reserve(job, borrows, is_first, now_)) {
    if (is_first) make_first(job, row == nullptr);
    keep_room_under_limits(job, held_.back().reservation);
    if (!is_first) note_waiter(job, borrows);
    return true;
  }
  if (first_ == job.id) end_turn();
  if (row != nullptr && (ranks_move_ || row->tasks.empty())) keep_row(job, *row);
  note_waiter(job, borrows);
  return is_like_first(job);
}

bool Backfill::fits_one_day(const Job& job) {
  DemandKey key = backfill_demand(job);
  key.push_back(job.queue);
  const auto [known, is_new] = fits_one_day_.try_emplace(std::move(key), false);
  if (is_new) {
    // Who holds room under a limit now starts one day, too.
    const HoldsRestored restored(state_.quotas());
    state_.quotas().clear_holds();
    known->second = earliest_start(state_, timeline(), gang_of(job), end_of(job) - now_, {.from = now_}).has_value();
  }
  return known->second;
}

void Backfill::note_refused(const Job& job, const QuotaVerdict& refusal) {
  const BackfillMode mode = state_.rules().backfill;
  if (mode == BackfillMode::kGreedy || holds_room_for(job.id)) return;
  const Reservation* row = row_of(job);
  if (row != nullptr && is_over(job, *row, refusal)) row = nullptr;
  if (row != nullptr && keep_nodes(job, *row, refusal)) return;
  drop_held(job.id);
  if (first_ == job.id) end_turn();
  const std::int64_t holder = limits_.holder_of(job, refusal);
  if (row == nullptr && holder != 0 && !take_limit_over(job, holder)) return note_behind(job, refusal);
  Reservation kept = row != nullptr ? *row : Reservation{.job = job.id, .made_at = now_, .expected = now_, .tasks = {}};
  const std::optional<Seconds> admitted =
      row == nullptr || row->expected > now_ ? limits_.admitted_from(job) : std::nullopt;
  if (admitted) kept.expected = row != nullptr ? std::min(row->expected, *admitted) : *admitted;
  if (row == nullptr) {
    if (!admitted) return;
    new_at_limits_.emplace_back(job.id, age_of(job));
  }
  if (mode == BackfillMode::kEasy || mode == BackfillMode::kConservative) {
    if (row == nullptr || ranks_move_ || holder == 0) keep_row(job, std::move(kept));
    return;
  }
  if (fits_one_day(job)) close_limit(job, refusal, kept.made_at);
  if (ranks_move_) keep_row(job, std::move(kept));
}

// Gangs that differ in nothing that matters but the number of tasks, where there is one group that starts anew.
std::vector<Backfill::Booking>& Backfill::bookings_of(const Job& gang) {
  const QuotaLedger& quotas = state_.quotas();
  const bool depends_on_queue =
      quotas.looks_at_end() ||
      std::ranges::any_of(quotas.table().resources, [](const QuotaResource& resource) { return resource.models != 0; });
  Job kind = gang;
  TaskGroup& group = kind.groups.front();
  if (kind.groups.size() == 1 && group.placed == 0) {
    group.count = group.min_tasks = 1;
    if (!group.locality_required) group.locality = Locality::kAny;
    if (group.locality == Locality::kAny) group.locality_required = false;
  }
  DemandKey key = backfill_demand(kind);
  key.push_back(depends_on_queue ? gang.queue : -1);
  return booked_[std::move(key)];
}

bool Backfill::reserve(const Job& job, bool borrows, bool is_first, Seconds admitted) {
  const Job gang = gang_of(job);
  const Seconds duration = end_of(job) - now_;
  const Reservation* row = row_of(job);
  const Reservation* kept = kept_for(job);
  // What its limits promised holds for nodes, too: else each would begin anew when the other gets in the way.
  const bool had_no_nodes = row != nullptr && row->tasks.empty();
  const bool is_promise = is_first && (kept != nullptr || had_no_nodes);
  Held held;
  held.duration = duration;
  held.is_due = is_promise && row->expected <= now_;
  StartBounds bounds;
  if (kept != nullptr) {
    bounds.before = free_from(*kept, job, borrows, duration);
    if (held.is_due) bounds.started_by = kept->expected;
  }
  const std::int32_t tasks = tasks_needed(gang.groups.front());
  std::vector<Booking>& booked = bookings_of(gang);
  for (const Booking& booking : booked) {
    const bool counts = booking.tasks <= tasks && booking.duration <= duration && booking.start > now_;
    if (counts) bounds.from = std::max(bounds.from, booking.start);
  }
  const std::optional<StartFound> found = earliest_start(state_, timeline(), gang, duration, bounds);
  // Where something is kept nodes have room one day, but quotas may not.
  if (!found && (bounds.before == kNever || (state_.quotas().governs() && !fits_one_day(job)))) return false;
  held.start = found ? found->time : bounds.before;
  if (!held.is_due) booked.push_back({tasks, duration, held.start});
  held.start = std::max(held.start, admitted);
  held.reservation = {.job = job.id,
                      .made_at = kept != nullptr || had_no_nodes ? row->made_at : now_,
                      .expected = is_promise ? std::min(row->expected, held.start) : held.start,
                      .tasks = found ? reserved_tasks(found->placed, state_.cluster()) : kept->tasks};
  held.borrows = borrows;
  held.gives_way = gives_way(borrows, held.reservation);
  held.came_back = job.eviction.evictions > 0;
  held.queue = job.queue;
  if (held.is_due) held.passes = passes_by(held.reservation);
  add_to_timeline(held);
  held_.push_back(std::move(held));
  return true;
}

void Backfill::note_started(const Job& job, std::span<const PlacedTask> placed) {
  const bool held_a_limit = limits_.holds_for(job.id);
  if (state_.quotas().governs()) limits_.note_started(job, placed);
  for (Kept& kept : kept_) kept.is_settled = kept.is_settled || kept.reservation.job == job.id;
  std::erase_if(unbound_, [&](const Reservation& row) { return row.job == job.id; });
  if (std::erase_if(held_, [&](const Held& held) { return held.reservation.job == job.id; }) > 0) {
    forget_timeline();
  } else if (timeline_) {
    const Seconds end = end_of(job);
    for (const PlacedTask& task : placed) timeline_->add_end({end, now_, task.holding});
  }
  drop_waiter(job.id);
  if (held_a_limit) pass_limit_on(job);
  if (first_ == job.id || (held_a_limit && first_ == 0)) end_turn();
}

std::int64_t Backfill::closed_by(const Job& job) const {
  std::int64_t closer = closer_ && goes_by_class(job, *closer_) ? 0 : closed_by_;
  if (closer == 0 && job.queue >= 0 && !closed_queues_.empty()) {
    const QueueCloser& of_queue = closed_queues_[static_cast<std::size_t>(job.queue)];
    if (of_queue.job != 0 && !gives_way_to(of_queue, job)) closer = of_queue.job;
  }
  return closer == job.id || (closer != 0 && holds_room_for(job.id)) ? 0 : closer;
}

void Backfill::hold(Reservation reservation, const Job& job) { hold(std::move(reservation), end_of(job) - now_); }

void Backfill::hold(Reservation reservation, Seconds duration) {
  const Seconds start = std::max(now_, reservation.expected);
  std::erase_if(held_, [&](const Held& held) { return held.reservation.job == reservation.job; });
  held_.push_back({.reservation = std::move(reservation), .start = start, .duration = duration});
  forget_timeline();
}

const Reservation* Backfill::promise_to(std::int64_t job) const {
  const auto promise = std::ranges::find_if(held_, [&](const Held& held) {
    return held.reservation.job == job && held.reservation.kind == ReservationKind::kEviction;
  });
  return promise == held_.end() ? nullptr : &promise->reservation;
}

bool Backfill::holds_room_for(std::int64_t job) const { return promise_to(job) != nullptr; }

bool Backfill::has_victims_left(std::int64_t job) const {
  return std::ranges::any_of(state_.running().all(), [&](const RunningJob& run) { return run.makes_room_for(job); });
}

bool Backfill::has_reservation(std::int64_t job) const {
  return is_held(job) || std::ranges::find(unbound_, job, &Reservation::job) != unbound_.end();
}

std::optional<std::int64_t> Backfill::bound() const {
  if (!ranks_move_ || order_->may_hold_back()) return std::nullopt;
  if (first_ != 0 && higher_class_waits(first_job_)) return std::nullopt;
  if (state_.rules().backfill == BackfillMode::kNone && is_closer_to_come_) return first_;
  for (const Held& held : held_) {
    const bool is_bound = held.reservation.kind == ReservationKind::kBackfill && held.is_due && !held.gives_way;
    if (is_bound && held.reservation.job == first_) return held.reservation.job;
  }
  return std::nullopt;
}

std::vector<const Reservation*> Backfill::promises() const {
  std::vector<const Reservation*> rows;
  for (const Held& held : held_) {
    if (held.reservation.kind == ReservationKind::kEviction) rows.push_back(&held.reservation);
  }
  return rows;
}

std::vector<std::int64_t> Backfill::holders() const {
  std::vector<std::int64_t> jobs;
  for (const Reservation* const row : promises()) jobs.push_back(row->job);
  std::ranges::sort(jobs);
  return jobs;
}

std::optional<Seconds> Backfill::expected_start(std::int64_t job) const {
  for (const Held& held : held_) {
    if (held.reservation.job == job) return held.start;
  }
  return std::nullopt;
}

std::vector<Reservation> Backfill::reservations() {
  promise_alone();
  std::vector<Reservation> sorted;
  for (const std::vector<Held>* const some : {&held_, &set_aside_}) {
    for (const Held& held : *some) sorted.push_back(for_next_round(held.reservation));
  }
  const auto is_there = [&](const Reservation& row) {
    return std::ranges::find(sorted, row.job, &Reservation::job) != sorted.end();
  };
  for (const Reservation& row : unbound_) {
    if (!is_there(row)) sorted.push_back(row);
  }
  // What this pass has not come to stays as it was.
  for (const Kept& kept : kept_) {
    if (ranks_move_ && !kept.is_settled && !is_there(kept.reservation)) sorted.push_back(kept.reservation);
  }
  if (is_first_new_ && std::ranges::find(sorted, first_, &Reservation::job) == sorted.end())
    sorted.push_back({.job = first_, .made_at = now_, .expected = now_, .tasks = {}});
  std::ranges::sort(sorted, {}, &Reservation::job);
  return sorted;
}

}  // namespace berth
