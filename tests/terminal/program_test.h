// The real program in a shell command, on a database of its own: what it printed, and how it ended.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace berth::test {

struct Ended {
  std::string output;  // standard output; with 2>&1 in the command both
  int code = -1;
};

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("berth_" + std::string(test.test_suite_name()) + "_" + std::to_string(getpid()) + "_" + test.name());
    std::filesystem::create_directories(folder_);
    // Without a table yet: a database as soon as it is opened.
    ASSERT_EQ(std::system(("sqlite3 " + (folder_ / "test.db").string() + " VACUUM").c_str()), 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Before a program: it gets SIGINT when it has begun; under sanitizers that takes a while.
  static std::string interrupted_soon() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const std::string seconds = "10";
#else
    const std::string seconds = "1";
#endif
    return "timeout --foreground --preserve-status -s INT " + seconds + " ";
  }

  // A shell command in which `berth` is the program on this test's database. No apostrophes.
  Ended run(const std::string& command) const {
    const std::string line = "cd " + folder_.string() +
                             " && export BERTH_DB=test.db && berth() { timeout 60 " BERTH_PROGRAM " \"$@\"; } && " +
                             command;
    std::FILE* pipe = popen(("bash -c '" + line + "'").c_str(), "r");
    Ended ended;
    std::array<char, 4096> piece;
    while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe))
      ended.output.append(piece.data(), size);
    const int status = pclose(pipe);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ended;
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  std::filesystem::path folder_;
};

}  // namespace berth::test
