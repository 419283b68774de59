#include "engine/store/sql_text.h"

#include <algorithm>

namespace berth {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c < 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where the comment or white space at `at` ends; `at` when there is none.
std::size_t after_space(std::string_view sql, std::size_t at) {
  if (sql[at] == ' ' || sql[at] == '\t' || sql[at] == '\n' || sql[at] == '\r' || sql[at] == '\f') return at + 1;
  if (sql.substr(at, 2) == "--") return std::min(sql.find('\n', at), sql.size());
  if (sql.substr(at, 2) == "/*") {
    const std::size_t end = sql.find("*/", at + 2);
    return end == std::string_view::npos ? sql.size() : end + 2;
  }
  return at;
}

SqlWord quoted_word(std::string_view sql, std::size_t begin) {
  const char open = sql[begin];
  const char close = open == '[' ? ']' : open;
  SqlWord word{open == '\'' ? SqlWord::Type::kString : SqlWord::Type::kQuotedName, begin, begin + 1, {}};
  while (word.end < sql.size()) {
    const char c = sql[word.end++];
    if (c != close) {
      word.text += c;
    } else if (close != ']' && word.end < sql.size() && sql[word.end] == close) {
      word.text += sql[word.end++];
    } else {
      break;
    }
  }
  return word;
}

std::string doubled(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

}  // namespace

std::vector<SqlWord> sql_words(std::string_view sql) {
  std::vector<SqlWord> words;
  for (std::size_t at = 0; at < sql.size();) {
    const std::size_t spaced = after_space(sql, at);
    if (spaced != at) {
      at = spaced;
      continue;
    }
    const char c = sql[at];
    if (c == '\'' || c == '"' || c == '`' || c == '[') {
      words.push_back(quoted_word(sql, at));
    } else if (is_letter(c) || is_digit(c)) {
      std::size_t end = at;
      while (end < sql.size() && (is_letter(sql[end]) || is_digit(sql[end]) || sql[end] == '$')) ++end;
      words.push_back({is_digit(c) ? SqlWord::Type::kNumber : SqlWord::Type::kWord, at, end,
                       std::string(sql.substr(at, end - at))});
    } else {
      words.push_back({SqlWord::Type::kSymbol, at, at + 1, std::string(1, c)});
    }
    at = words.back().end;
  }
  return words;
}

std::string sql_string(std::string_view text) { return doubled(text, '\''); }
std::string sql_name(std::string_view name) { return doubled(name, '"'); }

}  // namespace berth
