#include "shell/lexer.h"

#include <algorithm>
#include <array>

#include "engine/base/text.h"

namespace berth {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_white(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

// Past the quote that ends the quoted text begun at `begin`, or the end of the text. A doubled quote stands for one.
struct Quoted {
  std::size_t end;
  bool closed;
};
Quoted skip_quoted(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] != quote) continue;
    if (i + 1 < text.size() && text[i + 1] == quote) {
      ++i;
    } else {
      return {i + 1, true};
    }
  }
  return {text.size(), false};
}

std::string undouble(std::string_view body, char quote) {
  std::string plain;
  plain.reserve(body.size());
  for (std::size_t i = 0; i < body.size(); ++i) {
    plain.push_back(body[i]);
    if (body[i] == quote && i + 1 < body.size() && body[i + 1] == quote) ++i;
  }
  return plain;
}

// White space and comments from `begin` on.
struct Blank {
  std::size_t end;
  bool open;  // a /* comment that does not end
  std::size_t open_at = 0;
};
Blank skip_blank(std::string_view text, std::size_t begin) {
  std::size_t i = begin;
  while (i < text.size()) {
    if (is_white(text[i])) {
      ++i;
    } else if (text.substr(i, 2) == "--") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t close = text.find("*/", i + 2);
      if (close == std::string_view::npos) return {text.size(), true, i};
      i = close + 2;
    } else {
      break;
    }
  }
  return {i, false};
}

// The end of a word or number: letters, digits, and . - : / where more of the word follows, and [ranges] in words.
std::size_t end_of_word(std::string_view text, std::size_t begin) {
  const bool number = is_digit(text[begin]) || text[begin] == '-';
  std::size_t i = begin + 1;
  while (i < text.size()) {
    const char c = text[i];
    const bool more = i + 1 < text.size() && (is_letter(text[i + 1]) || is_digit(text[i + 1]));
    if (is_letter(c) || is_digit(c)) {
      ++i;
    } else if ((c == '.' || c == '-' || c == ':') && more) {
      i += 2;
    } else if (c == '/' && number && more) {
      i += 2;
    } else if (c == '[') {
      const std::size_t close = text.find_first_not_of("0123456789-, ", i + 1);
      if (close == std::string_view::npos || text[close] != ']') break;
      i = close + 1;
    } else {
      break;
    }
  }
  return i;
}

std::size_t end_of_symbol(std::string_view text, std::size_t begin) {
  for (const std::string_view two : {"<=", ">=", "<>", "!=", "==", "||", "->"}) {
    if (text.substr(begin, 2) == two) return begin + 2;
  }
  return begin + 1;
}

void add_quoted(std::string_view text, std::size_t begin, Lexed& lexed) {
  const char quote = text[begin];
  const Quoted quoted = skip_quoted(text, begin);
  const std::size_t body_end = quoted.closed ? quoted.end - 1 : quoted.end;
  const Span span{begin, quoted.end - begin};
  lexed.tokens.push_back({quote == '"' ? TokenKind::kQuotedName : TokenKind::kString, span,
                          undouble(text.substr(begin + 1, body_end - begin - 1), quote)});
  if (!quoted.closed) {
    lexed.open = quote == '"' ? OpenEnd::kQuotedName : OpenEnd::kString;
    lexed.open_span = span;
  }
}

bool is_quote(char c) { return c == '\'' || c == '"'; }

Lexed lex_dot_command(std::string_view text) {
  Lexed lexed;
  std::size_t i = 0;
  while (i < text.size()) {
    if (is_white(text[i])) {
      ++i;
    } else if (is_quote(text[i])) {
      add_quoted(text, i, lexed);
      i = lexed.tokens.back().span.offset + lexed.tokens.back().span.length;
    } else {
      std::size_t end = i;
      while (end < text.size() && !is_white(text[end])) ++end;
      const bool number = is_digit(text[i]) || (text[i] == '-' && end > i + 1 && is_digit(text[i + 1]));
      const TokenKind kind = number ? TokenKind::kNumber : TokenKind::kWord;
      lexed.tokens.push_back({kind, {i, end - i}, std::string(text.substr(i, end - i))});
      i = end;
    }
  }
  return lexed;
}

}  // namespace

