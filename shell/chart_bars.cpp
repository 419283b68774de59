#include <algorithm>
#include <array>
#include <cmath>

#include "shell/cells.h"
#include "shell/chart.h"
#include "shell/unicode.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 9> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr std::array<std::string_view, 8> kLevels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kAsciiLevels = {"_", ".", ",", "-", "=", "+", "*", "#"};

std::string bar_text(double share, int width, bool unicode) {
  const double columns = std::clamp(share, 0.0, 1.0) * width;
  std::string text;
  if (!unicode) return std::string(static_cast<std::size_t>(std::lround(columns)), '#');
  const int eighths = static_cast<int>(std::lround(columns * 8));
  for (int i = 0; i < eighths / 8; ++i) text += kEighths[8];
  return text + std::string(kEighths[static_cast<std::size_t>(eighths % 8)]);
}

std::string bar_note(const Bar& bar) {
  if (!bar.note.empty()) return escape_controls(bar.note);
  return bar.value == std::floor(bar.value) && std::abs(bar.value) < 1e15 ? print_real(bar.value, 0)
                                                                          : print_real(bar.value, 2);
}

// As many values as columns: each the mean of its stretch.
std::vector<double> average_to(const std::vector<double>& values, std::size_t columns) {
  if (values.size() <= columns) return values;
  std::vector<double> means;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t begin = i * values.size() / columns;
    const std::size_t end = (i + 1) * values.size() / columns;
    double sum = 0;
    for (std::size_t j = begin; j < end; ++j) sum += values[j];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

}  // namespace

std::string draw_bars(const std::vector<Bar>& bars, double full, const ChartStyle& style) {
  int label_width = 0;
  int note_width = 0;
  double largest = 0;
  for (const Bar& bar : bars) {
    label_width = std::max(label_width, display_width(escape_controls(bar.label)));
    note_width = std::max(note_width, display_width(bar_note(bar)));
    largest = std::max(largest, bar.value);
  }
  label_width = std::min(label_width, std::max(8, style.width / 3));
  const double scale = full > 0 ? full : largest > 0 ? largest : 1;
  const int bar_width = std::max(4, style.width - label_width - note_width - 3);
  std::string text;
  for (const Bar& bar : bars) {
    const std::string label = truncate_to_width(escape_controls(bar.label), label_width, style.unicode);
    std::string shape = bar_text(bar.value / scale, bar_width, style.unicode);
    if (style.color && !shape.empty()) shape = "\x1b[36m" + shape + "\x1b[0m";
    text += pad_right(label, label_width) + "  " + shape + " " + bar_note(bar) + "\n";
  }
  return text;
}

std::string draw_meter(double share, int width, bool unicode) {
  if (share > 1) return bar_text(1, width - 1, unicode) + "+";
  std::string text = bar_text(share, width, unicode);
  for (int used = display_width(text); used < width; ++used) text += unicode ? "·" : ".";
  return text;
}

std::string draw_sparkline(const std::vector<double>& values, const ChartStyle& style) {
  const std::vector<double> means = average_to(values, static_cast<std::size_t>(std::max(1, style.width)));
  double low = INFINITY;
  double high = -INFINITY;
  for (const double value : means) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string text;
  for (const double value : means) {
    if (!std::isfinite(value)) {
      text += ' ';
      continue;
    }
    const double share = high > low ? (value - low) / (high - low) : 0;
    const auto level = static_cast<std::size_t>(std::min(7.0, std::floor(share * 8)));
    text += style.unicode ? kLevels[level] : kAsciiLevels[level];
  }
  return text;
}

}  // namespace berth
