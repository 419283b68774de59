#include <algorithm>
#include <lua.hpp>

#include "engine/lua/budget.h"
#include "engine/lua/libraries.h"

namespace berth {

namespace {

constexpr int kMostUnpacked = 250;
constexpr lua_Integer kMostForeseen = 1 << 12;  // items for which a table is made large at once

void charge_span(lua_State* lua, lua_Integer first, lua_Integer last) {
  if (last < first) return;
  // In doubles: the span of two integers need not be one.
  const double span = static_cast<double>(last) - static_cast<double>(first);
  charge(lua, span > 1e15 ? std::int64_t{1} << 50 : static_cast<std::int64_t>(span));
}

// to[place + i] = from[first + i] for i = 0..count-1. Where they overlap upwards the last one comes first. A span may
// be anything, and so may the length of a table with gaps: neither is bounded by memory.
void move_values(lua_State* lua, int from, lua_Integer first, lua_Integer count, int to, lua_Integer place) {
  const bool overlaps = place > first && place - first < count && lua_rawequal(lua, from, to) != 0;
  WatchedWork work(lua);
  for (lua_Integer i = 0; i < count; ++i) {
    work.step();
    const lua_Integer at = overlaps ? count - 1 - i : i;
    lua_geti(lua, from, first + at);
    lua_seti(lua, to, place + at);
  }
}

// insert(table, value), insert(table, place, value)
int watched_insert(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const lua_Integer size = luaL_len(lua, 1);
  lua_Integer place = size < LUA_MAXINTEGER ? size + 1 : size;
  if (lua_gettop(lua) == 3) {
    const lua_Integer end = place;
    place = luaL_checkinteger(lua, 2);
    luaL_argcheck(lua, place >= 1 && place <= end, 2, "position out of bounds");
    charge_span(lua, place, size);
    move_values(lua, 1, place, end - place, 1, place + 1);
  } else if (lua_gettop(lua) != 2) {
    return luaL_error(lua, "wrong number of arguments to 'insert'");
  }
  lua_seti(lua, 1, place);
  return 0;
}

// remove(table), remove(table, place)
int watched_remove(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const lua_Integer size = luaL_len(lua, 1);
  const lua_Integer place = luaL_optinteger(lua, 2, size);
  if (place != size) luaL_argcheck(lua, place >= 1 && place - 1 <= size, 2, "position out of bounds");
  lua_geti(lua, 1, place);
  const lua_Integer count = std::max<lua_Integer>(0, size - place);
  charge_span(lua, place, size);
  move_values(lua, 1, place + (count > 0 ? 1 : 0), count, 1, place);
  lua_pushnil(lua);
  lua_seti(lua, 1, place + count);
  return 1;
}

int charged_concat(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  charge_span(lua, luaL_optinteger(lua, 3, 1), luaL_opt(lua, luaL_checkinteger, 4, luaL_len(lua, 1)));
  return call_stock(lua);
}

// move(from, first, last, place, to)
int watched_move(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const lua_Integer first = luaL_checkinteger(lua, 2);
  const lua_Integer last = luaL_checkinteger(lua, 3);
  const lua_Integer place = luaL_checkinteger(lua, 4);
  const int to = lua_isnoneornil(lua, 5) ? 1 : 5;
  luaL_checktype(lua, to, LUA_TTABLE);
  if (last >= first) {
    luaL_argcheck(lua, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
    luaL_argcheck(lua, place <= LUA_MAXINTEGER - (last - first), 4, "destination wrap around");
    charge_span(lua, first, last);
    move_values(lua, 1, first, last - first + 1, to, place);
  }
  lua_pushvalue(lua, to);
  return 1;
}

int short_unpack(lua_State* lua) {
  const lua_Integer first = luaL_optinteger(lua, 2, 1);
  const lua_Integer last = luaL_opt(lua, luaL_checkinteger, 3, luaL_len(lua, 1));
  if (last >= first && static_cast<double>(last) - static_cast<double>(first) >= kMostUnpacked) {
    return luaL_error(lua, "unpack() gives at most %d values", kMostUnpacked);
  }
  return call_stock(lua);
}

// Is the value at `a` before the one at `b`? The comparing function is at 2, or nil.
bool is_before(lua_State* lua, int a, int b) {
  std::int64_t cost = 2;
  if (lua_type(lua, a) == LUA_TSTRING) cost += static_cast<std::int64_t>(lua_rawlen(lua, a)) / 32;
  charge(lua, cost);
  if (lua_isnil(lua, 2)) return lua_compare(lua, a, b, LUA_OPLT) != 0;
  a = lua_absindex(lua, a);
  b = lua_absindex(lua, b);
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, a);
  lua_pushvalue(lua, b);
  lua_call(lua, 2, 1);
  const bool before = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 1);
  return before;
}

// Merges the runs [first, middle) and [middle, end) of the table at `from` into the one at `to`.
void merge_runs(lua_State* lua, int from, int to, lua_Integer first, lua_Integer middle, lua_Integer end) {
  lua_Integer left = first;
  lua_Integer right = middle;
  for (lua_Integer place = first; place < end; ++place) {
    bool takes_right = left == middle;
    if (!takes_right && right < end) {
      lua_rawgeti(lua, from, right);
      lua_rawgeti(lua, from, left);
      takes_right = is_before(lua, -2, -1);
      lua_pop(lua, 2);
    }
    lua_rawgeti(lua, from, takes_right ? right++ : left++);
    lua_rawseti(lua, to, place);
  }
}

// sort(table, before): a merge sort, so that equal ones keep their order; Lua's own draws pivots by the clock.
int stable_sort(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  const lua_Integer count = luaL_len(lua, 1);
  charge(lua, std::clamp<lua_Integer>(count, 0, lua_Integer{1} << 50) * 2);
  lua_createtable(lua, static_cast<int>(std::clamp<lua_Integer>(count, 0, kMostForeseen)), 0);
  lua_createtable(lua, static_cast<int>(std::clamp<lua_Integer>(count, 0, kMostForeseen)), 0);
  WatchedWork work(lua);
  for (lua_Integer i = 1; i <= count; ++i) {
    work.step();
    lua_geti(lua, 1, i);
    lua_rawseti(lua, 3, i);
  }
  int from = 3;
  int to = 4;
  for (lua_Integer width = 1; width < count; width *= 2) {
    for (lua_Integer first = 1; first <= count; first += 2 * width) {
      const lua_Integer middle = std::min(first + width, count + 1);
      merge_runs(lua, from, to, first, middle, std::min(middle + width, count + 1));
    }
    std::swap(from, to);
  }
  for (lua_Integer i = 1; i <= count; ++i) {
    work.step();
    lua_rawgeti(lua, from, i);
    lua_seti(lua, 1, i);
  }
  return 0;
}

}  // namespace

void push_table_library(lua_State* lua) {
  static const luaL_Reg kOwn[] = {{"concat", charged_concat}, {"insert", watched_insert}, {"move", watched_move},
                                  {"remove", watched_remove}, {"sort", stable_sort},      {"unpack", short_unpack},
                                  {nullptr, nullptr}};
  static const char* const kPlain[] = {"pack", nullptr};
  push_stock_library(lua, luaopen_table);
  const int stock = lua_gettop(lua);
  lua_newtable(lua);
  const int library = lua_gettop(lua);
  copy_charged(lua, stock, library, Reads::kAll, kPlain);
  for (const luaL_Reg* entry = kOwn; entry->name != nullptr; ++entry) {
    lua_getfield(lua, stock, entry->name);
    charge_by_size(lua, entry->func, Reads::kAll);
    lua_setfield(lua, library, entry->name);
  }
  lua_remove(lua, stock);
}

}  // namespace berth
