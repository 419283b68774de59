#include "engine/round/stops.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "engine/round/closed_nodes.h"
#include "engine/round/loan_return.h"
#include "engine/round/quota_placing.h"
#include "engine/round/reserved_room.h"
#include "engine/round/timeline.h"

namespace berth {

namespace {

template <class HoldsRoom>
void reprieve_jobs(RoundState& state, Seconds now, const HoldsRoom& holds_room_for,
                   std::vector<std::int64_t>& reprieves) {
  for (const RunningJob& run : state.running().all()) {
    if (!run.makes_room_for_a_job() || holds_room_for(run.stops_for)) continue;
    if (run.is_bound_to_stop(now)) continue;
    state.running().change(run.job.id)->run_on();
    reprieves.push_back(run.job.id);
  }
}

Eviction eviction_of(const RunningJob& run, Seconds end) {
  return {.job = run.job.id,
          .beneficiary = run.stops_for,
          .rule = run.stop_rule,
          .whole = true,
          .tasks = {},
          .lost = lost_work(run, end),
          .stop_at = run.stop_at};
}

// Who waits for nobody's grace any more stops when its own lets it.
void hasten_stops(RoundState& state, Seconds now, std::span<Reservation> kept, std::vector<Eviction>& sooner) {
  std::map<std::int64_t, Seconds> last;  // by whom room is made for
  for (const RunningJob& run : state.running().all()) {
    if (!run.makes_room_for_a_job()) continue;
    Seconds& end = last.try_emplace(run.stops_for, now).first->second;
    end = std::max(end, run.earliest_stop(now));
  }
  for (const RunningJob& run : state.running().all()) {
    const Seconds end = run.makes_room_for_a_job() ? last.at(run.stops_for) : run.stop_at;
    if (run.stop_at <= end) continue;
    state.running().change(run.job.id)->stop_at = end;
    if (end > now) sooner.push_back(eviction_of(run, end));
  }
  std::ranges::sort(sooner, {}, &Eviction::job);
  for (Reservation& row : kept) {
    const auto end = last.find(row.job);
    if (row.kind == ReservationKind::kEviction && end != last.end()) row.expected = std::min(row.expected, end->second);
  }
}

// However late the round comes: room that nobody could use yet has not lapsed.
void keep_what_is_freed(const RoundState& state, Seconds now, std::span<const Eviction> ended,
                        std::span<Reservation> kept) {
  for (const Eviction& eviction : ended) {
    if (eviction.rule == EvictionRule::kLoan) continue;
    const auto row = std::ranges::find(kept, eviction.beneficiary, &Reservation::job);
    if (row == kept.end() || row->kind != ReservationKind::kEviction) continue;
    row->expires = std::max(row->expires, now + state.rules().reservation_ttl);
  }
}

Result<std::vector<Eviction>> end_stopped_jobs(RoundState& state, Seconds now) {
  std::vector<Eviction> evictions;
  for (const RunningJob& run : state.running().all()) {
    if (run.is_told_to_stop() && run.stop_at <= now) evictions.push_back(eviction_of(run, now));
  }
  std::ranges::sort(evictions, {}, &Eviction::job);
  for (const Eviction& eviction : evictions) BERTH_TRY(state.end(eviction.job));
  return evictions;
}

// starts_then(), with these jobs ended as well.
StartsThen without(std::span<const Eviction> gone, const StartsThen& starts_then) {
  if (!starts_then) return {};
  return [gone, &starts_then](Seconds moment, std::span<const EndedPart> ended) {
    std::vector<EndedPart> all(ended.begin(), ended.end());
    for (const Eviction& eviction : gone) all.push_back({.job = eviction.job});
    return starts_then(moment, all);
  };
}

// Its class has been lowered since, or the other's raised.
bool outranks_its_victims(const RoundState& state, const Job& job) {
  return std::ranges::all_of(state.running().all(), [&](const RunningJob& run) {
    return !run.makes_room_for(job.id) || run.stop_rule != EvictionRule::kPriority ||
           state.class_value(run.job) < state.class_value(job);
  });
}

// Nothing lies where it is to start but what leaves by then, and what it may take.
bool is_clear_for(RoundState& state, const Job& job, const Reservation& row, const QuotaLedger& marked, Seconds end) {
  const Amounts amounts = state.held_by(row.tasks);
  const auto may_take = [&](const RunningJob& run) { return may_take_surplus(state, marked, job, amounts, run, end); };
  return surplus_in_the_way(state, row, may_take).has_value();
}

// The job takes what its victims used. A loan that ends later takes that back from the job as from other borrowers.
QuotaLedger quotas_for(const RoundState& state, const Reservation& row) {
  QuotaLedger quotas = state.quotas();
  quotas.clear_holds();
  quotas.judge_for(row.job, row.made_at, Seconds(kNoLimit), row.expected);
  return quotas;
}

// When the job ends at the latest, if it starts at the promised time, or now where that time has passed.
Seconds end_of_promised(const Job& job, const Reservation& row, Seconds now) {
  return last_end_of(job, std::max(now, row.expected));
}

// A quota, limit or loan changes before the promised time, and the job may not use the room then.
bool loses_its_right(RoundState& state, const Job& job, const Reservation& row) {
  std::optional<QuotaLedger> then = quotas_then(state, row.expected);
  if (!then) return false;
  const Amounts amounts = state.held_by(row.tasks);
  const Seconds end = last_end_of(job, row.expected);
  for (const TaskPlace& left : surplus_left_for(state, row)) {
    Amounts surplus = then->none();
    then->add_holding(left.run->tasks[left.task].holding, surplus);
    then->give_back(left.run->job.queue, surplus, state.lasts_until(*left.run));
  }
  if (!then->judge(job.queue, amounts, end).admitted()) return true;
  return std::ranges::any_of(state.running().all(), [&](const RunningJob& run) {
    return run.makes_room_for(job.id) && run.stop_rule == EvictionRule::kReclaim &&
           !then->may_reclaim(job.queue, amounts, run.job.queue, 0, end);
  });
}

bool is_void(RoundState& state, const Job& job, const Reservation& row, Seconds now) {
  const Seconds end = end_of_promised(job, row, now);
  const QuotaLedger marked = marked_without_leaving(state, job);
  if (!is_clear_for(state, job, row, marked, end) || loses_its_right(state, job, row)) return true;
  if (!state.quotas().governs()) {  // nobody owns anything any more
    return std::ranges::any_of(state.running().all(), [&](const RunningJob& run) {
      return run.makes_room_for(job.id) && run.stop_rule == EvictionRule::kReclaim;
    });
  }
  const Amounts amounts = state.held_by(row.tasks);
  QuotaLedger then = quotas_for(state, row);
  for (const auto& [other, pledge] : state.pledges())  // of older promises
    then.count_promise(pledge.queue, pledge.amounts, pledge.leaving, 1, pledge.gone_by);
  for (const RunningJob& run : state.running().all()) {
    if (!run.makes_room_for(job.id)) continue;
    const bool takes_back = run.stop_rule == EvictionRule::kReclaim;
    const bool still_may = !takes_back || marked.may_reclaim(job.queue, amounts, run.job.queue, run.quota_mark, end,
                                                             QuotaLedger::Beside::kMarked);
    if (!still_may) return true;
    then.give_back(run.job.queue, state.held_by(run).all, state.lasts_until(run));
  }
  if (then.judge(job.queue, amounts, end).admitted()) return false;
  for (const RunningJob& run : state.running().all()) {
    const RoundState::Held held = state.held_by(run);
    if (held.has_surplus && may_take_surplus(state, marked, job, amounts, run, end))
      then.give_back(run.job.queue, held.surplus, state.lasts_until(run));
  }
  return !then.judge(job.queue, amounts, end).admitted();
}

// Where the job can start once `gone` have ended: on the places that it was promised, or else on places that no other
// reservation keeps. Nothing = nowhere.
std::optional<std::vector<ReservedTask>> room_without(RoundState& state, const Job& job, const Reservation& row,
                                                      std::span<const Reservation> kept,
                                                      std::span<const RunningJob* const> gone, Seconds end) {
  Ledger& ledger = state.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  QuotaLedger then = quotas_for(state, row);
  for (const RunningJob* const run : gone) {
    for (const RunningTask& task : run->tasks) (void)ledger.release(task.holding);
    then.give_back(run->job.queue, state.held_by(*run).all, state.lasts_until(*run));
  }
  const Ledger::Checkpoint without_them = ledger.checkpoint();
  if (std::ranges::all_of(row.tasks, [&](const ReservedTask& task) { return ledger.place(task.holding).ok(); })) {
    ledger.rollback(before);
    return row.tasks;
  }
  ledger.rollback(without_them);
  if (state.rules().keeps_order_of_all()) {
    ledger.rollback(before);
    return std::nullopt;
  }
  ClosedNodes partly_kept(ledger);  // where others are still to leave
  for (const Reservation& other : kept) {
    if (other.job == row.job) continue;
    for (const ReservedTask& task : other.tasks) {
      if (!ledger.place(task.holding).ok()) partly_kept.close(task.holding.node);
    }
  }
  const auto place = [&](const Job& wanted, bool) { return state.placer().place_job(wanted); };
  const JobOutcome outcome = place_within_quota(then, ledger, gang_of(job), end, place).outcome;
  ledger.rollback(before);
  if (!outcome.started) return std::nullopt;
  return reserved_tasks(outcome.placed, state.cluster());
}

// Those that stop for the job, the dearest first.
std::vector<const RunningJob*> victims_of(const RoundState& state, std::int64_t job) {
  std::vector<const RunningJob*> victims;
  for (const RunningJob& run : state.running().all()) {
    if (run.makes_room_for(job)) victims.push_back(&run);
  }
  std::ranges::sort(victims, std::greater<>(), [&](const RunningJob* run) {
    return std::tuple(state.class_value(run->job), lost_work(*run, run->stop_at), run->job.id);
  });
  return victims;
}

}  // namespace

std::vector<std::int64_t> spare_needless(RoundState& state, std::span<Reservation> kept, std::span<const Job> jobs,
                                         Seconds now) {
  std::vector<std::int64_t> spared;
  for (Reservation& row : kept) {
    const Job* const job = row.kind == ReservationKind::kEviction ? find_job(jobs, row.job) : nullptr;
    if (job == nullptr || job->queue < 0) continue;
    std::vector<const RunningJob*> gone = victims_of(state, row.job);
    for (std::size_t i = 0; i < gone.size();) {
      const RunningJob* const victim = gone[i];
      std::vector<const RunningJob*> others = gone;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i++));
      if (victim->is_bound_to_stop(now)) continue;
      const Seconds end = end_of_promised(*job, row, now);
      std::optional<std::vector<ReservedTask>> tasks = room_without(state, *job, row, kept, others, end);
      if (!tasks) continue;
      Reservation elsewhere = row;
      elsewhere.tasks = *std::move(tasks);
      state.drop_pledge(row.job);
      RunningJob& run = *state.running().change(victim->job.id);
      const RunningJob told = run;
      run.run_on();
      if (is_void(state, *job, elsewhere, now)) {
        run = told;
      } else {
        row.tasks = std::move(elsewhere.tasks);
        spared.push_back(run.job.id);
        gone = std::move(others);
        --i;
      }
      state.pledge(row, jobs);
    }
  }
  if (!spared.empty()) state.renew_marks();
  return spared;
}

