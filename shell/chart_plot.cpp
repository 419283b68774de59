#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "shell/chart.h"
#include "shell/unicode.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 6> kSeriesColors = {"\x1b[36m", "\x1b[33m", "\x1b[35m",
                                                           "\x1b[32m", "\x1b[34m", "\x1b[31m"};
constexpr std::array<std::string_view, 6> kMarkers = {"•", "○", "×", "+", "◆", "△"};
constexpr std::array<std::string_view, 6> kAsciiMarkers = {"*", "o", "x", "+", "#", "^"};

struct Range {
  double low = INFINITY;
  double high = -INFINITY;

  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void make_wide() {
    if (low > high) low = 0, high = 1;
    if (low == high) high = low + 1;
  }
  double share(double value) const { return (value - low) / (high - low); }
};

// 1, 2 or 5 times a power of ten, at least `least`.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double round_time_step(double least) {
  constexpr std::array<double, 16> kSteps = {1,    5,    10,    30,    60,    300,   600,    1800,
                                             3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800};
  for (const double step : kSteps) {
    if (step >= least) return step;
  }
  return round_step(least / 86400) * 86400;
}

struct Tick {
  double value;
  std::string label;
};

std::string number_label(double value, double step) {
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return fmt::format("{:.{}f}", value, decimals);
}

// One unit for the whole axis: the largest that the step is a whole number of.
std::string time_label(double seconds, double step) {
  if (std::fmod(step, 86400) == 0) return fmt::format("{:.0f}d", seconds / 86400);
  if (std::fmod(step, 3600) == 0) return fmt::format("{:.0f}h", seconds / 3600);
  if (std::fmod(step, 60) == 0) return fmt::format("{:.0f}m", seconds / 60);
  return fmt::format("{:.0f}s", seconds);
}

std::vector<Tick> make_ticks(const Range& range, int most, bool is_time) {
  const double least = (range.high - range.low) / std::max(1, most);
  const double step = is_time ? round_time_step(least) : round_step(least);
  std::vector<Tick> ticks;
  const double first = std::ceil(range.low / step - 1e-9);
  for (double count = first == 0 ? 0 : first; count * step <= range.high + step * 1e-9; ++count) {
    const double value = count * step;
    ticks.push_back({value, is_time ? time_label(value, step) : number_label(value, step)});
  }
  return ticks;
}

// Dots of one series; a screen cell holds `per_column` times `per_row` of them.
class DotCanvas {
 public:
  DotCanvas(int columns, int rows, int per_column, int per_row)
      : per_column_(per_column),
        per_row_(per_row),
        width_(columns * per_column),
        height_(rows * per_row),
        dots_(static_cast<std::size_t>(width_ * height_), false) {}

  // From one point of the unit square to another.
  void line(double x0, double y0, double x1, double y1) {
    const double from_x = x0 * (width_ - 1);
    const double from_y = (1 - y0) * (height_ - 1);
    const double to_x = x1 * (width_ - 1);
    const double to_y = (1 - y1) * (height_ - 1);
    const int steps = static_cast<int>(std::ceil(std::max(std::abs(to_x - from_x), std::abs(to_y - from_y))));
    for (int i = 0; i <= steps; ++i) {
      const double share = steps == 0 ? 0 : static_cast<double>(i) / steps;
      set(static_cast<int>(std::lround(from_x + (to_x - from_x) * share)),
          static_cast<int>(std::lround(from_y + (to_y - from_y) * share)));
    }
  }

