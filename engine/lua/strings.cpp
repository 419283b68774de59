#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <lua.hpp>
#include <string_view>

#include "engine/lua/budget.h"
#include "engine/lua/libraries.h"

namespace berth {

namespace {

constexpr int kMostValues = 250;

std::string_view check_text(lua_State* lua, int index) {
  std::size_t length = 0;
  const char* const text = luaL_checklstring(lua, index, &length);
  return {text, length};
}

// Matching works inside C where no hook is called. At worst every repetition, %b, %f and back reference of a pattern
// tries every length, a search every start, and each try goes through the pattern.
template <bool kIsAnchored>
int match_within_bounds(lua_State* lua) {
  const std::string_view subject = check_text(lua, 1);
  const std::string_view pattern = check_text(lua, 2);
  double choices = kIsAnchored && pattern.starts_with('^') ? 0 : 1;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%') {
      ++i;
      if (i < pattern.size() && std::strchr("bf123456789", pattern[i]) != nullptr) ++choices;
      if (i < pattern.size() && pattern[i] == 'b') i += 2;
    } else if (pattern[i] == '[') {
      // A set matches one character, whatever stands in it.
      for (i += i + 1 < pattern.size() && pattern[i + 1] == '^' ? 2 : 1;
           i + 1 < pattern.size() && pattern[i + 1] != ']';)
        i += pattern[i + 1] == '%' ? 2 : 1;
      ++i;
    } else if (std::strchr("*+-?", pattern[i]) != nullptr && i > 0) {
      ++choices;
    }
  }
  const double length = static_cast<double>(subject.size()) + 1;
  const double steps = std::pow(length, choices) * std::max(1.0, static_cast<double>(pattern.size()) / 16);
  if (steps > static_cast<double>(budget_of(lua).limits.pattern_steps)) {
    char shown[41];
    std::snprintf(shown, sizeof shown, "%s", pattern.data());
    return luaL_error(lua, "pattern '%s' on a text of %d characters may take too long", shown,
                      static_cast<int>(subject.size()));
  }
  charge(lua, static_cast<std::int64_t>(steps / 2));
  return call_stock(lua);
}

int short_rep(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  const lua_Integer count = luaL_checkinteger(lua, 2);
  std::size_t separator = 0;
  luaL_optlstring(lua, 3, "", &separator);
  const double length = static_cast<double>(text.size() + separator) * static_cast<double>(count);
  if (count <= 0 || length == 0) {
    lua_pushliteral(lua, "");
    return 1;
  }
  if (length > static_cast<double>(budget_of(lua).limits.longest_text)) {
    char shown[32];
    std::snprintf(shown, sizeof shown, "%.0f", length);
    return luaL_error(lua, "rep() makes a text of %s characters; at most %d are allowed", shown,
                      static_cast<int>(budget_of(lua).limits.longest_text));
  }
  charge(lua, count / 16);
  return call_stock(lua);
}

// Lua's would print addresses of tables and functions.
int plain_format(lua_State* lua) {
  const std::string_view format = check_text(lua, 1);
  for (std::size_t i = 0; i + 1 < format.size(); ++i) {
    if (format[i] != '%') continue;
    ++i;
    while (i < format.size() && std::strchr("-+ #0123456789.", format[i]) != nullptr) ++i;
    if (i < format.size() && format[i] == 'p')
      return luaL_error(lua, "format() has no %%p: addresses differ each time");
  }
  const int arguments = lua_gettop(lua);
  for (int i = 2; i <= arguments; ++i) {
    if (lua_type(lua, i) > LUA_TSTRING) return luaL_argerror(lua, i, "cannot be printed: it is a table or function");
  }
  return call_stock(lua);
}

int few_bytes(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  const lua_Integer first = luaL_optinteger(lua, 2, 1);
  const lua_Integer last = luaL_optinteger(lua, 3, first);
  const auto size = static_cast<lua_Integer>(text.size());
  const lua_Integer from = first >= 0 ? first : size + first;
  const lua_Integer to = last >= 0 ? (last < size ? last : size) : size + last;
  if (to - from >= kMostValues) return luaL_error(lua, "byte() gives at most %d values", kMostValues);
  return call_stock(lua);
}

}  // namespace

void push_string_library(lua_State* lua) {
  static const char* const kWhole[] = {"char", "lower", "reverse", "upper", nullptr};
  static const char* const kPart[] = {"len", "sub", nullptr};
  static const luaL_Reg kOwn[] = {{"find", match_within_bounds<true>},
                                  {"format", plain_format},
                                  {"gmatch", match_within_bounds<false>},
                                  {"gsub", match_within_bounds<true>},
                                  {"match", match_within_bounds<true>},
                                  {"rep", short_rep},
                                  {nullptr, nullptr}};
  push_stock_library(lua, luaopen_string);
  const int stock = lua_gettop(lua);
  lua_newtable(lua);
  const int library = lua_gettop(lua);
  copy_charged(lua, stock, library, Reads::kAll, kWhole);
  copy_charged(lua, stock, library, Reads::kAfterFirst, kPart);
  for (const luaL_Reg* entry = kOwn; entry->name != nullptr; ++entry) {
    lua_getfield(lua, stock, entry->name);
    charge_by_size(lua, entry->func, Reads::kAll);
    lua_setfield(lua, library, entry->name);
  }
  lua_getfield(lua, stock, "byte");
  charge_by_size(lua, few_bytes, Reads::kAfterFirst);
  lua_setfield(lua, library, "byte");
  lua_remove(lua, stock);
}

}  // namespace berth
