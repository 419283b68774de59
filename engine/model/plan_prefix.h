// The first decisions of a plan without the rest: how the decision is found that would break an assertion.
//
// A decision is all that is done for one job - its placements and the evictions that make room for it - in the order
// in which the round took them; jobs for which victims are only told to stop come later, and last those of lenders for
// which loans are returned. What loans give back is no decision: it stays. So does the end of a victim that an earlier
// round told to stop: others may take that room before the job for which it was made.
//
// Where victims have a grace, or stop for a loan, their beneficiary starts in a later round, and only that start can
// break an assertion. with_room_made() is the plan in which it starts now. So a beneficiary that an assertion refuses
// is found before any victim is told to stop.
#pragma once

#include <optional>

#include "engine/model/plan.h"

namespace berth {

// The jobs of the decisions, in their order.
std::vector<std::int64_t> deciding_jobs(const Plan& plan);
// So many decisions in front place the same in both.
std::int64_t common_decisions(const Plan& a, const Plan& b);
// `decisions` of them. The jobs of the others wait, before all that wait anyway, with Reason::kBlocked.
Plan first_decisions(const Plan& plan, std::int64_t decisions);
// The plan if its victims had no grace: they end now, and those they make room for start on what is reserved for them.
// Nothing = it tells nobody to stop for a job, or for a loan on which one of the lender waits.
std::optional<Plan> with_room_made(const Plan& plan);

}  // namespace berth
