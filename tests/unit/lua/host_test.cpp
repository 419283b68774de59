#include "engine/lua/host.h"

#include <gtest/gtest.h>

#include <atomic>
#include <lua.hpp>

namespace berth {
namespace {

std::unique_ptr<ScriptHost> host_with(const ScriptLimits& limits = {}) {
  Result<std::unique_ptr<ScriptHost>> host = ScriptHost::open(limits);
  EXPECT_TRUE(host.ok()) << host.status().message();
  return *std::move(host);
}

ScriptValue number(std::int64_t value) { return ScriptValue{value}; }

TEST(ScriptHost, CallsWhatAScriptDefines) {
  const auto host = host_with();
  ASSERT_TRUE(host->load("sum.lua", "local base = 40\nfunction add(a, b) return base + a * b end\nname = 'sum'").ok());
  EXPECT_TRUE(host->defines("add"));
  EXPECT_FALSE(host->defines("name"));
  EXPECT_FALSE(host->defines("print"));
  const std::vector<ScriptValue> arguments{number(1), number(2)};
  const Result<ScriptValue> result = host->call("add", arguments);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(*result->get<std::int64_t>(), 42);
  EXPECT_EQ(*host->global("name")->get<std::string>(), "sum");
  EXPECT_EQ(host->call("subtract", {}).status().message(), "sum.lua defines no function 'subtract'");
}

TEST(ScriptHost, ErrorsNameScriptAndLine) {
  EXPECT_EQ(host_with()->load("a.lua", "local x = 1\nlocal y = x.z.q").message(),
            "a.lua:2: attempt to index a number value (local 'x')");
  EXPECT_EQ(host_with()->load("a.lua", "x = = 1").message(), "a.lua:1: unexpected symbol near '='");
  EXPECT_EQ(host_with()->load("a.lua", "\nerror('no', 0)").message(), "a.lua:2: no");
  EXPECT_EQ(host_with()->load("a.lua", "\n\nerror({})").message(), "a.lua:3: error object is a table; expected a text");
  EXPECT_EQ(host_with()->load("a.lua", "return ('x'):rep({})").message(),
            "a.lua:1: bad argument #1 to 'rep' (number expected, got table)");
  EXPECT_EQ(host_with()->load("a.lua", "return mth.floor(1)").message(),
            "a.lua:1: no variable or function named 'mth'; did you mean 'math'?");
  EXPECT_EQ(host_with()->load("a.lua", "return math.flor(1)").message(),
            "a.lua:1: math has no field 'flor'; did you mean 'floor'?");
}

TEST(ScriptHost, EndsWhenItIsInterrupted) {
  std::atomic<bool> interrupt{true};
  const ScriptLimits limits{.instructions = INT64_MAX, .interrupt = &interrupt};
  EXPECT_EQ(host_with(limits)->load("a.lua", "\nwhile true do pcall(error) end").message(), "a.lua:2: interrupted");
  interrupt = false;
  EXPECT_TRUE(host_with(limits)->load("a.lua", "for i = 1, 1e6 do end").ok());
}

TEST(ScriptHost, NativeFunctionsAndValuesInTables) {
  const auto host = host_with();
  int calls = 0;
  const auto twice = [](lua_State* lua) {
    ++*static_cast<int*>(lua_touserdata(lua, lua_upvalueindex(1)));
    lua_pushvalue(lua, 1);
    lua_call(lua, 0, 0);
    lua_pushvalue(lua, 1);
    lua_call(lua, 0, 0);
    return 0;
  };
  ASSERT_TRUE(host->add_native("berth", "twice", twice, &calls).ok());
  ASSERT_TRUE(host->add_value("berth", "args", ScriptValue{ScriptTable{.items = {number(7)}, .fields = {}}}).ok());
  const Status run = host->load("a.lua", "n = 0\nberth.twice(function() n = n + berth.args[1] end)");
  ASSERT_TRUE(run.ok()) << run.message();
  EXPECT_EQ(*host->global("n")->get<std::int64_t>(), 14);
  EXPECT_EQ(calls, 1);
}

// The line is told also when pcall calls the function.
TEST(ScriptHost, ErrorsOfFunctionsSayWhoseLineItWas) {
  const auto host = host_with();
  const auto refuse = [](const std::vector<ScriptValue>&) { return Result<ScriptValue>(Status(Code::kInvalid, "no")); };
  ASSERT_TRUE(host->add_function("", "refuse", refuse).ok());
  ASSERT_TRUE(host->load("a.lua", "local _\n_, said = pcall(refuse)").ok());
  EXPECT_EQ(*host->global("said")->get<std::string>(), "a.lua:2: no");
}

TEST(ScriptHost, FunctionsThatScriptsAreGiven) {
  const auto host = host_with();
  const auto query = [](const std::vector<ScriptValue>& arguments) -> Result<ScriptValue> {
    if (arguments.empty() || arguments[0].get<std::string>() == nullptr) {
      return Status(Code::kInvalid, "expected a query", "see HELP");
    }
    ScriptTable row;
    row.fields.push_back({"text", arguments[0]});
    row.fields.push_back({"wide", ScriptValue{true}});
    ScriptTable rows;
    rows.items.push_back(ScriptValue{std::move(row)});
    return ScriptValue{std::move(rows)};
  };
  ASSERT_TRUE(host->add_function("berth", "query", query).ok());
  ASSERT_TRUE(host->add_function("berth", "again", query).ok());
  ASSERT_TRUE(host->add_function("", "ask", query).ok());
  ASSERT_TRUE(host->add_value("args", ScriptValue{ScriptTable{.items = {number(7)}, .fields = {}}}).ok());
  const Status loaded = host->load("b.lua", R"lua(
    local rows = berth.query("jobs")
    assert(#rows == 1 and rows[1].text == "jobs" and rows[1].wide == true)
    assert(ask("x")[1].text == "x" and berth.again("y")[1].text == "y")
    assert(args[1] == 7 and #args == 1 and args[2] == nil)
    local fine, why = pcall(function() berth.query() end)
    assert(not fine and why == "b.lua:6: expected a query (see HELP)", why)
    assert(not pcall(function() berth.query = nil end))
    assert(not pcall(function() args[1] = 8 end)))lua");
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  EXPECT_EQ(host_with()->load("b.lua", "berth.query()").message(), "b.lua:1: no variable or function named 'berth'");
}

TEST(ScriptHost, TakesNoFunctionsOrOddKeysFromScripts) {
  const auto host = host_with();
  const auto take = [](const std::vector<ScriptValue>&) -> Result<ScriptValue> { return ScriptValue{}; };
  ASSERT_TRUE(host->add_function("", "take", take).ok());
  EXPECT_EQ(host->load("c.lua", "take({a = {1, 2, function() end}})").message(),
            "c.lua:1: argument 1 of take(): a: [3]: expected a number, text or table, not a function");
  EXPECT_EQ(host->load("c.lua", "take({[{}] = 1})").message(),
            "c.lua:1: argument 1 of take(): a key of type table; expected names, or 1, 2, 3 without holes");
  EXPECT_EQ(host->load("c.lua", "local t = {} t.t = t take(t)").message().substr(0, 32),
            "c.lua:1: argument 1 of take(): t");
}

// What depends on addresses or chance in Lua does not here.
TEST(ScriptHost, DoesTheSameEveryTime) {
  const std::string_view source = R"lua(
    local t = {}
    for i = 1, 200 do t["k" .. i] = i end
    t[3] = 'c' t[1] = 'a' t[2.5] = 'b' t[true] = 't'
    local keys = {}
    for k, v in pairs(t) do keys[#keys + 1] = tostring(k) .. '=' .. tostring(v) end
    local walked, k, v = {}, next(t)
    while k ~= nil do walked[#walked + 1] = tostring(k) .. '=' .. tostring(v) k, v = next(t, k) end
    assert(table.concat(keys, ' ') == table.concat(walked, ' '))
    text = table.concat(keys, ' ') .. tostring({}) .. tostring(print_) .. tostring(math.floor)
    local pairs_of = {}
    for i = 1, 1000 do pairs_of[i] = {i % 7, i} end
    table.sort(pairs_of, function(a, b) return a[1] < b[1] end)
    for i = 2, 1000 do
      local a, b = pairs_of[i - 1], pairs_of[i]
      assert(a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]), 'sort is stable')
    end
    local words = {'pear', 'fig', 'apple'}
    table.sort(words)
    assert(table.concat(words, ' ') == 'apple fig pear')
    for word in ('one two'):gmatch('%a+') do text = text .. word end)lua";
  std::string first;
  for (int run = 0; run < 3; ++run) {
    const auto host = host_with();
    const Status loaded = host->load("d.lua", std::string("print_ = 1\n") + std::string(source));
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    const std::string text = *host->global("text")->get<std::string>();
    if (run == 0) first = text;
    EXPECT_EQ(text, first);
  }
  EXPECT_TRUE(first.starts_with("true=t 1=a 2.5=b 3=c k1=1 k10=10 k100=100 k101=101 ")) << first;
  EXPECT_TRUE(first.ends_with("table1functiononetwo")) << first;
}

TEST(ScriptHost, OrdinaryLuaWorks) {
  const Status loaded = host_with()->load("e.lua", R"lua(
    local ok, message = pcall(error, 'x', 0)
    assert(not ok and message == 'x')
    assert(select('#', xpcall(function(...) return ... end, error, 1, 2)) == 3)
    local ok, handled = xpcall(function() error({code = 4}) end, function(e) return e.code + 1 end)
    assert(not ok and handled == 5)
    local numbers = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
    assert(numbers() == 1 and numbers() == 2 and numbers() == 3)
    local co = coroutine.create(function() pcall(coroutine.yield, 1) return 2 end)
    assert(select(2, coroutine.resume(co)) == 1 and select(2, coroutine.resume(co)) == 2)
    assert(not coroutine.resume(co) and coroutine.status(co) == 'dead')
    assert(('%s %d %5.2f'):format('a', 2, 3.14159) == 'a 2  3.14')
    assert(('a,b,c'):gsub(',', ';') == 'a;b;c' and ('ab'):byte(2) == 98 and ('ab'):rep(2, '-') == 'ab-ab')
    local t = {1, 2, 3}
    table.insert(t, 2, 9) table.remove(t, 1)
    assert(table.concat(t, ',') == '9,2,3' and table.unpack(t) == 9 and #table.pack(1, nil, 3) == 3)
    assert(table.concat(table.move({1, 2}, 1, 2, 3, {7, 8}), '') == '7812')
    local sum = 0
    for _, value in ipairs(t) do sum = sum + value end
    for key, value in pairs(string) do sum = sum + (key == 'rep' and 100 or 0) end
    assert(sum == 114 and tostring(nil) == 'nil' and tonumber('0x10') == 16 and #string == 0))lua");
  EXPECT_TRUE(loaded.ok()) << loaded.message();
}

TEST(ScriptHost, ABudgetForAllCalls) {
  const auto host = host_with({.instructions = 100'000, .instructions_in_all = 350'000});
  ASSERT_TRUE(host->load("f.lua", "function work() for i = 1, 45000 do end end").ok());
  int done = 0;
  Status status;
  while (done < 100 && (status = host->call("work", {}).status()).ok()) ++done;
  EXPECT_EQ(status.message(), "f.lua:1: used more than 350000 instructions in all");
  EXPECT_GE(done, 3);
  EXPECT_LE(done, 8);
}

}  // namespace
}  // namespace berth
