#include "engine/round/pass.h"

#include <algorithm>

#include "engine/round/closed_nodes.h"
#include "engine/round/reserved_room.h"

namespace berth {

namespace {

Amounts used_by_all(const QuotaLedger& quotas) {
  Amounts used = quotas.none();
  for (std::size_t r = 0; r < used.size(); ++r) used[r] = quotas.used_by_all(r);
  return used;
}

// As a gang of all its tasks.
Job in_full(Job job) {
  for (TaskGroup& group : job.groups) group.min_tasks = group.count;
  return job;
}

}  // namespace

Pass::Pass(RoundState& state, const KeptReservations& kept, Seconds now)
    : state_(state), now_(now), backfill_(state, kept, now), owners_(state, kept.input, now) {
  if (state.rules().preemption == Preemption::kReclaim) reclaim_.emplace(state, now, kept.order, kept.input);
  count_promises(kept);
}

Pass::Pass(RoundState& state, const KeptReservations& kept, Seconds now, Rest rest)
    : state_(state),
      now_(now),
      passes_before_(rest.passes),
      backfill_(state, kept, now),
      reclaim_(std::move(rest.reclaim)),
      later_(std::move(rest.later)),
      owners_(state, minds_later(rest.passes) ? kept.input : nullptr, now, &later_) {
  count_promises(kept);
}

bool Pass::minds_later(int passes) const {
  int deepest = 0;
  for (std::size_t q = 0; q < state_.setup().queues.size(); ++q)
    deepest = std::max(deepest, state_.quotas().depth(static_cast<std::int32_t>(q)));
  return passes <= deepest + 1;
}

void Pass::count_promises(const KeptReservations& kept) {
  const std::vector<const Reservation*> promises = backfill_.promises();
  state_.drop_pledges_but(promises);
  for (const Reservation* const row : promises) {
    state_.pledge(*row, kept.jobs);
    if (!reclaim_) continue;
    reclaim_->keep_for(row->job, std::max(now_, row->expected), surplus_left_for(state_, *row));
  }
  state_.renew_marks();
}

std::vector<std::int64_t> Pass::promised() const {
  std::vector<std::int64_t> jobs = backfill_.holders();
  if (!is_first()) return jobs;
  const std::optional<std::int64_t> bound = backfill_.bound();
  if (bound) jobs.insert(std::ranges::lower_bound(jobs, *bound), *bound);
  return jobs;
}

Pass::BesidePromised::BesidePromised(Pass& pass, std::int64_t job) : quotas_(pass.state_.quotas()) {
  if (!quotas_.governs()) return;
  const Reservation* const own = pass.backfill_.promise_to(job);
  for (const Reservation* const row : pass.backfill_.promises()) {
    // Older promises come first.
    if (own != nullptr && std::pair(row->made_at, row->job) > std::pair(own->made_at, own->job)) continue;
    const RoundState::Pledge* const pledge = row->job == job ? nullptr : pass.state_.pledge_of(row->job);
    if (pledge == nullptr) continue;
    counted_.push_back(*pledge);
    quotas_.count_promise(pledge->queue, pledge->amounts, pledge->leaving, 1, pledge->gone_by);
    if (first_ == 0) first_ = row->job;
  }
}

Pass::BesidePromised::~BesidePromised() {
  for (const RoundState::Pledge& each : counted_)
    quotas_.count_promise(each.queue, each.amounts, each.leaving, -1, each.gone_by);
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

PassOutcome Pass::refuse(const Job& job, const QuotaVerdict& verdict) {
  PassOutcome outcome = wait(job, verdict.reason);
  if (verdict.held_for != 0) {
    outcome.waiting.behind_job = verdict.held_for;
    outcome.keeps_room = true;
    return outcome;
  }
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

Pass::Placing Pass::place(const Job& job, Seconds end, int levels, Claim claim) {
  Placing placing;
  ClosedNodes closed(state_.ledger());
  if (const KeptOffNodes* const off = find_kept_off(state_.setup().kept_off, job.id)) {
    for (const NodeIndex node : off->nodes) closed.close(node);
  }
  const auto try_placing = [&](const Job& wanted, bool is_part) {
    BackfillAttempt attempt = backfill_.place(wanted, is_part);
    placing.would_delay = attempt.would_delay;
    return std::move(attempt.outcome);
  };
  const auto try_within_quota = [&] {
    placing.would_delay = 0;
    placing.result = place_within_quota(state_.quotas(), state_.ledger(), job, end, try_placing, first_depths(levels));
  };
  try_within_quota();
  const Backfill::Asker asker{.job = job, .borrows = claim != Claim::kOwner, .within = levels};
  while (!placing.result.outcome.started && claim != Claim::kUnknown && has_claim(job) && placing.would_delay != 0 &&
         backfill_.give_way(placing.would_delay, asker)) {
    try_within_quota();
  }
  return placing;
}

Pass::Placing Pass::place_own_first(const Job& job, Seconds end, int levels, bool borrows) {
  const QuotaLedger& quotas = state_.quotas();
  const bool may_choose = quotas.choices_of(job) != 0;
  const int path = job.queue < 0 ? 0 : quotas.depth(job.queue) + 1;
  Placing placing;
  for (int within = may_choose ? path : levels; within > 0 && within >= levels; --within) {
    const std::optional<Job> own = on_own_models(quotas, job, end, within);
    if (own) placing = place(*own, end, within, within == path ? Claim::kOwner : Claim::kBorrower);
    if (placing.result.outcome.started) return placing;
  }
  if (levels > 0) return placing;
  return place(job, end, 0, may_choose ? Claim::kUnknown : borrows ? Claim::kBorrower : Claim::kOwner);
}

PassOutcome Pass::try_job(const Job& job, bool may_evict, int levels) {
  if (const AssertionHold* const hold = find_hold(state_.setup().holds, job.id); hold != nullptr) {
    PassOutcome outcome = wait(job, Reason::kAssertion);
    outcome.waiting.behind_job = hold->like_job;
    outcome.keeps_room = true;
    return outcome;
  }
  may_evict = may_evict && may_evict_in_this(job);
  PassOutcome outcome = decide(wanted_of(job), may_evict && has_claim(job), levels);
  // Others that ask for the same may have room made for them.
  if (!outcome.started && !outcome.keeps_room)
    outcome.keeps_room = !has_claim(job) || (may_evict && levels == 0 && would_take_back_if_shorter(job));
  if (levels == 0 && !put_off_.contains(job.id)) owners_.note_tried(job.id);
  somebody_waits_ = somebody_waits_ || !outcome.started;
  return outcome;
}

const Job& Pass::wanted_of(const Job& job) {
  if (find_hold(state_.setup().surplus_holds, job.id) == nullptr) return job;
  return needed_only_.insert_or_assign(job.id, gang_of(job)).first->second;
}

PassOutcome Pass::decide(const Job& job, bool may_evict, int levels) {
  std::int64_t blocker = backfill_.closed_by(job);
  // One that is not looked at keeps its place among those that wait longest.
  backfill_.turn_to(job, levels == 0 && blocker == 0);
  if (!job.after.empty()) return wait(job, Reason::kDependency);
  if (blocker != 0 && levels == 0 && has_claim(job) && backfill_.note_closed(job)) {
    blocker = 0;
    backfill_.turn_to(job, true);
  }
  if (blocker != 0) {
    if (may_evict && levels == 0 && job.queue >= 0 && backfill_.may_take_back(job)) {
      if (std::optional<PassOutcome> outcome = take_back(job)) return *std::move(outcome);
    }
    PassOutcome outcome = wait(job, Reason::kBlocked);
    outcome.waiting.behind_job = blocker;
    outcome.keeps_room = backfill_.is_like_first(job);
    return outcome;
  }
  const Seconds end = last_end_of(job, now_);
  const QuotaLedger& quotas = state_.quotas();
  const QuotaVerdict verdict =
      quotas.governs() ? quotas.judge(job.queue, quotas.demand_to_start(job), end) : QuotaVerdict{};
  if (!verdict.admitted()) {
    if (may_evict && levels == 0) {
      if (std::optional<PassOutcome> outcome = evict_for(job, {.job = job, .borrows = !verdict.is_owner}, end))
        return *std::move(outcome);
    }
    if (levels == 0) note_refused(job, verdict);
    if (levels == 0 && !verdict.is_owner) hold_quota(job);
    return refuse(job, verdict);
  }
  if (const std::int64_t before = backfill_.starts_behind(job); before != 0) {
    PassOutcome outcome = wait(job, Reason::kReserved);
    outcome.waiting.behind_job = before;
    outcome.waiting.queue = queue_id(job.queue);  // whose quota it is
    outcome.keeps_room = true;
    return outcome;
  }
  QuotaPlacing placing;
  std::int64_t would_delay = 0;
  {
    const BesidePromised beside(*this, job.id);
    const QuotaVerdict with_promised =
        beside.first() == 0 ? verdict : quotas.judge(job.queue, quotas.demand_to_start(job), end);
    if (!with_promised.admitted()) {
      PassOutcome outcome = wait(job, Reason::kReserved);
      outcome.waiting.behind_job = beside.first();
      outcome.keeps_room = true;
      return outcome;
    }
    const bool grows = levels == 0 && grows_later(job);
    const bool borrows = with_promised.borrows;
    std::optional<Amounts> borrowed;
    if (levels == 0) borrowed = starts_later(job, end, borrows);
    if (borrowed) return put_off(job, *borrowed);
    // Of an elastic one, its gang: what it has beyond comes later.
    const bool is_for_gang =
        levels == 0 && !grows &&
        (surplus_comes_later(job, end, borrows) || (is_elastic(job) && backfill_.starts_behind(in_full(job)) != 0));
    const int within = grows ? quotas.depth(job.queue) + 1 : levels;
    std::optional<Job> gang;
    if (is_for_gang) gang = gang_of(job);
    Placing placed = place_own_first(gang ? *gang : job, end, within, borrows);
    if (grows && !placed.result.outcome.started) {
      leaves_room_ = would_use(job, end, borrows).has_value() || leaves_room_;
      PassOutcome outcome;
      outcome.keeps_room = true;
      return outcome;
    }
    placing = std::move(placed.result);
    would_delay = placed.would_delay;
    if (placing.outcome.started) {
      PassOutcome outcome = start(job, std::move(placing.outcome.placed));
      if (levels == 0 && !is_for_gang) add_surplus(job, outcome);
      return outcome;
    }
  }
  if (levels > 0) {
    PassOutcome outcome = wait(job, Reason::kOrder);
    outcome.keeps_room = would_delay != 0;
    return outcome;
  }
  // What it waits for is its own, where some is left and would do; else it borrows, whatever it will be placed on.
  const bool may_choose = quotas.choices_of(job) != 0;
  std::optional<Job> own =
      may_choose && job.queue >= 0 ? on_own_models(quotas, job, end, quotas.depth(job.queue) + 1) : std::nullopt;
  if (own && !backfill_.fits_one_day(*own)) own.reset();
  const bool borrows = may_choose ? !own : verdict.borrows;
  const Job& wanted = own ? *own : job;
  const bool is_admitted = placing.verdict.admitted();
  // Surplus tasks take idle room alone: the pass evicts nobody for them, and keeps nothing.
  if (has_its_gang(job)) return is_admitted ? PassOutcome{} : refuse(job, placing.verdict);
  if (may_evict) {
    if (std::optional<PassOutcome> outcome = evict_for(job, {.job = job, .borrows = borrows}, end))
      return *std::move(outcome);
  }
  PassOutcome outcome;
  if (!is_admitted && !placing.narrowed) {
    note_refused(job, placing.verdict);
    return refuse(job, placing.verdict);
  }
  if (backfill_.holds_room_for(job.id)) {
    outcome = wait(job, Reason::kReserved);
    outcome.keeps_room = true;
    return outcome;
  }
  // On models with quota left it does not fit: that is for a reservation to remedy.
  if (!is_admitted) return block(wanted, refuse(job, placing.verdict), borrows);
  if (would_delay != 0) {
    outcome = wait(job, Reason::kReserved);
    outcome.waiting.behind_job = would_delay;
    outcome = block(wanted, std::move(outcome), borrows);
    outcome.keeps_room = true;
    return outcome;
  }
  const JobOutcome& why = placing.outcome;
  outcome.waiting = {.job = job.id, .reason = why.reason, .group = why.group, .fits = why.fits, .needed = why.needed};
  return block(wanted, std::move(outcome), borrows);
}

PassOutcome Pass::put_off(const Job& job, const Amounts& borrowed) {
  owners_.note_later(job, borrowed);
  put_off_.insert(job.id);
  backfill_.note_later(job);
  leaves_room_ = true;
  PassOutcome outcome = wait(job, Reason::kOrder);
  outcome.keeps_room = true;
  return outcome;
}

bool Pass::grows_later(const Job& job) {
  return state_.quotas().governs() && job.queue >= 0 && has_its_gang(job) && (is_first() || !owners_.is_empty());
}

bool Pass::minds_owners(const Job& job) const {
  return reclaim_ && state_.quotas().governs() && job.state != JobState::kRunning;
}

// What others were evicted for is kept for it, also from owners: it takes it now.
bool Pass::gives_way_to_owners(const Job& job) {
  return minds_owners(job) && !backfill_.withstands(job) && !backfill_.holds_room_for(job.id) && !owners_.is_empty();
}

std::optional<Amounts> Pass::starts_later(const Job& job, Seconds end, bool borrows) {
  if (!gives_way_to_owners(job)) return std::nullopt;
  const bool may_choose = state_.quotas().choices_of(job) != 0;
  const Amounts demand = state_.quotas().demand_to_start(job);
  if (!may_choose && !owners_.come_before(job, demand)) return std::nullopt;
  std::optional<Amounts> amounts = would_use(gang_of(job), end, borrows);
  if (!amounts || !may_choose) return amounts ? std::optional(demand) : std::nullopt;
  return owners_.come_before(job, *amounts) ? amounts : std::nullopt;
}

bool Pass::surplus_comes_later(const Job& job, Seconds end, bool borrows) {
  if (!minds_owners(job) || !is_elastic(job) || owners_.is_empty()) return false;
  if (state_.quotas().choices_of(job) == 0) return owners_.come_before(job, state_.quotas().demand_in_full(job));
  const std::optional<Amounts> amounts = would_use(job, end, borrows);
  return amounts && owners_.come_before(job, *amounts);
}

std::optional<Amounts> Pass::would_use(const Job& job, Seconds end, bool borrows) {
  const Ledger::Checkpoint before = state_.ledger().checkpoint();
  const JobOutcome outcome = place_own_first(job, end, 0, borrows).result.outcome;
  state_.ledger().rollback(before);
  if (!outcome.started) return std::nullopt;
  return state_.held_by(outcome.placed);
}

// What is its own came first; an elastic job takes beyond that what it can, of one model after the other.
void Pass::add_surplus(const Job& job, PassOutcome& outcome) {
  if (state_.quotas().choices_of(job) == 0) return;
  const auto lacks_some = [](const TaskGroup& group) { return group.placed < group.count; };
  for (;;) {
    const RunningJob* const run = state_.running().find(job.id);
    if (run == nullptr || std::ranges::none_of(run->job.groups, lacks_some)) return;
    const Job more = run->job;
    const Ledger::Checkpoint before = state_.ledger().checkpoint();
    Placing placing = place(more, last_end_of(more, now_), 0, Claim::kUnknown);
    if (!placing.result.outcome.started) return;
    if (reclaim_ && owners_.come_before(more, state_.held_by(placing.result.outcome.placed))) {
      state_.ledger().rollback(before);
      leaves_room_ = true;
      return;
    }
    const PassOutcome grown = start(more, std::move(placing.result.outcome.placed));
    outcome.placed.insert(outcome.placed.end(), grown.placed.begin(), grown.placed.end());
  }
}

bool Pass::would_take_back_if_shorter(const Job& job) const {
  const QuotaLedger& quotas = state_.quotas();
  return may_evict_in_this(job) && quotas.governs() && job.queue >= 0 && may_evict_others(job, state_.rules(), now_) &&
         quotas.has_quota_for(job.queue, quotas.demand_to_start(job), last_end_of(job, now_)) &&
         backfill_.would_matter_if_shorter({.job = job, .borrows = false});
}

MayEvict Pass::may_evict_for(const Job& job) const {
  if (!may_evict_others(job, state_.rules(), now_) || !may_evict_in_this(job)) return MayEvict::kNobody;
  return reclaim_ && backfill_.is_quota_held(job) ? MayEvict::kOfItsQueue : MayEvict::kAll;
}

PassOutcome Pass::block(const Job& job, PassOutcome outcome, bool borrows) {
  if (has_claim(job)) outcome.keeps_room = backfill_.note_blocked(job, borrows) || outcome.keeps_room;
  if (borrows) hold_quota(job);
  return outcome;
}

void Pass::hold_quota(const Job& job) {
  if (!reclaim_ || !has_claim(job)) return;
  backfill_.hold_quota(job, [&](std::span<const RunningJob* const> ended, Seconds then_at) {
    return reclaim_->served_without(gang_of(job), last_end_of(job, now_), ended, then_at);
  });
}

// A job behind a borrower that closes the pass.
std::optional<PassOutcome> Pass::take_back(const Job& job) {
  const QuotaLedger& quotas = state_.quotas();
  if (!quotas.governs()) return std::nullopt;
  const Seconds end = last_end_of(job, now_);
  const QuotaVerdict verdict = quotas.judge(job.queue, quotas.demand_to_start(job), end);
  const bool borrows = verdict.admitted() ? verdict.borrows : !verdict.is_owner;
  if (quotas.choices_of(job) == 0) return evict_for(job, {.job = job, .borrows = borrows}, end);
  const std::optional<Job> own = on_own_models(quotas, job, end, quotas.depth(job.queue) + 1);
  return own ? evict_for(job, {.job = *own, .borrows = false}, end) : std::nullopt;
}

void Pass::note_refused(const Job& job, const QuotaVerdict& verdict) {
  if (has_claim(job)) backfill_.note_refused(job, verdict);
}

// Those who would be evicted for it would take as much of what is idle: also where borrowers have reserved it, and
// before who closes the pass.
bool Pass::would_come_back(std::span<const RunningJob* const> victims, const Asking& asking) const {
  const Backfill::Asker& asker = asking.asker;
  const Job gang = gang_of(asker.job);
  const QuotaLedger& quotas = state_.quotas();
  const bool is_closed = backfill_.closed_by(gang) != 0;
  const Amounts demand = quotas.demand_to_start(gang);
  // What the victims hold is not in the use while the search tries to do without them.
  const auto has_quota_beside = [&](const Amounts& victims_hold) {
    for (std::size_t r = 0; r < demand.size(); ++r) {
      const std::int64_t use = quotas.used(gang.queue, r) + victims_hold[r] + demand[r];
      if (quotas.is_judged_by(gang.queue, r, demand) && use > quotas.quota(gang.queue, r)) return false;
    }
    return true;
  };
  Amounts held = quotas.none();
  for (const RunningJob* const run : victims) {
    if (run->job.queue == gang.queue && !surplus_tasks(*run).empty()) continue;  // what it has beyond its gang
    if (!backfill_.comes_before_borrowers(run->job, asker)) return false;
    if (is_closed && !backfill_.comes_before_closer(run->job)) return false;
    const Amounts its = state_.held_by(*run).all;
    for (std::size_t r = 0; r < held.size(); ++r) held[r] += its[r];
    // A lower class of its queue comes back where that has quota for both.
    if (run->job.queue == gang.queue && (asker.borrows || !has_quota_beside(held))) return false;
  }
  return std::ranges::equal(demand, held, std::ranges::less_equal());
}

std::optional<PassOutcome> Pass::take_idle(const Job& job, const Backfill::Asker& asker, Seconds end) {
  const Job gang = gang_of(asker.job);
  const bool is_owner = backfill_.closed_by(asker.job) != 0 ? backfill_.is_closed_by_guest_of(asker) : !asker.borrows;
  Placing placing = place(gang, end, 0, is_owner ? Claim::kOwner : Claim::kBorrower);
  if (!placing.result.outcome.started) return std::nullopt;
  return start(job, std::move(placing.result.outcome.placed));
}

bool Pass::waits_for_victims(const Job& job) const {
  return backfill_.holds_room_for(job.id) && backfill_.has_victims_left(job.id);
}

std::optional<RoomMade> Pass::make_room(Asking& asking, Reclaim::Price* price) {
  const Job& job = asking.asker.job;
  const auto make = [&](Backfill::Keep keep) {
    const bool takes_back = keep == Backfill::Keep::kIdle;
    Reclaim::Search search{.kind = static_cast<std::int64_t>(keep) + (asking.may_take_idle ? 2 : 0),
                           .takes_of_own_queue = !takes_back || !asking.asker.borrows,
                           .takes_back = !backfill_.is_quota_held(job),
                           .is_promised = backfill_.holds_room_for(job.id),
                           .as_owner = asking.as_owner,
                           .at_most = asking.at_most,
                           .left_in_time = backfill_.left_in_time_by(job)};
    if (takes_back) search.spared = backfill_.passers_of(asking.asker);
    if (asking.minds_return) {
      search.declines = [&](std::span<const RunningJob* const> victims) {
        return asking.comes_back = asking.comes_back || would_come_back(victims, asking);
      };
    }
    std::optional<Backfill::Fence> fence;
    return reclaim_->make_room(
        job, asking.end, [&] { fence.emplace(backfill_, asking.asker, keep, asking.may_take_idle); }, search, price);
  };
  std::optional<RoomMade> made;
  if (backfill_.closed_by(job) == 0) made = make(Backfill::Keep::kNodes);
  if (made || asking.comes_back || (price != nullptr && *price)) return made;
  return job.queue >= 0 && backfill_.is_withstood(asking.asker) ? make(Backfill::Keep::kIdle) : std::nullopt;
}

bool Pass::could_make_room(Asking& asking) {
  Reclaim::Price price;
  (void)make_room(asking, &price);
  return price.has_value();
}

void Pass::make_either(Ways& ways) {
  ways.room = make_room(ways.asking);
  if (ways.room || ways.asking.comes_back || !ways.asking.at_most) return;
  ways.as_owner.minds_return = ways.asking.minds_return;
  ways.room = make_room(ways.as_owner);
  ways.is_owner_then = ways.room.has_value();
}

void Pass::price_as_owner(Ways& ways) {
  const Backfill::Asker& asker = ways.asking.asker;
  if (asker.borrows && !backfill_.holds_room_for(asker.job.id)) (void)make_room(ways.as_owner, &ways.asking.at_most);
}

std::optional<PassOutcome> Pass::look_for_room(Ways& ways) {
  auto& [job, asking, as_owner, is_closed, room, is_owner_then] = ways;
  const bool is_kept = job.queue >= 0 && (is_closed ? backfill_.is_withstood(asking.asker)
                                                    : backfill_.is_kept_for_borrowers(asking.asker));
  if (is_kept) {
    const bool gives_way = is_closed && backfill_.closer_gives_way();
    asking.may_take_idle = gives_way && backfill_.is_closed_by_guest_of(asking.asker);
    as_owner.may_take_idle = gives_way && backfill_.is_closed_by_guest_of(as_owner.asker);
    price_as_owner(ways);
    if (asking.may_take_idle) {
      if (std::optional<PassOutcome> outcome = take_idle(job, asking.asker, asking.end)) return outcome;
    }
    asking.minds_return = !asking.may_take_idle;
  }
  make_either(ways);
  if (room || !(asking.comes_back || as_owner.comes_back)) return std::nullopt;
  // The job takes what is idle, as they would, and evicts for the rest.
  backfill_.set_borrowers_aside(asking.asker);
  if (std::optional<PassOutcome> outcome = take_idle(job, asking.asker, asking.end)) return outcome;
  for (Asking* const each : {&asking, &as_owner}) {
    each->minds_return = each->comes_back = false;
    each->may_take_idle = is_closed;
  }
  const Reclaim::Price at_most = asking.at_most;
  if (is_closed) {
    asking.at_most.reset();
    price_as_owner(ways);
  }
  make_either(ways);
  if (room) return std::nullopt;
  asking.may_take_idle = as_owner.may_take_idle = false;
  asking.at_most = at_most;
  backfill_.hold_again();
  make_either(ways);
  return std::nullopt;
}

std::optional<PassOutcome> Pass::evict_for(const Job& job, Backfill::Asker asker, Seconds end) {
  if (!reclaim_ || waits_for_victims(job)) return std::nullopt;
  const Job& wanted = asker.job;
  const Amounts before = used_by_all(state_.quotas());
  Ways ways{.job = job,
            .asking = {.asker = asker, .end = end},
            .as_owner = {.asker = {.job = wanted, .borrows = false}, .end = end, .as_owner = true},
            .is_closed = backfill_.closed_by(wanted) != 0};
  std::optional<BesidePromised> beside(std::in_place, *this, job.id);
  if (const Amounts demand = state_.quotas().demand_to_start(wanted);
      gives_way_to_owners(wanted) && owners_.come_before(wanted, demand)) {
    const bool may_evict = could_make_room(ways.asking) || could_make_room(ways.as_owner);
    return may_evict ? std::optional(put_off(wanted, demand)) : std::nullopt;
  }
  std::optional<RoomMade>& room = ways.room;
  if (const Reservation* const promise = backfill_.promise_to(job.id))
    room = reclaim_->take_surplus_left(wanted, *promise, end);
  if (!room) {
    if (std::optional<PassOutcome> outcome = look_for_room(ways)) return outcome;
  }
  beside.reset();
  if (!room) return std::nullopt;
  evictions_.insert(evictions_.end(), room->evictions.begin(), room->evictions.end());
  backfill_.give_way_to((ways.is_owner_then ? ways.as_owner : ways.asking).asker, room->outcome.placed);
  if (!room->evictions.empty()) backfill_.note_evicted();
  PassOutcome outcome;
  if (room->reservation) {
    state_.drop_pledge(job.id);
    state_.pledge(*room->reservation, std::span(&wanted, 1));
    backfill_.hold(*std::move(room->reservation), wanted);
    outcome = wait(job, Reason::kReserved);
    outcome.keeps_room = true;
  } else {
    outcome = start(job, std::move(room->outcome.placed));
  }
  if (!is_first()) return outcome;
  const Amounts after = used_by_all(state_.quotas());
  for (std::size_t r = 0; r < after.size(); ++r)
    leaves_room_ = leaves_room_ || (somebody_waits_ && after[r] < before[r]);
  return outcome;
}

}  // namespace berth
