#include "engine/store/undo_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>

namespace berth {

namespace {

enum class Tag : std::uint8_t { kNull, kInteger, kReal, kText, kBlob };

void put_tag(std::string& out, Tag tag) { out += static_cast<char>(tag); }

bool take_number(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool take_bytes(std::string_view& bytes, std::uint64_t size, std::string_view& taken) {
  if (size > bytes.size()) return false;
  taken = bytes.substr(0, static_cast<std::size_t>(size));
  bytes.remove_prefix(static_cast<std::size_t>(size));
  return true;
}

// What follows the tag of one value.
bool take_content(std::string_view& bytes, Tag& tag, std::uint64_t& number, std::string_view& content) {
  if (bytes.empty()) return false;
  tag = static_cast<Tag>(bytes.front());
  bytes.remove_prefix(1);
  switch (tag) {
    case Tag::kNull: return true;
    case Tag::kInteger: return take_number(bytes, number);
    case Tag::kReal: return take_bytes(bytes, 8, content);
    case Tag::kText:
    case Tag::kBlob: return take_number(bytes, number) && take_bytes(bytes, number, content);
  }
  return false;
}

}  // namespace

void put_number(std::string& out, std::uint64_t value) {
  char bytes[10];
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>((value & 0x7F) | 0x80);
  bytes[size++] = static_cast<char>(value);
  out.append(bytes, size);
}

void put_null(std::string& out) { put_tag(out, Tag::kNull); }

void put_integer(std::string& out, std::int64_t value) {
  put_tag(out, Tag::kInteger);
  put_number(out, (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

void put_real(std::string& out, double value) {
  put_tag(out, Tag::kReal);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>((bits >> shift) & 0xFF);
}

void put_text(std::string& out, std::string_view value) {
  put_tag(out, Tag::kText);
  put_number(out, value.size());
  out += value;
}

void put_blob(std::string& out, std::string_view value) {
  put_tag(out, Tag::kBlob);
  put_number(out, value.size());
  out += value;
}

void put_value(std::string& out, const TableValue& value) {
  switch (value.index()) {
    case 0: return put_null(out);
    case 1: return put_integer(out, std::get<1>(value));
    case 2: return put_real(out, std::get<2>(value));
    case 3: return put_text(out, std::get<3>(value));
    default: return put_blob(out, std::get<4>(value).bytes);
  }
}

std::string print_value(const TableValue& value) {
  switch (value.index()) {
    case 1: return fmt::format("{}", std::get<1>(value));
    case 2: return fmt::format("{}", std::get<2>(value));
    case 3: return std::get<3>(value);
    case 4: return fmt::format("{} bytes", std::get<4>(value).bytes.size());
    default: return {};
  }
}

void put_cell(std::string& out, const Statement& row, int column) {
  switch (row.type(column)) {
    case CellType::kNull: return put_null(out);
    case CellType::kInteger: return put_integer(out, row.integer(column));
    case CellType::kReal: return put_real(out, row.real(column));
    case CellType::kText: return put_text(out, row.text(column));
    case CellType::kBlob: return put_blob(out, row.blob(column));
  }
}

TableValue cell_value(const Statement& row, int column) {
  switch (row.type(column)) {
    case CellType::kNull: break;
    case CellType::kInteger: return row.integer(column);
    case CellType::kReal: return row.real(column);
    case CellType::kText: return std::string(row.text(column));
    case CellType::kBlob: return Bytes{std::string(row.blob(column))};
  }
  return std::monostate();
}

void bind_value(Statement& statement, int parameter, const TableValue& value) {
  switch (value.index()) {
    case 0: return statement.bind_one(parameter, std::nullopt);
    case 1: return statement.bind_one(parameter, std::get<1>(value));
    case 2: return statement.bind_one(parameter, std::get<2>(value));
    case 3: return statement.bind_one(parameter, std::get<3>(value));
    default: return statement.bind_one(parameter, Blob{std::get<4>(value).bytes});
  }
}

// One after the other: the destructor of a JSON array allocates, and ends the process where memory is short.
std::string names_to_json(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? '[' : ',') + nlohmann::json(name).dump();
  return text.empty() ? "[]" : text + ']';
}

Result<std::vector<std::string>> names_from_json(std::string_view json) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  std::vector<std::string> names;
  if (parsed.is_array()) {
    for (const nlohmann::json& name : parsed) {
      if (name.is_string()) names.push_back(name.get<std::string>());
    }
  }
  if (names.empty() || names.size() != parsed.size())
    return Status(Code::kCorrupt, "a list of columns in the history is damaged");
  return names;
}

void RowLayout::complete() {
  if (!keys.empty()) return;
  keys.resize(columns.size());
  std::iota(keys.begin(), keys.end(), 0);
}

bool RowLayout::is_key(int column) const { return std::ranges::binary_search(keys, column); }

std::vector<std::string> RowLayout::key_names() const {
  std::vector<std::string> names;
  for (const int key : keys) names.push_back(columns[static_cast<std::size_t>(key)]);
  return names;
}

bool UndoReader::skip_values(std::size_t count) {
  Tag tag{};
  std::uint64_t number = 0;
  std::string_view content;
  for (std::size_t i = 0; i < count; ++i) {
    if (!take_content(bytes_, tag, number, content)) return false;
  }
  return true;
}

bool UndoReader::next(UndoEntry& entry) {
  if (bytes_.empty()) return false;
  damaged_ = true;
  const auto kind = static_cast<std::uint8_t>(bytes_.front());
  if (kind > static_cast<std::uint8_t>(UndoKind::kDeleted)) return false;
  entry.kind = static_cast<UndoKind>(kind);
  bytes_.remove_prefix(1);
  const char* begin = bytes_.data();
  if (!skip_values(layout_->keys.size())) return false;
  entry.key = {begin, static_cast<std::size_t>(bytes_.data() - begin)};
  entry.columns = 0;
  if (entry.kind == UndoKind::kChanged && !take_number(bytes_, entry.columns)) return false;
  if (entry.kind == UndoKind::kDeleted) {
    for (std::size_t i = 0; i < layout_->columns.size(); ++i) {
      if (!layout_->is_key(static_cast<int>(i))) entry.columns |= std::uint64_t{1} << i;
    }
  }
  begin = bytes_.data();
  if (!skip_values(static_cast<std::size_t>(std::popcount(entry.columns)))) return false;
  entry.values = {begin, static_cast<std::size_t>(bytes_.data() - begin)};
  damaged_ = false;
  return true;
}

std::vector<TableValue> read_values(std::string_view bytes) {
  std::vector<TableValue> values;
  Tag tag{};
  std::uint64_t number = 0;
  std::string_view content;
  while (take_content(bytes, tag, number, content)) {
    switch (tag) {
      case Tag::kNull: values.emplace_back(); break;
      case Tag::kInteger: values.emplace_back(static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1))); break;
      case Tag::kReal: {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < 8; ++i) bits |= std::uint64_t{static_cast<std::uint8_t>(content[i])} << (8 * i);
        values.emplace_back(std::bit_cast<double>(bits));
        break;
      }
      case Tag::kText: values.emplace_back(std::string(content)); break;
      case Tag::kBlob: values.emplace_back(Bytes{std::string(content)}); break;
    }
  }
  return values;
}

}  // namespace berth
