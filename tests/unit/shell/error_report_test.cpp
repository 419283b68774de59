#include "shell/error_report.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

Status unknown_type() {
  return Status(Code::kNotFound, "unknown node type 'a100x9'", "did you mean 'a100x8'?").at({25, 6});
}

TEST(ErrorReport, PointsAtTheWord) {
  const Source source{"", "-- a\n\n  CREATE NODES a[1-4] TYPE a100x9;\nSHOW", 1, true};
  EXPECT_EQ(describe_error(unknown_type(), source, 8, false),
            "error: unknown node type 'a100x9' (line 3)\n"
            "    CREATE NODES a[1-4] TYPE a100x9;\n"
            "                             ^~~~~~\n"
            "  did you mean 'a100x8'?\n");
}

TEST(ErrorReport, NamesTheFile) {
  const Source source{"c.sql", "CREATE NODES a[1-4] TYPE a100x9", 11, true};
  EXPECT_TRUE(describe_error(unknown_type(), source, 0, false)
                  .starts_with("error: unknown node type 'a100x9' (c.sql, line 11)\n"));
}

TEST(ErrorReport, WithoutAPlace) {
  EXPECT_EQ(describe_error(Status(Code::kBusy, "another round runs"), Source{}, 0, false),
            "error: another round runs\n");
}

TEST(ErrorReport, CaretAtTheEnd) {
  const Source source{"", "DROP NODE", 1, false};
  EXPECT_EQ(describe_error(Status(Code::kInvalid, "too early").at({9, 1}), source, 0, false),
            "error: too early\n  DROP NODE\n           ^\n");
}

TEST(ErrorReport, WideCharactersAndTabsKeepTheCaretInPlace) {
  const Source source{"", "节点\tx", 1, false};
  EXPECT_EQ(describe_error(Status(Code::kInvalid, "no").at({7, 1}), source, 0, false),
            "error: no\n  节点 x\n       ^\n");
}

TEST(ErrorReport, LongLinesAreCutAroundTheWord) {
  const std::string text = std::string(300, 'a') + " WRONG " + std::string(300, 'b');
  const std::string report = describe_error(Status(Code::kInvalid, "no").at({301, 5}), {"", text, 1, false}, 0, false);
  std::size_t begin = report.find('\n') + 1;
  const std::string line = report.substr(begin, report.find('\n', begin) - begin);
  const std::string caret = report.substr(report.find('\n', begin) + 1);
  EXPECT_LE(line.size(), 102U);
  EXPECT_EQ(line.substr(caret.find('^'), 5), "WRONG") << report;
}

TEST(ErrorReport, DataCannotColourTheScreen) {
  const std::string report = describe_error(Status(Code::kInvalid, "bad '\x1b[2J'"), Source{}, 0, false);
  EXPECT_EQ(report.find('\x1b'), std::string::npos);
}

// Looked through once, however long: else this would take hours.
TEST(ErrorReport, ALineOfMegabytesIsCutInOneGo) {
  std::string before(std::size_t{4} << 20, 'x');
  before.append("\xe8\x8a\x82 ");
  std::string text = before;
  text.append("word ").append(std::size_t{4} << 20, 'y');
  const std::string told =
      describe_error(Status(Code::kInvalid, "no").at({before.size(), 4}), Source{"", text, 1, false}, 0, false);
  EXPECT_EQ(told.substr(0, 15), "error: no\n  ...");
  EXPECT_NE(told.find("x\xe8\x8a\x82 word yyy"), std::string::npos);
  EXPECT_LT(told.size(), 300U);
}

}  // namespace
}  // namespace berth
