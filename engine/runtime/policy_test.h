// TEST POLICY: what a policy in Lua does in made-up situations, checked by a script.
//
// Each global function test_... of the script is a case and begins with nothing: no cluster, no jobs, the policy's
// knobs as they are set. It is given
//   cluster(text) queue{...} job{...}    the situation, see policy_fixture.h
//   now("2026-11-02 03:00")              the time
//   knob(name, value)                    another value for a knob
//   round()                              a whole round: {order = {names}, starts = {a = "n1"}, waits = {b = "why"}}
//   score(node, job) feasible(node, job) what the hook says of the empty node and a task of the job
//   victim_cost{...} admit(job, view) target(service) mixing(pool)   the hooks themselves
//   expect(found, expected [, what])     the case fails where they differ
#pragma once

#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/script_policy.h"

namespace berth {

struct PolicyTestResult {
  std::string name;
  std::string failure;  // with script and line; empty = it held
};
// In the order of their names. kInvalid when the test itself cannot be loaded, or has no cases.
Result<std::vector<PolicyTestResult>> test_policy(const ScriptPolicy& policy, const std::string& test_name,
                                                  const std::string& test_source);

}  // namespace berth
