#include "shell/chart.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shell/unicode.h"

namespace berth {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

TEST(Chart, BarsShareOneScale) {
  ChartStyle style;
  style.width = 20;
  EXPECT_EQ(draw_bars({{"a", 4, ""}, {"bb", 2, ""}, {"c", 0, "none"}}, 0, style),
            "a   ███████████ 4\nbb  █████▌ 2\nc    none\n");
  style.unicode = false;
  EXPECT_EQ(draw_bars({{"a", 50, "50 %"}}, 100, style), "a  ###### 50 %\n");
}

TEST(Chart, Sparkline) {
  ChartStyle style;
  EXPECT_EQ(draw_sparkline({0, 1, 2, 3, 4, 5, 6, 7}, style), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(draw_sparkline({5, 5, NAN, 5}, style), "▁▁ ▁");
  EXPECT_EQ(draw_sparkline({}, style), "");
  style.width = 2;
  style.unicode = false;
  EXPECT_EQ(draw_sparkline({0, 0, 8, 8}, style), "_#");
}

TEST(Chart, PlotInAscii) {
  ChartStyle style{.width = 30, .height = 5, .unicode = false, .color = false};
  PlotLabels labels{.title = "allocated", .x = "arrived %", .y = "%"};
  const std::string text = draw_plot({{"fgd", {0, 50, 100}, {0, 50, 100}}}, labels, style);
  EXPECT_EQ(text,
            "allocated\n"
            "%\n"
            "100 +                      ***\n"
            "    |                ******\n"
            " 50 +          ******\n"
            "    |    ******\n"
            "  0 +****\n"
            "    ++-----------+-----------+\n"
            "     0          50         100\n"
            "             arrived %\n");
}

TEST(Chart, PlotFitsItsWidth) {
  Series series{"a", {}, {}};
  for (int i = 0; i <= 1000; ++i) {
    series.x.push_back(i * 100.0);
    series.y.push_back(std::sin(i / 50.0) * 3 + 10);
  }
  for (const bool unicode : {true, false}) {
    for (const int width : {30, 120}) {
      ChartStyle style{.width = width, .height = 10, .unicode = unicode, .color = false};
      PlotLabels labels{.title = "t", .x = "time", .y = "", .x_is_time = true};
      const std::string text = draw_plot({series}, labels, style);
      for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), width) << text;
      EXPECT_EQ(is_ascii(text), !unicode);
      EXPECT_NE(text.find(width == 120 ? "12h" : "1d"), std::string::npos) << text;
      EXPECT_EQ(text.find("-0"), std::string::npos) << text;
    }
  }
}

TEST(Chart, PlotTellsSeriesApart) {
  const std::vector<Series> series = {{"one", {0, 1}, {0, 1}}, {"two", {0, 1}, {1, 0}}};
  ChartStyle style{.width = 40, .height = 6};
  const std::string plain = draw_plot(series, {}, style);
  EXPECT_NE(plain.find("•"), std::string::npos);
  EXPECT_NE(plain.find("○"), std::string::npos);
  EXPECT_NE(plain.find("• one   ○ two"), std::string::npos) << plain;
  style.color = true;
  EXPECT_NE(draw_plot(series, {}, style).find("\x1b[36m"), std::string::npos);
}

TEST(Chart, StepsHoldUntilTheNextPoint) {
  PlotLabels labels;
  labels.steps = true;
  const std::vector<Series> series = {{"a", {0, 1}, {0, 1}}};
  const std::vector<std::string> lines =
      lines_of(draw_plot(series, labels, {.width = 20, .height = 3, .unicode = false}));
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(std::count(lines[1].begin(), lines[1].end(), '*'), 1);
  EXPECT_GT(std::count(lines[2].begin(), lines[2].end(), '*'), 10);
}

TEST(Chart, PlotOfNothingOrOnePointStands) {
  EXPECT_FALSE(draw_plot({}, {}, {}).empty());
  EXPECT_FALSE(draw_plot({{"a", {5}, {5}}}, {}, {}).empty());
  EXPECT_FALSE(draw_plot({{"a", {0, 1, 2}, {NAN, 1, NAN}}}, {}, {}).empty());
}

TEST(Chart, HeatMapShadesAndMarks) {
  const std::vector<HeatRow> rows = {{"rack-a", {{0, 0}, {0.2, 0}, {0.5, 0}, {0.9, 0}, {1, 0}, {0.3, 'D'}}},
                                     {"b", {{0, '!'}}}};
  const std::vector<HeatMark> marks = {{'D', "drained"}, {'!', "down"}};
  EXPECT_EQ(draw_heat_map(rows, marks, {}),
            "rack-a  ·░▒▓█D\nb       !\n\n· free   ░ to 25 %   ▒ to 50 %   ▓ above   █ full   D drained   ! down\n");
  const std::string ascii = draw_heat_map(rows, marks, {.unicode = false});
  EXPECT_TRUE(is_ascii(ascii));
  EXPECT_EQ(ascii.substr(0, 15), "rack-a  .-+*#D\n");
}

TEST(Chart, HeatMapWrapsLongRows) {
  const std::vector<HeatRow> rows = {{"a", std::vector<HeatCell>(25)}, {"empty", {}}};
  const std::vector<std::string> lines = lines_of(draw_heat_map(rows, {}, {.width = 17}));
  ASSERT_GE(lines.size(), 4U);
  EXPECT_EQ(lines[0], "a      ··········");
  EXPECT_EQ(lines[1], "       ··········");
  EXPECT_EQ(lines[2], "       ·····");
  EXPECT_EQ(lines[3], "empty  ");
}

}  // namespace
}  // namespace berth
