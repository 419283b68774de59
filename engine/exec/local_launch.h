// Hands tasks to a supervisor and waits until it has claimed them.
#pragma once

#include <chrono>
#include <string>

#include "engine/exec/supervisor.h"

namespace berth {

// What it could not claim and why, line by line; empty = it has answered that all is claimed, by it or before. Whether
// a task is claimed is in its record, whatever this says. kUnavailable: it did not start, or not answer in time.
Result<std::string> start_supervisor(const std::string& program, const SupervisorOrder& order,
                                     std::chrono::milliseconds timeout);

}  // namespace berth
