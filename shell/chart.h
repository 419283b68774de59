// Charts as text, pure functions of their data.
//
// Each returns lines ending in a newline, no wider than `width` columns. With `unicode` off only ASCII is used; with
// `color` on ANSI colours are added, never needed to read the chart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct ChartStyle {
  int width = 80;
  int height = 12;  // lines of a plot's area
  bool unicode = true;
  bool color = false;
};

struct Bar {
  std::string label;
  double value = 0;  // not negative
  std::string note;  // printed after the bar; empty = the value
};
// Horizontal bars over a common scale: 0 to `full` (0 = the largest value).
std::string draw_bars(const std::vector<Bar>& bars, double full, const ChartStyle& style);

// One bar of exactly `width` columns for a table's cell, its empty part dotted; a `share` above 1 ends in '+'.
std::string draw_meter(double share, int width, bool unicode);

// One line of blocks, the smallest value lowest; values are averaged when there are more than `style.width`. No
// newline.
std::string draw_sparkline(const std::vector<double>& values, const ChartStyle& style);

struct Series {
  std::string name;
  std::vector<double> x;  // ascending, as long as y
  std::vector<double> y;  // NaN leaves a gap
};
struct PlotLabels {
  std::string title;
  std::string x;
  std::string y;
  bool x_is_time = false;  // x in seconds since the start: axis in hours or days
  bool y_starts_at_zero = true;
  bool steps = false;  // a value holds until the next point: drawn across, then up or down
};
// Lines of several series over labelled axes, in braille dots (ASCII: one letter per series), with a legend.
std::string draw_plot(const std::vector<Series>& series, const PlotLabels& labels, const ChartStyle& style);

// A cell of the heat map: how full, or a mark instead.
struct HeatCell {
  double full = 0;  // 0..1
  char mark = 0;    // e.g. 'D' drained, '!' down; 0 = shade by `full`
};
struct HeatRow {
  std::string label;
  std::vector<HeatCell> cells;  // wrapped over several lines when too many
};
// One shaded block per cell, rows by rack or group, and a legend. `marks` explains the marks in use.
struct HeatMark {
  char mark;
  std::string meaning;
};
std::string draw_heat_map(const std::vector<HeatRow>& rows, const std::vector<HeatMark>& marks,
                          const ChartStyle& style);

}  // namespace berth
