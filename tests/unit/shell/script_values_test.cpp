#include "shell/script_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shell/script_statement.h"

namespace berth {
namespace {

ScriptValue text(std::string value) { return ScriptValue{std::move(value)}; }
ScriptValue number(std::int64_t value) { return ScriptValue{value}; }
ScriptValue list(std::vector<ScriptValue> items) { return ScriptValue{ScriptTable{std::move(items), {}}}; }
ScriptValue fields(std::vector<ScriptField> named) { return ScriptValue{ScriptTable{{}, std::move(named)}}; }

const ScriptValue& field(const ScriptValue& value, std::string_view name) {
  const ScriptValue* const found = value.get<ScriptTable>()->find(name);
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

TEST(ScriptValues, TablesThereAndBack) {
  const ResultTable table{.title = "nodes",
                          .columns = {{"node"}, {"gpus"}, {"share"}},
                          .rows = {{"a1", std::int64_t{8}, 0.5}, {"a2", std::monostate(), 1.0}}};
  const ScriptValue value = script_value_of(table);
  const ScriptTable& rows = *value.get<ScriptTable>();
  ASSERT_EQ(rows.items.size(), 2U);
  EXPECT_EQ(*field(rows.items[0], "gpus").get<std::int64_t>(), 8);
  EXPECT_EQ(rows.items[1].get<ScriptTable>()->find("gpus"), nullptr);
  EXPECT_EQ(*field(value, "columns").get<ScriptTable>()->items[2].get<std::string>(), "share");
  const Result<ResultTable> back = table_of_script(value, {});
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->title, "nodes");
  EXPECT_EQ(back->columns[1].name, "gpus");
  EXPECT_EQ(back->rows, table.rows);
}

TEST(ScriptValues, AnswersForPrograms) {
  Output output;
  output.add({.title = "plan", .columns = {{"plan"}}, .rows = {{std::int64_t{7}}}}, Audience::kPrograms);
  output.add({.title = "short", .columns = {{"x"}}, .rows = {}}, Audience::kPeople);
  output.add({.title = "jobs", .columns = {{"job"}}, .rows = {{"bert"}}});
  output.add_note("plan 7");
  const ScriptValue answer = script_value_of(output);
  EXPECT_EQ(*field(answer, "plan").get<std::int64_t>(), 7);
  EXPECT_EQ(field(answer, "rows").get<ScriptTable>()->items.size(), 1U);
  EXPECT_EQ(field(answer, "tables").get<ScriptTable>()->find("short"), nullptr);
  EXPECT_EQ(*field(field(answer, "tables").get<ScriptTable>()->find("jobs")->get<ScriptTable>()->items[0], "job")
                 .get<std::string>(),
            "bert");
  EXPECT_EQ(*field(answer, "notes").get<ScriptTable>()->items[0].get<std::string>(), "plan 7");
}

TEST(ScriptValues, AsTextAndJson) {
  EXPECT_EQ(print_script_cell(number(-3)), "-3");
  EXPECT_EQ(print_script_cell(ScriptValue{2.0}), "2.0");
  EXPECT_EQ(print_script_cell(ScriptValue{1e300}), "1e+300");
  EXPECT_EQ(print_script_cell(ScriptValue{INFINITY}), "inf");
  EXPECT_EQ(print_script_cell({}), "nil");
  EXPECT_EQ(*script_value_to_json(list({})), "[]");
  EXPECT_EQ(*script_value_to_json(fields({{"a", list({number(1), {}})}, {"b", ScriptValue{0.5}}, {"c", text("x")}})),
            R"({"a":[1,null],"b":0.5,"c":"x"})");
  // Rows as a query answers them: NULL is there, columns in their order.
  ScriptTable rows;
  rows.items = {fields({{"a", number(1)}}), fields({{"a", number(2)}, {"b", text("x")}})};
  rows.fields = {{"columns", list({text("b"), text("a")})}, {"title", text("t")}};
  EXPECT_EQ(*script_value_to_json({rows}), R"([{"b":null,"a":1},{"b":"x","a":2}])");
  rows.items.clear();
  EXPECT_EQ(*script_value_to_json({rows}), "[]");
}

TEST(ScriptValues, WhatJsonCannotSay) {
  const auto refusal = [](const ScriptValue& value) { return script_value_to_json(value).status().message(); };
  EXPECT_EQ(refusal(fields({{"b", ScriptValue{NAN}}})), "b: JSON has no number nan");
  EXPECT_EQ(refusal(list({ScriptValue{-INFINITY}})), "item 1: JSON has no number -inf");
  EXPECT_EQ(refusal(fields({{"c", text("\xff")}})),
            "c: a text that is not UTF-8; hex(...) in the query makes one of it");
  ScriptTable both;
  both.items = {number(1)};
  both.fields = {{"name", number(2)}};
  EXPECT_EQ(refusal({both}), "a table is a list or has fields by name; this one has both, and a field 'name'");
}

TEST(ScriptStatement, ValuesAreFilledIn) {
  const auto filled = [](std::string_view statement, std::vector<ScriptValue> values) {
    const Result<std::string> result = fill_in(statement, values);
    return result.ok() ? *result : "error: " + result.status().message();
  };
  EXPECT_EQ(filled("DROP QUEUE ? ; -- ?", {text("it's; DROP QUEUE b")}), "DROP QUEUE 'it''s; DROP QUEUE b' ; -- ?");
  EXPECT_EQ(filled("ALTER QUEUE \"?\" SET QUOTA (A100 = ?, T4 = ?)", {number(8), ScriptValue{0.5}}),
            "ALTER QUEUE \"?\" SET QUOTA (A100 = 8, T4 = 0.5)");
  EXPECT_EQ(filled("SHOW QUEUES", {}), "SHOW QUEUES");
  EXPECT_EQ(filled("DROP QUEUE ?", {}), "error: the statement has 1 ?, and 0 values are given");
  EXPECT_EQ(filled("DROP QUEUE a", {number(1)}), "error: the statement has 0 ?, and 1 value is given");
  EXPECT_EQ(filled("DROP QUEUE ?", {{}}), "error: value 1: expected a text, a number or a boolean, not a nil");
  EXPECT_EQ(filled("DROP QUEUE ?", {list({})}), "error: value 1: expected a text, a number or a boolean, not a table");
}

TEST(ScriptStatement, TablesBecomeStatements) {
  const Result<std::string> simulate =
      simulate_statement_of(fields({{"backfill", text("easy")},
                                    {"by_queue", ScriptValue{true}},
                                    {"from", text("o'brien.csv")},
                                    {"into", text("night")},
                                    {"las_levels", list({text("3250s"), text("2h")})},
                                    {"seed", number(7)},
                                    {"sort", ScriptValue{true}},
                                    {"using", list({text("fifo + berth"), text("sjf")})}}));
  ASSERT_TRUE(simulate.ok()) << simulate.status().message();
  EXPECT_EQ(*simulate,
            "SIMULATE JOBS FROM 'o''brien.csv' ON CLUSTER USING 'fifo' + 'berth', 'sjf' BY QUEUE WITH (backfill = "
            "'easy', las_levels = ('3250s', '2h'), seed = 7, sort = true) INTO 'night'");
  EXPECT_EQ(*simulate_statement_of(fields({{"format", text("openb")},
                                           {"from", text("pods.csv")},
                                           {"kind", text("arrivals")},
                                           {"nodes", text("nodes.csv")},
                                           {"nodes_format", text("berth")},
                                           {"using", text("fgd")}})),
            "SIMULATE ARRIVALS FROM 'pods.csv' FORMAT 'openb' ON NODES FROM 'nodes.csv' FORMAT 'berth' USING 'fgd'");
  EXPECT_EQ(
      *backtest_statement_of(fields({{"from", text("2026-10-01")},
                                     {"more_nodes", text("4 x h100x8")},
                                     {"to", text("2026-11-01")},
                                     {"using", list({text("live"), fields({{"policy", text("fair_share + berth")},
                                                                           {"preemption", text("none")}})})}})),
      "BACKTEST USING 'live', 'fair_share' + 'berth' WITH (preemption = 'none') FROM '2026-10-01' TO '2026-11-01' "
      "WITH (more_nodes = '4 x h100x8')");
}

TEST(ScriptStatement, SaysWhatIsMissing) {
  EXPECT_EQ(simulate_statement_of(text("x")).status().message(),
            "expected one table of named fields, as in {using = {'fifo'}, from = 'jobs.csv'}");
  EXPECT_EQ(simulate_statement_of(fields({{"from", text("a")}})).status().message(),
            "'using' is missing, as in using = {'fifo', 'sjf + berth'}");
  EXPECT_EQ(simulate_statement_of(fields({{"from", number(1)}, {"using", text("a")}})).status().message(),
            "from: expected a text, found a number");
  EXPECT_EQ(backtest_statement_of(fields({{"from", text("a")}, {"using", list({number(1)})}})).status().message(),
            "using: expected policies by name");
  EXPECT_EQ(
      simulate_statement_of(fields({{"from", text("a")}, {"seed", list({list({number(1)})})}, {"using", text("fifo")}}))
          .status()
          .message(),
      "seed: expected a text, a number or a boolean, not a table");
}

}  // namespace
}  // namespace berth
