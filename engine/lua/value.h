// Values that pass between a script and the functions it is given: numbers, texts, and tables of them.
//
// A table has items (1, 2, 3 ...) and named fields; other keys, functions and tables nested deeper than 16 are refused
// with what was found where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/status.h"

struct lua_State;

namespace berth {

struct ScriptValue;
struct ScriptField;

struct ScriptTable {
  std::vector<ScriptValue> items;
  std::vector<ScriptField> fields;  // by name

  // Null when there is none.
  const ScriptValue* find(std::string_view field) const;
};

struct ScriptValue {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, ScriptTable> value;

  bool is_nil() const { return value.index() == 0; }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  // "nil", "boolean", "number", "string", "table".
  std::string_view type_name() const;
};

struct ScriptField {
  std::string name;
  ScriptValue value;
};

// The value at `index` of the script's stack. Raises no Lua error.
Result<ScriptValue> read_script_value(lua_State* lua, int index);
// Pushes it. Raises a Lua error when memory runs out: call it where no destructor waits.
void push_script_value(lua_State* lua, const ScriptValue& value);

}  // namespace berth
