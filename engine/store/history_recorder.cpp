#ifndef SQLITE_ENABLE_PREUPDATE_HOOK
#define SQLITE_ENABLE_PREUPDATE_HOOK  // for its declaration; the library has it
#endif
#include "engine/store/history_recorder.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/base/out_of_memory.h"
#include "engine/store/kept_tables.h"
#include "engine/store/undo_log.h"

namespace berth {

namespace {

constexpr std::size_t kWorthPacking = 200;  // bytes

void put_sqlite_value(std::string& out, sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER: return put_integer(out, sqlite3_value_int64(value));
    case SQLITE_FLOAT: return put_real(out, sqlite3_value_double(value));
    case SQLITE_TEXT: {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
      return put_text(out, {bytes, static_cast<std::size_t>(sqlite3_value_bytes(value))});
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
      return put_blob(out, {bytes, static_cast<std::size_t>(sqlite3_value_bytes(value))});
    }
    default: return put_null(out);
  }
}

bool equal_values(sqlite3_value* a, sqlite3_value* b) {
  const int type = sqlite3_value_type(a);
  if (type != sqlite3_value_type(b)) return false;
  switch (type) {
    case SQLITE_INTEGER: return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    case SQLITE_FLOAT: return sqlite3_value_double(a) == sqlite3_value_double(b);
    case SQLITE_NULL: return true;
    default: {
      const int size = sqlite3_value_bytes(a);
      if (size != sqlite3_value_bytes(b)) return false;
      return size == 0 ||
             std::memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b), static_cast<std::size_t>(size)) == 0;
    }
  }
}

std::string packed_changes(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

Result<std::vector<RowLayout>> read_layouts(Database& db) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT s.name, c.name, c.pk FROM sqlite_schema s, pragma_table_info(s.name) c "
                          "WHERE s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY s.name, c.cid"));
  std::vector<RowLayout> layouts;
  while (rows.next()) {
    if (keeping_of(rows.text(0)).keeping != Keeping::kChanges) continue;
    if (layouts.empty() || layouts.back().table != rows.text(0)) layouts.push_back({std::string(rows.text(0)), {}, {}});
    RowLayout& layout = layouts.back();
    if (rows.integer(2) > 0) layout.keys.push_back(static_cast<int>(layout.columns.size()));
    layout.columns.emplace_back(rows.text(1));
  }
  BERTH_TRY(rows.status());
  std::erase_if(layouts, [](const RowLayout& layout) { return layout.columns.size() > kMostUndoColumns; });
  for (RowLayout& layout : layouts) layout.complete();
  return layouts;
}

class HistoryRecorder : public WriteWatch {
 public:
  void attend(sqlite3* connection) override {
    connection_ = connection;
    sqlite3_preupdate_hook(connection_, before_change, this);
    sqlite3_set_authorizer(connection_, note_statement, this);
  }
  Status begin(Database& db) override;
  std::size_t mark() const override { return entries_.size(); }
  void forget(std::size_t mark) override {
    if (mark >= entries_.size()) return;
    bytes_.resize(entries_[mark].begin);
    entries_.resize(mark);
  }
  Status before_commit(Database& db) override;
  void end() override {
    active_ = false;
    has_memory_ = true;
    time_.reset();
    is_load_ = false;
    entries_.clear();
    bytes_.clear();
  }

  void set_clock(const Env& env) { clock_ = &env; }
  void set_time(Seconds now) { time_ = now; }
  void mark_load() { is_load_ = true; }
  const HistoryCost& cost() const { return cost_; }

 private:
  struct Entry {
    std::size_t table;
    std::size_t begin;  // in bytes_
  };

  static void before_change(void* self, sqlite3*, int operation, const char* database, const char* table, sqlite3_int64,
                            sqlite3_int64) {
    auto* recorder = static_cast<HistoryRecorder*>(self);
    if (!recorder->active_ || std::strcmp(database, "main") != 0) return;
    if (!has_memory_for([&] { recorder->note(operation, table); })) recorder->has_memory_ = false;
  }
  // Called as statements are prepared, for each column that they or triggers of theirs may update. All other columns of
  // a row that changes need no comparing: of wide tables that is most of the cost.
  static int note_statement(void* self, int action, const char* table, const char* column, const char*, const char*) {
    auto* recorder = static_cast<HistoryRecorder*>(self);
    if (action == SQLITE_UPDATE && !has_memory_for([&] { recorder->may_update(table, column); }))
      recorder->all_may_change_ = true;
    return SQLITE_OK;
  }
  void may_update(const std::string& table, const std::string& column);
  void note(int operation, const char* table);
  void note_insert(const RowLayout& layout);
  void note_update(std::size_t table, const RowLayout& layout);
  void note_delete(const RowLayout& layout);
  std::optional<std::size_t> find_table(const char* name);
  sqlite3_value* old_value(int column) {
    sqlite3_value* value = nullptr;
    sqlite3_preupdate_old(connection_, column, &value);
    return value;
  }
  sqlite3_value* new_value(int column) {
    sqlite3_value* value = nullptr;
    sqlite3_preupdate_new(connection_, column, &value);
    return value;
  }

