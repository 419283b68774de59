#include "engine/runtime/state_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/base/text.h"
#include "engine/store/past_rows.h"

namespace berth {

namespace {

class DiffWriter {
 public:
  DiffWriter(Database& db, const StateDiffRequest& request, StateDiff& diff)
      : db_(db), request_(request), diff_(diff), names_(db) {}

  Status write() {
    BERTH_ASSIGN(const std::vector<std::string> tables, changed_tables(db_, diff_.from.id, diff_.to.id));
    for (const std::string& table : tables) {
      const ChangeScope scope = scope_of_table(table);
      if (request_.scope && *request_.scope != scope) continue;
      if (scope == ChangeScope::kNone && !request_.cells) continue;
      BERTH_ASSIGN(keys_, keys_of(table));
      BERTH_TRY(for_each_difference(db_, table, diff_.from, diff_.to, [&](const RowView& before, const RowView& after) {
        add_words(words_of_change(table, at_time(table, before, diff_.from.asked),
                                  at_time(table, after, diff_.to.asked), names_));
        if (request_.cells) add_cells(table, before, after);
        return Status();
      }));
    }
    for (auto& [key, change] : changes_) diff_.changes.push_back(std::move(change));
    return {};
  }

 private:
  Result<std::vector<std::string>> keys_of(const std::string& table) {
    BERTH_ASSIGN(Statement rows, db_.prepare("SELECT keys FROM history_layouts WHERE table_name = ?1 LIMIT 1"));
    if (!rows.with(table).next()) return rows.status();
    return names_from_json(rows.text(0));
  }

  // A loan whose time was up then is none, whether a round had ended it yet or not.
  static RowView at_time(const std::string& table, const RowView& row, Seconds moment) {
    if (table != "loans" || !row) return row;
    const bool is_over =
        row.text("state") != "open" || (row.at("valid_to").index() != 0 && row.integer("valid_to") <= moment.value());
    return is_over ? RowView{row.columns, nullptr} : row;
  }

  void add_words(const ObjectChange& change) {
    if (change.kind.empty()) return;
    for (const std::string& what : change.words) {
      StateChange& entry = changes_[{change.scope, change.kind, what}];
      entry.kind = change.kind;
      entry.what = what;
      ++entry.count;
      if (entry.names.size() < request_.most_names) entry.names.push_back(change.name);
    }
  }

  void add_cells(const std::string& table, const RowView& before, const RowView& after) {
    const RowView& row = after ? after : before;
    std::string key;
    for (const std::string& column : keys_) key += (key.empty() ? "" : "|") + row.text(column);
    for (std::size_t i = 0; i < row.columns->size(); ++i) {
      const TableValue from = before ? (*before.row)[i] : TableValue();
      const TableValue to = after ? (*after.row)[i] : TableValue();
      if (from != to) diff_.cells.push_back({table, key, (*row.columns)[i], from, to});
    }
  }

  Database& db_;
  const StateDiffRequest& request_;
  StateDiff& diff_;
  PastNames names_;
  std::vector<std::string> keys_;
  std::map<std::tuple<ChangeScope, std::string, std::string>, StateChange> changes_;
};

}  // namespace

Result<StateDiff> diff_state(Runtime& runtime, const StateDiffRequest& request) {
  Database& db = runtime.db();
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_read(db));
  StateDiff diff;
  BERTH_ASSIGN(diff.from, read_moment(db, request.from, runtime.now()));
  BERTH_ASSIGN(diff.to, read_moment(db, request.to, runtime.now()));
  if (diff.to.id < diff.from.id)
    return Status(Code::kInvalid, fmt::format("'{}' is before '{}'", request.to, request.from));
  BERTH_TRY(DiffWriter(db, request, diff).write());
  return diff;
}

}  // namespace berth
