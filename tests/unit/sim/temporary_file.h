// A file that exists as long as the test needs it, plain or gzip.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace berth::test {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text, std::string_view name = "file.csv") {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    text_ = text;
    std::ofstream(folder_ / name, std::ios::binary) << text;
    path_ = (folder_ / name).string();
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }

  const std::string& path() const { return path_; }
  std::string folder() const { return folder_.string(); }

  // The same content, compressed, under a name that does not tell; its path.
  std::string compressed() const {
    const std::string packed = path_ + ".packed";
    gzFile out = gzopen(packed.c_str(), "wb");
    EXPECT_EQ(gzwrite(out, text_.data(), static_cast<unsigned>(text_.size())), static_cast<int>(text_.size()));
    gzclose(out);
    return packed;
  }

  // An error's text with the temporary folder left out: "file.csv:2:1: ...".
  std::string without_folder(std::string message) const {
    const std::string prefix = folder() + "/";
    for (std::size_t at; (at = message.find(prefix)) != std::string::npos;) message.erase(at, prefix.size());
    return message;
  }

 private:
  std::filesystem::path folder_;
  std::string path_;
  std::string text_;
};

}  // namespace berth::test
