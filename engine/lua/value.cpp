#include "engine/lua/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <lua.hpp>

namespace berth {

namespace {

constexpr int kDeepest = 16;

Result<ScriptValue> read_at_depth(lua_State* lua, int index, int depth);

Result<ScriptValue> read_table(lua_State* lua, int index, int depth) {
  if (depth == kDeepest || lua_checkstack(lua, 4) == 0) {
    return Status(Code::kInvalid, fmt::format("a table nested deeper than {}", kDeepest));
  }
  ScriptTable table;
  const auto count = static_cast<lua_Integer>(lua_rawlen(lua, index));
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(lua, index, i);
    Result<ScriptValue> item = read_at_depth(lua, lua_gettop(lua), depth + 1);
    lua_pop(lua, 1);
    if (!item.ok()) return std::move(item).status().prefixed(fmt::format("[{}]", i));
    table.items.push_back(*std::move(item));
  }
  lua_pushnil(lua);
  while (lua_next(lua, index) != 0) {
    if (lua_type(lua, -2) == LUA_TSTRING) {
      std::size_t length = 0;
      const char* const text = lua_tolstring(lua, -2, &length);
      std::string name(text, length);
      Result<ScriptValue> field = read_at_depth(lua, lua_gettop(lua), depth + 1);
      if (!field.ok()) {
        lua_pop(lua, 2);
        return std::move(field).status().prefixed(name);
      }
      table.fields.push_back({.name = std::move(name), .value = *std::move(field)});
    } else if (lua_isinteger(lua, -2) == 0 || lua_tointeger(lua, -2) < 1 || lua_tointeger(lua, -2) > count) {
      const std::string_view kind = lua_typename(lua, lua_type(lua, -2));
      lua_pop(lua, 2);
      return Status(Code::kInvalid, fmt::format("a key of type {}; expected names, or 1, 2, 3 without holes", kind));
    }
    lua_pop(lua, 1);
  }
  std::ranges::sort(table.fields, {}, &ScriptField::name);
  return ScriptValue{std::move(table)};
}

Result<ScriptValue> read_at_depth(lua_State* lua, int index, int depth) {
  switch (lua_type(lua, index)) {
    case LUA_TNONE:
    case LUA_TNIL: return ScriptValue{};
    case LUA_TBOOLEAN: return ScriptValue{lua_toboolean(lua, index) != 0};
    case LUA_TNUMBER:
      if (lua_isinteger(lua, index) != 0) return ScriptValue{std::int64_t{lua_tointeger(lua, index)}};
      return ScriptValue{double{lua_tonumber(lua, index)}};
    case LUA_TSTRING: {
      std::size_t length = 0;
      const char* const text = lua_tolstring(lua, index, &length);
      return ScriptValue{std::string(text, length)};
    }
    case LUA_TTABLE: return read_table(lua, index, depth);
    default: break;
  }
  return Status(Code::kInvalid,
                fmt::format("expected a number, text or table, not a {}", lua_typename(lua, lua_type(lua, index))));
}

}  // namespace

const ScriptValue* ScriptTable::find(std::string_view field) const {
  const auto found = std::ranges::find(fields, field, &ScriptField::name);
  return found == fields.end() ? nullptr : &found->value;
}

std::string_view ScriptValue::type_name() const {
  constexpr std::string_view kNames[] = {"nil", "boolean", "number", "number", "string", "table"};
  return kNames[value.index()];
}

Result<ScriptValue> read_script_value(lua_State* lua, int index) {
  return read_at_depth(lua, lua_absindex(lua, index), 0);
}

void push_script_value(lua_State* lua, const ScriptValue& value) {
  luaL_checkstack(lua, 4, "values nested too deep");
  if (const auto* boolean = value.get<bool>()) {
    lua_pushboolean(lua, *boolean ? 1 : 0);
  } else if (const auto* integer = value.get<std::int64_t>()) {
    lua_pushinteger(lua, *integer);
  } else if (const auto* number = value.get<double>()) {
    lua_pushnumber(lua, *number);
  } else if (const auto* text = value.get<std::string>()) {
    lua_pushlstring(lua, text->data(), text->size());
  } else if (const auto* table = value.get<ScriptTable>()) {
    lua_createtable(lua, static_cast<int>(table->items.size()), static_cast<int>(table->fields.size()));
    lua_Integer index = 0;
    for (const ScriptValue& item : table->items) {
      push_script_value(lua, item);
      lua_rawseti(lua, -2, ++index);
    }
    for (const auto& [name, field] : table->fields) {
      lua_pushlstring(lua, name.data(), name.size());
      push_script_value(lua, field);
      lua_rawset(lua, -3);
    }
  } else {
    lua_pushnil(lua);
  }
}

}  // namespace berth
