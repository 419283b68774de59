#include "engine/lua/script_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <lua.hpp>
#include <numeric>

#include "engine/base/plain_text.h"
#include "engine/lua/hook_views.h"
#include "engine/policy/registry.h"

namespace berth {

namespace {

constexpr int kMostKeys = 8;
constexpr std::size_t kLongestReason = 200;  // bytes

// The key of one job: numbers, of which those left out are 0.
struct ScriptKey {
  std::array<double, kMostKeys> numbers{};
  bool holds_back = false;
};

struct OrderCall {
  PolicyScript& script;
  const OrderInput& input;
  const Job& job;
  ScriptKey key = {};
  std::array<char, 2 * kLongestReason> words{};
  std::size_t word_bytes = 0;
};

double checked_key(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TNUMBER)
    luaL_error(lua, "order() gives a %s in place of a number", luaL_typename(lua, index));
  const double number = lua_tonumber(lua, index);
  if (std::isnan(number)) luaL_error(lua, "order() gives a number that is none: 0/0");
  return number;
}

int ask_order(lua_State* lua) {
  OrderCall& call = *static_cast<OrderCall*>(lua_touserdata(lua, 1));
  call.script.push_hook(lua, Hook::kOrder);
  call.script.views().push_job(lua, call.input, call.job);
  call.script.views().push_queue(lua, call.input, call.job.queue);
  call.script.views().push_round(lua, call.input);
  lua_call(lua, 3, 2);
  const int result = lua_gettop(lua) - 1;
  if (lua_isnil(lua, result)) {
    call.key.holds_back = true;
    if (lua_type(lua, result + 1) != LUA_TSTRING)
      return luaL_error(lua, "order() gives nil without a reason: expected nil, \"why\"");
    std::size_t length = 0;
    const char* const words = lua_tolstring(lua, result + 1, &length);
    call.word_bytes = std::string_view(words, length).copy(call.words.data(), call.words.size());
  } else if (lua_istable(lua, result)) {
    const auto count = static_cast<int>(luaL_len(lua, result));
    if (count < 1 || count > kMostKeys)
      return luaL_error(lua, "order() gives a list of %d numbers; 1 to 8 are compared", count);
    for (int i = 0; i < count; ++i) {
      lua_geti(lua, result, i + 1);
      call.key.numbers[static_cast<std::size_t>(i)] = checked_key(lua, -1);
      lua_pop(lua, 1);
    }
  } else {
    call.key.numbers[0] = checked_key(lua, result);
  }
  return 0;
}

class ScriptSequence : public JobSequence {
 public:
  std::optional<std::int32_t> next() override {
    if (fallback_) return fallback_->next();
    return at_ < order_.size() ? std::optional(order_[at_++]) : std::nullopt;
  }
  std::span<const HeldBack> held_back() const override { return held_back_; }
  std::string failure() const override { return failure_; }

  std::vector<std::int32_t> order_;
  std::vector<HeldBack> held_back_;
  std::string failure_;
  // When the script failed.
  std::unique_ptr<QueueOrder> default_order_;
  std::unique_ptr<JobSequence> fallback_;

 private:
  std::size_t at_ = 0;
};

void fall_back(ScriptSequence& sequence, const OrderInput& input, const Status& failed) {
  sequence.failure_ =
      failed.hint().empty() ? failed.message() : fmt::format("{} ({})", failed.message(), failed.hint());
  sequence.held_back_.clear();
  sequence.default_order_ = *make_order(kDefaultOrder);
  sequence.fallback_ = sequence.default_order_->begin(input);
}

std::string reason_of(const OrderCall& call) {
  return plain_line({call.words.data(), call.word_bytes}, kLongestReason);
}

}  // namespace

ScriptOrder::ScriptOrder(Result<std::unique_ptr<PolicyScript>> script) : script_(std::move(script)) {}

std::unique_ptr<JobSequence> ScriptOrder::begin(const OrderInput& input) const {
  auto sequence = std::make_unique<ScriptSequence>();
  holds_back_ = false;
  if (!script_.ok()) {
    fall_back(*sequence, input, script_.status());
    return sequence;
  }
  PolicyScript& script = **script_;
  script.host().refill();
  std::vector<ScriptKey> keys(input.jobs.size());
  for (std::size_t i = 0; i < input.jobs.size(); ++i) {
    OrderCall call{.script = script, .input = input, .job = input.jobs[i]};
    if (const Status asked = script.call(ask_order, &call); !asked.ok()) {
      fall_back(*sequence, input, asked);
      return sequence;
    }
    keys[i] = call.key;
    if (call.key.holds_back)
      sequence->held_back_.push_back({static_cast<std::int32_t>(i), reason_of(call)});
    else
      sequence->order_.push_back(static_cast<std::int32_t>(i));
  }
  holds_back_ = !sequence->held_back_.empty();
  std::ranges::sort(sequence->order_, [&](std::int32_t a, std::int32_t b) {
    const auto left = static_cast<std::size_t>(a);
    const auto right = static_cast<std::size_t>(b);
    if (keys[left].numbers != keys[right].numbers) return keys[left].numbers < keys[right].numbers;
    return std::pair(input.jobs[left].submit, input.jobs[left].id) <
           std::pair(input.jobs[right].submit, input.jobs[right].id);
  });
  return sequence;
}

std::vector<std::int32_t> ScriptOrder::order(const OrderInput& input) const {
  const std::unique_ptr<JobSequence> sequence = begin(input);
  std::vector<std::int32_t> order;
  while (const std::optional<std::int32_t> job = sequence->next()) order.push_back(*job);
  for (const HeldBack& held : sequence->held_back()) order.push_back(held.job);
  return order;
}

std::optional<Seconds> ScriptOrder::changes_at(const OrderInput& input) const {
  constexpr std::int64_t kMinute = 60;
  if (!holds_back_) return std::nullopt;
  return Seconds((input.now.value() / kMinute + 1) * kMinute);
}

}  // namespace berth
