// The options of BACKTEST: its own, and the settings that a candidate may see otherwise.
#pragma once

#include <span>
#include <string_view>

#include "engine/store/settings.h"
#include "shell/arguments.h"

namespace berth {

inline constexpr std::string_view kCandidateOptions = "candidate";

// Those of the statement, then, in the set kCandidateOptions, those of one candidate.
std::span<const OptionRow> backtest_options();

// The settings among the options that were given.
SettingOverrides given_settings(const Options& options);

}  // namespace berth
