// WITH (...) of SIMULATE JOBS: the rows, and what they make of a timed simulation's options.
#pragma once

#include <span>

#include "engine/sim/timed.h"
#include "shell/arguments.h"

namespace berth {

std::span<const OptionRow> jobs_options();

// Seed, rules and semantics; files, tasks kept and control are the caller's business.
Result<TimedOptions> timed_options(const Options& options);

}  // namespace berth
