#include "engine/round/stops.h"

#include <algorithm>

#include "engine/round/loan_return.h"

namespace berth {

namespace {

template <class HoldsRoom>
void reprieve_jobs(RoundState& state, const HoldsRoom& holds_room_for, std::vector<std::int64_t>& reprieves) {
  for (const RunningJob& run : state.running().all()) {
    if (!run.makes_room_for_a_job() || holds_room_for(run.stops_for)) continue;
    state.running().change(run.job.id)->run_on();
    reprieves.push_back(run.job.id);
  }
}

Result<std::vector<Eviction>> end_stopped_jobs(RoundState& state, Seconds now) {
  std::vector<Eviction> evictions;
  for (const RunningJob& run : state.running().all()) {
    if (!run.is_told_to_stop() || run.stop_at > now) continue;
    evictions.push_back({.job = run.job.id,
                         .beneficiary = run.stops_for,
                         .rule = run.stop_rule,
                         .whole = true,
                         .tasks = {},
                         .lost = lost_work(run, now),
                         .stop_at = run.stop_at});
  }
  std::ranges::sort(evictions, {}, &Eviction::job);
  for (const Eviction& eviction : evictions) BERTH_TRY(state.end(eviction.job));
  return evictions;
}

}  // namespace

Result<SettledStops> settle_stops(RoundState& state, std::span<const Reservation> kept, std::span<const Job> jobs,
                                  Seconds now) {
  SettledStops settled;
  const auto holds_room = [&](std::int64_t job) {
    return std::ranges::any_of(kept, [&](const Reservation& reservation) {
      return reservation.job == job && reservation.kind == ReservationKind::kEviction;
    });
  };
  reprieve_jobs(state, holds_room, settled.reprieves);
  BERTH_ASSIGN(settled.ended, end_stopped_jobs(state, now));
  LoanStops loans;
  BERTH_TRY(return_loans(state, jobs, now, loans));
  settled.ended.insert(settled.ended.end(), loans.evictions.begin(), loans.evictions.end());
  settled.reprieves.insert(settled.reprieves.end(), loans.reprieves.begin(), loans.reprieves.end());
  return settled;
}

std::vector<std::int64_t> reprieve_after(RoundState& state, const Pass& pass) {
  std::vector<std::int64_t> reprieves;
  reprieve_jobs(
      state, [&](std::int64_t job) { return pass.holds_room_for(job); }, reprieves);
  return reprieves;
}

}  // namespace berth
