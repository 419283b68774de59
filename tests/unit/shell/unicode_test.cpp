#include "shell/unicode.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Unicode, CountsColumns) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("node"), 4);
  EXPECT_EQ(display_width("größe"), 5);
  EXPECT_EQ(display_width("gro\u0308ße"), 5);  // combining diaeresis
  EXPECT_EQ(display_width("节点"), 4);
  EXPECT_EQ(display_width("ｆｕｌｌ"), 8);
  EXPECT_EQ(display_width("한국"), 4);
  EXPECT_EQ(display_width("🚀"), 2);
  EXPECT_EQ(display_width("a\u200bb"), 2);  // zero-width space
  EXPECT_EQ(display_width("\xff\xfe"), 2);  // not UTF-8
  EXPECT_EQ(display_width("│─█"), 3);
}

TEST(Unicode, DecodesAndRejects) {
  EXPECT_EQ(decode_utf8("é").value, U'é');
  EXPECT_EQ(decode_utf8("🚀").length, 4U);
  for (const char* bad : {"\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80", "\xe0\x80\x80"}) {
    EXPECT_FALSE(decode_utf8(bad).valid) << static_cast<int>(static_cast<unsigned char>(bad[0]));
    EXPECT_EQ(decode_utf8(bad).length, 1U);
  }
}

TEST(Unicode, EncodesWhatItDecodes) {
  for (const char32_t value : {U'a', U'é', U'节', U'🚀', char32_t{0x10FFFF}}) {
    std::string text;
    append_utf8(text, value);
    EXPECT_EQ(decode_utf8(text).value, value);
    EXPECT_EQ(decode_utf8(text).length, text.size());
  }
}

TEST(Unicode, ControlCharactersCannotReachTheTerminal) {
  EXPECT_EQ(escape_controls("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(escape_controls("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(escape_controls(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape_controls("\u009b1A"), "\\x9b1A");    // C1 control sequence introducer
  EXPECT_EQ(escape_controls("a\u202eb"), "a\\u202eb");  // right-to-left override
  EXPECT_EQ(escape_controls("\xff"), "\\xff");
  EXPECT_EQ(escape_controls("größe 节点"), "größe 节点");
}

TEST(Unicode, TruncatesAtColumns) {
  EXPECT_EQ(truncate_to_width("abcdef", 6, true), "abcdef");
  EXPECT_EQ(truncate_to_width("abcdef", 4, true), "abc…");
  EXPECT_EQ(truncate_to_width("abcdef", 4, false), "a...");
  EXPECT_EQ(truncate_to_width("节点节点", 5, true), "节点…");
  EXPECT_EQ(truncate_to_width("节点节点", 4, true), "节…");  // a wide character is never halved
  EXPECT_EQ(truncate_to_width("ao\u0308bcd", 3, true), "ao\u0308…");
  EXPECT_EQ(truncate_to_width("abc", 0, true), "");
  EXPECT_EQ(truncate_to_width("abcdef", 2, false), "ab");
}

TEST(Unicode, PadsAndWraps) {
  EXPECT_EQ(pad_right("节", 4), "节  ");
  EXPECT_EQ(pad_left("ab", 4), "  ab");
  EXPECT_EQ(wrap_text("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap_text("abcdefgh ij", 4), (std::vector<std::string>{"abcd", "efgh", "ij"}));
  EXPECT_EQ(wrap_text("", 4), std::vector<std::string>{""});
  EXPECT_EQ(wrap_text("one two.\nA three", 12), (std::vector<std::string>{"one two.", "A three"}));
  EXPECT_EQ(wrap_text("abcd\nef", 4), (std::vector<std::string>{"abcd", "ef"}));
  EXPECT_EQ(wrap_text("节点节", 1), (std::vector<std::string>{"节", "点", "节"}));
}

TEST(Unicode, WrapsALineOfMegabytesInOneGo) {
  const std::vector<std::string> lines = wrap_text(std::string(std::size_t{8} << 20, 'x'), 8);
  EXPECT_EQ(lines.size(), std::size_t{1} << 20);
}

TEST(Unicode, ShowsWhatDoesNotShow) {
  EXPECT_EQ(escape_controls("a\u0085b\u200bc\u2060d\ufeffe\u202e"), "a\\x85b\\u200bc\\u2060d\\ufeffe\\u202e");
  EXPECT_EQ(escape_controls("e\u0301 节点"), "e\u0301 节点");
}

}  // namespace
}  // namespace berth
