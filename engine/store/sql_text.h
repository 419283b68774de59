// The words of an SQL text, as far as they must be told apart to replace some of them: strings, quoted names and
// comments are never taken for anything else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct SqlWord {
  enum class Type { kWord, kString, kQuotedName, kNumber, kSymbol };
  Type type = Type::kSymbol;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;  // without quotes
  bool is(char symbol) const { return type == Type::kSymbol && text.size() == 1 && text[0] == symbol; }
};

// White space and comments left out. An open quote or comment ends with the text.
std::vector<SqlWord> sql_words(std::string_view sql);

// 'it''s'
std::string sql_string(std::string_view text);
// "a ""name"""
std::string sql_name(std::string_view name);

}  // namespace berth
