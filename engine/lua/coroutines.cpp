#include <lua.hpp>

#include "engine/lua/budget.h"
#include "engine/lua/libraries.h"

namespace berth {

namespace {

int finish_catching(lua_State* lua, int, lua_KContext) {
  if (budget_of(lua).overrun != Overrun::kNone) return raise_overrun(lua);
  return lua_gettop(lua);
}

int call_catching(lua_State* lua) {
  charge(lua, lua_gettop(lua) / 4);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_callk(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0, finish_catching);
  return finish_catching(lua, LUA_OK, 0);
}

// A new coroutine counts its first instructions from zero: a slice is charged for it.
int call_charged(lua_State* lua) {
  charge(lua, kBudgetSlice);
  return call_stock(lua);
}

// Lua's own error would not say where.
int yield_with_place(lua_State* lua) {
  if (lua_isyieldable(lua) == 0) {
    return luaL_error(lua,
                      "attempt to yield outside a coroutine, or in a function that one of Berth's functions calls");
  }
  return lua_yield(lua, lua_gettop(lua));
}

}  // namespace

void wrap_catching(lua_State* lua) { lua_pushcclosure(lua, call_catching, 1); }

void push_stock_library(lua_State* lua, int (*open)(lua_State*)) {
  lua_pushcfunction(lua, open);
  lua_pushliteral(lua, "");
  lua_call(lua, 1, 1);
}

void copy_functions(lua_State* lua, int stock, int table, const char* const* names) {
  for (; *names != nullptr; ++names) {
    lua_getfield(lua, stock, *names);
    lua_setfield(lua, table, *names);
  }
}

void push_coroutine_library(lua_State* lua) {
  static const char* const kPlain[] = {"isyieldable", "running", "status", nullptr};
  push_stock_library(lua, luaopen_coroutine);
  const int stock = lua_gettop(lua);
  lua_newtable(lua);
  const int library = lua_gettop(lua);
  copy_functions(lua, stock, library, kPlain);
  lua_pushcfunction(lua, yield_with_place);
  lua_setfield(lua, library, "yield");
  for (const char* const name : {"resume", "close"}) {
    lua_getfield(lua, stock, name);
    wrap_catching(lua);
    lua_setfield(lua, library, name);
  }
  for (const char* const name : {"create", "wrap"}) {
    lua_getfield(lua, stock, name);
    lua_pushcclosure(lua, call_charged, 1);
    lua_setfield(lua, library, name);
  }
  lua_remove(lua, stock);
}

void push_math_library(lua_State* lua) {
  static const char* const kPlain[] = {"abs", "acos",       "asin", "atan", "ceil", "cos", "deg",
                                       "exp", "floor",      "fmod", "huge", "log",  "max", "maxinteger",
                                       "min", "mininteger", "modf", "pi",   "rad",  "sin", "sqrt",
                                       "tan", "tointeger",  "type", "ult",  nullptr};
  push_stock_library(lua, luaopen_math);
  lua_newtable(lua);
  copy_charged(lua, lua_gettop(lua) - 1, lua_gettop(lua), Reads::kAll, kPlain);
  lua_remove(lua, -2);
}

}  // namespace berth
