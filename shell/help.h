// HELP, generated from the command rows.
//
//   HELP               families with one line per statement
//   HELP CREATE NODE   every statement that begins so, in full: syntax, summary, arguments, options, example
//   HELP locality      the statements that have the word elsewhere: as keyword, option or family
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "shell/commands.h"

namespace berth {

// The syntax as people write it: kinds and labels left out.
std::string shown_syntax(std::string_view syntax);

// Sentences are broken at `width` columns.
Output help_overview(const CommandTable& table, int width);
// kNotFound with the nearest words when no statement has them.
Result<Output> help_on(const CommandTable& table, std::span<const Value> words, int width);

}  // namespace berth
