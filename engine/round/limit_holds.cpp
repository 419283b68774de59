#include "engine/round/limit_holds.h"

#include <algorithm>

#include "engine/round/quota_placing.h"

namespace berth {

namespace {

bool fits_by_count(const QuotaLedger& quotas, const Amounts& demand) {
  for (std::size_t r = 0; r < demand.size(); ++r) {
    if (demand[r] > 0 && quotas.used_by_all(r) + demand[r] > quotas.capacity(r)) return false;
  }
  return true;
}

// To start, or to grow by one task.
Amounts demand_of_next(const QuotaLedger& quotas, const Job& job) {
  Amounts demand = quotas.demand_to_start(job);
  if (!has_its_gang(job)) return demand;
  const auto lacks_some = [](const TaskGroup& group) { return group.placed < group.count; };
  if (const auto next = std::ranges::find_if(job.groups, lacks_some); next != job.groups.end())
    quotas.add_demand(next->shape, 1, demand);
  return demand;
}

// What is in its way above is the doing of others.
bool fits_own_quota(const QuotaLedger& quotas, std::int32_t queue, const Amounts& demand) {
  bool has_quota = false;
  for (std::size_t r = 0; r < demand.size(); ++r) {
    if (demand[r] == 0 || !quotas.is_judged_by(queue, r, demand)) continue;
    if (quotas.counted(queue, r) + demand[r] > quotas.quota(queue, r)) return false;
    has_quota = true;
  }
  return has_quota;
}

}  // namespace

LimitHolds::LimitHolds(RoundState& state, Seconds now) : state_(state), now_(now) { state_.quotas().clear_holds(); }

Seconds LimitHolds::end_of(const Job& job, Seconds start) const {
  const Seconds end = job.expected_end(start);
  return end < start ? Seconds(kNoLimit) : end;
}

bool LimitHolds::may_admit(const Job& job) const {
  const QuotaLedger& quotas = state_.quotas();
  const auto fits = [&](const Amounts& demand) {
    for (std::size_t r = 0; r < demand.size(); ++r) {
      if (demand[r] == 0 || !quotas.is_governed(r) || !quotas.counts_for(job.queue, r)) continue;
      for (std::int32_t q = job.queue; q >= 0; q = state_.setup().queues[static_cast<std::size_t>(q)].parent) {
        if (demand[r] > quotas.most(q, r, now_)) return false;
      }
    }
    return true;
  };
  return divide_demand(quotas, job, fits).has_value();
}

std::optional<Seconds> LimitHolds::admitted_from(const Job& job) const {
  return first_end(
      job, [](const RunningJob&) { return true; },
      // Of what does not even fit beside the rest, judge() does not ask whether owners lend it.
      [&](const QuotaLedger& then) { return fits_by_count(then, then.demand_to_start(job)); });
}

std::optional<Seconds> LimitHolds::admitted_by_time_limits(const Job& job, Seconds since) const {
  const auto ends_for_certain = [&](const RunningJob& run) {
    return run.start >= since && run.job.time_limit > Seconds(0) && run.start + run.job.time_limit > now_;
  };
  return first_end(job, ends_for_certain, [](const QuotaLedger&) { return true; });
}

std::optional<Seconds> LimitHolds::first_end(const Job& job, const std::function<bool(const RunningJob&)>& counts,
                                             const std::function<bool(const QuotaLedger&)>& has_room) const {
  if (!may_admit(job)) return std::nullopt;
  QuotaLedger then = state_.quotas();
  then.clear_holds();
  std::vector<std::pair<Seconds, const RunningJob*>> ends;
  for (const RunningJob& run : state_.running().all()) {
    if (counts(run)) ends.emplace_back(expected_end_of(run, state_.rules(), now_), &run);
  }
  std::ranges::sort(ends, {}, [](const auto& end) { return std::pair(end.first, end.second->job.id); });
  for (std::size_t i = 0; i < ends.size();) {
    const Seconds time = ends[i].first;
    for (; i < ends.size() && ends[i].first == time; ++i) {
      then.give_back(ends[i].second->job.queue, state_.held_by(*ends[i].second).all);
    }
    const auto is_admitted = [&](const Amounts& demand) {
      return then.judge(job.queue, demand, end_of(job, time)).admitted();
    };
    if (has_room(then) && divide_demand(then, job, is_admitted)) return time;
  }
  return std::nullopt;
}

bool LimitHolds::holds_for(std::int64_t job) const {
  return std::ranges::any_of(state_.quotas().holds(), [&](const QuotaHold& hold) { return hold.job == job; });
}

std::int64_t LimitHolds::holder_of(const Job& job, const QuotaVerdict& refusal) const {
  if (refusal.held_for != 0) return refusal.held_for;
  const std::int32_t queue = refusal.reason == Reason::kLenderKeeps ? job.queue : refusal.queue;
  for (const QuotaHold& hold : state_.quotas().holds()) {
    if (hold.job != job.id && hold.queue == queue && hold.resource == static_cast<std::size_t>(refusal.resource))
      return hold.job;
  }
  return 0;
}

void LimitHolds::hold(const Job& job, const Terms& terms) {
  QuotaLedger& quotas = state_.quotas();
  Amounts demand = quotas.demand_to_start(job);
  // Of a job that may choose between models, what it will use of each.
  const Amounts reserved = state_.held_by(terms.tasks);
  for (std::size_t r = 0; r < demand.size(); ++r) demand[r] = std::max(demand[r], reserved[r]);
  const bool borrows = wants_to_borrow(job);
  const Seconds end = end_of(job, std::max(now_, terms.from));
  Seconds late_until(kNoLimit);
  if (terms.from <= now_) late_until = terms.start ? *terms.start : admitted_from(job).value_or(Seconds(kNoLimit));
  std::optional<QuotaLedger> then;  // made when a limit is found
  const auto hold_unless_held = [&](std::int32_t queue, std::size_t r, const auto& spare) {
    const auto is_this = [&](const QuotaHold& hold) { return hold.queue == queue && hold.resource == r; };
    if (std::ranges::any_of(quotas.holds(), is_this)) return;
    if (!then) then = used_from(terms.from);
    quotas.hold({.job = job.id,
                 .home = job.queue,
                 .made_at = terms.made_at,
                 .queue = queue,
                 .resource = r,
                 .from = terms.from,
                 .spare = spare(),
                 .yields = terms.yields,
                 .late_until = late_until});
  };
  for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
    if (demand[r] == 0 || !quotas.is_governed(r) || !quotas.counts_for(job.queue, r)) continue;
    const auto left_to_borrow = [&] { return then->left_to_borrow(job.queue, r, demand[r]); };
    for (std::int32_t q = job.queue; q >= 0; q = state_.setup().queues[static_cast<std::size_t>(q)].parent) {
      const std::int64_t most = quotas.most(q, r, end);
      const bool is_lent = q == job.queue && borrows && quotas.has_promises(r);
      // What others do not lend bounds its queues by their quotas.
      const bool is_owned = !borrows && quotas.has_promises(r) && quotas.has_quota_of(job.queue, r);
      if (most >= kNoLimit && !is_lent && !is_owned) continue;
      hold_unless_held(q, r, [&] {
        const std::int64_t kept = then->kept_from_guest(job.queue, q, r, demand[r]);
        const std::int64_t spare = then->left_of_most(q, r, end) - demand[r] - kept;
        if (is_lent) return std::min(spare, left_to_borrow());
        return is_owned ? std::min(spare, std::max(left_to_borrow(), then->left_of_quota(q, r, end) - demand[r]))
                        : spare;
      });
    }
    if (quotas.has_promises(r)) hold_unless_held(-1, r, left_to_borrow);
  }
}

