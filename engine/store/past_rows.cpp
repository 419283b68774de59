#include "engine/store/past_rows.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>

#include "engine/store/sql_text.h"

namespace berth {

namespace {

Status damaged_history(const std::string& table) {
  return Status(Code::kCorrupt, fmt::format("the history of table {} is damaged", table));
}

Result<std::string> unpacked_changes(std::string_view data, std::int64_t size, const std::string& table) {
  if (size == 0) return std::string(data);
  if (ZSTD_getFrameContentSize(data.data(), data.size()) != static_cast<std::uint64_t>(size))
    return damaged_history(table);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress(bytes.data(), bytes.size(), data.data(), data.size());
  if (got != bytes.size()) return damaged_history(table);
  return bytes;
}

// Of a column as its table's definition has it: 'up', 0, NULL.
TableValue read_default(Database& db, std::string_view sql) {
  if (sql.empty()) return std::monostate();
  Result<Statement> row = db.prepare(fmt::format("SELECT {}", sql));
  return row.ok() && row->next() ? cell_value(*row, 0) : TableValue();
}

Result<RowLayout> layout_of(const std::string& table, std::string_view columns, std::string_view keys) {
  RowLayout layout{table, {}, {}};
  BERTH_ASSIGN(layout.columns, names_from_json(columns));
  BERTH_ASSIGN(const std::vector<std::string> names, names_from_json(keys));
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (std::ranges::find(names, layout.columns[i]) != names.end()) layout.keys.push_back(static_cast<int>(i));
  }
  return layout;
}

}  // namespace

Status PastRows::read_layouts(Database& db, const std::string& table) {
  present_ = std::make_unique<RowLayout>();
  present_->table = table;
  BERTH_ASSIGN(Statement columns,
               db.prepare("SELECT name, pk, \"notnull\", dflt_value FROM pragma_table_info(?1) ORDER BY cid"));
  columns.with(table);
  while (columns.next()) {
    if (columns.integer(1) > 0) present_->keys.push_back(static_cast<int>(present_->columns.size()));
    present_->columns.emplace_back(columns.text(0));
    never_null_.push_back(columns.integer(2) != 0);
    defaults_.push_back(read_default(db, columns.text(3)));
  }
  BERTH_TRY(columns.status());
  present_->complete();
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, columns, keys FROM history_layouts WHERE table_name = ?1"));
  rows.with(table);
  while (rows.next()) {
    BERTH_ASSIGN(RowLayout layout, layout_of(table, rows.text(1), rows.text(2)));
    if (layout.key_names() != present_->key_names())
      return Status(Code::kNotFound, fmt::format("table {} has been made anew since", table));
    layouts_.emplace(rows.integer(0), std::make_unique<RowLayout>(std::move(layout)));
  }
  return rows.status();
}

Status PastRows::take(const UndoEntry& entry, const RowLayout& layout) {
  const auto [found, is_new] = rows_.try_emplace(std::string(entry.key));
  PastRow& row = found->second;
  if (is_new && entry.kind == UndoKind::kInserted) {
    row.was_there = false;
    return {};
  }
  // Another row of the same key, later on.
  if (!row.was_there || row.is_whole) return {};
  // A row that was there came again without having gone: somebody deleted it past the history.
  if (entry.kind == UndoKind::kInserted) return damaged_history(layout.table);
  row.is_whole = entry.kind == UndoKind::kDeleted;
  row.parts.push_back({&layout, entry.columns, entry.values});
  return {};
}

Result<PastRows> PastRows::read(Database& db, const std::string& table, std::int64_t after, std::int64_t until) {
  PastRows past;
  BERTH_TRY(past.read_layouts(db, table));
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT c.layout_id, c.size, c.data FROM history_changes c WHERE c.layout_id IN "
                          "(SELECT id FROM history_layouts WHERE table_name = ?1) AND c.moment_id > ?2 AND "
                          "(?3 = 0 OR c.moment_id <= ?3) ORDER BY c.moment_id"));
  rows.with(table, after, until);
  while (rows.next()) {
    const auto layout = past.layouts_.find(rows.integer(0));
    if (layout == past.layouts_.end()) return damaged_history(table);
    BERTH_ASSIGN(std::string bytes, unpacked_changes(rows.blob(2), rows.integer(1), table));
    past.data_.push_back(std::move(bytes));
    UndoReader reader(past.data_.back(), *layout->second);
    UndoEntry entry;
    while (reader.next(entry)) BERTH_TRY(past.take(entry, *layout->second));
    if (reader.is_damaged()) return damaged_history(table);
  }
  BERTH_TRY(rows.status());
  return past;
}

std::string PastRows::key_of(const TableRow& row) const {
  std::string key;
  for (const int column : present_->keys) put_value(key, row[static_cast<std::size_t>(column)]);
  return key;
}

TableRow PastRows::restore(const std::string& key, const PastRow& past, const TableRow* row) const {
  TableRow restored = past.is_whole || row == nullptr ? defaults_ : *row;
  const std::vector<TableValue> key_values = read_values(key);
  for (std::size_t i = 0; i < key_values.size(); ++i)
    restored[static_cast<std::size_t>(present_->keys[i])] = key_values[i];
  for (auto part = past.parts.rbegin(); part != past.parts.rend(); ++part) {
    const std::vector<TableValue> values = read_values(part->values);
    std::size_t next = 0;
    for (std::size_t i = 0; i < part->layout->columns.size(); ++i) {
      if ((part->columns >> i & 1) == 0) continue;
      const TableValue& value = values[next++];
      const auto column = std::ranges::find(present_->columns, part->layout->columns[i]);
      if (column == present_->columns.end()) continue;
      const auto at = static_cast<std::size_t>(column - present_->columns.begin());
      // SQLite shows NULL for a column that came after the row was written.
      restored[at] = value.index() == 0 && never_null_[at] ? defaults_[at] : value;
    }
  }
  return restored;
}

