#include "engine/lua/globals.h"

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <lua.hpp>
#include <string>
#include <vector>

#include "engine/base/text.h"
#include "engine/lua/budget.h"
#include "engine/lua/libraries.h"

namespace berth {

namespace {

// Of names that others are compared with.
constexpr std::size_t kLongestName = 64;

std::int64_t count_fields(lua_State* lua, int table) {
  table = lua_absindex(lua, table);
  std::int64_t count = 0;
  lua_pushnil(lua);
  for (; lua_next(lua, table) != 0; ++count) lua_pop(lua, 1);
  return count;
}

void add_names(lua_State* lua, int table, std::vector<std::string>& names) {
  table = lua_absindex(lua, table);
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    if (lua_type(lua, -2) == LUA_TSTRING) names.emplace_back(lua_tostring(lua, -2));
    lua_pop(lua, 1);
  }
}

// "; did you mean 'x'?" for the name, from the tables at these indices, into `hint`. Raises an overrun, and nothing
// once it has names.
void write_hint(lua_State* lua, const char* name, std::initializer_list<int> tables, char* hint, std::size_t size) {
  *hint = '\0';
  if (std::strlen(name) > kLongestName) return;
  for (const int table : tables) charge(lua, count_fields(lua, table) * 32);
  std::vector<std::string> names;
  for (const int table : tables) add_names(lua, table, names);
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty()) std::snprintf(hint, size, "; did you mean '%s'?", nearest.c_str());
}

// Only texts are names; what else was used as a key is told by its type.
const char* key_as_text(lua_State* lua, int index) {
  return lua_type(lua, index) == LUA_TSTRING ? lua_tostring(lua, index) : luaL_typename(lua, index);
}

// __index of the library: the last stop. Upvalues: library, defined.
int refuse_name(lua_State* lua) {
  char hint[120];
  const char* const name = key_as_text(lua, 2);
  write_hint(lua, name, {lua_upvalueindex(1), lua_upvalueindex(2)}, hint, sizeof hint);
  return luaL_error(lua, "no variable or function named '%s'%s", name, hint);
}

int refuse_unknown_name(lua_State* lua) { return call_within_memory(lua, refuse_name); }

// __newindex of the environment. Upvalues: library, defined.
int assign_global(lua_State* lua) {
  const char* const name = key_as_text(lua, 2);
  lua_pushvalue(lua, 2);
  if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) {
    return luaL_error(lua, "'%s' is Berth's and cannot be assigned to", name);
  }
  if (budget_of(lua).is_frozen) {
    return luaL_error(lua, "global '%s' assigned after loading: globals are frozen then; declare it local", name);
  }
  lua_settop(lua, 3);
  lua_rawset(lua, lua_upvalueindex(2));
  return 0;
}

int refuse_assignment(lua_State* lua) {
  return luaL_error(lua, "%s is read-only: cannot assign to '%s'", lua_tostring(lua, lua_upvalueindex(1)),
                    key_as_text(lua, 2));
}

// __index of what a protected table shows. Upvalues: what it is, the table.
int refuse_field(lua_State* lua) {
  char hint[120];
  const char* const name = key_as_text(lua, 2);
  write_hint(lua, name, {lua_upvalueindex(2)}, hint, sizeof hint);
  return luaL_error(lua, "%s has no field '%s'%s", lua_tostring(lua, lua_upvalueindex(1)), name, hint);
}

int refuse_unknown_field(lua_State* lua) { return call_within_memory(lua, refuse_field); }

int count_of_protected(lua_State* lua) {
  lua_pushinteger(lua, static_cast<lua_Integer>(lua_rawlen(lua, lua_upvalueindex(1))));
  return 1;
}

int pairs_of_protected(lua_State* lua) {
  lua_pushcfunction(lua, ordered_pairs);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_call(lua, 1, 3);
  return 3;
}

// Tables and functions have addresses, which differ from run to run.
int plain_tostring(lua_State* lua) {
  luaL_checkany(lua, 1);
  switch (lua_type(lua, 1)) {
    case LUA_TNIL:
    case LUA_TBOOLEAN:
    case LUA_TNUMBER:
    case LUA_TSTRING: luaL_tolstring(lua, 1, nullptr); break;
    default: lua_pushstring(lua, luaL_typename(lua, 1));
  }
  return 1;
}

