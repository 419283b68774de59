// What differs between two moments, row by row: the history netted out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/store/history.h"
#include "engine/store/undo_log.h"

namespace berth {

// A row with the names of its columns; null = there was none.
struct RowView {
  const std::vector<std::string>* columns = nullptr;
  const TableRow* row = nullptr;
  explicit operator bool() const { return row != nullptr; }
  // NULL where there is no such column.
  const TableValue& at(std::string_view column) const;
  std::int64_t integer(std::string_view column) const;  // 0 where it is none
  std::string text(std::string_view column) const;      // as printed
};

// Calls `each` for every row of the table that was not the same at `to` as at `from`, by key.
Status for_each_difference(Database& db, const std::string& table, const Moment& from, const Moment& to,
                           const std::function<Status(const RowView& before, const RowView& after)>& each);

// Calls `each` for every change of the rows whose keys are wanted, oldest first, with the row before and after it.
struct RowStep {
  std::int64_t moment = 0;
  Seconds time;
  std::int64_t version = 0;
};
Status for_each_step(
    Database& db, const std::string& table, const std::function<bool(const std::vector<TableValue>& key)>& wanted,
    const std::function<Status(const RowStep& step, const RowView& before, const RowView& after)>& each);

// Names of things by number, also of those that are gone, as far as the history knows.
class PastNames {
 public:
  explicit PastNames(Database& db) : db_(&db) {}
  // "number 7" when nobody knows; "" for 0.
  std::string of(const std::string& table, std::int64_t id);

 private:
  Database* db_;
  std::map<std::pair<std::string, std::int64_t>, std::string> known_;
  std::map<std::string, std::map<std::int64_t, std::string>> gone_;
};

}  // namespace berth
