// Text of statements to tokens, and a file of statements to single ones.
//
// The same lexer serves execution, completion and colouring, so it never refuses text: what it does not know becomes a
// symbol that the grammar then rejects with the place. Only a string or comment that does not end is an error, told by
// Lexed::open. Offsets are bytes into the text given.
//
//   word    train  a100x8  lua:night_scale  train[001-064]  rack.a-1   letters first, joined by . - : when
//           more follows; bracketed ranges; "quoted name" with "" for a quote
//   number  40GiB  90m  0.5  1/4  -3  2026-12-01T08:00:00Z             anything that starts with a digit
//   string  'text' with '' for a quote
//   symbol  ( ) , = + * ...
//
// `--` to the end of the line and /* ... */ are comments. Statements end with `;` outside strings and comments; a dot
// command (a statement whose first character is a dot) ends with its line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace berth {

enum class TokenKind : std::uint8_t { kWord, kQuotedName, kNumber, kString, kSymbol };

struct Token {
  TokenKind kind = TokenKind::kSymbol;
  Span span;
  std::string text;  // unquoted, escapes undone

  // A word that may be a keyword: not quoted.
  bool is_bare_word() const { return kind == TokenKind::kWord; }
};

enum class OpenEnd : std::uint8_t { kNone, kString, kQuotedName, kComment };

struct Lexed {
  std::vector<Token> tokens;  // an open string is the last token
  OpenEnd open = OpenEnd::kNone;
  Span open_span;  // of what does not end

  // kInvalid with the place when something does not end.
  Status status() const;
};

// One statement. A text that starts with a dot is split at white space instead, so that paths need no quotes.
Lexed lex(std::string_view text);

struct StatementText {     // (Statement is the store's prepared one)
  std::string_view text;   // without `;`, outer white space and comments before it
  std::size_t offset = 0;  // of text in the whole
  std::size_t line = 1;    // of its first character, from 1
};

struct StatementList {
  std::vector<StatementText> statements;  // complete ones; empty ones are left out
  std::string_view rest;  // begun but not ended; empty when nothing but white space and comments follows
  std::size_t rest_offset = 0;
  std::size_t rest_line = 1;
  bool rest_is_open = false;  // rest ends inside a string or comment
};

// Dot commands, and help, quit and exit, as everybody types them: they end with their line, with or without `;`.
bool ends_with_its_line(std::string_view statement);

// Views into `text`, which must outlive the list.
StatementList split_statements(std::string_view text);

std::size_t line_of(std::string_view text, std::size_t offset);

}  // namespace berth