int finish_handled(lua_State* lua, int, lua_KContext) {
  lua_pushboolean(lua, 0);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

// After xpcall's function: the handler is at 1, and behind it the results or the error. Lua calls handlers before the
// stack is unwound, with hooks off when the hook raised the error; a handler that never ends would never be stopped.
// Ours is called afterwards.
int finish_xpcall(lua_State* lua, int status, lua_KContext) {
  if (budget_of(lua).overrun != Overrun::kNone) return raise_overrun(lua);
  if (status == LUA_OK || status == LUA_YIELD) {
    lua_pushboolean(lua, 1);
    lua_replace(lua, 1);
    return lua_gettop(lua);
  }
  lua_callk(lua, 1, LUA_MULTRET, 0, finish_handled);
  return finish_handled(lua, LUA_OK, 0);
}

// xpcall(f, handler, ...)
int late_xpcall(lua_State* lua) {
  charge(lua, lua_gettop(lua) / 4);
  luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, 1);
  lua_replace(lua, 2);
  lua_replace(lua, 1);  // handler, f, ...
  const int status = lua_pcallk(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0, 0, finish_xpcall);
  return finish_xpcall(lua, status, 0);
}

void push_base_functions(lua_State* lua) {
  static const char* const kWhole[] = {"tonumber", nullptr};
  static const char* const kPart[] = {"assert", "error", "ipairs", "select", "type", nullptr};
  push_stock_library(lua, luaopen_base);
  const int stock = lua_gettop(lua);
  lua_newtable(lua);
  const int library = lua_gettop(lua);
  copy_charged(lua, stock, library, Reads::kAll, kWhole);
  copy_charged(lua, stock, library, Reads::kAfterFirst, kPart);
  lua_getfield(lua, stock, "pcall");
  wrap_catching(lua);
  lua_setfield(lua, library, "pcall");
  static const luaL_Reg kOwn[] = {{"next", ordered_next},
                                  {"pairs", ordered_pairs},
                                  {"tostring", plain_tostring},
                                  {"xpcall", late_xpcall},
                                  {nullptr, nullptr}};
  luaL_setfuncs(lua, kOwn, 0);
  lua_remove(lua, stock);
}

// ("x"):rep(3) finds our functions, not Lua's.
void replace_text_methods(lua_State* lua) {
  lua_pushliteral(lua, "");
  lua_createtable(lua, 0, 2);
  push_string_library(lua);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
}

void add_library(lua_State* lua, int library, const char* name, void (*push)(lua_State*)) {
  push(lua);
  protect_table(lua, name, true);
  lua_setfield(lua, library, name);
}

}  // namespace

void refuse_unknown_fields(lua_State* lua, const char* what) {
  lua_createtable(lua, 0, 1);
  lua_pushstring(lua, what);
  lua_pushvalue(lua, -3);
  lua_pushcclosure(lua, refuse_unknown_field, 2);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
}

void protect_table(lua_State* lua, const char* what, bool strict) {
  const int shown = lua_gettop(lua);
  if (strict) refuse_unknown_fields(lua, what);
  lua_newtable(lua);
  lua_createtable(lua, 0, 5);
  lua_pushvalue(lua, shown);
  lua_setfield(lua, -2, "__index");
  lua_pushstring(lua, what);
  lua_pushcclosure(lua, refuse_assignment, 1);
  lua_setfield(lua, -2, "__newindex");
  lua_pushvalue(lua, shown);
  lua_pushcclosure(lua, count_of_protected, 1);
  lua_setfield(lua, -2, "__len");
  lua_pushvalue(lua, shown);
  lua_pushcclosure(lua, pairs_of_protected, 1);
  lua_setfield(lua, -2, "__pairs");
  lua_setmetatable(lua, -2);
  lua_replace(lua, shown);
}

void install_globals(lua_State* lua) {
  push_base_functions(lua);
  const int library = lua_gettop(lua);
  add_library(lua, library, "coroutine", push_coroutine_library);
  add_library(lua, library, "math", push_math_library);
  add_library(lua, library, "string", push_string_library);
  add_library(lua, library, "table", push_table_library);
  replace_text_methods(lua);

  lua_newtable(lua);
  const int defined = lua_gettop(lua);
  lua_createtable(lua, 0, 1);  // of the library
  lua_pushvalue(lua, library);
  lua_pushvalue(lua, defined);
  lua_pushcclosure(lua, refuse_unknown_name, 2);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, library);
  lua_createtable(lua, 0, 1);  // of the script's globals
  lua_pushvalue(lua, library);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, defined);
  lua_newtable(lua);  // the environment
  lua_createtable(lua, 0, 2);
  lua_pushvalue(lua, defined);
  lua_setfield(lua, -2, "__index");
  lua_pushvalue(lua, library);
  lua_pushvalue(lua, defined);
  lua_pushcclosure(lua, assign_global, 2);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);

  lua_setfield(lua, LUA_REGISTRYINDEX, kEnvironment);
  lua_setfield(lua, LUA_REGISTRYINDEX, kDefinedTable);
  lua_setfield(lua, LUA_REGISTRYINDEX, kLibraryTable);
  // Lua's own globals were needed to open its libraries; nobody is to find anything there.
  lua_newtable(lua);
  lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

}  // namespace berth