  Status look_up_schema(Database& db);
  Result<std::int64_t> write_moment(Database& db, std::string_view kind);
  Status write_changes(Database& db, std::int64_t moment);
  Result<std::int64_t> layout_id(Database& db, const RowLayout& layout);

  sqlite3* connection_ = nullptr;
  const Env* clock_ = nullptr;
  bool active_ = false;     // changes are noted
  bool has_memory_ = true;  // for all of them, so far
  bool wanted_ = false;     // by the setting, as the transaction began
  bool has_tables_ = false;
  bool is_load_ = false;
  std::optional<Seconds> time_;
  std::int64_t schema_ = -1;
  std::vector<RowLayout> layouts_;
  std::vector<std::uint64_t> may_change_;                  // columns of each
  bool all_may_change_ = false;                            // there was no memory to note which
  std::set<std::pair<std::string, std::string>> updated_;  // tables and columns of all statements so far
  std::unordered_map<std::string, std::size_t> by_name_;
  std::size_t last_found_ = 0;
  std::string bytes_;
  std::vector<Entry> entries_;
  HistoryCost cost_;
};

Result<bool> is_wanted(Database& db) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT value FROM settings WHERE key = 'record_history'"));
  const bool wanted = !row.next() || row.text(0) != "false";
  BERTH_TRY(row.status());
  return wanted;
}

Status HistoryRecorder::look_up_schema(Database& db) {
  BERTH_ASSIGN(const std::int64_t schema, db.integer("PRAGMA schema_version"));
  if (schema == schema_) return {};
  BERTH_ASSIGN(const std::int64_t found,
               db.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'history_changes'"));
  has_tables_ = found > 0;
  BERTH_ASSIGN(layouts_, read_layouts(db));
  by_name_.clear();
  for (std::size_t i = 0; i < layouts_.size(); ++i) by_name_.emplace(layouts_[i].table, i);
  may_change_.assign(layouts_.size(), 0);
  for (const auto& [table, column] : std::exchange(updated_, {})) may_update(table, column);
  last_found_ = 0;
  schema_ = schema;
  return {};
}

void HistoryRecorder::may_update(const std::string& table, const std::string& column) {
  if (!updated_.emplace(table, column).second) return;
  const auto found = by_name_.find(table);
  if (found == by_name_.end()) return;
  const std::vector<std::string>& columns = layouts_[found->second].columns;
  const auto at = std::ranges::find(columns, column);
  // "ROWID" is the key under another name.
  may_change_[found->second] |= at == columns.end() ? ~std::uint64_t{0} : std::uint64_t{1} << (at - columns.begin());
}

Status HistoryRecorder::begin(Database& db) {
  end();
  BERTH_TRY(look_up_schema(db));
  if (!has_tables_) return {};
  BERTH_ASSIGN(wanted_, is_wanted(db));
  active_ = wanted_;
  return {};
}

std::optional<std::size_t> HistoryRecorder::find_table(const char* name) {
  if (last_found_ < layouts_.size() && layouts_[last_found_].table == name) return last_found_;
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return last_found_ = found->second;
}

void HistoryRecorder::note(int operation, const char* table) {
  const std::optional<std::size_t> found = find_table(table);
  if (!found) return;
  const RowLayout& layout = layouts_[*found];
  if (operation == SQLITE_UPDATE) return note_update(*found, layout);
  entries_.push_back({*found, bytes_.size()});
  if (operation == SQLITE_INSERT) {
    note_insert(layout);
  } else {
    note_delete(layout);
  }
}

void HistoryRecorder::note_insert(const RowLayout& layout) {
  bytes_ += static_cast<char>(UndoKind::kInserted);
  for (const int key : layout.keys) put_sqlite_value(bytes_, new_value(key));
}

void HistoryRecorder::note_delete(const RowLayout& layout) {
  bytes_ += static_cast<char>(UndoKind::kDeleted);
  for (const int key : layout.keys) put_sqlite_value(bytes_, old_value(key));
  const int count = static_cast<int>(layout.columns.size());
  for (int i = 0; i < count; ++i) {
    if (!layout.is_key(i)) put_sqlite_value(bytes_, old_value(i));
  }
}

void HistoryRecorder::note_update(std::size_t table, const RowLayout& layout) {
  std::uint64_t changed = 0;
  const int count = static_cast<int>(layout.columns.size());
  for (int i = 0; i < count; ++i) {
    if ((all_may_change_ || (may_change_[table] >> i & 1) != 0) && !equal_values(old_value(i), new_value(i)))
      changed |= std::uint64_t{1} << i;
  }
  if (changed == 0) return;
  const bool moves = std::ranges::any_of(layout.keys, [&](int key) { return (changed >> key & 1) != 0; });
  entries_.push_back({table, bytes_.size()});
  if (moves) {
    note_delete(layout);
    entries_.push_back({table, bytes_.size()});
    return note_insert(layout);
  }
  bytes_ += static_cast<char>(UndoKind::kChanged);
  for (const int key : layout.keys) put_sqlite_value(bytes_, old_value(key));
  put_number(bytes_, changed);
  for (int i = 0; i < count; ++i) {
    if ((changed >> i & 1) != 0) put_sqlite_value(bytes_, old_value(i));
  }
}

Result<std::int64_t> HistoryRecorder::layout_id(Database& db, const RowLayout& layout) {
  const std::string columns = names_to_json(layout.columns);
  const std::string keys = names_to_json(layout.key_names());
  BERTH_ASSIGN(Statement find, db.prepare("SELECT id FROM history_layouts WHERE table_name = ?1 AND columns = ?2 AND "
                                          "keys = ?3"));
  if (find.with(layout.table, columns, keys).next()) return find.integer(0);
  BERTH_TRY(find.status());
  BERTH_ASSIGN(Statement insert,
               db.prepare("INSERT INTO history_layouts (table_name, columns, keys) VALUES (?1, ?2, ?3)"));
  BERTH_TRY(insert.run(layout.table, columns, keys));
  return db.last_row_id();
}

Result<std::int64_t> HistoryRecorder::write_moment(Database& db, std::string_view kind) {
  Seconds time = time_.value_or(Seconds(0));
  if (!time_ && clock_ != nullptr) time = clock_->now();
  if (!time_ && clock_ == nullptr) {
    BERTH_ASSIGN(const std::int64_t last,
                 db.integer("SELECT coalesce((SELECT time FROM history_moments ORDER BY id DESC LIMIT 1), 0)"));
    time = Seconds(last);
  }
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO history_moments (time, state_version, kind, bytes) "
                                            "SELECT ?1, value, ?2, 0 FROM meta WHERE key = 'state_version'"));
  BERTH_TRY(insert.run(time, kind));
  return db.last_row_id();
}

