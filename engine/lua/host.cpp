#include "engine/lua/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <lua.hpp>

#include "engine/base/plain_text.h"
#include "engine/lua/budget.h"
#include "engine/lua/globals.h"

namespace berth {

namespace {

constexpr std::size_t kMostSource = std::size_t{1} << 20;

// Lua keeps few bytes of a name in messages: of a path its end, by whole parts if possible.
std::string short_name_of(std::string_view name) {
  constexpr std::size_t kKept = LUA_IDSIZE - 1;
  constexpr std::string_view kCut = "...";
  if (name.size() <= kKept) return std::string(name);
  std::string_view end = name.substr(name.size() - (kKept - kCut.size()));
  if (const std::size_t part = end.find('/'); part != std::string_view::npos) end.remove_prefix(part);
  return std::string(kCut).append(end);
}

// Of "name:12: words" what comes after it; nothing when the text does not begin so.
std::string_view after_position(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return {};
  text.remove_prefix(name.size());
  if (!text.starts_with(':')) return {};
  const std::size_t end = text.find_first_not_of("0123456789", 1);
  if (end == std::string_view::npos || end == 1 || !text.substr(end).starts_with(": ")) return {};
  return text.substr(end + 2);
}

// An error that does not say where it happened gets the innermost line of the script.
int add_position(lua_State* lua) {
  if (lua_type(lua, 1) != LUA_TSTRING) {
    lua_pushfstring(lua, "error object is a %s; expected a text", luaL_typename(lua, 1));
    lua_replace(lua, 1);
  }
  if (lua_Debug at{}; find_line(lua, 0, at)) {
    const std::string_view message = lua_tostring(lua, 1);
    const std::string_view source = at.short_src;
    if (!message.starts_with(source) || !message.substr(source.size()).starts_with(':')) {
      lua_pushfstring(lua, "%s:%d: %s", at.short_src, at.currentline, lua_tostring(lua, 1));
      lua_replace(lua, 1);
    }
  }
  lua_settop(lua, 1);
  return 1;
}

// "night.lua:12: " of the innermost line of the script, also when pcall called us.
void push_place(lua_State* lua) {
  if (lua_Debug at{}; find_line(lua, 1, at)) {
    lua_pushfstring(lua, "%s:%d: ", at.short_src, at.currentline);
  } else {
    lua_pushliteral(lua, "");
  }
}

struct GlobalRequest {
  std::string_view table;
  std::string_view name;
  int (*push)(lua_State*);
  void* data;
};

// Puts what push() leaves on the stack into the library, or into one of its tables.
int put_global(lua_State* lua) {
  const GlobalRequest& request = *static_cast<const GlobalRequest*>(lua_touserdata(lua, 1));
  lua_getfield(lua, LUA_REGISTRYINDEX, kLibraryTable);
  if (!request.table.empty()) {
    lua_pushlstring(lua, request.table.data(), request.table.size());
    if (lua_rawget(lua, -2) == LUA_TNIL) {
      lua_pop(lua, 1);
      lua_newtable(lua);
      // What the protected table shows stays ours to fill.
      lua_pushlstring(lua, request.table.data(), request.table.size());
      lua_pushvalue(lua, -2);
      lua_rawset(lua, LUA_REGISTRYINDEX);
      lua_pushlstring(lua, request.table.data(), request.table.size());
      lua_pushvalue(lua, -2);
      protect_table(lua, lua_tostring(lua, -2), true);
      lua_rawset(lua, 2);
    }
    lua_pushlstring(lua, request.table.data(), request.table.size());
    lua_rawget(lua, LUA_REGISTRYINDEX);
  }
  lua_pushlstring(lua, request.name.data(), request.name.size());
  lua_pushlightuserdata(lua, request.data);
  request.push(lua);
  lua_rawset(lua, -3);
  return 0;
}

int push_protected_value(lua_State* lua) {
  const ScriptValue& value = *static_cast<const ScriptValue*>(lua_touserdata(lua, -1));
  lua_pop(lua, 1);
  push_script_value(lua, value);
  if (lua_istable(lua, -1)) protect_table(lua, "this table", false);
  return 1;
}

int install_in_new_state(lua_State* lua) {
  install_globals(lua);
  return 0;
}

int push_defined(lua_State* lua) {
  const std::string_view& name = *static_cast<const std::string_view*>(lua_touserdata(lua, 1));
  lua_getfield(lua, LUA_REGISTRYINDEX, kDefinedTable);
  lua_pushlstring(lua, name.data(), name.size());
  lua_rawget(lua, -2);
  return 1;
}

std::string refusal_text(const ScriptBudget& budget) {
  switch (budget.refusal) {
    case Refusal::kText: return fmt::format("a text longer than {} bytes", budget.limits.longest_text);
    case Refusal::kStack: return "calls nested too deep, or with too many arguments";
    case Refusal::kMachine: return "there is not enough memory";
    default: return fmt::format("more than {} bytes of memory", budget.limits.memory);
  }
}

struct ProtectedCall {
  int (*body)(lua_State*);
  void* data;
};

// Takes a ProtectedCall.
int call_protected(lua_State* lua) {
  const ProtectedCall call = *static_cast<const ProtectedCall*>(lua_touserdata(lua, 1));
  lua_pushlightuserdata(lua, call.data);
  lua_replace(lua, 1);
  return call_within_memory(lua, call.body);
}

// Upvalues: what the function finds as its own, and the function.
int call_native(lua_State* lua) { return call_within_memory(lua, lua_tocfunction(lua, lua_upvalueindex(2))); }

struct CallRequest {
  std::string_view function;
  std::span<const ScriptValue> arguments;
};

int push_call(lua_State* lua) {
  const CallRequest& request = *static_cast<const CallRequest*>(lua_touserdata(lua, 1));
  lua_getfield(lua, LUA_REGISTRYINDEX, kDefinedTable);
  lua_pushlstring(lua, request.function.data(), request.function.size());
  lua_rawget(lua, -2);
  lua_newtable(lua);
  lua_Integer index = 0;
  for (const ScriptValue& argument : request.arguments) {
    push_script_value(lua, argument);
    lua_rawseti(lua, -2, ++index);
  }
  return 2;
}

}  // namespace

struct ScriptHost::Registered {
  std::string name;
  Function function;
  // Kept here while Lua may jump: nothing that owns memory is then on the C stack.
  std::string failure;
  ScriptValue value;
};

// Upvalue: the Registered. Everything that owns memory is gone or in it before Lua may raise an error.
int ScriptHost::call_registered(lua_State* lua) {
  auto* const self = static_cast<Registered*>(lua_touserdata(lua, lua_upvalueindex(1)));
  self->failure.clear();
  {
    Status failed;
    std::vector<ScriptValue> arguments;
    for (int i = 1; i <= lua_gettop(lua) && failed.ok(); ++i) {
      Result<ScriptValue> argument = read_script_value(lua, i);
      if (argument.ok()) {
        arguments.push_back(*std::move(argument));
      } else {
        failed = std::move(argument).status().prefixed(fmt::format("argument {} of {}()", i, self->name));
      }
    }
    if (failed.ok()) {
      Result<ScriptValue> result = self->function(arguments);
      if (result.ok()) {
        self->value = *std::move(result);
      } else {
        failed = std::move(result).status();
      }
    }
    if (!failed.ok()) {
      self->failure = failed.message();
      if (!failed.hint().empty()) self->failure += fmt::format(" ({})", failed.hint());
    }
  }
  if (!self->failure.empty()) {
    push_place(lua);
    lua_pushlstring(lua, self->failure.data(), self->failure.size());
    lua_concat(lua, 2);
    return lua_error(lua);
  }
  push_script_value(lua, self->value);
  return 1;
}

Result<std::unique_ptr<ScriptHost>> ScriptHost::open(const ScriptLimits& limits) {
  std::unique_ptr<ScriptHost> host(new ScriptHost());
  host->budget_ =
      std::make_unique<ScriptBudget>(ScriptBudget{.limits = limits, .left_in_all = limits.instructions_in_all});
  host->lua_ = lua_newstate(allocate_within_budget, host->budget_.get());
  if (host->lua_ == nullptr) {
    return Status(Code::kInvalid, fmt::format("{} bytes are not enough for a script", limits.memory));
  }
  *static_cast<ScriptBudget**>(lua_getextraspace(host->lua_)) = host->budget_.get();
  BERTH_TRY(host->protect(install_in_new_state, nullptr));
  return host;
}

ScriptHost::~ScriptHost() {
  if (lua_ != nullptr) lua_close(lua_);
}

Status ScriptHost::protect(int (*body)(lua_State*), void* data) {
  // Neither of these allocates: a light function, a light pointer.
  ProtectedCall call{body, data};
  lua_pushcfunction(lua_, call_protected);
  lua_pushlightuserdata(lua_, &call);
  if (lua_pcall(lua_, 1, LUA_MULTRET, 0) == LUA_OK) return {};
  const char* const text = lua_tostring(lua_, -1);
  Status failed(Code::kInvalid, told(text == nullptr ? "unknown error" : text));
  lua_pop(lua_, 1);
  return failed;
}

Status ScriptHost::run(int (*body)(lua_State*), void* data) {
  ProtectedCall call{body, data};
  lua_pushcfunction(lua_, call_protected);
  lua_pushlightuserdata(lua_, &call);
  return call_on_stack(1, 0);
}

Status ScriptHost::add_global(std::string_view table, std::string_view name, int (*push)(lua_State*), void* data) {
  GlobalRequest request{.table = table, .name = name, .push = push, .data = data};
  return protect(put_global, &request);
}

Status ScriptHost::add_function(std::string_view table, std::string_view name, Function function) {
  auto registered = std::make_unique<Registered>();
  registered->name = table.empty() ? std::string(name) : fmt::format("{}.{}", table, name);
  registered->function = std::move(function);
  functions_.push_back(std::move(registered));
  return add_global(
      table, name,
      [](lua_State* lua) {
        lua_pushcfunction(lua, call_registered);
        lua_pushcclosure(lua, call_native, 2);
        return 1;
      },
      functions_.back().get());
}

Status ScriptHost::add_native(std::string_view table, std::string_view name, int (*function)(lua_State*), void* data) {
  struct Native {
    int (*function)(lua_State*);
    void* data;
  };
  Native native{function, data};
  return add_global(
      table, name,
      [](lua_State* lua) {
        const Native& given = *static_cast<const Native*>(lua_touserdata(lua, -1));
        lua_pop(lua, 1);
        lua_pushlightuserdata(lua, given.data);
        lua_pushcfunction(lua, given.function);
        lua_pushcclosure(lua, call_native, 2);
        return 1;
      },
      &native);
}

Status ScriptHost::add_value(std::string_view table, std::string_view name, const ScriptValue& value) {
  ScriptValue copy = value;
  return add_global(table, name, push_protected_value, &copy);
}

std::string ScriptHost::told(std::string_view text) const {
  // The innermost position is last: where it happened.
  for (;;) {
    const std::string_view rest = after_position(text, short_name_);
    if (after_position(rest, short_name_).empty()) break;
    text = rest;
  }
  if (!text.starts_with(short_name_)) return fmt::format("{}: {}", name_, plain_line(text, kLongestScriptError));
  return name_ + plain_line(text.substr(short_name_.size()), kLongestScriptError);
}

Status ScriptHost::load(std::string_view name, std::string_view source) {
  name_ = plain_line(name, kLongestScriptError);
  short_name_ = short_name_of(name_);
  if (source.size() > kMostSource) {
    return Status(Code::kInvalid,
                  fmt::format("{}: a script of {} bytes; at most {} are read", name, source.size(), kMostSource));
  }
  const std::string chunk = "=" + short_name_;
  if (luaL_loadbufferx(lua_, source.data(), source.size(), chunk.c_str(), "t") != LUA_OK) {
    const std::string text = lua_tostring(lua_, -1);
    lua_pop(lua_, 1);
    if (text.find("attempt to load a binary chunk") != std::string::npos) {
      return Status(Code::kInvalid, fmt::format("{}: this is bytecode; expected the text of a script", name_));
    }
    return Status(Code::kInvalid, told(text));
  }
  // The chunk's only upvalue is its environment.
  lua_getfield(lua_, LUA_REGISTRYINDEX, kEnvironment);
  lua_setupvalue(lua_, -2, 1);
  const Status run = call_on_stack(0, 0);
  budget_->is_frozen = true;
  return run;
}

Status ScriptHost::call_on_stack(int arguments, int results) {
  const int base = lua_gettop(lua_) - arguments;
  lua_pushcfunction(lua_, add_position);
  lua_insert(lua_, base);
  begin_budget(lua_);
  const int outcome = lua_pcall(lua_, arguments, results, base);
  end_budget(*budget_);
  lua_remove(lua_, base);
  if (outcome == LUA_OK) return {};
  std::string text = "unknown error";
  if (budget_->overrun != Overrun::kNone) {
    text = budget_->reason.data();
  } else if (std::size_t length = 0; const char* const message = lua_tolstring(lua_, -1, &length)) {
    text.assign(message, length);
  }
  if (outcome == LUA_ERRMEM && budget_->overrun == Overrun::kNone) text = refusal_text(*budget_);
  lua_pop(lua_, 1);
  // What it left is garbage; the next call starts with room.
  if (outcome == LUA_ERRMEM) lua_gc(lua_, LUA_GCCOLLECT);
  return Status(Code::kInvalid, told(text));
}

bool ScriptHost::defines(std::string_view function) const {
  lua_pushcfunction(lua_, push_defined);
  lua_pushlightuserdata(lua_, &function);
  const bool is_found = lua_pcall(lua_, 1, 1, 0) == LUA_OK && lua_isfunction(lua_, -1);
  lua_pop(lua_, 1);
  return is_found;
}

std::vector<std::string> ScriptHost::functions() const {
  // Reads texts only: no Lua error.
  std::vector<std::string> names;
  lua_getfield(lua_, LUA_REGISTRYINDEX, kDefinedTable);
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    if (lua_type(lua_, -2) == LUA_TSTRING && lua_isfunction(lua_, -1)) names.emplace_back(lua_tostring(lua_, -2));
    lua_pop(lua_, 1);
  }
  lua_pop(lua_, 1);
  std::ranges::sort(names);
  return names;
}

