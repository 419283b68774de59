// Values of a script in statements, and tables as statements: berth.simulate{...}, berth.backtest{...}.
//
// What is no part of the syntax becomes an option: {using = {'fifo', 'sjf'}, seed = 7} says USING 'fifo', 'sjf' WITH
// (seed = 7). Texts are quoted, so whatever they hold they stay one word.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/lua/value.h"

namespace berth {

// In quotes, as one word of a statement.
std::string quote_word(std::string_view text);

// The statement with each ? outside of quotes replaced by a value, texts quoted. kInvalid when there are not as many.
Result<std::string> fill_in(std::string_view statement, std::span<const ScriptValue> values);

// SIMULATE ARRIVALS | JOBS; kInvalid says what is missing or unknown.
Result<std::string> simulate_statement_of(const ScriptValue& request);
Result<std::string> backtest_statement_of(const ScriptValue& request);

}  // namespace berth
