// Text that others wrote - a script, a program's answer - before it stands in a message, an event or a table: whole
// characters only, nothing that moves a cursor.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// Bytes of the character that the text begins with, 0 when it is none (or empty). Well-formed as Unicode defines it
// (table 3-7): no overlong form, no surrogate, nothing above U+10FFFF.
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

// Turns the direction of what is written after it, or ends the line: a name with one looks like another.
bool turns_direction(char32_t character);
// Nothing shows it, or it does something to what is shown: control characters, those above ASCII too, characters
// without width, and those that turn the direction. (Marks on letters are not: they show.)
bool is_unseen(char32_t character);
bool has_unseen(std::string_view text);

// Without the byte order mark that some editors write before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

// On one line of at most `most` bytes: spaces for line ends and tabs, '?' for other control characters and for bytes
// that are not UTF-8, "..." where it is cut.
std::string plain_line(std::string_view text, std::size_t most);

}  // namespace berth