  // The braille pattern of a screen cell, or 1 for any dot when a cell is a single dot.
  unsigned pattern(int column, int row) const {
    constexpr std::array<std::array<unsigned, 2>, 4> kBits = {{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    unsigned bits = 0;
    for (int y = 0; y < per_row_; ++y) {
      for (int x = 0; x < per_column_; ++x) {
        if (get(column * per_column_ + x, row * per_row_ + y))
          bits |= kBits[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
      }
    }
    return bits;
  }

 private:
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
  }
  bool get(int x, int y) const { return dots_[index(x, y)]; }
  void set(int x, int y) {
    if (x >= 0 && x < width_ && y >= 0 && y < height_) dots_[index(x, y)] = true;
  }

  int per_column_;
  int per_row_;
  int width_;
  int height_;
  std::vector<bool> dots_;
};

class Plot {
 public:
  Plot(const std::vector<Series>& series, const PlotLabels& labels, const ChartStyle& style)
      : series_(series), labels_(labels), style_(style) {
    // Braille tells several series apart by colour only; without colour each has its own marker.
    braille_ = style.unicode && (style.color || series.size() <= 1);
    for (const Series& one : series) {
      for (const double x : one.x) x_.include(x);
      for (const double y : one.y) y_.include(y);
    }
    if (labels.y_starts_at_zero) y_.include(0);
    x_.make_wide();
    y_.make_wide();
    rows_ = std::max(3, style.height);
    y_ticks_ = make_ticks(y_, std::max(2, rows_ / 3), false);
    for (const Tick& tick : y_ticks_) margin_ = std::max(margin_, display_width(tick.label));
    columns_ = std::max(10, style.width - margin_ - 2);
    x_ticks_ = make_ticks(x_, std::max(2, columns_ / 12), labels.x_is_time);
  }

  std::string draw() {
    for (const Series& one : series_) canvases_.push_back(draw_series(one));
    std::string text;
    if (!labels_.title.empty()) text += escape_controls(labels_.title) + "\n";
    if (!labels_.y.empty()) text += escape_controls(labels_.y) + "\n";
    for (int row = 0; row < rows_; ++row) text += y_margin(row) + plot_row(row) + "\n";
    text += x_axis() + x_labels();
    return text + legend();
  }

 private:
  DotCanvas draw_series(const Series& one) const {
    DotCanvas canvas(columns_, rows_, braille_ ? 2 : 1, braille_ ? 4 : 1);
    const std::size_t count = std::min(one.x.size(), one.y.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(one.y[i])) continue;
      const std::size_t from = i > 0 && std::isfinite(one.y[i - 1]) ? i - 1 : i;
      const double x = x_.share(one.x[i]);
      const double y = y_.share(one.y[i]);
      const double y_before = y_.share(one.y[from]);
      canvas.line(x_.share(one.x[from]), y_before, x, labels_.steps ? y_before : y);
      if (labels_.steps) canvas.line(x, y_before, x, y);
    }
    return canvas;
  }

  std::string y_margin(int row) const {
    for (const Tick& tick : y_ticks_) {
      if (std::lround((1 - y_.share(tick.value)) * (rows_ - 1)) != row) continue;
      return pad_left(tick.label, margin_) + (style_.unicode ? " ┤" : " +");
    }
    return std::string(static_cast<std::size_t>(margin_), ' ') + (style_.unicode ? " │" : " |");
  }

  std::string plot_row(int row) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) text += plot_cell(column, row);
    const std::size_t end = text.find_last_not_of(' ');
    text.resize(end == std::string::npos ? 0 : end + 1);
    return text;
  }

  // The last series drawn lies on top.
  std::string plot_cell(int column, int row) const {
    unsigned pattern = 0;
    std::size_t top = 0;
    for (std::size_t i = 0; i < canvases_.size(); ++i) {
      const unsigned bits = canvases_[i].pattern(column, row);
      if (bits == 0) continue;
      pattern |= bits;
      top = i;
    }
    if (pattern == 0) return " ";
    if (!braille_) return colored(std::string(marker(top)), top);
    std::string dots;
    append_utf8(dots, 0x2800 + pattern);
    return colored(dots, top);
  }

  std::string_view marker(std::size_t i) const {
    return style_.unicode ? kMarkers[i % kMarkers.size()] : kAsciiMarkers[i % kAsciiMarkers.size()];
  }

  std::string colored(const std::string& text, std::size_t i) const {
    return style_.color ? std::string(kSeriesColors[i % kSeriesColors.size()]) + text + "\x1b[0m" : text;
  }

  int tick_column(const Tick& tick) const {
    return static_cast<int>(std::lround(x_.share(tick.value) * (columns_ - 1)));
  }

  std::string x_axis() const {
    std::vector<std::string_view> cells(static_cast<std::size_t>(columns_), style_.unicode ? "─" : "-");
    for (const Tick& tick : x_ticks_) cells[static_cast<std::size_t>(tick_column(tick))] = style_.unicode ? "┬" : "+";
    std::string text = std::string(static_cast<std::size_t>(margin_), ' ') + (style_.unicode ? " └" : " +");
    for (const std::string_view cell : cells) text += cell;
    return text + "\n";
  }

  std::string x_labels() const {
    const int total = margin_ + 2 + columns_;
    std::string line(static_cast<std::size_t>(total), ' ');
    int free_from = 0;
    for (const Tick& tick : x_ticks_) {
      const int size = static_cast<int>(tick.label.size());
      const int begin = std::clamp(margin_ + 2 + tick_column(tick) - size / 2, 0, total - size);
      if (begin < free_from) continue;
      line.replace(static_cast<std::size_t>(begin), tick.label.size(), tick.label);
      free_from = begin + size + 1;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    const std::string name = escape_controls(labels_.x);
    return line + "\n" + (name.empty() ? "" : pad_left(name, (total + margin_ + 2 + display_width(name)) / 2) + "\n");
  }

  std::string legend() const {
    if (series_.size() < 2) return {};
    std::string text(static_cast<std::size_t>(margin_ + 2), ' ');
    for (std::size_t i = 0; i < series_.size(); ++i) {
      text += (i == 0 ? "" : "   ") + colored(braille_ ? "──" : std::string(marker(i)), i) + " " +
              escape_controls(series_[i].name);
    }
    return text + "\n";
  }

  const std::vector<Series>& series_;
  const PlotLabels& labels_;
  const ChartStyle& style_;
  bool braille_ = false;
  Range x_;
  Range y_;
  int rows_ = 0;
  int columns_ = 0;
  int margin_ = 0;
  std::vector<Tick> x_ticks_;
  std::vector<Tick> y_ticks_;
  std::vector<DotCanvas> canvases_;
};

}  // namespace

std::string draw_plot(const std::vector<Series>& series, const PlotLabels& labels, const ChartStyle& style) {
  return Plot(series, labels, style).draw();
}

}  // namespace berth