Status Lexed::status() const {
  switch (open) {
    case OpenEnd::kNone: return {};
    case OpenEnd::kString:
      return Status(Code::kInvalid, "this string does not end", "write ' at its end; '' stands for a quote inside")
          .at(open_span);
    case OpenEnd::kQuotedName:
      return Status(Code::kInvalid, "this quoted name does not end", "write \" at its end").at(open_span);
    case OpenEnd::kComment:
      return Status(Code::kInvalid, "this comment does not end", "write */ at its end").at(open_span);
  }
  return {};
}

Lexed lex(std::string_view text) {
  const Blank start = skip_blank(text, 0);
  if (start.end == 0 && !text.empty() && text[0] == '.') return lex_dot_command(text);
  Lexed lexed;
  std::size_t i = 0;
  while (true) {
    const Blank blank = skip_blank(text, i);
    i = blank.end;
    if (blank.open) {
      lexed.open = OpenEnd::kComment;
      lexed.open_span = {blank.open_at, text.size() - blank.open_at};
    }
    if (i >= text.size()) return lexed;
    const char c = text[i];
    if (is_quote(c)) {
      add_quoted(text, i, lexed);
      i = lexed.tokens.back().span.offset + lexed.tokens.back().span.length;
      continue;
    }
    // .mode, as HELP takes it.
    const bool dotted = c == '.' && (i == 0 || is_white(text[i - 1])) && i + 1 < text.size() && is_letter(text[i + 1]);
    const bool negative = c == '-' && i + 1 < text.size() && is_digit(text[i + 1]);
    TokenKind kind = TokenKind::kSymbol;
    if (is_digit(c) || negative) kind = TokenKind::kNumber;
    if (is_letter(c) || dotted) kind = TokenKind::kWord;
    const std::size_t end = kind == TokenKind::kSymbol ? end_of_symbol(text, i) : end_of_word(text, i);
    lexed.tokens.push_back({kind, {i, end - i}, std::string(text.substr(i, end - i))});
    i = end;
  }
}

bool ends_with_its_line(std::string_view statement) {
  if (statement.starts_with('.')) return true;
  const std::string_view word = statement.substr(0, std::min(statement.find_first_of(" \t\r\n;"), statement.size()));
  return std::ranges::any_of(std::array<std::string_view, 3>{"help", "quit", "exit"},
                             [&](std::string_view known) { return equals_ignoring_case(word, known); });
}

std::size_t line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::count(
                 text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size())), '\n'));
}

namespace {

// From the first character of a statement to its `;`, the end of its line (dot command) or the end of the text.
struct StatementEnd {
  std::size_t end;
  bool complete;
  bool open = false;
};
StatementEnd find_statement_end(std::string_view text, std::size_t begin) {
  if (ends_with_its_line(text.substr(begin))) {
    const std::string_view ends = text[begin] == '.' ? "\n" : ";\n";
    return {std::min(text.find_first_of(ends, begin), text.size()), true};
  }
  std::size_t i = begin;
  while (i < text.size()) {
    const Blank blank = skip_blank(text, i);
    if (blank.open) return {text.size(), false, true};
    i = blank.end;
    if (i >= text.size()) break;
    if (text[i] == ';') return {i, true};
    if (is_quote(text[i])) {
      const Quoted quoted = skip_quoted(text, i);
      if (!quoted.closed) return {text.size(), false, true};
      i = quoted.end;
    } else {
      ++i;
    }
  }
  return {text.size(), false};
}

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && is_white(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

StatementList split_statements(std::string_view text) {
  StatementList list;
  std::size_t i = 0;
  std::size_t line = 1;
  std::size_t counted = 0;
  const auto line_at = [&](std::size_t offset) {
    line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                                text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
    counted = offset;
    return line;
  };
  while (true) {
    const Blank blank = skip_blank(text, i);
    const std::size_t begin = blank.open ? blank.open_at : blank.end;
    if (begin >= text.size()) return list;
    if (!blank.open && text[begin] == ';') {
      i = begin + 1;
      continue;
    }
    const StatementEnd found = blank.open ? StatementEnd{text.size(), false, true} : find_statement_end(text, begin);
    const std::string_view body = trim_end(text.substr(begin, found.end - begin));
    if (!found.complete) {
      list.rest = body;
      list.rest_offset = begin;
      list.rest_line = line_at(begin);
      list.rest_is_open = found.open;
      return list;
    }
    const std::string_view statement =
        text[begin] == '.' && !body.empty() && body.back() == ';' ? trim_end(body.substr(0, body.size() - 1)) : body;
    if (!statement.empty()) list.statements.push_back({statement, begin, line_at(begin)});
    i = std::min(found.end + 1, text.size());
  }
}

}  // namespace berth
