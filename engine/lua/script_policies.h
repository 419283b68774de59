// Policies of scripts: what snapshots and simulations are given to make them (PolicyMaker).
#pragma once

#include "engine/lua/policy_script.h"
#include "engine/policy/policy.h"

namespace berth {

// Lives for ever, holds nothing.
const PolicyMaker& script_policy_maker();

}  // namespace berth
