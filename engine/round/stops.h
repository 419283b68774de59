// Jobs that earlier rounds told to stop: what becomes of them before a pass and after it, live and simulated.
//
// One whose time has come ends, and makes room before anything else is looked at. One runs on when no room is held any
// more for the job that it was to make room for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/plan.h"
#include "engine/round/pass.h"
#include "engine/round/round_state.h"

namespace berth {

struct SettledStops {
  std::vector<Eviction> ended;          // by id; then those that loans need, which may stop later
  std::vector<std::int64_t> reprieves;  // jobs that run on
};

// Carries out in the state what is due `now`; loans are returned, too (loan_return.h). `kept`: reservations that
// earlier rounds made for jobs that still wait. `jobs`: all that wait, in id order, perhaps others that run; only
// loans that end ask for them.
Result<SettledStops> settle_stops(RoundState& state, std::span<const Reservation> kept, std::span<const Job> jobs,
                                  Seconds now);

// After the pass: who runs on because it holds no room any more for the beneficiary.
std::vector<std::int64_t> reprieve_after(RoundState& state, const Pass& pass);

}  // namespace berth
