#include <algorithm>
#include <numeric>

#include "shell/cells.h"
#include "shell/render.h"
#include "shell/unicode.h"

namespace berth {

namespace {

constexpr int kGap = 2;                 // blanks between columns
constexpr int kNarrowest = 8;           // text columns are not narrowed further
constexpr int kNarrowestSentence = 24;  // wrapped ones neither
constexpr int kFirstInFull = 24;        // the first column names the row: up to here it is never cut

// One column ready to print: escaped cells, its width and side.
struct TextColumn {
  std::string name;
  std::vector<std::string> cells;
  int natural = 0;  // width it needs
  int width = 0;    // width it gets
  int least = 0;    // width it may be narrowed to
  bool right = false;
  bool wrap = false;
};

bool has_only_numbers(const ResultTable& table, std::size_t column) {
  bool any = false;
  for (const std::vector<Cell>& row : table.rows) {
    if (is_null(row[column])) continue;
    if (!is_number(row[column])) return false;
    any = true;
  }
  return any;
}

TextColumn make_text_column(const ResultTable& table, std::size_t index, const Display& display) {
  const Column& column = table.columns[index];
  const bool numbers = has_only_numbers(table, index);
  TextColumn made;
  made.name = escape_controls(column.name);
  made.right = column.align == Align::kByType ? numbers : column.align == Align::kRight;
  made.wrap = column.wrap;
  made.width = display_width(made.name);
  made.cells.reserve(table.rows.size());
  for (const std::vector<Cell>& row : table.rows) {
    made.cells.push_back(escape_controls(print_cell(row[index], display.null_text, column.decimals)));
    made.width = std::max(made.width, display_width(made.cells.back()));
  }
  const int narrowest = index == 0 ? kFirstInFull : made.wrap ? kNarrowestSentence : kNarrowest;
  made.least = numbers ? made.width : std::min(made.width, narrowest);
  if (index < display.column_widths.size() && display.column_widths[index] > 0) {
    made.width = made.least = display.column_widths[index];
  }
  made.natural = made.width;
  return made;
}

using ColumnSpan = std::vector<TextColumn*>;

int width_of(const ColumnSpan& columns) {
  return std::accumulate(columns.begin(), columns.end(), -kGap,
                         [](int sum, const TextColumn* column) { return sum + kGap + column->width; });
}

// Takes from the widest column that may still be narrowed until all fit. False when they cannot.
bool narrow_to_fit(const ColumnSpan& columns, int width) {
  int over = width_of(columns) - width;
  while (over > 0) {
    TextColumn* widest = nullptr;
    for (TextColumn* column : columns) {
      if (column->width > column->least && (widest == nullptr || column->width > widest->width)) widest = column;
    }
    if (widest == nullptr) return false;
    --widest->width;
    --over;
  }
  return true;
}

// Gives each column what it needs, less where they would not fit side by side. False when they cannot.
bool fit(const ColumnSpan& columns, int width) {
  for (TextColumn* column : columns) column->width = column->natural;
  return width <= 0 || narrow_to_fit(columns, width);
}

// Columns that stand side by side; fit() each before it is printed. Later panels begin with the first column again.
std::vector<ColumnSpan> split_into_panels(std::vector<TextColumn>& columns, int width) {
  ColumnSpan all;
  for (TextColumn& column : columns) all.push_back(&column);
  if (fit(all, width)) return {all};
  // Side by side as they are, but for sentences, which are wrapped.
  for (TextColumn* column : all) column->width = column->wrap ? column->least : column->natural;
  std::vector<ColumnSpan> panels{{all.front()}};
  for (std::size_t i = 1; i < all.size(); ++i) {
    panels.back().push_back(all[i]);
    if (width_of(panels.back()) > width && panels.back().size() > 2) {
      panels.back().pop_back();
      panels.push_back({all.front(), all[i]});
    }
  }
  return panels;
}

std::string aligned(const TextColumn& column, const std::string& text, bool last) {
  if (column.right) return pad_left(text, column.width);
  return last ? text : pad_right(text, column.width);
}

// One row: as many lines as its tallest wrapped cell.
std::string print_row(const ColumnSpan& columns, std::size_t row, const Display& display) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const TextColumn* column : columns) {
    const std::string& cell = column->cells[row];
    cells.push_back(column->wrap ? wrap_text(cell, column->width)
                                 : std::vector<std::string>{truncate_to_width(cell, column->width, display.unicode)});
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    std::string printed;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) printed += std::string(kGap, ' ');
      printed += aligned(*columns[i], line < cells[i].size() ? cells[i][line] : std::string(), i + 1 == columns.size());
    }
    printed.erase(printed.find_last_not_of(' ') + 1);
    text += printed + "\n";
  }
  return text;
}

std::string print_header(const ColumnSpan& columns, const Display& display) {
  std::string names;
  std::string rule;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool last = i + 1 == columns.size();
    const std::string gap = i == 0 ? "" : std::string(kGap, ' ');
    names += gap + aligned(*columns[i], truncate_to_width(columns[i]->name, columns[i]->width, display.unicode), last);
    rule += gap;
    for (int column = 0; column < columns[i]->width; ++column) rule += display.unicode ? "─" : "-";
  }
  return display.color ? "\x1b[1m" + names + "\x1b[0m\n\x1b[2m" + rule + "\x1b[0m\n" : names + "\n" + rule + "\n";
}

}  // namespace

std::string render_table(const ResultTable& table, const Display& display) {
  if (table.columns.empty()) return {};
  std::vector<TextColumn> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) columns.push_back(make_text_column(table, i, display));
  std::string text;
  for (const ColumnSpan& panel : split_into_panels(columns, display.width)) {
    if (!text.empty()) text += "\n";
    fit(panel, display.width);
    text += print_header(panel, display);
    for (std::size_t row = 0; row < table.rows.size(); ++row) text += print_row(panel, row, display);
  }
  return text;
}

}  // namespace berth