void drop_void_promises(RoundState& state, std::span<const Job> jobs, Seconds now, std::vector<Reservation>& kept) {
  std::vector<Reservation> broken;
  // Who runs within quota keeps it before what is promised to those that wait, and older promises before younger ones.
  state.drop_pledges();
  state.keep_marks();
  std::ranges::stable_sort(kept, {}, &Reservation::made_at);
  std::erase_if(kept, [&](const Reservation& row) {
    if (row.kind != ReservationKind::kEviction) return false;
    if (state.rules().withdraws_evictions()) return true;
    const Job* const job = find_job(jobs, row.job);
    if (job == nullptr) return false;
    const auto may_use = [&](const ReservedTask& task) { return may_use_node(state.ledger(), task.holding); };
    const bool is_broken = !std::ranges::all_of(row.tasks, may_use) || !is_room_for(row, *job, state) ||
                           !outranks_its_victims(state, *job) || (job->queue >= 0 && is_void(state, *job, row, now));
    if (!is_broken) state.pledge(row, jobs);
    if (is_broken) broken.push_back(row);
    return is_broken;
  });
  std::ranges::sort(kept, {}, &Reservation::job);
  state.renew_marks();
  // With the marks that all have now, surplus tasks may be out of reach.
  const auto is_out_of_reach = [&](const Reservation& row) {
    if (row.kind != ReservationKind::kEviction || surplus_left_for(state, row).empty()) return false;
    const Job* const job = find_job(jobs, row.job);
    if (job == nullptr) return false;
    state.drop_pledge(row.job);
    const Seconds end = end_of_promised(*job, row, now);
    const bool is_broken = !is_clear_for(state, *job, row, marked_without_leaving(state, *job), end);
    if (!is_broken) state.pledge(row, jobs);
    if (is_broken) broken.push_back(row);
    return is_broken;
  };
  while (std::erase_if(kept, is_out_of_reach) > 0) state.renew_marks();
  state.renew_marks();
  // Their jobs wait on in their old places.
  for (const Reservation& row : broken)
    kept.push_back({.job = row.job, .made_at = row.made_at, .expected = row.expected, .tasks = {}});
  std::ranges::sort(kept, {}, &Reservation::job);
}

