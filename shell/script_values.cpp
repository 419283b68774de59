#include "shell/script_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/plain_text.h"

namespace berth {

namespace {

ScriptValue script_value_of(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return {*integer};
  if (const auto* real = std::get_if<double>(&cell)) return {*real};
  if (const auto* text = std::get_if<std::string>(&cell)) return {*text};
  return {};
}

ScriptValue list_of(std::vector<std::string> texts) {
  ScriptTable list;
  for (std::string& text : texts) list.items.push_back({std::move(text)});
  return {std::move(list)};
}

std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return names;
}

const ScriptTable* table_in(const ScriptValue& value) { return value.get<ScriptTable>(); }

std::vector<Column> columns_of_fields(const ScriptTable& rows) {
  std::set<std::string> names;
  for (const ScriptValue& row : rows.items) {
    const ScriptTable* const fields = table_in(row);
    if (fields == nullptr) continue;
    for (const ScriptField& field : fields->fields) names.insert(field.name);
  }
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({.name = name});
  return columns;
}

Result<Column> column_of(const ScriptValue& value) {
  if (const auto* name = value.get<std::string>()) return Column{.name = *name};
  const ScriptTable* const table = table_in(value);
  const ScriptValue* const name = table == nullptr ? nullptr : table->find("name");
  if (name == nullptr || name->get<std::string>() == nullptr) {
    return Status(Code::kInvalid, "a column is its name, or {name = 'gpu_hours', decimals = 2}");
  }
  Column column{.name = *name->get<std::string>()};
  for (const ScriptField& field : table->fields) {
    const auto* const decimals = field.value.get<std::int64_t>();
    if (field.name == "name") continue;
    if (field.name != "decimals" || decimals == nullptr || *decimals < 0 || *decimals > 15) {
      return Status(Code::kInvalid,
                    fmt::format("column '{}': expected decimals = 0 to 15, found '{}'", column.name, field.name));
    }
    column.decimals = static_cast<int>(*decimals);
  }
  return column;
}

Result<std::vector<Column>> read_columns(const ScriptTable& rows, const ScriptValue& wanted) {
  const ScriptValue* const listed = rows.find("columns");
  const ScriptValue& chosen = wanted.is_nil() && listed != nullptr ? *listed : wanted;
  if (chosen.is_nil()) return columns_of_fields(rows);
  const ScriptTable* const list = table_in(chosen);
  if (list == nullptr) return Status(Code::kInvalid, "columns are a list, as in {'queue', 'gpu_hours'}");
  std::vector<Column> columns;
  for (const ScriptValue& value : list->items) {
    BERTH_ASSIGN(columns.emplace_back(), column_of(value));
  }
  return columns;
}

std::string print_number(double number) {
  if (std::isnan(number)) return number < 0 ? "-nan" : "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.14g", number);
  std::string printed = text;
  if (printed.find_first_not_of("-0123456789") == std::string::npos) printed += ".0";
  return printed;
}

Result<nlohmann::ordered_json> json_of(const ScriptValue& value);

// As berth.query answers: all of its columns, in their order.
Result<nlohmann::ordered_json> json_of_row(const ScriptValue& row, const std::vector<std::string>& columns) {
  const ScriptTable* const fields = table_in(row);
  if (columns.empty() || fields == nullptr || !fields->items.empty()) return json_of(row);
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const std::string& column : columns) object[column] = nullptr;
  for (const ScriptField& field : fields->fields) {
    BERTH_ASSIGN(object[field.name], json_of(field.value));
  }
  return object;
}

Result<nlohmann::ordered_json> json_of_list(const ScriptTable& list) {
  std::vector<std::string> columns;
  for (const ScriptField& field : list.fields) {
    if (field.name != "columns" && field.name != "title") {
      return Status(
          Code::kInvalid,
          fmt::format("a table is a list or has fields by name; this one has both, and a field '{}'", field.name));
    }
    if (field.name != "columns" || table_in(field.value) == nullptr) continue;
    for (const ScriptValue& column : table_in(field.value)->items) {
      if (const auto* const name = column.get<std::string>()) columns.push_back(*name);
    }
  }
  nlohmann::ordered_json items = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    Result<nlohmann::ordered_json> item = json_of_row(list.items[i], columns);
    if (!item.ok()) return std::move(item).status().prefixed(fmt::format("item {}", i + 1));
    items.push_back(*std::move(item));
  }
  return items;
}

Result<nlohmann::ordered_json> json_of_fields(const ScriptTable& table) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, field] : table.fields) {
    Result<nlohmann::ordered_json> member = json_of(field);
    if (!member.ok()) return std::move(member).status().prefixed(name);
    object[name] = *std::move(member);
  }
  return object;
}

