#include <algorithm>
#include <bit>
#include <cstdint>
#include <lua.hpp>
#include <new>
#include <string_view>

#include "engine/lua/budget.h"
#include "engine/lua/libraries.h"

namespace berth {

namespace {

// A key of a table, as it is ordered. A text is the table's own and lives as long as it.
struct OrderedKey {
  int type = LUA_TNIL;
  bool is_integer = false;
  bool boolean = false;
  lua_Integer integer = 0;
  lua_Number number = 0;
  const char* text = nullptr;
  std::size_t length = 0;

  bool operator<(const OrderedKey& other) const {
    if (type != other.type) return type < other.type;  // boolean, number, text
    if (type == LUA_TBOOLEAN) return !boolean && other.boolean;
    if (type == LUA_TSTRING) return std::string_view(text, length) < std::string_view(other.text, other.length);
    if (is_integer && other.is_integer) return integer < other.integer;
    return number < other.number || (number == other.number && is_integer && !other.is_integer);
  }
};

OrderedKey read_key(lua_State* lua, int index) {
  OrderedKey key{.type = lua_type(lua, index)};
  switch (key.type) {
    case LUA_TBOOLEAN: key.boolean = lua_toboolean(lua, index) != 0; break;
    case LUA_TNUMBER:
      key.is_integer = lua_isinteger(lua, index) != 0;
      key.integer = key.is_integer ? lua_tointeger(lua, index) : 0;
      key.number = lua_tonumber(lua, index);
      break;
    case LUA_TSTRING: key.text = lua_tolstring(lua, index, &key.length); break;
    default:
      luaL_error(lua, "pairs() goes by key, and a %s has no place in that order: use numbers or texts as keys",
                 lua_typename(lua, key.type));
  }
  return key;
}

void push_key(lua_State* lua, const OrderedKey& key) {
  if (key.type == LUA_TBOOLEAN) {
    lua_pushboolean(lua, key.boolean ? 1 : 0);
  } else if (key.type == LUA_TSTRING) {
    lua_pushlstring(lua, key.text, key.length);
  } else if (key.is_integer) {
    lua_pushinteger(lua, key.integer);
  } else {
    lua_pushnumber(lua, key.number);
  }
}

// Lua goes through a table's whole block, also where all keys have been removed, and does not tell its size: it is one
// of the large blocks at most.
std::int64_t cost_of_search(lua_State* lua) {
  constexpr std::int64_t kBytesLookedThrough = 2048;
  return budget_of(lua).large_blocks / kBytesLookedThrough;
}

// Upvalues: the table, its keys in order, how many have been given.
int next_pair(lua_State* lua) {
  lua_Integer given = lua_tointeger(lua, lua_upvalueindex(3));
  for (;;) {
    lua_settop(lua, 0);
    const bool is_end = lua_rawgeti(lua, lua_upvalueindex(2), ++given) == LUA_TNIL;
    lua_pushinteger(lua, given);
    lua_replace(lua, lua_upvalueindex(3));
    if (is_end) return 1;
    lua_pushvalue(lua, 1);
    if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) return 2;  // else removed meanwhile
  }
}

}  // namespace

int ordered_pairs(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (luaL_getmetafield(lua, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 3);
    return 3;
  }
  luaL_checktype(lua, 1, LUA_TTABLE);
  std::size_t count = 0;
  lua_pushnil(lua);
  charge(lua, cost_of_search(lua));
  std::int64_t bytes = 0;
  for (; lua_next(lua, 1) != 0; ++count) {
    lua_pop(lua, 1);
    if (lua_type(lua, -1) == LUA_TSTRING) bytes += static_cast<std::int64_t>(lua_rawlen(lua, -1));
  }
  // Each key is compared with some others.
  const auto compared = static_cast<std::int64_t>(std::bit_width(count));
  charge(lua, static_cast<std::int64_t>(count) * (8 + compared) + bytes * compared / 64);
  auto* const keys =
      static_cast<OrderedKey*>(lua_newuserdatauv(lua, std::max<std::size_t>(1, count) * sizeof(OrderedKey), 0));
  lua_pushnil(lua);
  WatchedWork work(lua);
  for (std::size_t i = 0; i < count && lua_next(lua, 1) != 0; ++i) {
    work.step();
    lua_pop(lua, 1);
    new (&keys[i]) OrderedKey(read_key(lua, -1));
  }
  // A step may leave by a Lua error: neither sorting nor keys own anything.
  const auto is_less = [&work](const OrderedKey& a, const OrderedKey& b) {
    work.step();
    return a < b;
  };
  if (!std::is_sorted(keys, keys + count)) std::sort(keys, keys + count, is_less);
  lua_settop(lua, 2);  // the table, the userdata
  lua_pushvalue(lua, 1);
  lua_createtable(lua, static_cast<int>(std::min<std::size_t>(count, 1 << 12)), 0);
  for (std::size_t i = 0; i < count; ++i) {
    work.step();
    push_key(lua, keys[i]);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
  }
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, next_pair, 3);
  lua_pushvalue(lua, 1);
  lua_pushnil(lua);
  return 3;
}

int ordered_next(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  const bool is_first = lua_isnil(lua, 2);
  const OrderedKey after = is_first ? OrderedKey{} : read_key(lua, 2);
  OrderedKey least;
  bool found = false;
  std::int64_t seen = cost_of_search(lua);
  lua_pushnil(lua);
  for (; lua_next(lua, 1) != 0; ++seen) {
    lua_pop(lua, 1);
    const OrderedKey key = read_key(lua, -1);
    seen += static_cast<std::int64_t>(key.length) / 32;
    if ((!is_first && !(after < key)) || (found && !(key < least))) continue;
    least = key;
    found = true;
  }
  charge(lua, seen);
  if (!found) {
    lua_pushnil(lua);
    return 1;
  }
  push_key(lua, least);
  lua_pushvalue(lua, -1);
  lua_rawget(lua, 1);
  return 2;
}

}  // namespace berth
