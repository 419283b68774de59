#include "engine/lua/budget.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <lua.hpp>

#include "engine/base/out_of_memory.h"

namespace berth {

namespace {

bool is_interrupted(const ScriptBudget& budget) {
  return budget.limits.interrupt != nullptr && budget.limits.interrupt->load(std::memory_order_relaxed);
}

bool is_late(const ScriptBudget& budget) {
  return budget.limits.wall.count() > 0 && std::chrono::steady_clock::now() >= budget.deadline;
}

// `place`: "night.lua:12: ", or nothing.
void say_overrun(ScriptBudget& budget, Overrun kind, const char* place) {
  budget.overrun = kind;
  char words[80] = "interrupted";
  if (kind == Overrun::kTime) {
    std::snprintf(words, sizeof words, "took longer than %lld ms", static_cast<long long>(budget.limits.wall.count()));
  } else if (kind == Overrun::kInstructions && budget.left >= 0) {
    std::snprintf(words, sizeof words, "used more than %lld instructions in all",
                  static_cast<long long>(budget.limits.instructions_in_all));
  } else if (kind == Overrun::kInstructions) {
    std::snprintf(words, sizeof words, "used more than %lld instructions",
                  static_cast<long long>(budget.limits.instructions));
  }
  std::snprintf(budget.reason.data(), budget.reason.size(), "%s%s", place, words);
}

void note_overrun(lua_State* lua, ScriptBudget& budget, Overrun kind) {
  lua_Debug at{};
  char place[LUA_IDSIZE + 16] = "?:0: ";
  if (find_line(lua, 0, at)) std::snprintf(place, sizeof place, "%s:%d: ", at.short_src, at.currentline);
  say_overrun(budget, kind, place);
}

bool is_used_up(const ScriptBudget& budget) { return budget.left < 0 || budget.left_in_all < 0; }

// Takes instructions off; true when something is used up.
bool take(lua_State* lua, ScriptBudget& budget, std::int64_t instructions) {
  if (budget.overrun != Overrun::kNone) return true;
  budget.left -= instructions;
  budget.left_in_all -= instructions;
  if (is_used_up(budget)) {
    note_overrun(lua, budget, Overrun::kInstructions);
    return true;
  }
  if (is_interrupted(budget)) {
    note_overrun(lua, budget, Overrun::kInterrupt);
    return true;
  }
  if (budget.limits.wall.count() == 0 || (budget.unwatched += instructions) < kBudgetSlice) return false;
  budget.unwatched = 0;
  if (!is_late(budget)) return false;
  note_overrun(lua, budget, Overrun::kTime);
  return true;
}

void watch_budget(lua_State* lua, lua_Debug*) {
  if (take(lua, budget_of(lua), kBudgetSlice)) raise_overrun(lua);
}

// Calls copy what they pass on: with a large stack a single instruction would take long.
constexpr std::int64_t kLargestStack = 256 << 10;

// What Lua looks through in one instruction when it is this large.
constexpr std::int64_t kLargeBlock = 8 << 10;

std::int64_t large_part(std::int64_t size) { return size >= kLargeBlock ? size : 0; }

// Lua does not say for what it asks. What is no object, not a table's array (two to some power of values) and not its
// hash (of nodes) is a stack, or a text being put together.
bool may_be_stack(std::int64_t size) {
  constexpr std::int64_t kValue = 16;
  constexpr std::int64_t kNode = 24;
  const auto is_run_of = [&](std::int64_t item) {
    return size % item == 0 && std::has_single_bit(static_cast<std::uint64_t>(size / item));
  };
  return !is_run_of(kValue) && !is_run_of(kNode);
}

// Is there an overrun to be noted before so much is made anew? Texts are paid for as they are made.
bool stop_at_large_block(ScriptBudget& budget, bool is_text) {
  Overrun kind = Overrun::kNone;
  if (budget.left < 0 && !is_text) kind = Overrun::kInstructions;
  if (budget.is_called && kind == Overrun::kNone && is_interrupted(budget)) kind = Overrun::kInterrupt;
  if (budget.is_called && kind == Overrun::kNone && is_late(budget)) kind = Overrun::kTime;
  if (kind == Overrun::kNone) return false;
  if (budget.overrun == Overrun::kNone) say_overrun(budget, kind, "");
  return true;
}

// Part of a table, a stack or a buffer, not an object.
bool is_block(const void* block, std::size_t old_size) { return block != nullptr || old_size == 0; }

}  // namespace

ScriptBudget& budget_of(lua_State* lua) { return **static_cast<ScriptBudget**>(lua_getextraspace(lua)); }

void begin_budget(lua_State* lua) {
  ScriptBudget& budget = budget_of(lua);
  budget.left = budget.limits.instructions;
  budget.is_called = true;
  budget.overrun = Overrun::kNone;
  if (budget.limits.wall.count() > 0) budget.deadline = std::chrono::steady_clock::now() + budget.limits.wall;
  lua_sethook(lua, watch_budget, LUA_MASKCOUNT, kBudgetSlice);
}

void end_budget(ScriptBudget& budget) {
  budget.left = kNoCall;
  budget.is_called = false;
  // What the hook has not counted yet.
  budget.left_in_all -= std::min<std::int64_t>(kBudgetSlice / 4, budget.limits.instructions);
}

bool find_line(lua_State* lua, int level, lua_Debug& at) {
  for (; lua_getstack(lua, level, &at) != 0; ++level) {
    lua_getinfo(lua, "Sl", &at);
    if (at.currentline > 0) return true;
  }
  return false;
}

void charge(lua_State* lua, std::int64_t instructions) {
  if (take(lua, budget_of(lua), instructions)) raise_overrun(lua);
}

void look_at_clock(lua_State* lua) {
  ScriptBudget& budget = budget_of(lua);
  if (budget.overrun == Overrun::kNone && is_interrupted(budget)) note_overrun(lua, budget, Overrun::kInterrupt);
  if (budget.overrun == Overrun::kNone && is_late(budget)) note_overrun(lua, budget, Overrun::kTime);
  if (budget.overrun != Overrun::kNone) raise_overrun(lua);
}

int raise_overrun(lua_State* lua) {
  lua_sethook(lua, watch_budget, LUA_MASKCOUNT | LUA_MASKLINE, 1);
  lua_pushstring(lua, budget_of(lua).reason.data());
  return lua_error(lua);
}

int call_within_memory(lua_State* lua, int (*function)(lua_State*)) {
  int results = 0;
  if (!has_memory_for([&] { results = function(lua); })) return luaL_error(lua, "there is not enough memory");
  return results;
}

void* allocate_within_budget(void* of, void* block, std::size_t old_size, std::size_t new_size) {
  ScriptBudget& budget = *static_cast<ScriptBudget*>(of);
  // For a new object old_size says what it is.
  const bool is_text = block == nullptr && old_size == LUA_TSTRING;
  const auto before = block == nullptr ? 0 : static_cast<std::int64_t>(old_size);
  const auto after = static_cast<std::int64_t>(new_size);
  if (new_size == 0) {
    budget.memory -= before;
    budget.large_blocks -= large_part(before);
    std::free(block);
    return nullptr;
  }
  if (after > before) {
    constexpr std::int64_t kHeader = 64;
    Refusal refusal = Refusal::kNone;
    if (is_text && after > budget.limits.longest_text + kHeader) refusal = Refusal::kText;
    if (block == nullptr && old_size == 0 && after > budget.limits.longest_text + kLargestStack && may_be_stack(after))
      refusal = Refusal::kStack;
    if (budget.memory + after - before > budget.limits.memory) refusal = Refusal::kMemory;
    // The hook looks each thousand instructions only, in which a table could be filled anew, or a long text copied,
    // hundreds of times.
    if (after >= kLargeBlock && (is_text || is_block(block, old_size)) && stop_at_large_block(budget, is_text))
      return nullptr;
    if (refusal != Refusal::kNone) {
      budget.refusal = refusal;
      budget.left -= budget.limits.instructions / 20;
      budget.left_in_all -= budget.limits.instructions / 20;
      return nullptr;
    }
  }
  // A long text is copied and a growing table is filled anew, which no instruction tells.
  if (after > before) {
    const std::int64_t cost = is_text ? after / 32 : is_block(block, old_size) ? after / 64 : 0;
    budget.left -= cost;
    budget.left_in_all -= cost;
  }
  void* const result = std::realloc(block, new_size);
  if (result == nullptr) {
    budget.refusal = Refusal::kMachine;
    return nullptr;
  }
  budget.memory += after - before;
  budget.large_blocks += large_part(after) - large_part(before);
  budget.peak = std::max(budget.peak, budget.memory);
  return result;
}

}  // namespace berth
