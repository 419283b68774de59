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
  EXPECT_EQ(history_entry("SHOW\n  NODES;"), "SHOW   NODES;");
  // But what would change its meaning keeps its lines.
  EXPECT_EQ(history_entry("SHOW -- all\nNODES\n;"), "SHOW -- all\nNODES ;");
  EXPECT_EQ(history_entry("SELECT 'a\nb''\n',\n\"x\ny\""), "SELECT 'a\nb''\n', \"x\ny\"");
  EXPECT_EQ(history_entry("SELECT /* a\nb */\n1"), "SELECT /* a\nb */ 1");
  EXPECT_EQ(history_entry("SELECT /*/\n1"), "SELECT /*/\n1");
}

TEST(History, AnEntryIsOneLineOfTheFile) {
  const std::string file = std::filesystem::temp_directory_path() / ("berth_lines_" + std::to_string(getpid()));
  append_to_history(file, "SELECT 'a\nb';");
  append_to_history(file, "SHOW NODES;");
  std::ifstream lines(file);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(entry_of_line(line), "SELECT 'a\nb';");
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(entry_of_line(line), "SHOW NODES;");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace berth
