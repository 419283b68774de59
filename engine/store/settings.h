// Knobs: one table row each - name, type, default, range, sentence. SET, SHOW SETTINGS, HELP and completion read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/rules.h"
#include "engine/policy/duration_predictor.h"
#include "engine/policy/registry.h"
#include "engine/policy/rightsizing.h"
#include "engine/store/change.h"

namespace berth {

enum class KnobType {
  kInteger,
  kDuration,
  kNumber,      // with a fraction
  kBoolean,     // true, false
  kChoice,      // one of Knob::choices
  kGpuHours,    // "2.5", or "any"
  kGpuSeconds,  // several, rising: "3250, 7200"
  kOrderPolicy,
  kScorePolicy,
  kFilterPolicy,
  kVictimPolicy,
  kAdmitPolicy,
};
std::string_view knob_type_name(KnobType type);

// Of a knob that names a policy; nothing = it does not.
std::optional<PolicyKind> policy_kind_of(KnobType type);

struct Knob {
  std::string_view name;
  KnobType type;
  std::string_view default_text;
  std::int64_t least = 0;  // numbers, GPU-hours, and durations in seconds
  std::int64_t most = 0;
  std::string_view sentence;
  std::string_view choices = {};  // of kChoice: "greedy|none"
};

std::span<const Knob> all_knobs();
// kNotFound with the nearest name.
Result<const Knob*> find_knob(std::string_view name);

struct Setting {
  const Knob* knob = nullptr;
  std::string value;  // as it would be typed
  bool is_default = true;
};

struct Settings {
  std::string order_policy;
  std::string score_policy;
  std::string filter_policy;  // empty = none, as the next two
  std::string victim_policy;
  std::string admit_policy;
  std::uint64_t seed = 0;
  Seconds aging_interval;
  bool import_new_nodes = false;
  Seconds inventory_every;
  Seconds lease_duration;
  std::int64_t loss_retries = 0;
  Seconds node_back_after;
  Seconds node_down_after;
  std::int64_t node_flap_limit = 0;
  Seconds node_flap_window;
  Seconds stop_grace;
  Seconds chargeback_retention;
  std::int64_t eta_jobs = 0;
  std::int64_t eta_share = 0;  // percent
  Seconds event_retention;
  Seconds history_retention;
  std::int64_t history_bytes = 0;
  Seconds round_retention;
  bool record_rounds = true;
  bool reload_policies = true;
  bool holds_back = true;  // jobs that would break assertions; else the round is refused
  std::int64_t assertion_budget_ms = 0;
  Seconds record_retention;
  std::int64_t record_bytes = 0;
  std::int64_t shadow_budget_ms = 0;
  Seconds job_retention;
  Seconds prediction_retention;
  PredictorKnobs predictor;
  RightsizeKnobs rightsizing;
  RoundRules rules;
  OrderKnobs order_knobs;
};

// What a value must be, checked by type and range; the canonical text.
Result<std::string> check_setting(Database& db, const Knob& knob, std::string_view value);
Status set_setting(Change& change, std::string_view name, std::string_view value);
Status reset_setting(Change& change, std::string_view name);
Result<std::vector<Setting>> list_settings(Database& db);
Result<Settings> read_settings(Database& db);
// As if those knobs had been set to these values, by name; they are checked like those of SET.
using SettingOverrides = std::vector<std::pair<std::string, std::string>>;
Result<Settings> read_settings(Database& db, const SettingOverrides& overrides);

}  // namespace berth
