// Runs .test files through sessions of their own, each on a fresh database.
//
// A mode (tests/modes/*.mode) runs the same files in another way: the database closed and reopened after every
// statement, each round planned on a snapshot too, or a further statement run after each. Time stands still but for
// `advance`; every file ends with CHECK where that statement exists.
#pragma once

#include <string>
#include <vector>

#include "engine/base/status.h"

namespace berth::test {

// Lines `key = value`; # begins a comment.
struct TestMode {
  std::string name;                     // of the file
  bool reopen_after_statement = false;  // reopen = true
  std::string then;                     // then = STATEMENT, run after every one that succeeded
  bool replay_rounds = false;           // replay = true: see replay.h
  bool keep_history = false;            // history = true: see past.h
};
Result<TestMode> read_mode(const std::string& file);

struct FileOutcome {
  std::vector<std::string> failures;  // "pools.test:12: ...", with what was expected and what came
  std::string skipped;                // why, when it was
  std::size_t steps = 0;
};

// `approve`: write what queries and outputs answered into the file as expected (not inside loops and includes).
FileOutcome run_test_file(const std::string& file, const TestMode& mode, bool approve);

}  // namespace berth::test