void LimitHolds::close_lent(const Job& job, Seconds made_at) {
  QuotaLedger& quotas = state_.quotas();
  const Amounts demand = quotas.demand_to_start(job);
  for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
    if (demand[r] == 0 || !quotas.has_promises(r) || !quotas.counts_for(job.queue, r)) continue;
    quotas.hold({.job = job.id, .home = job.queue, .made_at = made_at, .resource = r, .from = now_});
  }
}

QuotaLedger LimitHolds::used_from(Seconds from) const {
  return state_.quotas_without([&](const RunningJob& run) {
    return from <= now_ ? run.start <= from : expected_end_of(run, state_.rules(), now_) <= from;
  });
}

void LimitHolds::hold_quota(const Job& job, bool is_kept_waiting, std::optional<Seconds> otherwise,
                            const ServedWithout& served_without) {
  if (job.queue < 0 || std::ranges::find(quota_held_, job.queue, &QuotaHeld::queue) != quota_held_.end()) return;
  if (wants_to_borrow(job)) return;
  QuotaHeld& held = quota_held_.emplace_back();
  held.queue = job.queue;
  const std::vector<const RunningJob*> ending = in_the_way_of(job, held);
  if (ending.empty()) return;
  const Served served = served_without(ending, held.from);
  const bool comes_later = !otherwise || *otherwise > held.from;
  const bool waits_long = otherwise && *otherwise > held.from + state_.rules().reservation_ttl;
  const bool binds_starts =
      comes_later && (served == Served::kByEvictingAgain || (is_kept_waiting && served != Served::kNo) ||
                      (waits_long && served == Served::kByEvictions));
  if (!binds_starts && served < Served::kByEvictions) return;
  const QuotaLedger& quotas = state_.quotas();
  held.job = job.id;
  held.binds = binds_starts ? Binds::kStarts : Binds::kTakingBack;
  held.spare = quotas.none();
  const Amounts demand = quotas.demand_to_start(job);
  for (std::size_t r = 0; r < demand.size(); ++r)
    held.spare[r] = quotas.quota(job.queue, r) - quotas.counted(job.queue, r) - demand[r];
  for (const RunningJob* const run : ending) {
    const Amounts given = state_.held_by(*run).all;
    for (std::size_t r = 0; r < given.size(); ++r) held.spare[r] += given[r];
  }
}