Result<PresentRows> PresentRows::make(Database& db, const RowLayout& layout) {
  std::string condition;
  for (const std::string& key : layout.key_names())
    condition += fmt::format("{}{} IS ?", condition.empty() ? "" : " AND ", sql_name(key));
  BERTH_ASSIGN(Statement row,
               db.prepare(fmt::format("SELECT * FROM main.{} WHERE {}", sql_name(layout.table), condition)));
  return PresentRows(std::move(row));
}

Result<std::optional<TableRow>> PresentRows::find(const std::string& key) {
  row_.with();
  const std::vector<TableValue> values = read_values(key);
  for (std::size_t i = 0; i < values.size(); ++i) bind_value(row_, static_cast<int>(i) + 1, values[i]);
  std::optional<TableRow> found;
  if (row_.next()) {
    found.emplace();
    for (int i = 0; i < row_.column_count(); ++i) found->push_back(cell_value(row_, i));
  }
  BERTH_TRY(row_.status());
  return found;
}

Result<std::vector<Misfit>> find_misfits(Database& db, const std::string& table, std::int64_t most_bytes) {
  BERTH_ASSIGN(const PastRows shape, PastRows::read(db, table, INT64_MAX));
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT c.size, c.data, l.columns, l.keys FROM history_layouts l JOIN history_changes c ON "
                          "c.layout_id = l.id WHERE l.table_name = ?1 ORDER BY c.moment_id DESC"));
  rows.with(table);
  std::unordered_map<std::string, bool> should_be;  // there, by the last change of each key
  std::int64_t read = 0;
  while (rows.next() && read < most_bytes) {
    read += static_cast<std::int64_t>(rows.blob(1).size());
    BERTH_ASSIGN(const RowLayout layout, layout_of(table, rows.text(2), rows.text(3)));
    BERTH_ASSIGN(const std::string bytes, unpacked_changes(rows.blob(1), rows.integer(0), table));
    std::unordered_map<std::string, bool> of_moment;
    UndoReader reader(bytes, layout);
    UndoEntry entry;
    while (reader.next(entry)) of_moment[std::string(entry.key)] = entry.kind != UndoKind::kDeleted;
    if (reader.is_damaged()) return damaged_history(table);
    should_be.merge(of_moment);
  }
  BERTH_TRY(rows.status());
  BERTH_ASSIGN(PresentRows present, PresentRows::make(db, shape.present()));
  std::vector<Misfit> misfits;
  for (const auto& [key, there] : should_be) {
    BERTH_ASSIGN(const std::optional<TableRow> row, present.find(key));
    if (row.has_value() == there) continue;
    std::string printed;
    for (const TableValue& value : read_values(key)) printed += (printed.empty() ? "" : "|") + print_value(value);
    misfits.push_back({std::move(printed), row.has_value()});
  }
  std::ranges::sort(misfits, {}, &Misfit::key);
  return misfits;
}

Result<std::vector<std::string>> changed_tables(Database& db, std::int64_t after, std::int64_t until) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT DISTINCT table_name FROM history_layouts l WHERE EXISTS (SELECT 1 "
                                          "FROM history_changes c WHERE c.layout_id = l.id AND c.moment_id > ?1 AND "
                                          "c.moment_id <= ?2) ORDER BY 1"));
  rows.with(after, until);
  std::vector<std::string> tables;
  while (rows.next()) tables.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return tables;
}

Result<std::vector<RowChange>> changes_of_rows(Database& db, const std::string& table,
                                               const std::function<bool(const std::vector<TableValue>& key)>& wanted) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare("SELECT m.id, m.time, m.state_version, c.size, c.data, l.columns, l.keys FROM history_layouts l "
                 "JOIN history_changes c ON c.layout_id = l.id JOIN history_moments m ON m.id = c.moment_id "
                 "WHERE l.table_name = ?1 ORDER BY m.id"));
  rows.with(table);
  std::vector<RowChange> changes;
  std::shared_ptr<const RowLayout> layout;
  while (rows.next()) {
    BERTH_ASSIGN(RowLayout found, layout_of(table, rows.text(5), rows.text(6)));
    if (layout == nullptr || found.columns != layout->columns)
      layout = std::make_shared<const RowLayout>(std::move(found));
    BERTH_ASSIGN(const std::string bytes, unpacked_changes(rows.blob(4), rows.integer(3), table));
    UndoReader reader(bytes, *layout);
    UndoEntry entry;
    while (reader.next(entry)) {
      if (!wanted(read_values(entry.key))) continue;
      changes.push_back({rows.integer(0), rows.quantity<Seconds>(1), rows.integer(2), entry.kind,
                         std::string(entry.key), entry.columns, std::string(entry.values), layout});
    }
    if (reader.is_damaged()) return damaged_history(table);
  }
  BERTH_TRY(rows.status());
  return changes;
}

}  // namespace berth
