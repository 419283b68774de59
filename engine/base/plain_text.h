// Text that others wrote - a script, a program's answer - before it stands in a message, an event or a table: whole
// characters only, nothing that moves a cursor.
#pragma once

#include <string>
#include <string_view>

namespace berth {

bool is_utf8(std::string_view text);

// On one line of at most `most` bytes: spaces for line ends and tabs, '?' for other control characters and for bytes
// that are not UTF-8, "..." where it is cut.
std::string plain_line(std::string_view text, std::size_t most);

}  // namespace berth
