// The first decisions of a plan without the rest: how the decision is found that would break an assertion.
//
// A decision is all that is done for one job - its placements and the evictions that make room for it - in the order
// in which the round took them; jobs for which victims are only told to stop come last. What loans give back is no
// decision: it stays.
#pragma once

#include "engine/model/plan.h"

namespace berth {

// The jobs of the decisions, in their order.
std::vector<std::int64_t> deciding_jobs(const Plan& plan);
// So many decisions in front place the same in both.
std::int64_t common_decisions(const Plan& a, const Plan& b);
// `decisions` of them. The jobs of the others wait, before all that wait anyway, with Reason::kBlocked.
Plan first_decisions(const Plan& plan, std::int64_t decisions);

}  // namespace berth