Status HistoryRecorder::write_changes(Database& db, std::int64_t moment) {
  std::vector<std::string> of_table(layouts_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t end = i + 1 < entries_.size() ? entries_[i + 1].begin : bytes_.size();
    of_table[entries_[i].table].append(bytes_, entries_[i].begin, end - entries_[i].begin);
  }
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO history_changes (moment_id, layout_id, size, data) VALUES "
                                            "(?1, ?2, ?3, ?4)"));
  std::int64_t stored = 0;
  for (std::size_t table = 0; table < of_table.size(); ++table) {
    const std::string& bytes = of_table[table];
    if (bytes.empty()) continue;
    BERTH_ASSIGN(const std::int64_t layout, layout_id(db, layouts_[table]));
    const std::string small = bytes.size() > kWorthPacking ? packed_changes(bytes) : std::string();
    const bool is_packed = !small.empty() && small.size() < bytes.size();
    const std::string& data = is_packed ? small : bytes;
    BERTH_TRY(insert.run(moment, layout, is_packed ? bytes.size() : 0, Blob{data}));
    stored += static_cast<std::int64_t>(data.size());
  }
  cost_.bytes += stored;
  cost_.changes += static_cast<std::int64_t>(entries_.size());
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE history_moments SET bytes = ?2 WHERE id = ?1"));
  return update.run(moment, stored);
}

Status HistoryRecorder::before_commit(Database& db) {
  if (!has_tables_) return {};
  const auto begun = std::chrono::steady_clock::now();
  const bool was_active = std::exchange(active_, false);
  BERTH_ASSIGN(const bool stays_wanted, is_wanted(db));
  if (!stays_wanted) {
    if (was_active) BERTH_TRY(db.execute("DELETE FROM history_changes; DELETE FROM history_moments"));
    return {};
  }
  BERTH_ASSIGN(const std::int64_t moments, db.integer("SELECT EXISTS (SELECT 1 FROM history_moments)"));
  if (moments == 0) return write_moment(db, "begin").status();
  if (!has_memory_) return Status(Code::kUnavailable, "there is not enough memory to note what changes");
  if (entries_.empty()) return {};
  BERTH_ASSIGN(const std::int64_t moment, write_moment(db, is_load_ ? "load" : "change"));
  BERTH_TRY(write_changes(db, moment));
  cost_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return {};
}

HistoryRecorder* recorder_of(const Database& db) { return dynamic_cast<HistoryRecorder*>(db.watch()); }

}  // namespace

void record_history(Database& db) { db.watch_writes(std::make_unique<HistoryRecorder>()); }

void set_history_clock(Database& db, const Env& env) {
  if (HistoryRecorder* recorder = recorder_of(db); recorder != nullptr) recorder->set_clock(env);
}

void set_history_time(Database& db, Seconds now) {
  if (HistoryRecorder* recorder = recorder_of(db); recorder != nullptr) recorder->set_time(now);
}

void mark_history_load(Database& db) {
  if (HistoryRecorder* recorder = recorder_of(db); recorder != nullptr) recorder->mark_load();
}

HistoryCost history_cost(const Database& db) {
  const HistoryRecorder* recorder = recorder_of(db);
  return recorder == nullptr ? HistoryCost() : recorder->cost();
}

}  // namespace berth
