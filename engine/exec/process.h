// Runs a program and waits for it: bounded in time and output, without a shell.
//
// For commands like squeue and kubectl, whose answer is wanted whole. The program gets its own process group, so that
// at the deadline its children go with it. Files of this process stay closed to it. (Boost.Process would need
// Boost.Filesystem as a linked library and gives neither the group nor the bound on output.)
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace berth {

struct ProcessRequest {
  std::vector<std::string> command;  // found in PATH when it has no '/'
  std::string input = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // besides this process's own
  std::string working_directory = {};                                 // empty = this process's
  std::chrono::milliseconds deadline{30000};
  std::size_t most_output = std::size_t{256} << 20;  // bytes of each stream; more ends it
};

struct ProcessOutput {
  int exit_code = 0;        // 128 + n when signal n ended it
  bool was_killed = false;  // by a signal; programs may exit with such a code themselves
  bool timed_out = false;
  std::string output;
  std::string error;

  bool ok() const { return exit_code == 0 && !timed_out; }
  // "squeue: Unable to contact slurm controller": the last lines of what it said, or its exit code.
  std::string complaint(const std::string& program) const;
};

// kNotFound when there is no such program; kIo when it cannot be started or says more than most_output.
Result<ProcessOutput> run_process(const ProcessRequest& request);

}  // namespace berth
