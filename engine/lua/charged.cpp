#include <cstdint>
#include <lua.hpp>

#include "engine/lua/budget.h"
#include "engine/lua/libraries.h"

namespace berth {

namespace {

constexpr std::int64_t kBytesAnInstruction = 16;
constexpr std::int64_t kValuesAnInstruction = 4;

// What the values first..last of the stack cost to read or to make.
std::int64_t cost_of_values(lua_State* lua, int first, int last) {
  std::int64_t bytes = 0;
  for (int i = first; i <= last; ++i) {
    if (lua_type(lua, i) == LUA_TSTRING) bytes += static_cast<std::int64_t>(lua_rawlen(lua, i));
  }
  return bytes / kBytesAnInstruction + (last - first + 1) / kValuesAnInstruction;
}

// Upvalues: Lua's own function, ours, the first argument that is read.
int call_by_size(lua_State* lua) {
  const auto first = static_cast<int>(lua_tointeger(lua, lua_upvalueindex(3)));
  charge(lua, cost_of_values(lua, first, lua_gettop(lua)));
  const int results = lua_tocfunction(lua, lua_upvalueindex(2))(lua);
  const int top = lua_gettop(lua);
  charge(lua, cost_of_values(lua, top - results + 1, top));
  return results;
}

}  // namespace

int call_stock(lua_State* lua) { return lua_tocfunction(lua, lua_upvalueindex(1))(lua); }

void charge_by_size(lua_State* lua, int (*own)(lua_State*), Reads reads) {
  if (own == nullptr) {
    lua_pushvalue(lua, -1);
  } else {
    lua_pushcfunction(lua, own);
  }
  lua_pushinteger(lua, reads == Reads::kAll ? 1 : 2);
  lua_pushcclosure(lua, call_by_size, 3);
}

void copy_charged(lua_State* lua, int stock, int table, Reads reads, const char* const* names) {
  for (; *names != nullptr; ++names) {
    lua_getfield(lua, stock, *names);
    if (lua_iscfunction(lua, -1) != 0) charge_by_size(lua, nullptr, reads);
    lua_setfield(lua, table, *names);
  }
}

}  // namespace berth
