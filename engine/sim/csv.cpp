#include "engine/sim/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace berth {

namespace {

// Apostrophes, then what begins a formula.
bool may_be_formula(std::string_view text) {
  const std::size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos && std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
}

}  // namespace

Result<CsvReader> CsvReader::open(const std::string& path, std::span<const CsvColumn> columns, CsvHeader header) {
  BERTH_ASSIGN(TextFile file, TextFile::open(path));
  CsvReader reader(std::move(file));
  reader.columns_ = columns;
  BERTH_TRY(reader.match_header(header));
  return reader;
}

// The row just read has no header's names in it.
bool CsvReader::is_data(std::span<const CsvColumn> columns) const {
  const std::string_view first = trim(std::string_view(row_).substr(fields_[0].offset, fields_[0].length));
  return std::ranges::none_of(columns, [&](const CsvColumn& column) { return column.name == first; });
}

Status CsvReader::match_header(CsvHeader header) {
  BERTH_ASSIGN(const bool found, read_row());
  if (!found)
    return Status(Code::kInvalid, fmt::format("{}: the file is empty; a header row was expected", file_.path()))
        .about("file", file_.path());
  if (header == CsvHeader::kOptional && is_data(columns_)) {
    field_of_.resize(columns_.size());
    std::iota(field_of_.begin(), field_of_.end(), 0);
    row_waits_ = true;
    return {};
  }
  std::vector<std::string> known;
  for (const CsvColumn& column : columns_) known.emplace_back(column.name);
  std::vector<std::string> unknown;
  field_of_.assign(columns_.size(), -1);
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const Field& at = fields_[field];
    const std::string name(trim(std::string_view(row_).substr(at.offset, at.length)));
    std::size_t column = 0;
    while (column < known.size() && known[column] != name) ++column;
    if (column == known.size()) {
      Status bad = bad_row(at.line, at.column, fmt::format("unknown column '{}'", name), "columns");
      const std::string near = suggest(name, known);
      return std::move(bad).with_hint(near.empty() ? "the columns are " + join(known, ", ") : near);
    }
    if (field_of_[column] >= 0)
      return bad_row(at.line, at.column, fmt::format("column '{}' is given twice", name), "columns");
    field_of_[column] = static_cast<std::int32_t>(field);
  }
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].required && field_of_[column] < 0) {
      return bad_row(row_line_, 0, fmt::format("required column '{}' is missing", columns_[column].name), "columns");
    }
  }
  return {};
}

Result<bool> CsvReader::next() {
  if (!row_waits_) {
    BERTH_ASSIGN(const bool found, read_row());
    if (!found) return false;
  }
  row_waits_ = false;
  std::size_t header = 0;
  for (const std::int32_t field : field_of_) header += field >= 0 ? 1 : 0;
  if (fields_.size() != header) {
    return bad_row(row_line_, 0, fmt::format("{} fields, but the header has {}", fields_.size(), header));
  }
  return true;
}

Result<bool> CsvReader::read_row() {
  row_.clear();
  fields_.clear();
  std::string_view line;
  do {
    BERTH_ASSIGN(const bool found, file_.next(line));
    if (!found) return false;
  } while (trim(line).empty());
  row_line_ = file_.line();
  std::size_t at = 0;
  for (;;) {
    Field field{row_.size(), 0, file_.line(), at + 1};
    if (at < line.size() && line[at] == '"') {
      BERTH_TRY(read_quoted(line, at, field));
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      const std::string_view bare = line.substr(at, end - at);
      if (const std::size_t quote = bare.find('"'); quote != std::string_view::npos) {
        return bad_row(file_.line(), at + quote + 1, "a quote inside a field that is not quoted");
      }
      row_.append(bare);
      at = end;
    }
    field.length = row_.size() - field.offset;
    fields_.push_back(field);
    if (at == line.size()) return true;
    ++at;  // the comma
  }
}

// `at` stands on the opening quote; afterwards behind the closing one. `line` moves on when the field spans lines.
Status CsvReader::read_quoted(std::string_view& line, std::size_t& at, Field& field) {
  ++at;
  for (;;) {
    const std::size_t quote = line.find('"', at);
    if (quote == std::string_view::npos) {
      row_.append(line.substr(at));
      if (file_.had_return()) row_.push_back('\r');
      row_.push_back('\n');
      auto more = file_.next(line);
      if (!more.ok()) return std::move(more).status();
      if (!*more) return bad_row(field.line, field.column, "the quote opened here is never closed");
      if (row_.size() > TextFile::kMaxLine) return bad_row(field.line, field.column, "the quoted field is too long");
      at = 0;
      continue;
    }
    row_.append(line.substr(at, quote - at));
    at = quote + 1;
    if (at < line.size() && line[at] == '"') {
      row_.push_back('"');
      ++at;
      continue;
    }
    if (at < line.size() && line[at] != ',') {
      return bad_row(file_.line(), at + 1, "text after a closing quote");
    }
    return {};
  }
}

std::string_view CsvReader::text(std::size_t column) const {
  const std::int32_t field = field_of_[column];
  if (field < 0) return {};
  const Field& at = fields_[static_cast<std::size_t>(field)];
  const std::string_view text = std::string_view(row_).substr(at.offset, at.length);
  const bool has_guard = columns_[column].guarded && text.starts_with('\'') && may_be_formula(text);
  return has_guard ? text.substr(1) : text;
}

Status CsvReader::error(std::size_t column, std::string_view reason, std::string hint) const {
  const std::int32_t field = field_of_[column];
  const std::string named = fmt::format("{}: {}", columns_[column].name, reason);
  if (field < 0) return bad_row(row_line_, 0, named).with_hint(std::move(hint));
  const Field& at = fields_[static_cast<std::size_t>(field)];
  return bad_row(at.line, at.column, named).with_hint(std::move(hint));
}

Status CsvReader::error(std::size_t column, const Status& reason) const {
  return error(column, reason.message(), reason.hint());
}

Status CsvReader::bad_row(std::int64_t line, std::size_t column, std::string_view reason,
                          std::string_view field) const {
  return Status(Code::kInvalid, fmt::format("{}: {}", file_.place(line, column), reason)).about(field, file_.path());
}

std::string csv_field(std::string_view text) {
  const std::string_view guard = may_be_formula(text) ? "'" : "";
  if (text.find_first_of(",\"\r\n") == std::string_view::npos && trim(text) == text)
    return std::string(guard) + std::string(text);
  std::string quoted = "\"" + std::string(guard);
  for (const char letter : text) {
    if (letter == '"') quoted.push_back('"');
    quoted.push_back(letter);
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace berth
