#include "engine/store/past_tables.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "engine/base/out_of_memory.h"
#include "engine/base/text.h"
#include "engine/store/kept_tables.h"
#include "engine/store/past_rows.h"
#include "engine/store/sql_text.h"

namespace berth {

namespace {

struct SchemaEntry {
  std::string type;  // table, index, view
  std::string name;
  std::string table;  // of an index
  std::string sql;
};

Result<std::vector<SchemaEntry>> read_schema(Database& db) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL AND type IN "
                          "('table', 'index', 'view') AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%' "
                          "ORDER BY rowid"));
  std::vector<SchemaEntry> objects;
  while (rows.next()) {
    objects.push_back(
        {std::string(rows.text(0)), std::string(rows.text(1)), std::string(rows.text(2)), std::string(rows.text(3))});
  }
  BERTH_TRY(rows.status());
  return objects;
}

// The text of a view, in which "now" is `moment`: strftime('%s', 'now'), unixepoch().
std::string at_moment(std::string_view sql, Seconds moment) {
  const std::string then = fmt::format("{}, 'unixepoch'", moment.value());
  const std::vector<SqlWord> words = sql_words(sql);
  std::string out;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const SqlWord& word = words[i];
    const bool is_now = word.type == SqlWord::Type::kString && equals_ignoring_case(word.text, "now");
    const bool is_bare = word.is('(') && i > 0 && i + 1 < words.size() && words[i + 1].is(')') &&
                         equals_ignoring_case(words[i - 1].text, "unixepoch");
    if (!is_now && !is_bare) continue;
    out += sql.substr(copied, (is_now ? word.begin : word.end) - copied);
    out += then;
    copied = word.end;
  }
  return out + std::string(sql.substr(copied));
}

struct ReadTables {
  std::set<std::string> names;
  bool is_complete = true;  // else there was no memory for more
};

int note_table(void* tables, int action, const char* first, const char*, const char*, const char*) {
  auto* const read = static_cast<ReadTables*>(tables);
  if (action == SQLITE_READ && first != nullptr && !has_memory_for([&] { read->names.insert(first); }))
    read->is_complete = false;
  return SQLITE_OK;
}

class PastBuilder {
 public:
  static Result<PastBuilder> make(Database& db, const Moment& moment) {
    BERTH_ASSIGN(Database past, Database::open(":memory:", Access::kReadWrite));
    BERTH_TRY(past.execute("PRAGMA ignore_check_constraints = ON; BEGIN"));
    BERTH_ASSIGN(std::vector<SchemaEntry> objects, read_schema(db));
    PastBuilder builder(db, std::move(past), moment, std::move(objects));
    BERTH_TRY(builder.make_tables());
    return builder;
  }

  Status add(const std::string& relation) {
    BERTH_TRY(check_relation(relation));
    // SQLite tells which tables a view comes down to.
    ReadTables read;
    sqlite3_set_authorizer(past_.handle(), note_table, &read);
    const Status prepared = past_.prepare("SELECT * FROM " + sql_name(relation)).status();
    sqlite3_set_authorizer(past_.handle(), nullptr, nullptr);
    BERTH_TRY(Status(prepared).prefixed(fmt::format("in view {}", relation)));
    if (!read.is_complete) return Status(Code::kUnavailable, "there is not enough memory for this statement");
    for (const std::string& name : read.names) {
      if (!is_table(name) || !filled_.insert(name).second) continue;
      Status status = fill(name);
      if (!status.ok() && name != relation)
        status = std::move(status).prefixed(fmt::format("{} reads {}", relation, name));
      BERTH_TRY(std::move(status));
    }
    return {};
  }

  Result<MemoryImage> finish() {
    BERTH_TRY(past_.execute("COMMIT"));
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(past_.handle(), "main", &size, 0);
    if (bytes == nullptr) return Status(Code::kUnavailable, "the tables of that time do not fit in memory");
    return MemoryImage(bytes, size);
  }

 private:
  PastBuilder(Database& db, Database past, const Moment& moment, std::vector<SchemaEntry> objects)
      : db_(db), past_(std::move(past)), moment_(moment), objects_(std::move(objects)) {}

  Status make_tables() {
    for (const SchemaEntry& object : objects_) {
      if (object.type == "table") BERTH_TRY(make(object, object.sql));
    }
    for (const SchemaEntry& object : objects_) {
      if (object.type != "view") continue;
      BERTH_TRY(make(object, object.name == "dates_at"
                                 ? fmt::format("CREATE VIEW dates_at AS SELECT {} AS time", moment_.asked.value())
                                 : at_moment(object.sql, moment_.asked)));
    }
    return {};
  }

  Status make(const SchemaEntry& object, std::string_view sql) {
    return past_.execute(sql).prefixed(fmt::format("in {} {}", object.type, object.name));
  }

  bool is_table(const std::string& name) const {
    return std::ranges::any_of(objects_,
                               [&](const SchemaEntry& each) { return each.type == "table" && each.name == name; });
  }

