#include "engine/lua/script_admit.h"

#include <fmt/format.h>

#include <lua.hpp>

#include "engine/base/plain_text.h"
#include "engine/lua/globals.h"

namespace berth {

namespace {

constexpr std::size_t kLongestRefusal = 500;  // bytes

struct AdmitCall {
  PolicyScript& script;
  const ScriptValue& job;
  const ScriptValue& view;
  // What it gave is left in the registry under this name, to be read when no Lua error can come.
  int result = 0;
  int words = 0;
};

// The tables inside, too. The table is on top of the stack.
void make_strict(lua_State* lua, const char* what) {
  bool has_names = false;  // a list is walked to its end, where there is nothing
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    const bool is_name = lua_type(lua, -2) == LUA_TSTRING;
    has_names |= is_name;
    if (lua_istable(lua, -1)) make_strict(lua, is_name ? lua_tostring(lua, -2) : "group");
    lua_pop(lua, 1);
  }
  if (has_names) refuse_unknown_fields(lua, what);
}

void protect_all(lua_State* lua, const char* what) {
  const int table = lua_gettop(lua);
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    if (lua_istable(lua, -1)) {
      protect_all(lua, lua_tostring(lua, -2));
      lua_pushvalue(lua, -2);
      lua_insert(lua, -2);
      lua_rawset(lua, table);  // of a key that is there: the walk goes on
    } else {
      lua_pop(lua, 1);
    }
  }
  protect_table(lua, what, true);
}

int ask(lua_State* lua) {
  AdmitCall& call = *static_cast<AdmitCall*>(lua_touserdata(lua, 1));
  call.script.push_hook(lua, Hook::kAdmit);
  push_script_value(lua, call.job);
  make_strict(lua, "job");
  push_script_value(lua, call.view);
  protect_all(lua, "view");
  lua_call(lua, 2, 2);
  if (!lua_isnil(lua, -2) && !lua_istable(lua, -2))
    return luaL_error(lua, "admit() gives a %s; expected the job, or nil and a message", luaL_typename(lua, -2));
  if (lua_isnil(lua, -2) && lua_type(lua, -1) != LUA_TSTRING)
    return luaL_error(lua, "admit() gives nil without a message: expected nil, \"why\"");
  call.words = luaL_ref(lua, LUA_REGISTRYINDEX);
  call.result = luaL_ref(lua, LUA_REGISTRYINDEX);
  return 0;
}

}  // namespace

Result<AdmitAnswer> ask_admit(const ScriptPolicy& script, const ScriptValue& job, const ScriptValue& view) {
  BERTH_ASSIGN(const std::unique_ptr<PolicyScript> loaded, PolicyScript::load(script, policy_limits()));
  if (!loaded->has(Hook::kAdmit)) return Status(Code::kInvalid, fmt::format("{} defines no admit()", script.name));
  AdmitCall call{.script = *loaded, .job = job, .view = view};
  BERTH_TRY(loaded->call(ask, &call));
  lua_State* const lua = loaded->host().state();
  AdmitAnswer answer;
  lua_rawgeti(lua, LUA_REGISTRYINDEX, call.result);
  if (lua_isnil(lua, -1)) {
    lua_rawgeti(lua, LUA_REGISTRYINDEX, call.words);
    std::size_t length = 0;
    const char* const words = lua_tolstring(lua, -1, &length);
    answer.refusal = plain_line({words, length}, kLongestRefusal);
    if (answer.refusal.empty()) answer.refusal = "it gives no reason";
    return answer;
  }
  Result<ScriptValue> given = read_script_value(lua, -1);
  if (!given.ok()) return std::move(given).status().prefixed(fmt::format("{}: what admit() gives", script.name));
  answer.job = *given->get<ScriptTable>();
  return answer;
}

}  // namespace berth
