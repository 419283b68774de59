// One matcher for every statement: dispatch, errors and completion from the same syntax strings.
//
// Notation of a syntax string:
//
//   CREATE              keyword, any case when typed            ( ) , = +    themselves
//   <name:kind>         argument of a kind of kinds.h           <name:a|b|c> one of these words
//   <name:kind>, ...    one or more, with commas                <name:kind> ...  one or more
//   [ ... ]             may be left out                         { A | B }    one of these
//   label:{ ... }, ...  repeated group, bound as Arguments      (<options>)  options of the row
//                                                               (<options:set>)  those of that set
//
// Method: each syntax is compiled into a small non-deterministic automaton; all rows run side by side over the tokens
// (Pike's simulation), each thread carrying what it has bound. What the live threads could take next is, at a wrong
// word, the set of expected words, and at the cursor, the completions. A bare word that is a keyword at its place is
// that keyword; quoted, it is a name. Time is linear in the statement, whatever the table holds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "shell/arguments.h"
#include "shell/lexer.h"

namespace berth {

// One thing that may come next.
struct Terminal {
  enum class Type : std::uint8_t { kKeyword, kSymbol, kArgument, kOptionName, kOptionValue };
  Type type = Type::kKeyword;
  std::string text;                  // keyword in upper case, symbol, argument name, option name
  const KindRow* kind = nullptr;     // of an argument or option value that is not a choice
  std::vector<std::string> choices;  // of a choice
  const OptionRow* option = nullptr;
};

// The words that may come after some tokens.
struct Continuation {
  std::vector<const Terminal*> terminals;  // in table order, without repetition
  bool may_end = false;
  std::vector<int> rows;  // rows still possible
  std::size_t taken = 0;  // tokens understood; fewer than given = the next one is wrong
  bool rest = false;      // inside an argument that takes everything
};

struct Match {
  int row = -1;
  Arguments arguments;
};

class Grammar {
 public:
  Grammar();
  ~Grammar();
  Grammar(Grammar&&) noexcept;
  Grammar& operator=(Grammar&&) noexcept;

  // Adds the syntax of row number `row`. kInternal with the place when the notation is wrong. `options` must outlive
  // this.
  Status add(int row, std::string_view syntax, std::span<const OptionRow> options);

  // The row that takes the statement, with its words bound and options checked. kInvalid: where, what was expected
  // there, the nearest word.
  Result<Match> match(std::string_view statement) const;

  // After all of `tokens`, or up to the first that fits nothing.
  Continuation after(std::span<const Token> tokens) const;

  // Whether some statement is taken by both rows.
  bool rows_overlap(int a, int b) const;

  struct Program;  // program.h

 private:
  std::unique_ptr<Program> program_;
};

// "IN, RACK, an option or the end of the statement".
std::string expected_words(const Continuation& continuation);

}  // namespace berth
