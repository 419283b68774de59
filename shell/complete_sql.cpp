#include "shell/complete_sql.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/base/text.h"
#include "shell/lexer.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 61> kSqlWords = {
    "ALL",       "AND",       "AS",     "ASC",     "AVG(",      "BETWEEN", "BY",    "CASE",   "CAST(",
    "COALESCE(", "COUNT(",    "CROSS",  "DESC",    "DISTINCT",  "ELSE",    "END",   "EXCEPT", "EXISTS",
    "FILTER",    "FROM",      "GLOB",   "GROUP",   "HAVING",    "IFNULL(", "IIF(",  "IN",     "INNER",
    "INTERSECT", "IS",        "JOIN",   "LEFT",    "LENGTH(",   "LIKE",    "LIMIT", "LOWER(", "MAX(",
    "MIN(",      "NOT",       "NULL",   "NULLIF(", "OFFSET",    "ON",      "OR",    "ORDER",  "OVER",
    "PARTITION", "RECURSIVE", "ROUND(", "SELECT",  "STRFTIME(", "SUBSTR(", "SUM(",  "THEN",   "TOTAL(",
    "UNION",     "UPPER(",    "USING",  "VALUES",  "WHEN",      "WHERE",   "WITH"};

bool is_sql_word(std::string_view word) {
  return std::any_of(kSqlWords.begin(), kSqlWords.end(),
                     [&](std::string_view known) { return equals_ignoring_case(known, word); });
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view known) { return equals_ignoring_case(word, known); });
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

// The tables that the statement names, under their names and aliases.
std::map<std::string, std::string> tables_of(const std::vector<Token>& tokens) {
  std::map<std::string, std::string> tables;
  bool wanted = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.is_bare_word() && is_one_of(token.text, {"FROM", "JOIN"})) {
      wanted = true;
    } else if (wanted && (token.is_bare_word() || token.kind == TokenKind::kQuotedName) && !is_sql_word(token.text)) {
      tables[token.text] = token.text;
      std::size_t alias = i + 1;
      if (alias < tokens.size() && is_one_of(tokens[alias].text, {"AS"})) ++alias;
      const bool named = alias < tokens.size() && tokens[alias].is_bare_word() && !is_sql_word(tokens[alias].text);
      if (named) {
        tables[tokens[alias].text] = token.text;
        i = alias;
      }
      wanted = i + 1 < tokens.size() && tokens[i + 1].text == ",";
      if (wanted) ++i;
    } else {
      wanted = false;
    }
  }
  return tables;
}

// The last word that decides what comes: FROM, JOIN, WHERE, ...; names and commas between are passed over.
bool expects_table(const std::vector<Token>& before) {
  for (auto token = before.rbegin(); token != before.rend(); ++token) {
    const bool last = token == before.rbegin();
    if (token->is_bare_word() && is_one_of(token->text, {"FROM", "JOIN"})) return last || before.back().text == ",";
    if (token->text == "(" || token->text == ")" || (token->is_bare_word() && is_sql_word(token->text))) return false;
  }
  return false;
}

}  // namespace

Completion complete_sql(std::string_view statement, std::size_t cursor) {
  Completion completion{cursor, cursor, {}, {}, {}};
  const std::string_view text = statement.substr(0, cursor);
  if (lex(text).open != OpenEnd::kNone) return completion;
  while (completion.begin > 0 && is_name_character(text[completion.begin - 1])) --completion.begin;
  const std::map<std::string, std::string> tables = tables_of(lex(statement).tokens);
  if (completion.begin > 0 && text[completion.begin - 1] == '.') {
    std::size_t begin = completion.begin - 1;
    while (begin > 0 && is_name_character(text[begin - 1])) --begin;
    const std::string qualifier(text.substr(begin, completion.begin - 1 - begin));
    const auto table = tables.find(qualifier);
    completion.kinds.push_back("column:" + (table == tables.end() ? qualifier : table->second));
    return completion;
  }
  const std::vector<Token> before = lex(text.substr(0, completion.begin)).tokens;
  if (expects_table(before)) {
    completion.kinds.emplace_back("table");
    return completion;
  }
  for (const std::string_view word : kSqlWords) completion.words.emplace_back(word);
  for (const auto& [name, table] : tables) {
    const std::string kind = "column:" + table;
    if (std::find(completion.kinds.begin(), completion.kinds.end(), kind) == completion.kinds.end())
      completion.kinds.push_back(kind);
  }
  if (tables.empty()) completion.kinds.emplace_back("column");
  return completion;
}

}  // namespace berth
