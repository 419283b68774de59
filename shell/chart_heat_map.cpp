#include <algorithm>
#include <array>

#include "shell/chart.h"
#include "shell/unicode.h"

namespace berth {

namespace {

struct Shade {
  std::string_view unicode;
  std::string_view ascii;
  std::string_view color;
  std::string_view meaning;
};
constexpr std::array kShades = {Shade{"·", ".", "\x1b[2m", "free"}, Shade{"░", "-", "\x1b[34m", "to 25 %"},
                                Shade{"▒", "+", "\x1b[36m", "to 50 %"}, Shade{"▓", "*", "\x1b[32m", "above"},
                                Shade{"█", "#", "\x1b[33m", "full"}};
constexpr std::string_view kMarkColor = "\x1b[1;31m";
constexpr std::string_view kNoColor = "\x1b[0m";

// Free and full are exact, so that one task more or less shows.
const Shade& shade_of(double full) {
  if (full <= 0) return kShades[0];
  if (full >= 1) return kShades[4];
  return full <= 0.25 ? kShades[1] : full <= 0.5 ? kShades[2] : kShades[3];
}

// Text in colour; equal colours that follow one another share one code.
class ColoredLine {
 public:
  explicit ColoredLine(bool color) : color_(color) {}
  void add(std::string_view text, std::string_view color) {
    if (color_ && color != now_) {
      if (!now_.empty()) text_ += kNoColor;
      text_ += color;
      now_ = color;
    }
    text_ += text;
  }
  std::string take() {
    add("", "");
    return std::move(text_);
  }

 private:
  bool color_;
  std::string_view now_;
  std::string text_;
};

void add_cell(ColoredLine& line, const HeatCell& cell, const ChartStyle& style) {
  if (cell.mark != 0) return line.add(std::string_view(&cell.mark, 1), kMarkColor);
  const Shade& shade = shade_of(cell.full);
  line.add(style.unicode ? shade.unicode : shade.ascii, shade.color);
}

std::string heat_legend(const std::vector<HeatMark>& marks, const ChartStyle& style) {
  ColoredLine line(style.color);
  std::string_view gap;
  for (const Shade& shade : kShades) {
    line.add(gap, "");
    line.add(style.unicode ? shade.unicode : shade.ascii, shade.color);
    line.add(" " + std::string(shade.meaning), "");
    gap = "   ";
  }
  for (const HeatMark& mark : marks) {
    line.add(gap, "");
    line.add(std::string_view(&mark.mark, 1), kMarkColor);
    line.add(" " + escape_controls(mark.meaning), "");
  }
  return line.take() + "\n";
}

}  // namespace

std::string draw_heat_map(const std::vector<HeatRow>& rows, const std::vector<HeatMark>& marks,
                          const ChartStyle& style) {
  int label_width = 0;
  for (const HeatRow& row : rows) label_width = std::max(label_width, display_width(escape_controls(row.label)));
  label_width = std::min(label_width, std::max(8, style.width / 3));
  const auto per_line = static_cast<std::size_t>(std::max(8, style.width - label_width - 2));
  std::string text;
  for (const HeatRow& row : rows) {
    std::string label = truncate_to_width(escape_controls(row.label), label_width, style.unicode);
    for (std::size_t begin = 0; begin == 0 || begin < row.cells.size(); begin += per_line) {
      ColoredLine line(style.color);
      for (std::size_t i = begin; i < std::min(row.cells.size(), begin + per_line); ++i)
        add_cell(line, row.cells[i], style);
      text += pad_right(label, label_width) + "  " + line.take() + "\n";
      label.clear();
    }
  }
  return text + "\n" + heat_legend(marks, style);
}

}  // namespace berth
