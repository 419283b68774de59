#include "shell/complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/text.h"
#include "shell/complete_sql.h"
#include "shell/program.h"

namespace berth {

namespace {

// The statement under the cursor.
struct UnderCursor {
  std::string_view text;  // to its end, behind the cursor
  std::size_t offset = 0;
};

std::size_t begin_of_statement(std::string_view before) {
  const StatementList list = split_statements(before);
  if (!list.rest.empty()) return list.rest_offset;
  // What ends with its line counts as complete at any moment; it is being typed while its line has not ended.
  if (!list.statements.empty() && ends_with_its_line(list.statements.back().text) &&
      before.find_first_of(list.statements.back().text.starts_with('.') ? "\n" : ";\n",
                           list.statements.back().offset) == std::string_view::npos) {
    return list.statements.back().offset;
  }
  return before.size();
}

UnderCursor statement_under_cursor(std::string_view text, std::size_t cursor) {
  const std::size_t begin = begin_of_statement(text.substr(0, cursor));
  const StatementList after = split_statements(text.substr(begin));
  const std::string_view whole = after.statements.empty() ? after.rest : after.statements.front().text;
  return {text.substr(begin, std::max(whole.size(), cursor - begin)), begin};
}

// Whether the cursor stands right behind the last token, so that the token is still being typed.
bool is_being_typed(const Lexed& lexed, std::size_t end) {
  if (lexed.tokens.empty()) return false;
  const Token& last = lexed.tokens.back();
  if (last.span.offset + last.span.length != end) return false;
  const bool closed_quote =
      (last.kind == TokenKind::kString || last.kind == TokenKind::kQuotedName) && lexed.open == OpenEnd::kNone;
  return last.kind != TokenKind::kSymbol && !closed_quote;
}

void add_once(std::vector<std::string>& words, std::string word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
}

// `before`: what was typed. A value is of the setting named before it.
std::string listed_name(const KindRow& kind, std::span<const Token> before) {
  const bool is_value = kind.name == "setting_value" && before.size() >= 2;
  return is_value ? fmt::format("setting_value:{}", before[before.size() - 2].text) : std::string(kind.name);
}

void add_terminal(const Terminal& terminal, std::span<const Token> before, Completion& completion) {
  switch (terminal.type) {
    case Terminal::Type::kKeyword:
    case Terminal::Type::kSymbol:
    case Terminal::Type::kOptionName: add_once(completion.words, terminal.text); return;
    case Terminal::Type::kArgument:
    case Terminal::Type::kOptionValue: break;
  }
  for (const std::string& choice : terminal.choices) add_once(completion.words, choice);
  if (terminal.kind == nullptr) return;
  if (terminal.kind->type == ValueType::kBoolean) {
    add_once(completion.words, "true");
    add_once(completion.words, "false");
  } else if (terminal.kind->listed) {
    add_once(completion.kinds, listed_name(*terminal.kind, before));
  } else {
    add_once(completion.expected, std::string(terminal.kind->expected));
  }
}

Completion complete_statement(const CommandTable& table, std::string_view whole, std::size_t cursor);

Completion shifted(Completion completion, std::size_t by) {
  completion.begin += by;
  completion.end += by;
  return completion;
}

// HELP's words are those of a statement, without names.
Completion complete_help(const CommandTable& table, std::string_view whole, std::size_t cursor) {
  Completion completion = complete_statement(table, whole, cursor);
  completion.kinds.clear();
  completion.expected.clear();
  std::erase_if(completion.words, [](const std::string& word) { return word.size() == 1; });
  return completion;
}

// Completion inside an argument that holds other text, begun at `offset`.
Completion complete_inside(const CommandTable& table, std::string_view kind, std::string_view whole, std::size_t cursor,
                           std::size_t offset) {
  if (kind == "sql") return complete_sql(whole, cursor);
  if (kind == "statement") return shifted(complete_statement(table, whole.substr(offset), cursor - offset), offset);
  if (kind == "statement_word") return shifted(complete_help(table, whole.substr(offset), cursor - offset), offset);
  return {cursor, cursor, {}, {}, {}};
}

// Where the argument of kind `kind` that can go on at the end of `tokens` began.
std::size_t begin_of_argument(const Grammar& grammar, std::span<const Token> tokens, const KindRow* kind,
                              std::size_t end) {
  for (std::size_t count = 0; count < tokens.size(); ++count) {
    const Continuation before = grammar.after(tokens.first(count));
    for (const Terminal* terminal : before.terminals) {
      if (terminal->kind == kind) return tokens[count].span.offset;
    }
  }
  return end;
}

bool holds_other_text(const KindRow& kind) { return kind.tokens == TokenClass::kRest || kind.name == "statement_word"; }

Completion complete_statement(const CommandTable& table, std::string_view whole, std::size_t cursor) {
  const std::string_view text = whole.substr(0, cursor);
  const Lexed lexed = lex(text);
  Completion completion{text.size(), text.size(), {}, {}, {}};
  if (lexed.open == OpenEnd::kComment) return completion;
  std::span<const Token> tokens = lexed.tokens;
  const bool typing = is_being_typed(lexed, text.size());
  const std::size_t begin = typing ? tokens.back().span.offset : text.size();
  const std::span<const Token> before = typing ? tokens.first(tokens.size() - 1) : tokens;
  const Continuation continuation = table.grammar().after(before);
  if (continuation.taken < before.size()) return completion;
  for (const Terminal* terminal : continuation.terminals) {
    if (terminal->kind == nullptr || !holds_other_text(*terminal->kind)) continue;
    const std::size_t inner = std::min(begin_of_argument(table.grammar(), before, terminal->kind, begin), text.size());
    const bool alone = continuation.terminals.size() == 1;
    if (alone || continuation.rest) return complete_inside(table, terminal->kind->name, whole, cursor, inner);
  }
  completion.begin = begin;
  for (const Terminal* terminal : continuation.terminals) add_terminal(*terminal, before, completion);
  return completion;
}

bool starts_with_ignoring_case(std::string_view word, std::string_view prefix) {
  return word.size() >= prefix.size() && equals_ignoring_case(word.substr(0, prefix.size()), prefix);
}

bool is_typed_in_lower_case(std::string_view prefix) {
  return prefix != to_upper(prefix) && prefix == to_lower(prefix);
}

bool is_bare_name(const std::string& name) {
  const Lexed lexed = lex(name);
  return lexed.tokens.size() == 1 && lexed.tokens[0].span.length == name.size() &&
         (lexed.tokens[0].kind == TokenKind::kWord || lexed.tokens[0].kind == TokenKind::kNumber);
}

std::string quote_as(const std::string& name, char quote) {
  std::string quoted(1, quote);
  for (const char c : name) quoted.append(c == quote ? 2 : 1, c);
  return quoted + quote;
}

}  // namespace

Completion complete_at(const CommandTable& table, std::string_view text, std::size_t cursor) {
  const UnderCursor under = statement_under_cursor(text, cursor);
  return shifted(complete_statement(table, under.text, cursor - under.offset), under.offset);
}

std::vector<std::string> candidates(const Completion& completion, std::string_view text, const NameSource& names) {
  std::string_view prefix = text.substr(completion.begin, completion.end - completion.begin);
  const char quote = !prefix.empty() && (prefix[0] == '\'' || prefix[0] == '"') ? prefix[0] : '\0';
  if (quote != '\0') prefix.remove_prefix(1);
  std::set<std::string> found;
  if (quote == '\0') {
    const bool lower = is_typed_in_lower_case(prefix);
    for (const std::string& word : completion.words) {
      if (starts_with_ignoring_case(word, prefix)) found.insert(lower ? to_lower(word) : word);
    }
  }
  const bool in_dot_command = text.starts_with('.');
  for (const std::string& kind : completion.kinds) {
    if (!names) break;
    for (const std::string& name : names(kind, prefix)) {
      if (!starts_with_ignoring_case(name, prefix)) continue;
      const char mark = quote != '\0' ? quote : kind == "file" ? '\'' : '"';
      const bool bare = quote == '\0' && (in_dot_command || (kind != "file" && is_bare_name(name)));
      found.insert(bare ? name : quote_as(name, mark));
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace berth
