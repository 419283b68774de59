// A strict CSV table: named columns, RFC 4180 quoting, every error with file, line, column and reason.
//
// The caller says which columns it knows. The first row names those the file has, in any order; a required one that is
// missing, one that nobody knows and one given twice are errors naming the nearest match. Every row must have as many
// fields as the header. A quoted field may hold commas, doubled quotes and line ends; a quote inside a bare field, and
// text after a closing quote, are errors. Blank lines are skipped. One row is in memory at a time.
//
// A spreadsheet takes a field that begins with =, +, -, @, a tab or a carriage return for a formula. Files that Berth
// writes have an apostrophe before such text, which its own readers take away again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text.h"
#include "engine/sim/text_file.h"

namespace berth {

struct CsvColumn {
  std::string_view name;
  bool required = false;
  bool guarded = false;  // an apostrophe before what a spreadsheet would take for a formula is not part of the text
};

constexpr CsvColumn guarded_column(std::string_view name, bool required = false) { return {name, required, true}; }

// kOptional: a first row whose first field names no column is data, and then has all columns in the order of the table.
enum class CsvHeader : std::uint8_t { kRequired, kOptional };

class CsvReader {
 public:
  // Opens the file and reads the header. `columns` must outlive the reader; fields are asked for by their index in it.
  static Result<CsvReader> open(const std::string& path, std::span<const CsvColumn> columns,
                                CsvHeader header = CsvHeader::kRequired);

  // Reads the next row; false at the end. kInvalid = this row is malformed, the next call goes on with the row after
  // it; any other code = the file cannot be read further.
  Result<bool> next();

  bool has(std::size_t column) const { return field_of_[column] >= 0; }
  // The field, unquoted and without its guard; empty where the file lacks the column. Valid until next().
  std::string_view text(std::size_t column) const;
  // The field read by `read` (read_gpu, read_memory, ...), or kInvalid saying where and why.
  template <class Read>
  auto value(std::size_t column, Read read) const -> decltype(read(std::string_view())) {
    auto answer = read(text(column));
    if (!answer.ok()) return error(column, answer.status());
    return answer;
  }
  // The same; where the column is absent or the field empty, `otherwise`.
  template <class Read, class T>
  auto value_or(std::size_t column, Read read, T otherwise) const -> decltype(read(std::string_view())) {
    if (text(column).empty()) return otherwise;
    return value(column, read);
  }

  // kInvalid "file:line:column: name: reason".
  Status error(std::size_t column, std::string_view reason, std::string hint = {}) const;
  Status error(std::size_t column, const Status& reason) const;
  // ok stays ok; anything else becomes error().
  Status checked(std::size_t column, const Status& reason) const {
    return reason.ok() ? reason : error(column, reason);
  }
  // Line on which the current row starts.
  std::int64_t line() const { return row_line_; }
  const std::string& path() const { return file_.path(); }

 private:
  struct Field {
    std::size_t offset = 0;  // into row_
    std::size_t length = 0;
    std::int64_t line = 0;
    std::size_t column = 0;  // 1-based, where it starts in its line
  };
  explicit CsvReader(TextFile file) : file_(std::move(file)) {}
  Result<bool> read_row();
  Status read_quoted(std::string_view& line, std::size_t& at, Field& field);
  // The subject is the file, or its "columns".
  Status bad_row(std::int64_t line, std::size_t column, std::string_view reason, std::string_view field = "file") const;
  Status match_header(CsvHeader header);
  bool is_data(std::span<const CsvColumn> columns) const;

  TextFile file_;
  std::span<const CsvColumn> columns_;
  std::vector<std::int32_t> field_of_;  // column -> field, -1 = absent
  std::string row_;                     // the unquoted fields one after the other
  std::vector<Field> fields_;
  std::int64_t row_line_ = 0;
  bool row_waits_ = false;  // the row is read, next() has yet to deliver it
};

// A field for a CSV file: guarded and quoted where it must be.
std::string csv_field(std::string_view text);

}  // namespace berth
