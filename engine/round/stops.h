// A job that an earlier round told to stop (because another job needs its room) either ends or runs on.
//
// It ends in the first round after its grace is over, before that round tries any waiting job. All that make room for
// one job stop together, when the last grace is over: once those are gone who had it, the others stop sooner. They run
// on if the other job does not need the room any more. Live rounds and simulations use the same functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/plan.h"
#include "engine/round/loan_trial.h"
#include "engine/round/pass.h"
#include "engine/round/round_state.h"

namespace berth {

struct SettledStops {
  std::vector<Eviction> ended;           // jobs whose grace is over, by id; then those that loans evict, now or later
  std::vector<Eviction> sooner;          // told to stop, now for an earlier moment that is still to come; by id
  std::vector<std::int64_t> reprieves;   // jobs that run on
  std::vector<Reservation> loan_starts;  // see Plan
};

// Room is held for a job only as long as it may have it: quotas, limits, loans and dates may have changed since others
// were told to stop. Drops rows on nodes that may not be used, where something lies that neither stops for the job nor
// may be taken for it any more, of jobs that would be refused, and of those whose queue may no longer take back what a
// victim that still runs uses. Their jobs keep their places: plain rows of that age, without nodes. `jobs`: in id
// order, at least those of the rows.
void drop_void_promises(RoundState& state, std::span<const Job> jobs, Seconds now, std::vector<Reservation>& kept);

// A victim runs on if the job that it makes room for gets its room without it: others have ended since, or the quota
// has more left. The rows in `kept` name the places that they then have; what other rows keep is left to those. Returns
// who runs on. The job and its victims may be tried in another way than when they were chosen: dearest first, one by
// one.
std::vector<std::int64_t> spare_needless(RoundState& state, std::span<Reservation> kept, std::span<const Job> jobs,
                                         Seconds now);

// Before the pass: changes `state` accordingly, and returns loans (loan_return.h). `kept`: reservations that earlier
// rounds made, of jobs that still wait; expected sooner where their victims stop sooner, and kept for reservation_ttl
// from when those have ended. `jobs`: all that wait, in id
// order, perhaps others that run; only loans that end ask for them. `starts_then`: see loan_trial.h.
Result<SettledStops> settle_stops(RoundState& state, std::span<Reservation> kept, std::span<const Job> jobs,
                                  Seconds now, const StartsThen& starts_then = {});

// After the pass: jobs run on if the pass dropped the reservation of the job that needed their room.
std::vector<std::int64_t> reprieve_after(RoundState& state, const Pass& pass, Seconds now);

}  // namespace berth