Result<SettledStops> settle_stops(RoundState& state, std::span<Reservation> kept, std::span<const Job> jobs,
                                  Seconds now, const StartsThen& starts_then) {
  SettledStops settled;
  const auto holds_room = [&](std::int64_t job) {
    return std::ranges::any_of(kept, [&](const Reservation& reservation) {
      return reservation.job == job && reservation.kind == ReservationKind::kEviction;
    });
  };
  reprieve_jobs(state, now, holds_room, settled.reprieves);
  BERTH_TRY(spare_for_loans(state, jobs, now, starts_then, settled.reprieves));
  hasten_stops(state, now, kept, settled.sooner);
  BERTH_ASSIGN(settled.ended, end_stopped_jobs(state, now));
  keep_what_is_freed(state, now, settled.ended, kept);
  LoanStops loans;
  BERTH_TRY(return_loans(state, jobs, now, without(settled.ended, starts_then), loans));
  settled.ended.insert(settled.ended.end(), loans.evictions.begin(), loans.evictions.end());
  settled.reprieves.insert(settled.reprieves.end(), loans.reprieves.begin(), loans.reprieves.end());
  settled.loan_starts = std::move(loans.starts);
  return settled;
}

std::vector<std::int64_t> reprieve_after(RoundState& state, const Pass& pass, Seconds now) {
  std::vector<std::int64_t> reprieves;
  reprieve_jobs(
      state, now, [&](std::int64_t job) { return pass.holds_room_for(job); }, reprieves);
  return reprieves;
}

}  // namespace berth
