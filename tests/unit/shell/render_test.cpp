#include "shell/render.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "shell/unicode.h"

namespace berth {
namespace {

ResultTable nodes() {
  return {"",
          {{"name"}, {"gpus"}, {"used"}, {"note"}},
          {{"n1", 8, 0.5, "a, \"b\""}, {"节点", 16, 12.25, Cell()}, {"", Cell(), 1.0, "x\ny"}}};
}

std::string lines(std::initializer_list<const char*> parts) {
  std::string text;
  for (const char* part : parts) text += std::string(part) + "\n";
  return text;
}

TEST(Render, Table) {
  EXPECT_EQ(render_table(nodes(), Display{}),
            lines({"name  gpus   used  note", "────  ────  ─────  ──────", "n1       8    0.5  a, \"b\"",
                   "节点    16  12.25", "              1.0  x\\ny"}));
}

TEST(Render, TableInAsciiWithNullTextAndDecimals) {
  Display display;
  display.unicode = false;
  display.null_text = "NULL";
  ResultTable table = nodes();
  table.columns[2].decimals = 1;
  EXPECT_EQ(render_table(table, display),
            lines({"name  gpus  used  note", "----  ----  ----  ------", "n1       8   0.5  a, \"b\"",
                   "节点    16  12.2  NULL", "      NULL   1.0  x\\ny"}));
}

int widest_line(const std::string& text) {
  int widest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    widest = std::max(widest, display_width(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return widest;
}

TEST(Render, TableNarrowsItsWidestTexts) {
  ResultTable table{"", {{"id"}, {"short"}, {"long"}}, {{1234567890, "abcdefgh", std::string(100, 'x')}}};
  Display display;
  display.width = 40;
  const std::string text = render_table(table, display);
  EXPECT_EQ(widest_line(text), 40);
  EXPECT_NE(text.find("1234567890  abcdefgh  xxx"), std::string::npos) << text;
  EXPECT_NE(text.find("…"), std::string::npos);
}

TEST(Render, TableWrapsSentences) {
  ResultTable table{
      "", {{"job"}, {"reason"}}, {{"j1", "no node has eight free devices of model H100"}, {"j2", "held"}}};
  table.columns[1].wrap = true;
  Display display;
  display.width = 30;
  EXPECT_EQ(render_table(table, display),
            lines({"job  reason", "───  ─────────────────────────", "j1   no node has eight free",
                   "     devices of model H100", "j2   held"}));
}

TEST(Render, TableContinuesBelowWhenItCannotFit) {
  ResultTable table{"", {{"name"}}, {{"n1"}}};
  for (int i = 0; i < 6; ++i) {
    table.columns.push_back({"column_" + std::to_string(i)});
    table.rows[0].emplace_back(std::int64_t{1000000000} + i);
  }
  Display display;
  display.width = 40;
  const std::string text = render_table(table, display);
  EXPECT_LE(widest_line(text), 40);
  EXPECT_EQ(text, lines({"name    column_0    column_1    column_2", "────  ──────────  ──────────  ──────────",
                         "n1    1000000000  1000000001  1000000002", "", "name    column_3    column_4    column_5",
                         "────  ──────────  ──────────  ──────────", "n1    1000000003  1000000004  1000000005"}));
}

TEST(Render, PanelsAreNarrowedOnlyAsNeeded) {
  ResultTable table{"", {{"name"}, {"what"}}, {{std::string("a-name-of-20-columns"), std::string(30, 'x')}}};
  for (int i = 0; i < 5; ++i) {
    table.columns.push_back({"column_" + std::to_string(i)});
    table.rows[0].emplace_back(std::int64_t{1000000000} + i);
  }
  Display display;
  display.width = 60;
  const std::string text = render_table(table, display);
  EXPECT_LE(widest_line(text), 60);
  EXPECT_NE(text.find("a-name-of-20-columns  " + std::string(30, 'x')), std::string::npos) << text;
}

TEST(Render, WidthsSetByHand) {
  Display display;
  display.column_widths = {6, 2};
  ResultTable table{"", {{"name"}, {"text"}, {"n"}}, {{"a", "abcdef", 1}}};
  EXPECT_EQ(render_table(table, display), lines({"name    t…  n", "──────  ──  ─", "a       a…  1"}));
}

TEST(Render, ColorsOnlyWhenAsked) {
  Display display;
  EXPECT_EQ(render_table(nodes(), display).find('\x1b'), std::string::npos);
  display.color = true;
  EXPECT_NE(render_table(nodes(), display).find('\x1b'), std::string::npos);
}

TEST(Render, Csv) {
  EXPECT_EQ(render_csv(nodes(), Display{}),
            "name,gpus,used,note\nn1,8,0.5,\"a, \"\"b\"\"\"\n节点,16,12.25,\n\"\",,1.0,\"x\ny\"\n");
}

TEST(Render, JsonReadsBack) {
  ResultTable table = nodes();
  table.rows.push_back({std::string("\xff\x01"), std::int64_t{INT64_MAX}, NAN, "\\"});
  const auto json = nlohmann::json::parse(render_json(table));
  ASSERT_EQ(json.size(), 4U);
  EXPECT_EQ(json[0]["note"], "a, \"b\"");
  EXPECT_TRUE(json[1]["note"].is_null());
  EXPECT_EQ(json[3]["gpus"], INT64_MAX);
  EXPECT_TRUE(json[3]["used"].is_null());
  EXPECT_TRUE(json[2]["used"].is_number_float());
  EXPECT_EQ(render_json({"", {{"a"}}, {}}), "[]\n");
  EXPECT_EQ(render_json({"", {{"a"}, {"a"}}, {{1, 2}}}), "[\n{\"a\": 1, \"a_2\": 2}\n]\n");
}

TEST(Render, JsonKeepsTheOrderOfColumns) {
  EXPECT_EQ(render_json({"", {{"z"}, {"a"}}, {{1, "x"}, {2, "y"}}}),
            "[\n{\"z\": 1, \"a\": \"x\"},\n{\"z\": 2, \"a\": \"y\"}\n]\n");
}

TEST(Render, JsonLines) {
  const std::string text = render_jsonl(nodes());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(nlohmann::json::parse(text.substr(0, text.find('\n')))["gpus"], 8);
  EXPECT_EQ(render_jsonl({"", {{"a"}}, {}}), "");
}

TEST(Render, Markdown) {
  ResultTable table{"", {{"name"}, {"n"}}, {{"a|b", 1}, {"c", Cell()}}};
  EXPECT_EQ(render_markdown(table, Display{}), "| name | n |\n|---|---:|\n| a\\|b | 1 |\n| c |  |\n");
}

TEST(Render, Line) {
  ResultTable table{"", {{"name"}, {"n"}}, {{"a\x1b", 1}, {"b", 2}}};
  EXPECT_EQ(render_line(table, Display{}), "name = a\\x1b\n   n = 1\n\nname = b\n   n = 2\n");
}

Output mixed() {
  Output output;
  output.add({"first", {{"a"}}, {{1}}});
  output.add_chart("chart\n");
  output.add({"second", {{"b"}}, {{2}}}, Audience::kPrograms);
  return output;
}

TEST(Render, PeopleSeeChartsProgramsSeeData) {
  Display display;
  EXPECT_EQ(render(mixed(), display), "first\na\n─\n1\n\nchart\n");
  display.mode = OutputMode::kMarkdown;
  EXPECT_EQ(render(mixed(), display), "**first**\n\n| a |\n|---:|\n| 1 |\n\n```\nchart\n```\n");
  display.mode = OutputMode::kCsv;
  EXPECT_EQ(render(mixed(), display), "a\n1\n\nb\n2\n");
  display.mode = OutputMode::kJson;
  EXPECT_EQ(render(mixed(), display), "{\"first\": [\n{\"a\": 1}\n],\n\"second\": [\n{\"b\": 2}\n]}\n");
  EXPECT_EQ(nlohmann::json::parse(render(mixed(), display))["second"][0]["b"], 2);
  EXPECT_EQ(render(Output(), display), "");
}

TEST(Render, ModesByName) {
  for (const char* name : {"table", "csv", "json", "jsonl", "markdown", "line"}) {
    const Result<OutputMode> mode = read_output_mode(name);
    ASSERT_TRUE(mode.ok());
    EXPECT_EQ(output_mode_name(*mode), name);
  }
  EXPECT_EQ(read_output_mode("jsn").status().hint(), "did you mean 'json'?");
}

}  // namespace
}  // namespace berth
