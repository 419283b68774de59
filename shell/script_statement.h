// Tables of a script as statements: berth.simulate{...}, berth.backtest{...}.
//
// What is no part of the syntax becomes an option: {using = {'fifo', 'sjf'}, seed = 7} says USING 'fifo', 'sjf' WITH
// (seed = 7). Texts are quoted, so whatever they hold they stay one word.
#pragma once

#include <string>
#include <string_view>

#include "engine/lua/value.h"

namespace berth {

// In quotes, as one word of a statement.
std::string quote_word(std::string_view text);

// SIMULATE ARRIVALS | JOBS; kInvalid says what is missing or unknown.
Result<std::string> simulate_statement_of(const ScriptValue& request);
Result<std::string> backtest_statement_of(const ScriptValue& request);

}  // namespace berth