Result<ScriptValue> ScriptHost::global(std::string_view name) const {
  lua_pushcfunction(lua_, push_defined);
  lua_pushlightuserdata(lua_, &name);
  if (lua_pcall(lua_, 1, 1, 0) != LUA_OK) {
    lua_pop(lua_, 1);
    return Status(Code::kInvalid, fmt::format("{}: no memory is left", name_));
  }
  Result<ScriptValue> value = read_script_value(lua_, -1);
  lua_pop(lua_, 1);
  if (!value.ok()) return std::move(value).status().prefixed(fmt::format("{}: {}", name_, name));
  return value;
}

Result<ScriptValue> ScriptHost::call(std::string_view function, std::span<const ScriptValue> arguments) {
  if (!defines(function)) {
    return Status(Code::kNotFound, fmt::format("{} defines no function '{}'", name_, function));
  }
  CallRequest request{.function = function, .arguments = arguments};
  const int base = lua_gettop(lua_);
  BERTH_TRY(protect(push_call, &request));
  const int table = base + 2;
  if (lua_checkstack(lua_, static_cast<int>(arguments.size()) + 4) == 0) {
    lua_settop(lua_, base);
    return Status(Code::kInvalid, "too many arguments");
  }
  for (std::size_t i = 1; i <= arguments.size(); ++i) lua_rawgeti(lua_, table, static_cast<lua_Integer>(i));
  lua_remove(lua_, table);
  BERTH_TRY(call_on_stack(static_cast<int>(arguments.size()), 1));
  Result<ScriptValue> value = read_script_value(lua_, -1);
  lua_settop(lua_, base);
  if (!value.ok()) return std::move(value).status().prefixed(fmt::format("{}: result of {}()", name_, function));
  return value;
}

void ScriptHost::refill() { budget_->left_in_all = budget_->limits.instructions_in_all; }

ScriptUse ScriptHost::use() const { return {.memory = budget_->memory, .peak = budget_->peak}; }

}  // namespace berth