Result<nlohmann::ordered_json> json_of(const ScriptValue& value) {
  if (const auto* boolean = value.get<bool>()) return nlohmann::ordered_json(*boolean);
  if (const auto* integer = value.get<std::int64_t>()) return nlohmann::ordered_json(*integer);
  if (const auto* number = value.get<double>()) {
    if (!std::isfinite(*number))
      return Status(Code::kInvalid, fmt::format("JSON has no number {}", print_number(*number)));
    return nlohmann::ordered_json(*number);
  }
  if (const auto* text = value.get<std::string>()) {
    if (!is_utf8(*text))
      return Status(Code::kInvalid, "a text that is not UTF-8; hex(...) in the query makes one of it");
    return nlohmann::ordered_json(*text);
  }
  const ScriptTable* const table = table_in(value);
  if (table == nullptr) return nlohmann::ordered_json(nullptr);
  // An empty answer is an empty list, and so is an empty table.
  const bool is_list = !table->items.empty() || table->fields.empty() || table->find("columns") != nullptr;
  return is_list ? json_of_list(*table) : json_of_fields(*table);
}

}  // namespace

ScriptValue script_value_of(const ResultTable& table) {
  ScriptTable rows;
  rows.items.reserve(table.rows.size());
  for (const std::vector<Cell>& row : table.rows) {
    ScriptTable fields;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (std::holds_alternative<std::monostate>(row[c])) continue;
      fields.fields.push_back({.name = table.columns[c].name, .value = script_value_of(row[c])});
    }
    rows.items.push_back({std::move(fields)});
  }
  rows.fields.push_back({.name = "columns", .value = list_of(names_of(table.columns))});
  if (!table.title.empty()) rows.fields.push_back({.name = "title", .value = {table.title}});
  return {std::move(rows)};
}

ScriptValue script_value_of(const Output& output) {
  ScriptTable answer;
  ScriptTable tables;
  ScriptValue first{ScriptTable()};
  bool is_first = true;
  for (const Part& part : output.parts) {
    const auto* const table = std::get_if<ResultTable>(&part.content);
    if (table == nullptr || part.audience == Audience::kPeople) continue;
    ScriptValue rows = script_value_of(*table);
    if (table->title == "plan" && table->rows.size() == 1) {
      answer.fields.push_back({.name = "plan", .value = script_value_of(table->rows.front().front())});
    }
    if (std::exchange(is_first, false)) first = rows;
    if (!table->title.empty()) tables.fields.push_back({.name = table->title, .value = std::move(rows)});
  }
  answer.fields.push_back({.name = "findings", .value = {output.findings}});
  answer.fields.push_back({.name = "notes", .value = list_of(output.notes)});
  answer.fields.push_back({.name = "rows", .value = std::move(first)});
  answer.fields.push_back({.name = "tables", .value = {std::move(tables)}});
  if (!output.raw.empty()) answer.fields.push_back({.name = "text", .value = {output.raw}});
  return {std::move(answer)};
}

Result<Cell> cell_of_script(const ScriptValue& value) {
  if (value.is_nil()) return Cell(std::monostate());
  if (const auto* boolean = value.get<bool>()) return Cell(std::int64_t{*boolean ? 1 : 0});
  if (const auto* integer = value.get<std::int64_t>()) return Cell(*integer);
  if (const auto* number = value.get<double>()) return Cell(*number);
  if (const auto* text = value.get<std::string>()) return Cell(*text);
  return Status(Code::kInvalid, "expected nil, a boolean, a number or a text, not a table");
}

Result<ResultTable> table_of_script(const ScriptValue& rows, const ScriptValue& columns) {
  const ScriptTable* const list = table_in(rows);
  if (list == nullptr || (list->items.empty() && list->find("columns") == nullptr && !list->fields.empty())) {
    return Status(Code::kInvalid, "expected a list of rows, as berth.query answers");
  }
  ResultTable table;
  BERTH_ASSIGN(table.columns, read_columns(*list, columns));
  if (const ScriptValue* title = list->find("title"); title != nullptr && title->get<std::string>() != nullptr)
    table.title = *title->get<std::string>();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const ScriptTable* const fields = table_in(list->items[i]);
    if (fields == nullptr) return Status(Code::kInvalid, fmt::format("row {} is no table of fields by name", i + 1));
    std::vector<Cell>& row = table.rows.emplace_back();
    for (const Column& column : table.columns) {
      const ScriptValue* const field = fields->find(column.name);
      Result<Cell> cell = field == nullptr ? Result<Cell>(Cell()) : cell_of_script(*field);
      if (!cell.ok()) return std::move(cell).status().prefixed(fmt::format("row {}, {}", i + 1, column.name));
      row.push_back(*std::move(cell));
    }
  }
  return table;
}

std::string print_script_cell(const ScriptValue& value) {
  if (const auto* boolean = value.get<bool>()) return *boolean ? "true" : "false";
  if (const auto* integer = value.get<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto* number = value.get<double>()) return print_number(*number);
  if (const auto* text = value.get<std::string>()) return *text;
  return std::string(value.type_name());
}

Result<std::string> script_value_to_json(const ScriptValue& value) {
  BERTH_ASSIGN(const nlohmann::ordered_json json, json_of(value));
  return json.dump();
}

}  // namespace berth
