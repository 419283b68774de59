// Runs .test files: statement_tests [--mode FILE] [--approve] FILE-OR-FOLDER ...
//
// --approve writes what queries and outputs answered into the files; look at the diff before you keep it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/statements/runner.h"

namespace {

namespace fs = std::filesystem;

std::vector<std::string> find_test_files(const std::string& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(place)) {
    if (entry.path().extension() == ".test") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int count, char** arguments) {
  berth::test::TestMode mode{"default", false, {}};
  std::string again = arguments[0];
  bool approve = false;
  std::vector<std::string> files;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--approve") {
      approve = true;
    } else if (argument == "--mode" && i + 1 < count) {
      berth::Result<berth::test::TestMode> read = berth::test::read_mode(arguments[++i]);
      again += std::string(" --mode ") + arguments[i];
      if (!read.ok()) return fmt::print(stderr, "{}\n", read.status().message()), 2;
      mode = *std::move(read);
    } else {
      const std::vector<std::string> found = find_test_files(argument);
      files.insert(files.end(), found.begin(), found.end());
    }
  }
  std::size_t failed = 0;
  std::size_t steps = 0;
  for (const std::string& file : files) {
    const berth::test::FileOutcome outcome = berth::test::run_test_file(file, mode, approve);
    steps += outcome.steps;
    if (!outcome.skipped.empty()) fmt::print("skipped {}: {}\n", file, outcome.skipped);
    for (const std::string& failure : outcome.failures) fmt::print("{}\n", failure);
    if (!outcome.failures.empty()) {
      ++failed;
      fmt::print("again: {} {}\n\n", again, file);
    }
  }
  fmt::print("{} files, {} steps, {} failed (mode {})\n", files.size(), steps, failed, mode.name);
  if (files.empty()) return 2;
  return failed == 0 ? 0 : 1;
}
