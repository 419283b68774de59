// The first decisions of a plan without the rest: what is left of it when the whole would break an assertion.
//
// A decision is all that is done for one job - its placements and the evictions that make room for it - in the order
// in which the round took them; jobs for which victims are only told to stop come last. What loans give back is no
// decision: it stays.
#pragma once

#include "engine/model/plan.h"

namespace berth {

std::int64_t decision_count(const Plan& plan);
// `decisions` of them. The jobs of the others wait, before all that wait anyway: the first of them with
// Reason::kAssertion, for it is the one that would break something, and those behind it with Reason::kBlocked.
Plan first_decisions(const Plan& plan, std::int64_t decisions);

}  // namespace berth