  Status check_relation(const std::string& relation) const {
    std::vector<std::string> names;
    for (const SchemaEntry& object : objects_) {
      if (object.type == "index") continue;
      if (equals_ignoring_case(object.name, relation)) return {};
      names.push_back(object.name);
    }
    return Status(Code::kNotFound, fmt::format("no such table: {}", relation), suggest(relation, names))
        .about("table", relation);
  }

  Status fill(const std::string& table) {
    const TableKeeping keeping = keeping_of(table);
    if (keeping.keeping == Keeping::kNothing)
      return Status(Code::kInvalid, fmt::format("there is no history of {}: {}", table, keeping.detail));
    if (keeping.keeping == Keeping::kRowsTell) {
      BERTH_TRY(copy(table, fmt::format("WHERE {}", keeping.detail), nullptr));
    } else {
      BERTH_ASSIGN(const PastRows past, PastRows::read(db_, table, moment_.id));
      BERTH_TRY(copy(table, "", &past));
    }
    for (const SchemaEntry& object : objects_) {
      if (object.type == "index" && object.table == table) BERTH_TRY(past_.execute(object.sql));
    }
    return {};
  }

  // The rows of the table, each as it was where `past` says so.
  Status copy(const std::string& table, const std::string& condition, const PastRows* past) {
    BERTH_ASSIGN(Statement rows, db_.prepare(fmt::format("SELECT * FROM main.{} {}", sql_name(table), condition)));
    if (past == nullptr) rows.with(moment_.version, moment_.asked);
    const int columns = rows.column_count();
    std::string parameters = "?";
    for (int i = 1; i < columns; ++i) parameters += ", ?";
    BERTH_ASSIGN(Statement insert,
                 past_.prepare(fmt::format("INSERT INTO main.{} VALUES ({})", sql_name(table), parameters)));
    std::unordered_set<std::string> seen;
    std::string key;
    const bool is_other = past != nullptr && !past->rows().empty();
    while (rows.next()) {
      if (is_other) {
        key.clear();
        for (const int column : past->present().keys) put_cell(key, rows, column);
        if (const auto found = past->rows().find(key); found != past->rows().end()) {
          seen.insert(key);
          BERTH_TRY(insert_past(insert, *past, key, found->second, &rows));
          continue;
        }
      }
      for (int i = 0; i < columns; ++i)
        sqlite3_bind_value(insert.handle(), i + 1, sqlite3_column_value(rows.handle(), i));
      BERTH_TRY(step(insert));
    }
    BERTH_TRY(rows.status());
    if (!is_other) return {};
    for (const auto& [gone, row] : past->rows()) {
      if (!row.was_there || seen.contains(gone)) continue;
      if (!row.is_whole) return misfit(table);
      BERTH_TRY(insert_past(insert, *past, gone, row, nullptr));
    }
    return {};
  }

  Status insert_past(Statement& insert, const PastRows& past, const std::string& key, const PastRow& row,
                     const Statement* present) {
    if (!row.was_there) return {};
    TableRow now;
    for (int i = 0; present != nullptr && i < present->column_count(); ++i) now.push_back(cell_value(*present, i));
    const TableRow then = past.restore(key, row, present == nullptr ? nullptr : &now);
    insert.with();
    for (std::size_t i = 0; i < then.size(); ++i) bind_value(insert, static_cast<int>(i) + 1, then[i]);
    return step(insert);
  }

  // The bindings stay until the next ones.
  Status step(Statement& insert) {
    const int code = sqlite3_step(insert.handle());
    sqlite3_reset(insert.handle());
    if (code == SQLITE_DONE) return {};
    return past_.error(code, "put the past together").prefixed("the history does not fit the rows of now");
  }

  static Status misfit(const std::string& table) {
    return Status(Code::kCorrupt, fmt::format("rows of table {} are gone of which the history does not know", table),
                  "another program has written to this database");
  }

  Database& db_;
  Database past_;
  Moment moment_;
  std::vector<SchemaEntry> objects_;
  std::set<std::string> filled_;
};

}  // namespace

MemoryImage::~MemoryImage() { sqlite3_free(bytes_); }

Status MemoryImage::attach(Database& db, const std::string& schema) && {
  BERTH_TRY(db.execute(fmt::format("ATTACH ':memory:' AS {}", schema)));
  unsigned char* bytes = std::exchange(bytes_, nullptr);  // SQLite frees it, also when it fails
  const int code = sqlite3_deserialize(db.handle(), schema.c_str(), bytes, size_, size_,
                                       SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  return code == SQLITE_OK ? Status() : db.error(code, "open the tables of that time");
}

Result<MemoryImage> past_tables(Database& db, const Moment& moment, const std::vector<std::string>& relations) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_read(db));
  BERTH_ASSIGN(PastBuilder builder, PastBuilder::make(db, moment));
  for (const std::string& relation : relations) BERTH_TRY(builder.add(relation));
  return builder.finish();
}

}  // namespace berth
