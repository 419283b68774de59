// Changed rows as bytes: what it takes to bring each back as it was.
//
// An entry is a kind, the values of the row's key, and of a changed row the columns that differed with their old
// values, of a deleted row all columns that are not in the key. A row is told from others by the bytes of its key.
// Entries stand in the order in which the changes were made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/sqlite.h"

namespace berth {

struct Bytes {
  std::string bytes;
  auto operator<=>(const Bytes&) const = default;
};
// NULL, integer, real, text, blob.
using TableValue = std::variant<std::monostate, std::int64_t, double, std::string, Bytes>;
using TableRow = std::vector<TableValue>;

enum class UndoKind : std::uint8_t { kInserted, kChanged, kDeleted };

inline constexpr int kMostUndoColumns = 64;  // of a table

void put_null(std::string& out);
void put_integer(std::string& out, std::int64_t value);
void put_real(std::string& out, double value);
void put_text(std::string& out, std::string_view value);
void put_blob(std::string& out, std::string_view value);
void put_value(std::string& out, const TableValue& value);
void put_number(std::string& out, std::uint64_t value);  // a varint

// "" for NULL.
std::string print_value(const TableValue& value);

// Of a column of the present row of a statement.
void put_cell(std::string& out, const Statement& row, int column);
TableValue cell_value(const Statement& row, int column);
void bind_value(Statement& statement, int parameter, const TableValue& value);

// Names of columns as JSON, and back.
std::string names_to_json(const std::vector<std::string>& names);
Result<std::vector<std::string>> names_from_json(std::string_view json);

// Which columns a table has and which of them tell its rows apart, by position. A table without a primary key is told
// apart by all.
struct RowLayout {
  std::string table;
  std::vector<std::string> columns;
  std::vector<int> keys;  // rising
  // Once all columns are there.
  void complete();
  bool is_key(int column) const;
  std::vector<std::string> key_names() const;
};

struct UndoEntry {
  UndoKind kind = UndoKind::kInserted;
  std::string_view key;       // bytes that tell the row apart
  std::uint64_t columns = 0;  // bit i: column i has a value below
  std::string_view values;    // of those columns, in order
};

// Walks the entries of one table. The bytes must outlive what is read.
class UndoReader {
 public:
  UndoReader(std::string_view bytes, const RowLayout& layout) : bytes_(bytes), layout_(&layout) {}
  // False at the end, or where the bytes make no sense: then is_damaged().
  bool next(UndoEntry& entry);
  bool is_damaged() const { return damaged_; }

 private:
  bool skip_values(std::size_t count);
  std::string_view bytes_;
  const RowLayout* layout_;
  bool damaged_ = false;
};

// The values of bytes that next() or put_... made; stops where they make no sense.
std::vector<TableValue> read_values(std::string_view bytes);

}  // namespace berth
