// Asks an admit policy in Lua about one job.
#pragma once

#include <string>

#include "engine/lua/policy_script.h"

namespace berth {

struct AdmitAnswer {
  ScriptTable job;      // as it is to be
  std::string refusal;  // not empty: it is not to be, and what the user is told
};

// `job` is the script's to change, `view` is read-only; an unknown field of either is an error. kInvalid when the
// script fails, with its line.
Result<AdmitAnswer> ask_admit(const ScriptPolicy& script, const ScriptValue& job, const ScriptValue& view);

}  // namespace berth
