// SET, RESET and SHOW SETTINGS: the knobs.
#include "engine/base/text.h"
#include "engine/store/settings.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

Result<Output> set_statement(Session& session, const Arguments& arguments) {
  const std::string& name = arguments.text("name");
  const Result<const Knob*> knob = find_knob(name);
  if (!knob.ok()) return blame(knob.status(), arguments.span("name"));
  const std::string& value = arguments.text("value");
  return change_with_note(session, fmt::format("{} = {}", (*knob)->name, value), [&](Change& change) {
    return blame(set_setting(change, name, value), arguments.span("value"));
  });
}

Result<Output> reset_statement(Session& session, const Arguments& arguments) {
  return change_with_note(
      session, fmt::format("{} has its default again", arguments.text("name")),
      [&](Change& change) { return blame(reset_setting(change, arguments.text("name")), arguments.span("name")); });
}

std::string range_of(const Knob& knob) {
  switch (knob.type) {
    case KnobType::kInteger: return fmt::format("{} to {}", knob.least, knob.most);
    case KnobType::kDuration:
      return fmt::format("{} to {}", print_duration(Seconds(knob.least)), print_duration(Seconds(knob.most)));
    case KnobType::kNumber: return fmt::format("{} to {}", knob.least, knob.most);
    case KnobType::kBoolean: return "true, false";
    case KnobType::kChoice: return std::string(knob.choices);
    case KnobType::kGpuHours: return fmt::format("{} to {}, any", knob.least, knob.most);
    case KnobType::kGpuSeconds: return "rising, 1 to 16 of them";
    case KnobType::kOrderPolicy:
    case KnobType::kScorePolicy:
    case KnobType::kFilterPolicy:
    case KnobType::kVictimPolicy:
    case KnobType::kAdmitPolicy: return "SHOW POLICIES";
  }
  return "";
}

Result<Output> show_settings(Session& session, const Arguments& arguments) {
  (void)arguments;
  BERTH_ASSIGN(const std::vector<Setting> settings, list_settings(engine_of(session).db()));
  ResultTable table{
      .title = "",
      .columns = {{"setting"}, {"value"}, {"default"}, {"type"}, {"range"}, {.name = "what", .wrap = true}},
      .rows = {}};
  for (const Setting& setting : settings) {
    const Knob& knob = *setting.knob;
    table.rows.push_back({std::string(knob.name), setting.value, std::string(knob.default_text),
                          std::string(knob_type_name(knob.type)), range_of(knob), std::string(knob.sentence)});
  }
  return Output(std::move(table));
}

constexpr std::string_view kSettingsFamily = "settings";

constexpr CommandRow kSettingsRows[] = {
    {.family = kSettingsFamily,
     .syntax = "SET <name:setting> = <value:setting_value>",
     .effect = Effect::kChanges,
     .handler = set_statement,
     .summary = "Changes a setting of this database; SHOW SETTINGS lists them.",
     .example = "SET score_policy = fgd",
     .details = "order_policy las lets jobs that were evicted or preempted wait as long as newer ones come: their "
                "attained service ranks them behind. smallest_first, sjf, least_work and qssf let large or long jobs "
                "wait as long as smaller or shorter ones come. Under every order a job that was evicted more than once "
                "counts as one that came at its last eviction."},
    {.family = kSettingsFamily,
     .syntax = "RESET <name:setting>",
     .effect = Effect::kChanges,
     .handler = reset_statement,
     .summary = "Gives a setting its default again.",
     .example = "RESET score_policy"},
    {.family = kSettingsFamily,
     .syntax = "SHOW SETTINGS",
     .effect = Effect::kReads,
     .handler = show_settings,
     .summary = "Settings with value, default, type, range and what each does.",
     .example = "SHOW SETTINGS"},
};

}  // namespace

std::span<const CommandRow> settings_commands() { return kSettingsRows; }

}  // namespace berth
