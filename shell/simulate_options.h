// WITH (...) of SIMULATE JOBS: the rows, and what they make of a timed simulation's options.
#pragma once

#include <optional>
#include <span>

#include "engine/sim/timed.h"
#include "engine/store/settings.h"
#include "shell/arguments.h"

namespace berth {

std::span<const OptionRow> jobs_options();

// Seed, rules and semantics; files, tasks kept and control are the caller's business. `settings`, of the database whose
// cluster is simulated, hold where no option is given.
Result<TimedOptions> timed_options(const Options& options, const std::optional<Settings>& settings);

}  // namespace berth
