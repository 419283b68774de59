// Policies in Lua as rows: their texts, version by version, and the values of their knobs.
//
// Whether a text is a policy is found out before it comes here (runtime/policies.h). All versions are kept until the
// policy is dropped; rounds keep the one that they used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/model/script_policy.h"
#include "engine/policy/registry.h"
#include "engine/store/change.h"

namespace berth {

struct PolicyText {
  std::string file;
  std::string source;
  std::vector<std::string> hooks;  // that it defines, by name
  std::string summary;
};

struct StoredPolicy {
  ScriptPolicy script;
  PolicyText text;
  Seconds created_at;  // this version
  std::string created_by;
  std::int64_t versions = 0;  // that there are

  bool has_hook(std::string_view hook) const;
};

// kExists also for the names of built-in policies.
Status add_policy(Change& change, const std::string& name, const PolicyText& text);
// The new version. kConflict when a setting uses a hook that the text does not define.
Result<std::int64_t> add_policy_version(Change& change, const std::string& name, const PolicyText& text);
Status set_policy_knob(Change& change, const std::string& name, const std::string& knob, const std::string& value);
Status forget_policy_knob(Change& change, const std::string& name, const std::string& knob);
// kConflict while a setting uses it.
Status drop_policy(Change& change, const std::string& name);

// By name.
Result<std::vector<StoredPolicy>> list_policies(Database& db);
// kNotFound with the nearest name, or the versions that there are.
Result<StoredPolicy> read_policy(Database& db, const std::string& name,
                                 std::optional<std::int64_t> version = std::nullopt);

// The hook that a script needs to be a policy of that kind; empty = scripts cannot be.
std::string_view hook_of(PolicyKind kind);
// Built-in policies of the kind, then scripts that can be one.
Result<std::vector<std::string>> policy_names(Database& db, PolicyKind kind);
// kNotFound with the nearest name; kInvalid for a script without the hook. Kinds that may be left out know "none".
Status check_policy(Database& db, PolicyKind kind, const std::string& name);

// The scripts among these names, as a snapshot has them.
Result<std::vector<ScriptPolicy>> read_scripts(Database& db, const std::vector<std::string>& names);

}  // namespace berth
