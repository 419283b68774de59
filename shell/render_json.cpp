#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "shell/cells.h"
#include "shell/render.h"

namespace berth {

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

std::string json_cell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return json_text(*text);
  if (const auto* real = std::get_if<double>(&cell)) return std::isfinite(*real) ? print_real(*real) : "null";
  return print_cell(cell, "null");
}

// Column names as keys: a second column of the same name becomes name_2.
std::vector<std::string> json_keys(const ResultTable& table) {
  std::set<std::string> used;
  std::vector<std::string> keys;
  for (const Column& column : table.columns) {
    std::string name = column.name;
    for (int copy = 2; !used.insert(name).second; ++copy) name = column.name + "_" + std::to_string(copy);
    keys.push_back(json_text(name));
  }
  return keys;
}

std::string json_object(const std::vector<std::string>& keys, const std::vector<Cell>& row) {
  std::string object = "{";
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) object += ", ";
    object += keys[i] + ": " + json_cell(row[i]);
  }
  return object + "}";
}

}  // namespace

std::string render_json(const ResultTable& table) {
  if (table.rows.empty()) return "[]\n";
  const std::vector<std::string> keys = json_keys(table);
  std::string text;
  for (const std::vector<Cell>& row : table.rows) text += (text.empty() ? "[\n" : ",\n") + json_object(keys, row);
  return text + "\n]\n";
}

std::string render_jsonl(const ResultTable& table) {
  const std::vector<std::string> keys = json_keys(table);
  std::string text;
  for (const std::vector<Cell>& row : table.rows) text += json_object(keys, row) + "\n";
  return text;
}

}  // namespace berth
