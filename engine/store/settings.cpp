#include "engine/store/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/policy/registry.h"

namespace berth {

namespace {

constexpr std::int64_t kDay = 24 * 3600;

constexpr Knob kKnobs[] = {
    {"aging_interval", KnobType::kDuration, "1h", 1, 365 * kDay,
     "how much waiting is worth one step of priority, so that no job waits for ever behind higher classes"},
    {"event_retention", KnobType::kDuration, "90d", 0, 36500 * kDay, "how long events are kept"},
    {"job_retention", KnobType::kDuration, "365d", 0, 36500 * kDay, "how long ended jobs and their runs are kept"},
    {"lease_duration", KnobType::kDuration, "10m", 10, kDay,
     "how long a round may hold the right to run before another takes over"},
    {"order_policy", KnobType::kOrderPolicy, "priority", 0, 0, "which waiting job is tried first"},
    {"prediction_half_life", KnobType::kDuration, "30d", 3600, 36500 * kDay,
     "how long until a past run counts half when the duration of the next is predicted"},
    {"prediction_min_count", KnobType::kInteger, "3", 1, 32,
     "how many like runs are needed to predict from them; with fewer, more distant ones are asked"},
    {"prediction_retention", KnobType::kDuration, "365d", 0, 36500 * kDay,
     "how long past durations are kept of a kind of job that no longer comes"},
    {"round_retention", KnobType::kDuration, "30d", 0, 36500 * kDay,
     "how long rounds, their decisions and saved plans are kept"},
    {"score_policy", KnobType::kScorePolicy, "berth", 0, 0, "which feasible node a task goes to"},
    {"seed", KnobType::kInteger, "0", 0, INT64_MAX, "where the random source of a round starts"},
};

std::string typed_text(const Knob& knob, std::int64_t value) {
  return knob.type == KnobType::kDuration ? print_duration(Seconds(value)) : fmt::format("{}", value);
}

Result<std::string> check_number(const Knob& knob, std::string_view value) {
  std::int64_t number = 0;
  if (knob.type == KnobType::kDuration) {
    BERTH_ASSIGN(const Seconds duration, read_duration(value));
    number = duration.value();
  } else {
    BERTH_ASSIGN(number, read_integer(value));
  }
  if (number >= knob.least && number <= knob.most) return typed_text(knob, number);
  return Status(Code::kInvalid, fmt::format("{} lies between {} and {}, not {}", knob.name,
                                            typed_text(knob, knob.least), typed_text(knob, knob.most), value));
}

Result<Seconds> duration_of(const std::vector<Setting>& settings, std::string_view name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.knob->name == name; });
  return read_duration(found->value);
}

const std::string& text_of(const std::vector<Setting>& settings, std::string_view name) {
  return std::find_if(settings.begin(), settings.end(),
                      [&](const Setting& setting) { return setting.knob->name == name; })
      ->value;
}

}  // namespace

std::string_view knob_type_name(KnobType type) {
  switch (type) {
    case KnobType::kInteger: return "integer";
    case KnobType::kDuration: return "duration";
    case KnobType::kOrderPolicy: return "order policy";
    case KnobType::kScorePolicy: return "score policy";
  }
  return "";
}

std::span<const Knob> all_knobs() { return kKnobs; }

Result<const Knob*> find_knob(std::string_view name) {
  for (const Knob& knob : kKnobs) {
    if (equals_ignoring_case(knob.name, name)) return &knob;
  }
  std::vector<std::string> names;
  for (const Knob& knob : kKnobs) names.emplace_back(knob.name);
  return Status(Code::kNotFound, fmt::format("no setting '{}'", name), suggest(name, names));
}

Result<std::string> check_setting(const Knob& knob, std::string_view value) {
  switch (knob.type) {
    case KnobType::kOrderPolicy:
    case KnobType::kScorePolicy: {
      std::string name = to_lower(value);
      BERTH_TRY(check_policy_name(knob.type == KnobType::kOrderPolicy ? PolicyKind::kOrder : PolicyKind::kScore, name));
      return name;
    }
    case KnobType::kInteger:
    case KnobType::kDuration: return check_number(knob, value);
  }
  return Status(Code::kInternal, "a knob of unknown type");
}

Status set_setting(Change& change, std::string_view name, std::string_view value) {
  BERTH_ASSIGN(const Knob* knob, find_knob(name));
  BERTH_ASSIGN(const std::string text, check_setting(*knob, value));
  BERTH_ASSIGN(Statement put, change.db().prepare("INSERT INTO settings (key, value) VALUES (?1, ?2) "
                                                  "ON CONFLICT (key) DO UPDATE SET value = excluded.value"));
  BERTH_TRY(put.run(knob->name, text));
  return change.record("set", knob->name, text);
}

Status reset_setting(Change& change, std::string_view name) {
  BERTH_ASSIGN(const Knob* knob, find_knob(name));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM settings WHERE key = ?1"));
  BERTH_TRY(remove.run(knob->name));
  return change.record("reset", knob->name, knob->default_text);
}

Result<std::vector<Setting>> list_settings(Database& db) {
  std::vector<Setting> settings;
  for (const Knob& knob : kKnobs) settings.push_back({&knob, std::string(knob.default_text), true});
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT key, value FROM settings"));
  while (rows.next()) {
    for (Setting& setting : settings) {
      if (setting.knob->name != rows.text(0)) continue;
      setting.value = rows.text(1);
      setting.is_default = false;
    }
  }
  BERTH_TRY(rows.status());
  return settings;
}

Result<Settings> read_settings(Database& db) {
  BERTH_ASSIGN(const std::vector<Setting> all, list_settings(db));
  Settings settings;
  settings.order_policy = text_of(all, "order_policy");
  settings.score_policy = text_of(all, "score_policy");
  BERTH_ASSIGN(const std::int64_t seed, read_integer(text_of(all, "seed")));
  settings.seed = static_cast<std::uint64_t>(seed);
  BERTH_ASSIGN(settings.aging_interval, duration_of(all, "aging_interval"));
  BERTH_ASSIGN(settings.lease_duration, duration_of(all, "lease_duration"));
  BERTH_ASSIGN(settings.event_retention, duration_of(all, "event_retention"));
  BERTH_ASSIGN(settings.round_retention, duration_of(all, "round_retention"));
  BERTH_ASSIGN(settings.job_retention, duration_of(all, "job_retention"));
  BERTH_ASSIGN(settings.prediction_retention, duration_of(all, "prediction_retention"));
  BERTH_ASSIGN(settings.predictor.half_life, duration_of(all, "prediction_half_life"));
  BERTH_ASSIGN(settings.predictor.min_count, read_integer(text_of(all, "prediction_min_count")));
  return settings;
}

}  // namespace berth
