#include "engine/sim/text_file.h"

#include "tests/unit/sim/temporary_file.h"

namespace berth {
namespace {

using test::TemporaryFile;

// All lines, joined by '|', or the error.
std::string lines_of(const std::string& path) {
  Result<TextFile> file = TextFile::open(path);
  if (!file.ok()) return "error " + std::string(code_name(file.status().code()));
  std::string joined;
  for (std::string_view line;;) {
    const Result<bool> more = file->next(line);
    if (!more.ok()) return joined + "error " + std::string(code_name(more.status().code()));
    if (!*more) return joined;
    joined += std::string(line) + "|";
  }
}

TEST(TextFile, LineEndsOfEveryKind) {
  EXPECT_EQ(lines_of(TemporaryFile("").path()), "");
  EXPECT_EQ(lines_of(TemporaryFile("a\nb\n").path()), "a|b|");
  EXPECT_EQ(lines_of(TemporaryFile("a\r\nb").path()), "a|b|");
  EXPECT_EQ(lines_of(TemporaryFile("\n\nx").path()), "||x|");
  EXPECT_EQ(lines_of(TemporaryFile("\xEF\xBB\xBFname\n\xEF\xBB\xBFx\n").path()), "name|\xEF\xBB\xBFx|");
}

TEST(TextFile, GzipReadsTheSameWhateverItsName) {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "line " + std::to_string(i) + "\n";
  const TemporaryFile file(text);
  EXPECT_EQ(lines_of(file.compressed()), lines_of(file.path()));
}

TEST(TextFile, DamagedGzipIsAnErrorNotAShortFile) {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  const TemporaryFile file(text);
  const std::string packed = file.compressed();
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
  EXPECT_TRUE(lines_of(packed).ends_with("error corrupt"));
}

TEST(TextFile, WhatCannotBeReadSaysSo) {
  const TemporaryFile file("x\n");
  EXPECT_EQ(lines_of(file.path() + ".missing"), "error unavailable");
  EXPECT_EQ(lines_of(file.folder()), "error unavailable");
  EXPECT_EQ(lines_of(TemporaryFile(std::string(TextFile::kMaxLine + 200000, 'x')).path()), "error corrupt");
  const std::string longest(TextFile::kMaxLine - 10, 'x');
  EXPECT_EQ(lines_of(TemporaryFile(longest + "\ny").path()), longest + "|y|");
}

}  // namespace
}  // namespace berth
