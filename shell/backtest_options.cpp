#include "shell/backtest_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <string>
#include <vector>

namespace berth {

namespace {

constexpr OptionRow kBacktestRows[] = {
    {.name = "seeds",
     .kind = "integer",
     .default_value = "1",
     .minimum = "1",
     .maximum = "1000",
     .sentence = "Runs of each policy, with seeds one after the other, where chance plays a part; numbers are their "
                 "mean."},
    {.name = "seed", .kind = "integer", .default_value = "42", .minimum = "0", .sentence = "The first seed."},
    {.name = "durations",
     .kind = "predicted|oracle",
     .default_value = "predicted",
     .sentence = "What rounds believe of durations: what was to be learnt by then, or the truth."},
    {.name = "round_interval",
     .kind = "duration",
     .default_value = "60s",
     .minimum = "1s",
     .sentence = "Rounds come when something happens, and so often while jobs wait."},
    {.name = "unfinished",
     .kind = "predicted|leave_out",
     .default_value = "predicted",
     .sentence = "Jobs that have not ended: they run as long as predicted, or are left out."},
    {.name = "nodes", .kind = "file", .default_value = "", .sentence = "A node file instead of today's nodes."},
    {.name = "nodes_format", .kind = "format", .default_value = "berth", .sentence = "Of that file."},
    {.name = "more_nodes",
     .kind = "text",
     .default_value = "",
     .sentence = "Nodes that there would be besides, as in '4 x h100x8, 2 x a100x4' (node types)."},
    {.name = "fewer_nodes",
     .kind = "text",
     .default_value = "",
     .sentence = "Nodes that there would not be, the newest of their type."},
    {.name = "replace",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Overwrite a simulation of the same name."},
};

// Settings that a simulated round goes by.
constexpr std::array<std::string_view, 20> kRoundSettings = {
    "backfill",          "backfill_depth",       "preemption",           "min_runtime",      "pending_delay",
    "eviction_cooldown", "eviction_budget",      "reservation_ttl",      "default_duration", "aging_interval",
    "las_thresholds",    "las_by_gpu",           "wpai_low_use_penalty", "wpai_wait_bonus",  "sjf_percentile",
    "predict_durations", "prediction_min_count", "prediction_half_life", "usage_weight",     "usage_half_life"};

std::string_view kind_of(const Knob& knob) {
  switch (knob.type) {
    case KnobType::kChoice: return knob.choices;
    case KnobType::kInteger: return "integer";
    case KnobType::kNumber: return "real";
    case KnobType::kDuration: return "duration";
    case KnobType::kBoolean: return "boolean";
    default: return "text";
  }
}

// The setting's words as those of an option.
std::string sentence_of(const Knob& knob) {
  std::string sentence = fmt::format("{}.", knob.sentence);
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return sentence;
}

std::vector<OptionRow> all_rows() {
  static std::deque<std::string> sentences;
  std::vector<OptionRow> rows(std::begin(kBacktestRows), std::end(kBacktestRows));
  for (const std::string_view set : {std::string_view(), kCandidateOptions}) {
    for (const Knob& knob : all_knobs()) {
      if (std::ranges::find(kRoundSettings, knob.name) == kRoundSettings.end()) continue;
      rows.push_back({.name = knob.name,
                      .kind = kind_of(knob),
                      .default_value = "",
                      .sentence = sentences.emplace_back(sentence_of(knob)),
                      .set = set});
    }
  }
  return rows;
}

}  // namespace

std::span<const OptionRow> backtest_options() {
  static const std::vector<OptionRow> rows = all_rows();
  return rows;
}

SettingOverrides given_settings(const Options& options) {
  SettingOverrides settings;
  for (const std::string_view name : kRoundSettings) {
    if (options.given(name)) settings.emplace_back(name, options.text(name));
  }
  return settings;
}

}  // namespace berth
