#include "shell/script_plot.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth {

namespace {

std::string label_of(const ScriptTable& table, std::string_view name) {
  const ScriptValue* const value = table.find(name);
  const auto* const text = value == nullptr ? nullptr : value->get<std::string>();
  return text == nullptr ? std::string() : *text;
}

Result<std::vector<double>> numbers_of(const ScriptTable& table, std::string_view name) {
  const ScriptValue* const value = table.find(name);
  const auto* const list = value == nullptr ? nullptr : value->get<ScriptTable>();
  if (list == nullptr) return Status(Code::kInvalid, fmt::format("'{}' is a list of numbers", name));
  std::vector<double> numbers;
  for (const ScriptValue& item : list->items) {
    if (const auto* integer = item.get<std::int64_t>()) {
      numbers.push_back(static_cast<double>(*integer));
    } else if (const auto* number = item.get<double>()) {
      numbers.push_back(*number);
    } else {
      return Status(Code::kInvalid,
                    fmt::format("{}[{}]: expected a number, found a {}", name, numbers.size() + 1, item.type_name()));
    }
  }
  return numbers;
}

Result<Series> series_of(const ScriptValue& value) {
  const auto* const table = value.get<ScriptTable>();
  if (table == nullptr) return Status(Code::kInvalid, "expected {name = ..., x = {...}, y = {...}}");
  Series series{.name = label_of(*table, "name"), .x = {}, .y = {}};
  BERTH_ASSIGN(series.x, numbers_of(*table, "x"));
  BERTH_ASSIGN(series.y, numbers_of(*table, "y"));
  if (series.x.size() != series.y.size()) {
    return Status(Code::kInvalid, fmt::format("{} values of x, and {} of y", series.x.size(), series.y.size()));
  }
  if (!std::ranges::is_sorted(series.x)) return Status(Code::kInvalid, "the values of x must rise");
  return series;
}

}  // namespace

Result<std::string> draw_script_plot(const ScriptValue& request, const ChartStyle& style) {
  const auto* const table = request.get<ScriptTable>();
  const ScriptValue* const listed = table == nullptr ? nullptr : table->find("series");
  const auto* const list = listed == nullptr ? nullptr : listed->get<ScriptTable>();
  if (list == nullptr || list->items.empty()) {
    return Status(Code::kInvalid, "'series' is missing, as in series = {{name = 'fifo', x = {1, 2}, y = {3, 4}}}");
  }
  std::vector<Series> all;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    Result<Series> series = series_of(list->items[i]);
    if (!series.ok()) return std::move(series).status().prefixed(fmt::format("series {}", i + 1));
    all.push_back(*std::move(series));
  }
  const auto label = [&](std::string_view name) { return label_of(*table, name); };
  return draw_plot(all, {.title = label("title"), .x = label("x"), .y = label("y")}, style);
}

}  // namespace berth
