#include "engine/base/file_bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace berth {
namespace {

// To close it once more would let go of the locks of who has it open.
TEST(FileBytes, ADatabaseThatIsOpenIsNotRead) {
  const std::string file = std::filesystem::temp_directory_path() / ("berth-file-bytes-" + std::to_string(getpid()));
  std::ofstream(file) << "SQLite format 3" << '\0' << "pages";
  EXPECT_TRUE(read_file_bytes(file, 1000, nullptr).ok());
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const Result<std::string> refused = read_file_bytes(file, 1000, nullptr);
  EXPECT_EQ(refused.status().code(), Code::kInvalid);
  EXPECT_EQ(refused.status().message(), "'" + file + "' is the database that is open");
  ::close(descriptor);
  EXPECT_TRUE(read_file_bytes(file, 1000, nullptr).ok());
  std::filesystem::remove(file);
}

TEST(FileBytes, OtherFilesAreReadHoweverOftenTheyAreOpen) {
  const std::string file = std::filesystem::temp_directory_path() / ("berth-file-twice-" + std::to_string(getpid()));
  std::ofstream(file) << "name,cpu,memory\n";
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(*read_file_bytes(file, 1000, nullptr), "name,cpu,memory\n");
  ::close(descriptor);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace berth
