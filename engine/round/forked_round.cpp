#include "engine/round/forked_round.h"

#include <unordered_set>

#include "engine/round/schedule.h"

namespace berth {

void ForkedRound::end_only(const std::set<std::int64_t>& jobs) {
  fork_.allocations = snapshot_.allocations;
  fork_.running = snapshot_.running;
  std::erase_if(fork_.allocations, [&](const Allocation& each) { return jobs.contains(each.job); });
  std::erase_if(fork_.running, [&](const RunningJob& run) { return jobs.contains(run.job.id); });
  ended_.clear();
  for (const RunningJob& run : snapshot_.running) {
    if (jobs.contains(run.job.id)) ended_.push_back(&run);
  }
}

Result<bool> ForkedRound::starts_at(std::optional<std::int64_t> place) {
  ++plans_;
  if (workload_then_ != nullptr) fork_.workload = workload_then_(ended_, snapshot_.jobs[job_], job());
  BERTH_ASSIGN(ScheduleResult result,
               plan_schedule(fork_, {.interrupted = interrupted_, .until_job = id(), .place = place}));
  planned_ = {};
  for (const Eviction& eviction : result.plan.evictions) {
    if (eviction.beneficiary == id()) planned_.evicted.push_back(eviction);
  }
  for (const Placement& placement : result.plan.placements) {
    if (placement.job == id()) planned_.placed.push_back(placement);
  }
  for (const Waiting& waiting : result.plan.waiting) {
    if (waiting.job == id()) planned_.waiting = waiting;
  }
  std::erase(result.order, id());
  planned_.ahead = std::move(result.order);
  note_takers(result.plan);
  // Room that victims with a grace will leave is as good as a start.
  return !planned_.placed.empty() || !planned_.evicted.empty();
}

// Jobs that start, have others evicted, get a reservation, or close the way.
void ForkedRound::note_takers(const Plan& plan) {
  std::unordered_set<std::int64_t> takers = {planned_.waiting.behind_job};
  for (const Placement& placement : plan.placements) takers.insert(placement.job);
  for (const Eviction& eviction : plan.evictions) takers.insert(eviction.beneficiary);
  for (const Reservation& reservation : plan.reservations) takers.insert(reservation.job);
  for (std::size_t place = 0; place < planned_.ahead.size(); ++place) {
    if (takers.contains(planned_.ahead[place])) planned_.takers.push_back(static_cast<std::int64_t>(place));
  }
}

Result<bool> ForkedRound::starts() {
  if (ahead_.empty() || order_is_enough_) return starts_at(kOwnPlace);
  BERTH_ASSIGN(const bool at_front, starts_at(0));
  if (!at_front) return false;
  Planned front = std::move(planned_);
  BERTH_ASSIGN(const bool at_own_place, starts_at(kOwnPlace));
  if (!at_own_place) {
    planned_ = std::move(front);
    planned_.goes_first = true;
  }
  return true;
}

Result<bool> ForkedRound::starts_again(bool goes_first) {
  BERTH_ASSIGN(const bool started, starts_at(goes_first ? std::optional<std::int64_t>(0) : kOwnPlace));
  planned_.goes_first = goes_first;
  return started;
}

}  // namespace berth
