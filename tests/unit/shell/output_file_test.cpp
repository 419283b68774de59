// Files that the shell writes: what must not be overwritten, and what must not be waited for.
#include "shell/output_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace berth {
namespace {

class OutputFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-output-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(OutputFile, APipeThatNobodyReadsIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const Status said = write_whole_file(path("pipe"), "text", true);
  EXPECT_EQ(said.code(), Code::kUnavailable);
  EXPECT_NE(said.message().find("a pipe that nobody reads"), std::string::npos) << said.message();
}

TEST_F(OutputFile, WhatExecutorsKeepIsTheirs) {
  std::filesystem::create_directories(path("a.db.executors/local"));
  std::ofstream(path("a.db")) << "";
  std::filesystem::create_symlink(path("a.db"), path("link.db"));
  std::filesystem::create_directory_symlink(path("a.db.executors/local"), path("elsewhere"));
  for (const char* database : {"a.db", "link.db"}) {
    for (const char* file : {"a.db.executors/local/devices", "elsewhere/devices", "x/../a.db.executors/y"})
      EXPECT_EQ(check_not_database(path(file), path(database)).code(), Code::kConflict) << file;
    for (const char* file : {"a.db.executors.csv", "b.db.executors/x", "nodes.csv"})
      EXPECT_TRUE(check_not_database(path(file), path(database)).ok()) << file;
  }
}

TEST_F(OutputFile, OnlyFilesOfItsKindAreOverwritten) {
  std::ofstream(path("metrics")) << "# HELP x\n";
  std::ofstream(path("empty")) << "";
  std::ofstream(path("other")) << "name,cpu\n";
  for (const char* file : {"metrics", "empty", "none"})
    EXPECT_TRUE(check_is_commented(path(file), "file of metrics").ok()) << file;
  EXPECT_EQ(check_is_commented(path("other"), "file of metrics").code(), Code::kExists);
}

}  // namespace
}  // namespace berth
