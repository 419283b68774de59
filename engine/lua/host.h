// A fenced Lua state: runs text that somebody else wrote, and nothing that it does reaches further than what it is
// given.
//
//   what it sees     an allow-list: plain functions, math, string, table, coroutine, and what add_function() gives.
//                    No files, clock, chance, bytecode, metatables or raw access; pairs() goes by key, so a script
//                    does the same every time.
//   what it may use  instructions, memory and perhaps time (ScriptLimits); no pcall swallows an overrun.
//   what it changes  its own tables. Its globals are frozen once it has been loaded, ours always.
//
// Errors are values: "night.lua:12: attempt to ...". One thread at a time. Errors of Lua itself jump over C++ frames:
// functions that Lua calls own nothing that needs a destructor when they raise one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/lua/value.h"

namespace berth {

struct ScriptLimits {
  std::int64_t memory = std::int64_t{16} << 20;        // bytes, of everything the script holds
  std::int64_t instructions = 1'000'000;               // of each call; loading is one
  std::int64_t instructions_in_all = INT64_MAX;        // of all calls; a call counts as 250 at least
  std::int64_t longest_text = std::int64_t{64} << 10;  // bytes
  std::int64_t pattern_steps = 1'000'000;              // that a pattern may take at worst
  std::chrono::milliseconds wall{0};                   // of each call; 0 = not looked at
  const std::atomic<bool>* interrupt = nullptr;        // once it is set, the script ends
};

// Bytes of an error, besides the script's name.
inline constexpr std::size_t kLongestScriptError = 2000;

struct ScriptUse {
  std::int64_t memory = 0;  // bytes now
  std::int64_t peak = 0;
};

struct ScriptBudget;

class ScriptHost {
 public:
  // A function for scripts. What it returns is one value for the script; an error is raised there, with script and
  // line.
  using Function = std::function<Result<ScriptValue>(const std::vector<ScriptValue>& arguments)>;

  static Result<std::unique_ptr<ScriptHost>> open(const ScriptLimits& limits);
  ~ScriptHost();
  ScriptHost(const ScriptHost&) = delete;
  ScriptHost& operator=(const ScriptHost&) = delete;

  // Before load(). `table` "" = a global function, else a global table's: ("berth", "query").
  Status add_function(std::string_view table, std::string_view name, Function function);
  // A function in C, for what takes functions or calls them; `data` is its upvalue, a light pointer. It raises Lua
  // errors, so it owns nothing that needs a destructor.
  Status add_native(std::string_view table, std::string_view name, int (*function)(lua_State*), void* data);
  // Before load(): a global that scripts cannot assign to, or a field of such a table.
  Status add_value(std::string_view name, const ScriptValue& value) { return add_value("", name, value); }
  Status add_value(std::string_view table, std::string_view name, const ScriptValue& value);

  // Runs the whole text once, under a call's budget; its globals are frozen afterwards. Bytecode is refused. `name`
  // stands in errors.
  Status load(std::string_view name, std::string_view source);

  // A global function that the script has defined?
  bool defines(std::string_view function) const;
  // Names of all of them, sorted.
  std::vector<std::string> functions() const;
  // A global that the script has defined; nil when it has not.
  Result<ScriptValue> global(std::string_view name) const;
  Result<ScriptValue> call(std::string_view function, std::span<const ScriptValue> arguments);

  ScriptUse use() const;
  // The budget of all calls is full again.
  void refill();

  // For those who bind their own views: the state, and `body(state, data)` with errors caught, those of Lua and memory
  // that runs out; outside of calls, or as one under a full budget.
  lua_State* state() const { return lua_; }
  Status protect(int (*body)(lua_State*), void* data);
  Status run(int (*body)(lua_State*), void* data);

 private:
  struct Registered;
  ScriptHost() = default;
  static int call_registered(lua_State* lua);
  // The function and arguments on the stack under a full budget; leaves `results` values, or none and the error.
  Status call_on_stack(int arguments, int results);
  Status add_global(std::string_view table, std::string_view name, int (*push)(lua_State*), void* data);

  // "night.lua:3: what was wrong": one position, the script's whole name, one line of bounded length.
  std::string told(std::string_view text) const;

  std::string name_ = "script";
  std::string short_name_ = name_;  // as Lua's own messages have it
  std::unique_ptr<ScriptBudget> budget_;
  lua_State* lua_ = nullptr;
  std::vector<std::unique_ptr<Registered>> functions_;
};

}  // namespace berth
