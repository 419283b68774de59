#include "shell/cmd_support.h"

#include <sqlite3.h>

#include <set>

#include "engine/base/text.h"

namespace berth {

namespace {

Cell cell_of(const Statement& row, int column) {
  switch (sqlite3_column_type(row.handle(), column)) {
    case SQLITE_INTEGER: return row.integer(column);
    case SQLITE_FLOAT: return row.real(column);
    case SQLITE_NULL: return std::monostate();
    default: return std::string(row.text(column));
  }
}

// What a table has grown to.
struct TableSize {
  std::int64_t rows = 0;
  std::int64_t cells = 0;
  std::int64_t bytes = 0;

  void count(const std::vector<Cell>& row) {
    ++rows;
    cells += std::ssize(row);
    for (const Cell& cell : row) {
      if (const auto* text = std::get_if<std::string>(&cell)) bytes += std::ssize(*text);
    }
  }
  Status check(const QueryLimits& limits) const {
    if (rows <= limits.rows && cells <= limits.cells && bytes <= limits.bytes) return {};
    const std::string what = rows > limits.rows     ? print_counted(limits.rows, "row")
                             : cells > limits.cells ? print_counted(limits.cells, "cell")
                                                    : print_counted(limits.bytes, "byte") + " of text";
    return Status(Code::kInvalid, fmt::format("the query has more than {}", what),
                  "let SQL add up, or take a part with LIMIT");
  }
};

}  // namespace

Result<ResultTable> table_of(Statement rows, const QueryLimits& limits) {
  TableSize size;
  ResultTable table;
  for (int c = 0; c < rows.column_count(); ++c) table.columns.push_back({.name = std::string(rows.column_name(c))});
  while (rows.next()) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.reserve(table.columns.size());
    for (int c = 0; c < rows.column_count(); ++c) row.push_back(cell_of(rows, c));
    size.count(row);
    BERTH_TRY(size.check(limits));
  }
  BERTH_TRY(rows.status());
  return table;
}

void round_memory_columns(ResultTable& table) {
  for (Column& column : table.columns) {
    if (column.name.ends_with("_gib")) column.decimals = 2;
  }
}

Result<std::vector<std::string>> expand_names(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value& value : values) {
    Result<std::vector<std::string>> expanded = expand_range(value.text);
    if (!expanded.ok()) return blame(std::move(expanded).status(), value.span);
    names.insert(names.end(), expanded->begin(), expanded->end());
  }
  return names;
}

Result<std::vector<std::string>> expand_known_names(const std::vector<Value>& values) {
  BERTH_ASSIGN(std::vector<std::string> names, expand_names(values));
  std::set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
  return names;
}

Status unknown_table(const Session& session, const Arguments& arguments) {
  const std::string& name = arguments.text("table");
  return arguments.fail("table", Code::kNotFound, fmt::format("no table or view '{}'", name),
                        session.names ? suggest(name, session.names("table", "")) : std::string());
}

ChartStyle chart_style(const Display& display, int height) {
  return {.width = display.width > 0 ? display.width : 100,
          .height = height,
          .unicode = display.unicode,
          .color = display.color};
}

ResultTable without_empty_columns(const ResultTable& table) {
  ResultTable kept{.title = table.title, .columns = {}, .rows = std::vector<std::vector<Cell>>(table.rows.size())};
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool empty = std::all_of(table.rows.begin(), table.rows.end(), [&](const std::vector<Cell>& row) {
      return std::holds_alternative<std::monostate>(row[c]);
    });
    if (empty) continue;
    kept.columns.push_back(table.columns[c]);
    for (std::size_t r = 0; r < table.rows.size(); ++r) kept.rows[r].push_back(table.rows[r][c]);
  }
  return kept;
}

SimulationControl control_of(Session& session) {
  return {.interrupted = session.interrupt,
          .progress = [&session](std::string_view policy, std::int64_t done, std::int64_t total) {
            session.progress->report(policy, done, total);
          }};
}

}  // namespace berth
