#include "shell/history.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace berth {
namespace {

TEST(History, LivesInTheStateFolderAndIsPrivate) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("berth_history_" + std::to_string(getpid()));
  setenv("XDG_STATE_HOME", folder.c_str(), 1);
  const std::string file = history_file();
  EXPECT_EQ(file, (folder / "berth" / "history").string());
  struct stat facts = {};
  ASSERT_EQ(stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  std::filesystem::remove_all(folder);
  unsetenv("XDG_STATE_HOME");
}

TEST(History, APlaceThatCannotBeMadeCostsOnlyTheHistory) {
  const std::filesystem::path blocked =
      std::filesystem::temp_directory_path() / ("berth_blocked_" + std::to_string(getpid()));
  std::ofstream(blocked) << "a file";
  setenv("XDG_STATE_HOME", blocked.c_str(), 1);
  EXPECT_EQ(history_file(), "");
  std::filesystem::remove(blocked);
  unsetenv("XDG_STATE_HOME");
}

TEST(History, StatementsAreOneLine) {
  EXPECT_EQ(history_line("SHOW\n  NODES;"), "SHOW   NODES;");
  EXPECT_EQ(history_line("SHOW -- all\nNODES;"), "");
}

}  // namespace
}  // namespace berth
