// What may stand for an argument: the table of argument kinds.
//
// A kind says which tokens it takes, how their text becomes a value, how an error message and HELP name it, and whether
// its values are names the database knows (then completion asks the session for them). Syntax strings and option rows
// refer to kinds by name; adding one is one row in kinds.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "shell/lexer.h"

namespace berth {

// Which tokens a kind takes. Whether their text makes sense is found later, by read_value, with a better message.
enum class TokenClass : std::uint8_t {
  kName,     // word, quoted name, string or a number-like word
  kAmount,   // number, or a string holding one
  kAnyText,  // string; a word or number is taken as it stands
  kString,   // string only
  kFlag,     // true / false / on / off / yes / no / 1 / 0
  kRest,     // everything to the end of the statement, as typed
};

enum class ValueType : std::uint8_t {
  kText,
  kInteger,
  kReal,
  kGpu,       // integer in milli-GPU
  kGpuHours,  // integer in milli-GPU-hours
  kCpu,       // integer in milli-cores
  kMemory,    // integer in MiB
  kDuration,  // integer in seconds
  kTime,      // integer in Unix seconds
  kBoolean,   // integer 0 or 1
};

struct KindRow {
  std::string_view name;
  TokenClass tokens = TokenClass::kName;
  ValueType type = ValueType::kText;
  std::string_view expected;  // "a node type": completes "expected ..."
  std::string_view sentence;  // for HELP
  bool listed = false;        // the session can list the names of this kind
};

std::span<const KindRow> all_kinds();
// nullptr when there is none.
const KindRow* find_kind(std::string_view name);

// One bound argument.
struct Value {
  std::string text;  // unquoted
  Span span;
  ValueType type = ValueType::kText;
  std::int64_t integer = 0;  // of every type but kText and kReal, in its unit
  double real = 0;           // of kReal
};

bool takes_token(TokenClass tokens, const Token& token);
// kInvalid with the place and what was expected.
Result<Value> read_value(const KindRow& kind, std::string_view text, Span span);

}  // namespace berth
