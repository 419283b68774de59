// Result tables as text, one function per output mode.
//
//   table     columns side by side, fitted to the terminal by narrowing the widest text columns; what still does not
//             fit goes below, with the first column repeated
//   csv       RFC 4180 with a header and LF line ends; an empty text is "", NULL is nothing (or .nullvalue)
//   json      one array of objects; several tables: an object of arrays by title
//   jsonl     one object per line
//   markdown  a pipe table
//   line      `name = value`, a blank line between rows
//
// Control characters in data are escaped in the modes for people, so that data can neither move the cursor nor colour
// the screen. Reals are printed with the fewest digits that read back the same.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "shell/result.h"
#include "shell/session.h"

namespace berth {

Result<OutputMode> read_output_mode(std::string_view name);
std::string_view output_mode_name(OutputMode mode);
bool is_for_people(OutputMode mode);  // table, markdown, line

// The text of every part that the mode shows, ending in a newline when not empty.
std::string render(const Output& output, const Display& display);

std::string render_table(const ResultTable& table, const Display& display);
std::string render_csv(const ResultTable& table, const Display& display);
std::string render_json(const ResultTable& table);
std::string render_jsonl(const ResultTable& table);
std::string render_markdown(const ResultTable& table, const Display& display);
std::string render_line(const ResultTable& table, const Display& display);

}  // namespace berth
