// The library functions that scripts get: Lua's own where they are harmless, ours where those would tell addresses,
// follow chance, or work long without an instruction.
//
// Each push_*() leaves a table on the stack. Raise Lua errors.
#pragma once

#include <cstdint>

struct lua_State;

namespace berth {

// string: rep, format and the pattern functions are capped (ScriptLimits); no dump, pack or unpack.
void push_string_library(lua_State* lua);
// table: long moves and sorts are charged; sort is stable; unpack gives 250 values at most.
void push_table_library(lua_State* lua);
// coroutine: a coroutine lives on the budget of the call.
void push_coroutine_library(lua_State* lua);
// math: without random.
void push_math_library(lua_State* lua);

// pairs and next by key: false, true, numbers, texts; a table with other keys has no order and is refused.
int ordered_pairs(lua_State* lua);
int ordered_next(lua_State* lua);

// A function that calls the one on top of the stack, which may catch errors, and raises an overrun again; replaces it.
void wrap_catching(lua_State* lua);

// Puts what `open` (luaopen_string, ...) makes on the stack, without registering it anywhere.
void push_stock_library(lua_State* lua, int (*open)(lua_State*));
// Of a function's arguments, which it reads to their end: its cost goes by the length of texts among them.
enum class Reads : std::uint8_t { kAll, kAfterFirst };
// Replaces Lua's function on top of the stack by `own`, or by itself when that is null, charged by the size of what it
// reads and makes. No hook is called inside C.
void charge_by_size(lua_State* lua, int (*own)(lua_State*), Reads reads);
// In `own`: goes on with Lua's function and the arguments as they are.
int call_stock(lua_State* lua);
// As copy_functions(), charged by size; what is no function is copied.
void copy_charged(lua_State* lua, int stock, int table, Reads reads, const char* const* names);

// table[names...] = stock[names...], for the tables at these indices; `names` ends with null.
void copy_functions(lua_State* lua, int stock, int table, const char* const* names);

}  // namespace berth
