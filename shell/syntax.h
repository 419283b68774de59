// The notation of a command row, read into a tree.
//
// grammar.h states the notation. The tree is compiled into the matcher and printed, without kinds and labels, by HELP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace berth {

struct SyntaxNode {
  enum class Type : std::uint8_t {
    kSequence,
    kAlternatives,
    kOptional,
    kRepeat,    // of its one child; `commas` between the repetitions
    kGroup,     // labelled `text`
    kKeyword,   // `text`
    kSymbol,    // `text`
    kArgument,  // named `text`, of `kind`: a kind's name or choices "a|b"
    kOptions,   // of set `text`
  };
  Type type = Type::kSequence;
  std::string text;
  std::string kind;
  bool commas = false;
  std::vector<SyntaxNode> children;
};

// kInternal with the place.
Result<SyntaxNode> parse_syntax(std::string_view syntax);

// As people write it: "CREATE NODES <names>, ... TYPE <type> [IN POOL <pool>] [WITH (<options>)]".
std::string print_syntax(const SyntaxNode& node);

}  // namespace berth
