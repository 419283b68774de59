// Shadow policies: planned beside the live ones in each real round, on the same input, within a budget of time.
//
// The live round is planned, applied and told first; then each shadow plans the very snapshot with its own policy in
// the place of the live one, and what it decides otherwise is noted (store/shadow_records.h). Nothing of it happens:
// the next round starts from what the live policy did. So what the notes add up to is an estimate - the room that a
// shadow gave to one job is there again in the next round - and BACKTEST tells the whole.
#pragma once

#include "engine/runtime/round_driver.h"
#include "engine/store/shadow_records.h"

namespace berth {

// What it takes the place of: an order, a score. kNotFound with the nearest name.
Result<ShadowRow> shadow_of_policy(Runtime& runtime, std::string_view policy);

// Both plans come from the same snapshot.
ShadowRound compare_with_shadow(Database& db, const Snapshot& snapshot, const Plan& live, const Plan& shadow);

// After a round that was applied. A shadow that fails or takes longer than the setting shadow_budget is noted as such.
Status watch_shadows(Runtime& runtime, const PlannedRound& live, std::int64_t round);

}  // namespace berth
