// What a statement answers: the only thing handlers return.
//
// Data are tables of typed cells; how they look (table, csv, json, ...) is the renderer's business. Notes are sentences
// for people and never mix with data. Charts are finished text, shown in the modes meant for people only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/status.h"

namespace berth {

// Null, integer, real, text (UTF-8; other bytes are escaped when shown).
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

enum class Align : std::uint8_t { kByType, kLeft, kRight };  // kByType: numbers right, text left

struct Column {
  std::string name;  // snake_case; the JSON key
  Align align = Align::kByType;
  int decimals = -1;  // of real cells in table, markdown and line modes; -1 = shortest that reads back
  bool wrap = false;  // sentences: broken over lines instead of cut when the terminal is narrow
};

struct ResultTable {
  std::string title;  // needed when one answer has several tables
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each as long as columns
};

// Who sees a part: everyone, or only the modes for people (table, markdown, line), or only those for programs.
enum class Audience : std::uint8_t { kEveryone, kPeople, kPrograms };

struct Part {
  std::variant<ResultTable, std::string> content;  // a table, or a chart as text
  Audience audience = Audience::kEveryone;
};

struct Output {
  std::vector<Part> parts;
  std::vector<std::string> notes;  // "64 nodes created": standard error
  std::string raw;                 // the text of a file, printed in every mode as it is; then no parts
  Code failed = Code::kOk;         // not done, and the user knows already: only the exit code is left to give
  bool findings = false;           // done, but something needs a look: exit code 4

  Output() = default;
  explicit Output(ResultTable table) { add(std::move(table)); }
  static Output note(std::string sentence) {
    Output output;
    output.notes.push_back(std::move(sentence));
    return output;
  }

  Output& add(ResultTable table, Audience audience = Audience::kEveryone) {
    parts.push_back({std::move(table), audience});
    return *this;
  }
  Output& add_chart(std::string text) {
    parts.push_back({std::move(text), Audience::kPeople});
    return *this;
  }
  Output& add_note(std::string sentence) {
    notes.push_back(std::move(sentence));
    return *this;
  }
};

// kInternal when a row of a table has more or fewer cells than the table has columns.
Status check_shape(const Output& output);

}  // namespace berth
