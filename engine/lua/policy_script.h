// A policy in Lua, loaded and checked: its hooks, knobs and what it says of itself.
//
// The text defines hooks as global functions and nothing else global but
//   summary = "one sentence"
//   knobs = {weight = {type = "integer", default = 3, least = 0, most = 10, sentence = "..."}}
//   needs = {"memory", "tenants"}     what of a node its scores look at beyond CPU and devices
// Inside hooks knob.weight is the value. Whatever is misspelt is refused with the nearest name, when it is loaded.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/lua/host.h"
#include "engine/lua/policy_api.h"
#include "engine/model/script_policy.h"
#include "engine/policy/policy.h"

namespace berth {

enum class ScriptKnobType : std::uint8_t { kInteger, kNumber, kBoolean, kText, kChoice };
std::string_view script_knob_type_name(ScriptKnobType type);

struct ScriptKnob {
  std::string name;
  ScriptKnobType type = ScriptKnobType::kNumber;
  ScriptValue default_value;
  double least = 0;
  double most = 0;
  bool has_least = false;
  bool has_most = false;
  std::vector<std::string> choices;
  std::string sentence;
};
// The value that a text stands for, or what is wrong with it.
Result<ScriptValue> read_script_knob(const ScriptKnob& knob, std::string_view text);
std::string print_script_value(const ScriptValue& value);

// For one round, or one submission.
ScriptLimits policy_limits();

class HookViews;

class PolicyScript {
 public:
  static Result<std::unique_ptr<PolicyScript>> load(const ScriptPolicy& script, const ScriptLimits& limits);
  ~PolicyScript();

  bool has(Hook hook) const { return refs_[static_cast<std::size_t>(hook)] != 0; }
  // Names of those it has.
  std::vector<std::string> hooks() const;
  const std::string& summary() const { return summary_; }
  const std::vector<ScriptKnob>& knobs() const { return knobs_; }
  // The value of a knob now.
  const ScriptValue& knob_value(std::size_t knob) const { return knob_values_[knob]; }
  ScoreSensitivity needs() const { return needs_; }

  ScriptHost& host() { return *host_; }
  HookViews& views() { return *views_; }
  // Calls `body` with `data` under a full budget, Lua's errors caught; it finds the hook's function by push_hook().
  Status call(int (*body)(lua_State*), void* data);
  // Onto the stack; it must be there.
  void push_hook(lua_State* lua, Hook hook) const;

 private:
  PolicyScript() = default;
  Status read_globals();
  Status read_knobs(const ScriptTable& declared, const ScriptPolicy& script);
  Status read_needs(const ScriptTable& named);
  Status find_hooks();

  std::unique_ptr<ScriptHost> host_;
  std::unique_ptr<HookViews> views_;
  std::array<int, kHookCount> refs_{};
  std::string summary_;
  std::vector<ScriptKnob> knobs_;
  std::vector<ScriptValue> knob_values_;
  ScoreSensitivity needs_;
};

}  // namespace berth
