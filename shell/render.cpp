#include "shell/render.h"

#include <algorithm>
#include <array>

#include "engine/base/text.h"
#include "shell/cells.h"
#include "shell/unicode.h"

namespace berth {

namespace {

struct ModeName {
  OutputMode mode;
  std::string_view name;
};
constexpr std::array kModeNames = {ModeName{OutputMode::kTable, "table"},       ModeName{OutputMode::kCsv, "csv"},
                                   ModeName{OutputMode::kJson, "json"},         ModeName{OutputMode::kJsonl, "jsonl"},
                                   ModeName{OutputMode::kMarkdown, "markdown"}, ModeName{OutputMode::kLine, "line"}};

std::string render_one(const ResultTable& table, const Display& display) {
  switch (display.mode) {
    case OutputMode::kTable: return render_table(table, display);
    case OutputMode::kCsv: return render_csv(table, display);
    case OutputMode::kJson: return render_json(table);
    case OutputMode::kJsonl: return render_jsonl(table);
    case OutputMode::kMarkdown: return render_markdown(table, display);
    case OutputMode::kLine: return render_line(table, display);
  }
  return {};
}

std::string shown_title(const std::string& title, const Display& display) {
  if (title.empty()) return {};
  if (display.mode == OutputMode::kMarkdown) return "**" + escape_controls(title) + "**\n\n";
  return display.color ? "\x1b[1m" + escape_controls(title) + "\x1b[0m\n" : escape_controls(title) + "\n";
}

std::string shown_chart(const std::string& chart, const Display& display) {
  return display.mode == OutputMode::kMarkdown ? "```\n" + chart + "```\n" : chart;
}

std::string render_for_people(const Output& output, const Display& display) {
  std::string text;
  for (const Part& part : output.parts) {
    if (part.audience == Audience::kPrograms) continue;
    if (!text.empty()) text += "\n";
    if (const auto* table = std::get_if<ResultTable>(&part.content)) {
      text += shown_title(table->title, display) + render_one(*table, display);
    } else {
      text += shown_chart(std::get<std::string>(part.content), display);
    }
  }
  return text;
}

std::string render_for_programs(const Output& output, const Display& display) {
  std::vector<const ResultTable*> tables;
  for (const Part& part : output.parts) {
    const auto* table = std::get_if<ResultTable>(&part.content);
    if (table != nullptr && part.audience != Audience::kPeople) tables.push_back(table);
  }
  std::string text;
  // The shape is the statement's, however many of its tables this answer has: a table with a title is one of several.
  const bool has_titles = std::ranges::any_of(tables, [](const ResultTable* table) { return !table->title.empty(); });
  if (display.mode == OutputMode::kJson && (tables.size() > 1 || has_titles)) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const std::string key = tables[i]->title.empty() ? "result_" + std::to_string(i + 1) : tables[i]->title;
      std::string body = render_json(*tables[i]);
      body.pop_back();
      text += (text.empty() ? "{" : ",\n") + json_text(key) + ": " + body;
    }
    return text + "}\n";
  }
  for (const ResultTable* table : tables) {
    if (!text.empty() && display.mode == OutputMode::kCsv) text += "\n";
    text += render_one(*table, display);
  }
  return text;
}

std::string csv_field(const std::string& text, bool is_text) {
  if (is_text && text.empty()) return "\"\"";
  const bool blank_at_edge = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (text.find_first_of(",\"\r\n") == std::string::npos && !blank_at_edge) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string markdown_field(const std::string& text) {
  std::string safe;
  for (const char c : escape_controls(text)) {
    if (c == '|') safe += '\\';
    safe += c;
  }
  return safe;
}

bool markdown_right(const ResultTable& table, std::size_t column) {
  if (table.columns[column].align != Align::kByType) return table.columns[column].align == Align::kRight;
  return !table.rows.empty() && std::all_of(table.rows.begin(), table.rows.end(), [&](const std::vector<Cell>& row) {
    return is_number(row[column]) || is_null(row[column]);
  });
}

}  // namespace

Result<OutputMode> read_output_mode(std::string_view name) {
  std::vector<std::string> names;
  for (const ModeName& row : kModeNames) {
    if (equals_ignoring_case(row.name, name)) return row.mode;
    names.emplace_back(row.name);
  }
  const std::string hint = suggest(name, names);
  return Status(Code::kInvalid, "unknown output mode '" + std::string(name) + "'",
                hint.empty() ? "modes: " + join(names, ", ") : hint);
}

std::string_view output_mode_name(OutputMode mode) {
  for (const ModeName& row : kModeNames) {
    if (row.mode == mode) return row.name;
  }
  return "table";
}

bool is_for_people(OutputMode mode) {
  return mode == OutputMode::kTable || mode == OutputMode::kMarkdown || mode == OutputMode::kLine;
}

std::string render(const Output& output, const Display& display) {
  if (is_for_people(display.mode) && output.raw.empty()) return render_for_people(output, display);
  std::string text = output.raw.empty() ? render_for_programs(output, display) : output.raw;
  return display.is_terminal ? escape_controls_in_lines(text) : text;
}

std::string render_csv(const ResultTable& table, const Display& display) {
  std::string text;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    text += (i == 0 ? "" : ",") + csv_field(table.columns[i].name, true);
  }
  text += "\n";
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += csv_field(print_cell(row[i], display.null_text), std::holds_alternative<std::string>(row[i]));
    }
    text += "\n";
  }
  return text;
}

std::string render_markdown(const ResultTable& table, const Display& display) {
  std::string header = "|";
  std::string rule = "|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    header += " " + markdown_field(table.columns[i].name) + " |";
    rule += markdown_right(table, i) ? "---:|" : "---|";
  }
  std::string text = header + "\n" + rule + "\n";
  for (const std::vector<Cell>& row : table.rows) {
    text += "|";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += " " + markdown_field(print_cell(row[i], display.null_text, table.columns[i].decimals)) + " |";
    }
    text += "\n";
  }
  return text;
}

std::string render_line(const ResultTable& table, const Display& display) {
  int widest = 0;
  for (const Column& column : table.columns) widest = std::max(widest, display_width(escape_controls(column.name)));
  std::string text;
  for (const std::vector<Cell>& row : table.rows) {
    if (!text.empty()) text += "\n";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += pad_left(escape_controls(table.columns[i].name), widest) + " = " +
              escape_controls(print_cell(row[i], display.null_text, table.columns[i].decimals)) + "\n";
    }
  }
  return text;
}

}  // namespace berth
