#include "engine/round/room_to_come.h"

#include <algorithm>

#include "engine/round/quota_placing.h"

namespace berth {

void RoomToCome::find_leaving() {
  leaving_.emplace();
  held_ = state_.quotas().none();
  for (const RunningJob& run : state_.running().all()) {
    const bool is_soon = run.stop_at <= now_ + state_.rules().reservation_ttl;
    if (run.stops_for_a_loan() ? !is_soon : !run.is_about_to_end(now_)) continue;
    leaving_->push_back(run.job.id);
    for (const RunningTask& task : run.tasks) state_.quotas().add_holding(task.holding, held_);
  }
}

// By count of the whole cluster.
bool RoomToCome::could_suffice(const Job& gang) const {
  const QuotaLedger& quotas = state_.quotas();
  const Amounts demand = quotas.demand_to_start(gang);
  for (std::size_t r = 0; r < demand.size(); ++r) {
    if (demand[r] > quotas.capacity(r) - quotas.used_by_all(r) + held_[r]) return false;
  }
  return true;
}

bool RoomToCome::is_for(const Job& job, const RunningJob& leaving, Seconds end) const {
  if (!leaving.stops_for_a_loan()) return true;
  const QuotaLedger& quotas = state_.quotas();
  const auto is_of_lender = [&](const LoanTerms& loan) {
    return loan.id == leaving.stops_for && quotas.lies_in(job.queue, loan.lender);
  };
  const QuotaTable& table = quotas.table();
  if (job.queue < 0 ||
      (std::ranges::none_of(table.loans, is_of_lender) && std::ranges::none_of(table.ended_loans, is_of_lender)))
    return false;
  return quotas.may_reclaim(job.queue, quotas.demand_to_start(job), leaving.job.queue, 0, end);
}

bool RoomToCome::serves(const Job& job, Seconds end) {
  if (!leaving_) find_leaving();
  if (leaving_->empty()) return false;
  if (served_.contains(job.id)) return true;
  const Job gang = gang_of(job);
  if (!could_suffice(gang)) return false;
  DemandKey key = {gang.queue, gang.priority_class, end.value()};
  for (const TaskGroup& group : gang.groups) append_demand(group, key);
  if (failed_.contains(key)) return false;

  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  QuotaLedger then = state_.quotas();
  for (const std::int64_t id : *leaving_) {
    const RunningJob* const run = state_.running().find(id);
    if (run == nullptr || !is_for(job, *run, end)) continue;
    for (const RunningTask& task : run->tasks) (void)ledger.release(task.holding);
    then.give_back(run->job.queue, state_.held_by(*run).all);
  }
  for (const Place& place : taken_) {
    Amounts amounts = then.none();
    for (const PlacedTask& task : place.tasks) {
      if (ledger.place(task.holding).ok()) then.add_holding(task.holding, amounts);
    }
    then.take(place.queue, amounts);
  }
  JobOutcome outcome;
  if (then.judge(gang.queue, then.demand_to_start(gang), end).admitted()) {
    const auto place = [&](const Job& wanted, bool) { return state_.placer().place_job(wanted); };
    outcome = place_within_quota(then, ledger, gang, end, place).outcome;
  }
  ledger.rollback(before);
  if (outcome.started) {
    served_.insert(job.id);
    taken_.push_back({gang.queue, std::move(outcome.placed)});
  } else {
    failed_.insert(std::move(key));
  }
  return outcome.started;
}

}  // namespace berth
