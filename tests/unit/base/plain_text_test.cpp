#include "engine/base/plain_text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(PlainText, KnowsUtf8) {
  for (const std::string_view text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x9a\xa2"})
    EXPECT_TRUE(is_utf8(text));
  // A byte that continues nothing, overlong, cut, a surrogate, above U+10FFFF, Latin-1.
  for (const std::string_view text : {"\x80", "\xc0\xaf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "caf\xe9"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(PlainText, PlainLineMovesNoCursor) {
  using namespace std::string_view_literals;
  EXPECT_EQ(plain_line("a\nb\tc\r", 100), "a b c ");
  EXPECT_EQ(plain_line("a\0b\x1b[31mred\x7f"sv, 100), "a?b?[31mred?");
  EXPECT_EQ(plain_line("caf\xe9 caf\xc3\xa9", 100), "caf? caf\xc3\xa9");
}

TEST(PlainText, PlainLineIsCutAtAWholeCharacter) {
  EXPECT_EQ(plain_line("abcdef", 6), "abcdef");
  EXPECT_EQ(plain_line("abcdefg", 6), "abc...");
  EXPECT_EQ(plain_line("ab\xc3\xa9\xc3\xa9\xc3\xa9", 7), "ab\xc3\xa9...");
  EXPECT_EQ(plain_line("ab\xc3\xa9\xc3\xa9\xc3\xa9", 6), "ab...");
  EXPECT_EQ(plain_line(std::string(1000, 'x'), 500).size(), 500U);
}

TEST(PlainText, KnowsWhatDoesNotShow) {
  for (const std::string_view text :
       {"a\x1f", "\x7f", "\u0080", "\u009f", "a\u200bb", "\u200d", "\u2060", "\ufeff", "\u202e", "\u2066"}) {
    EXPECT_TRUE(has_unseen(text)) << text;
  }
  for (const std::string_view text : {"", "plain", "\u00a0", "e\u0301", "\u2010", "\u2070", "\xff"})
    EXPECT_FALSE(has_unseen(text)) << text;
  EXPECT_EQ(plain_line("a\u200bb\u0085c", 100), "a?b?c");
}

}  // namespace
}  // namespace berth
