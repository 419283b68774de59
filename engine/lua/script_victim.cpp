#include "engine/lua/script_victim.h"

#include <fmt/format.h>

#include <cmath>
#include <lua.hpp>

#include "engine/lua/hook_views.h"

namespace berth {

namespace {

struct VictimCall {
  PolicyScript& script;
  const VictimView& victim;
  std::int64_t cost = 0;
};

int ask_victim_cost(lua_State* lua) {
  constexpr double kMostSeconds = 1e12;
  VictimCall& call = *static_cast<VictimCall*>(lua_touserdata(lua, 1));
  call.script.push_hook(lua, Hook::kVictimCost);
  call.script.views().push_victim(lua, call.victim);
  lua_call(lua, 1, 1);
  if (lua_type(lua, -1) != LUA_TNUMBER)
    return luaL_error(lua, "victim_cost() gives a %s; expected GPU-seconds", luaL_typename(lua, -1));
  const double seconds = lua_tonumber(lua, -1);
  if (!(std::fabs(seconds) <= kMostSeconds)) return luaL_error(lua, "victim_cost() gives %f GPU-seconds", seconds);
  call.cost = std::llround(seconds * 1000);
  return 0;
}

}  // namespace

ScriptVictimCost::ScriptVictimCost(Result<std::unique_ptr<PolicyScript>> script) {
  if (script.ok()) {
    script_ = *std::move(script);
  } else {
    fail(script.status());
  }
}

void ScriptVictimCost::fail(const Status& status) {
  failure_ = status.hint().empty() ? status.message() : fmt::format("{} ({})", status.message(), status.hint());
}

std::int64_t ScriptVictimCost::cost(const VictimView& victim) {
  if (!failure_.empty()) return 0;
  VictimCall call{.script = *script_, .victim = victim};
  if (const Status asked = script_->call(ask_victim_cost, &call); !asked.ok()) {
    fail(asked);
    return 0;
  }
  return call.cost;
}

}  // namespace berth
