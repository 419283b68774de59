// What may come at the cursor: a pure function of text and position.
//
// Statements come from the grammar (keywords, option names, argument kinds), SQL after SELECT, WITH or EXPLAIN from a
// light reading of the words before the cursor (tables after FROM, columns of those tables elsewhere). Kinds become
// names through the session's list. Only the statement the cursor is in counts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/commands.h"

namespace berth {

struct Completion {
  std::size_t begin = 0;  // the stretch of text that a candidate replaces: [begin, end)
  std::size_t end = 0;
  std::vector<std::string> words;     // keywords, option names, symbols that may stand here, before filtering by prefix
  std::vector<std::string> kinds;     // listed kinds whose names may stand here ("node_type", "column:jobs", "file")
  std::vector<std::string> expected;  // further things in words ("a duration"): shown, not inserted
};

// What may stand at `cursor`.
Completion complete_at(const CommandTable& table, std::string_view text, std::size_t cursor);

using NameSource = std::function<std::vector<std::string>(std::string_view kind, std::string_view prefix)>;

// The candidates as they are to be inserted: words in the case of the prefix, names quoted where needed, filtered and
// sorted.
std::vector<std::string> candidates(const Completion& completion, std::string_view text, const NameSource& names);

}  // namespace berth
