// Policies that are not built in: texts in Lua as they stood, with the values of their knobs.
//
// They are part of what a round looks at, so that it can be planned again when the policy has long changed. Who makes
// policies of them is named beside them, so that whoever has a snapshot can plan it; the model knows no Lua.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

class PolicyMaker;  // policy/policy.h

struct ScriptKnobValue {
  std::string name;
  std::string value;  // as written; read by the type that the script declares

  bool operator==(const ScriptKnobValue&) const = default;
};

struct ScriptPolicy {
  std::string name;
  std::int64_t version = 0;
  std::string source;
  std::vector<ScriptKnobValue> knobs;  // that were set, by name; the others have their defaults

  bool operator==(const ScriptPolicy&) const = default;
};

struct ScriptPolicies {
  std::vector<ScriptPolicy> policies;  // by name
  const PolicyMaker* maker = nullptr;  // must outlive this; not part of a record

  // Null when there is none of that name.
  const ScriptPolicy* find(std::string_view name) const {
    for (const ScriptPolicy& policy : policies) {
      if (policy.name == name) return &policy;
    }
    return nullptr;
  }
};

}  // namespace berth
