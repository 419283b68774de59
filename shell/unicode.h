// Text on a screen: how many columns it takes, and text that cannot harm the screen.
//
// Column counts follow Unicode's East Asian Width (wide and full-width = 2) and count combining marks, joiners and
// variation selectors as 0; ambiguous characters count 1. Sequences joined by ZWJ into one emoji are counted as their
// parts: terminals disagree about them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 1;  // bytes
  bool valid = true;       // false: one byte that is not UTF-8
};

// The character at the start of `text`, which is not empty.
CodePoint decode_utf8(std::string_view text);
void append_utf8(std::string& text, char32_t value);

int code_point_width(char32_t value);
int display_width(std::string_view text);

// What does not show (is_unseen) and invalid bytes as \n, \t, \x1b, \u202e: what is left can be printed.
std::string escape_controls(std::string_view text);

// The same of a text of lines; line ends and tabs stay.
std::string escape_controls_in_lines(std::string_view text);

// At most `width` columns; what is cut off is replaced by an ellipsis (`...` without unicode).
std::string truncate_to_width(std::string_view text, int width, bool unicode);
// Filled up with blanks to `width` columns.
std::string pad_right(std::string_view text, int width);
std::string pad_left(std::string_view text, int width);
// Broken at blanks into lines of at most `width` columns (longer words are cut).
std::vector<std::string> wrap_text(std::string_view text, int width);

}  // namespace berth
