// What a script may use up: instructions, memory, and for some a time on the clock.
//
// Instructions are counted by Lua's count hook, a thousand at a time, so equal calls end equally everywhere; what costs
// more than instructions tell (long texts, sorting, moving tables, coroutines) is charged on top. Memory is counted by
// the allocator; beyond the cap Lua gets none, and each refusal is charged, so that a script cannot live on them. Once
// over, the hook fires at every line again: no pcall swallows it (globals.cpp's rethrow too).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "engine/lua/host.h"

struct lua_Debug;
struct lua_State;

namespace berth {

// Why memory was refused last.
enum class Refusal : std::uint8_t { kNone, kMemory, kText, kStack, kMachine };

enum class Overrun : std::uint8_t { kNone, kInstructions, kTime, kInterrupt };

// Of ScriptBudget::left while nothing is called.
inline constexpr std::int64_t kNoCall = INT64_MAX / 2;

// One a host; found from any of its Lua threads.
struct ScriptBudget {
  ScriptLimits limits;
  std::int64_t left = kNoCall;   // instructions of this call
  std::int64_t left_in_all = 0;  // of all calls
  std::int64_t unwatched = 0;    // taken since the clock was looked at
  std::int64_t memory = 0;       // bytes
  std::int64_t peak = 0;
  std::int64_t large_blocks = 0;  // bytes of memory in blocks of 8 KiB and more
  Overrun overrun = Overrun::kNone;
  std::array<char, 240> reason{};  // with script and line, once over
  std::chrono::steady_clock::time_point deadline{};
  Refusal refusal = Refusal::kNone;
  bool is_called = false;  // a call runs
  bool is_frozen = false;  // globals are
};

// Instructions between two looks at the budget.
inline constexpr int kBudgetSlice = 1000;

ScriptBudget& budget_of(lua_State* lua);
// A call begins: its budget is full, its hook is set.
void begin_budget(lua_State* lua);
// It has ended.
void end_budget(ScriptBudget& budget);
// Takes `instructions` off the budget; raises a Lua error when it is used up.
void charge(lua_State* lua, std::int64_t instructions);
// Raises the error of an overrun when the time is over or the script is to end, whatever has been charged.
void look_at_clock(lua_State* lua);

// Long work in C, step by step. What it costs is charged before, all at once; a script without a limit of instructions
// can pay any price, so the work itself looks at the clock. No hook is called inside C.
class WatchedWork {
 public:
  explicit WatchedWork(lua_State* lua) : lua_(lua) {}
  // May raise a Lua error.
  void step() {
    if (++steps_ % kBudgetSlice == 0) look_at_clock(lua_);
  }

 private:
  lua_State* lua_;
  std::int64_t steps_ = 0;
};

// The innermost line of the script from that level of the stack on; false when there is none.
bool find_line(lua_State* lua, int level, lua_Debug& at);
// Raises the error of an overrun again.
int raise_overrun(lua_State* lua);
// Calls a function of ours for Lua: where it runs out of memory that is an error of the script.
int call_within_memory(lua_State* lua, int (*function)(lua_State*));
// lua_Alloc of a state; `budget` is a ScriptBudget.
void* allocate_within_budget(void* budget, void* block, std::size_t old_size, std::size_t new_size);

}  // namespace berth
