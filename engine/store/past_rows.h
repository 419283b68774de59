// How the rows of one table were at a moment, from what the history says was replaced since.
//
// The rows of now and the history belong together: read both in one transaction.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/store/undo_log.h"

namespace berth {

// A row as it was, by what is known of it: nothing, some columns, or all. Columns that are not known had the values of
// the row as it was at the later end of the history that was read.
struct PastRow {
  bool was_there = true;
  bool is_whole = false;
  struct Part {
    const RowLayout* layout;
    std::uint64_t columns;
    std::string_view values;
  };
  std::vector<Part> parts;  // oldest first: of a column the first counts
};

// How the rows of a table at one moment differed from those at a later one.
class PastRows {
 public:
  // Of changes after `after`, up to `until` (0 = the last).
  static Result<PastRows> read(Database& db, const std::string& table, std::int64_t after, std::int64_t until = 0);

  const std::unordered_map<std::string, PastRow>& rows() const { return rows_; }
  const RowLayout& present() const { return *present_; }
  const std::vector<TableValue>& defaults() const { return defaults_; }
  // The bytes that tell rows apart, of a row of the table as it is.
  std::string key_of(const TableRow& row) const;
  // The row as it was: `row` as it was at the later end, ignored where the history has all of it.
  TableRow restore(const std::string& key, const PastRow& past, const TableRow* row) const;

 private:
  Status read_layouts(Database& db, const std::string& table);
  Status take(const UndoEntry& entry, const RowLayout& layout);

  std::unique_ptr<RowLayout> present_;
  std::vector<TableValue> defaults_;  // of columns of the table as it is
  std::vector<bool> never_null_;
  std::unordered_map<std::int64_t, std::unique_ptr<RowLayout>> layouts_;
  std::deque<std::string> data_;  // what rows_ points into
  std::unordered_map<std::string, PastRow> rows_;
};

// Rows of a table as they are, by key.
class PresentRows {
 public:
  static Result<PresentRows> make(Database& db, const RowLayout& layout);
  Result<std::optional<TableRow>> find(const std::string& key);

 private:
  explicit PresentRows(Statement row) : row_(std::move(row)) {}
  Statement row_;
};

// Tables of which some row changed after `after`, up to `until`, by name.
Result<std::vector<std::string>> changed_tables(Database& db, std::int64_t after, std::int64_t until);

// One change of one row.
struct RowChange {
  std::int64_t moment = 0;
  Seconds time;
  std::int64_t version = 0;
  UndoKind kind = UndoKind::kInserted;
  std::string key;
  std::uint64_t columns = 0;  // of `layout`, with what they held before in `values`
  std::string values;
  std::shared_ptr<const RowLayout> layout;
  PastRow before() const { return {true, kind == UndoKind::kDeleted, {{layout.get(), columns, values}}}; }
};
// Rows of which the history says that they are there and they are not, or the other way round: another program has
// written to the table. Looks back through so many bytes of history at most, as stored.
struct Misfit {
  std::string key;  // values, "|" between them
  bool is_there = false;
};
Result<std::vector<Misfit>> find_misfits(Database& db, const std::string& table, std::int64_t most_bytes);

// All changes of the rows whose key is wanted, oldest first.
Result<std::vector<RowChange>> changes_of_rows(Database& db, const std::string& table,
                                               const std::function<bool(const std::vector<TableValue>& key)>& wanted);

}  // namespace berth