std::vector<const RunningJob*> LimitHolds::in_the_way_of(const Job& job, QuotaHeld& held) const {
  struct End {
    Seconds time;
    const RunningJob* run;
    bool is_late;
  };
  std::vector<End> ends;
  const RoundRules& rules = state_.rules();
  for (const RunningJob& run : state_.running().all()) {
    const Seconds known = run.job.expected_end(run.start);
    const Seconds usual = known >= run.start ? known : run.start + rules.default_duration;
    const Seconds last = run.job.time_limit > Seconds(0) ? run.start + run.job.time_limit : usual;
    if (last + rules.reservation_ttl > now_ && state_.quotas().lies_in(run.job.queue, job.queue))
      ends.push_back({expected_end_of(run, rules, now_), &run, usual <= now_});
  }
  std::ranges::sort(ends, {}, [](const End& end) { return std::pair(end.time, end.run->job.id); });
  QuotaLedger then = state_.quotas();
  then.clear_holds();
  const Amounts demand = then.demand_to_start(job);
  std::vector<const RunningJob*> ending;
  for (const auto& [time, run, is_late] : ends) {
    ending.push_back(run);
    then.give_back(run->job.queue, state_.held_by(*run).all);
    const QuotaVerdict verdict = then.judge(job.queue, demand, end_of(job, time));
    held.from = time;
    held.is_late = held.is_late || is_late;
    if ((verdict.admitted() && !verdict.borrows) || verdict.is_owner || fits_own_quota(then, job.queue, demand))
      return ending;
  }
  return {};
}

bool LimitHolds::is_quota_held(const Job& job) const {
  const auto held = std::ranges::find(quota_held_, job.queue, &QuotaHeld::queue);
  if (held == quota_held_.end() || held->job == 0 || held->job == job.id) return false;
  if (job.time_limit > Seconds(0) && now_ + job.time_limit <= held->from) return false;
  const QuotaLedger& quotas = state_.quotas();
  const Amounts demand = demand_of_next(quotas, job);
  for (std::size_t r = 0; r < demand.size(); ++r) {
    if (quotas.is_judged_by(job.queue, r, demand) && demand[r] > std::max<std::int64_t>(0, held->spare[r])) return true;
  }
  return false;
}

std::int64_t LimitHolds::starts_behind(const Job& job) const {
  if (!is_quota_held(job)) return 0;
  const auto held = std::ranges::find(quota_held_, job.queue, &QuotaHeld::queue);
  if (held->binds != Binds::kStarts) return 0;
  if (held->is_late) return held->job;
  Seconds end = end_of(job, now_);
  if (end >= Seconds(kNoLimit)) end = now_ + state_.rules().default_duration;
  return end <= held->from ? 0 : held->job;
}

std::vector<std::int64_t> LimitHolds::holders_above(const Job& job) const {
  const QuotaLedger& quotas = state_.quotas();
  std::vector<std::int64_t> holders;
  for (const QuotaHold& hold : quotas.holds()) {
    if (hold.home != job.queue && (hold.is_lent() || quotas.lies_in(job.queue, hold.queue)))
      holders.push_back(hold.job);
  }
  return holders;
}

std::optional<Seconds> LimitHolds::held_until(std::int64_t job) const {
  std::optional<Seconds> until;
  for (const QuotaHold& hold : state_.quotas().holds()) {
    const Seconds known = hold.from > now_ ? hold.from : hold.late_until;
    if (hold.job == job) until = std::max(until.value_or(known), known);
  }
  return until;
}

void LimitHolds::note_started(const Job& job, std::span<const PlacedTask> placed) {
  QuotaLedger& quotas = state_.quotas();
  quotas.drop_holds_of(job.id);
  std::erase_if(quota_held_, [&](const QuotaHeld& held) { return held.job == job.id; });
  if (quotas.holds().empty() && quota_held_.empty()) return;
  const Amounts taken = state_.held_by(placed);
  const Seconds certain_end = job.time_limit > Seconds(0) ? now_ + job.time_limit : Seconds(kNoLimit);
  quotas.take_beside_holds(job.queue, taken, end_of(job, now_), certain_end);
  for (QuotaHeld& held : quota_held_) {
    if (held.job == 0 || certain_end <= held.from || !quotas.lies_in(job.queue, held.queue)) continue;
    for (std::size_t r = 0; r < taken.size(); ++r) held.spare[r] -= taken[r];
  }
}

bool LimitHolds::wants_to_borrow(const Job& job) const {
  const QuotaLedger& quotas = state_.quotas();
  const Amounts demand = quotas.demand_to_start(job);
  for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
    if (demand[r] == 0 || !quotas.has_quota_of(job.queue, r)) continue;
    for (std::int32_t q = job.queue; q >= 0; q = state_.setup().queues[static_cast<std::size_t>(q)].parent) {
      if (demand[r] > quotas.quota(q, r)) return true;
    }
  }
  return false;
}

}  // namespace berth
