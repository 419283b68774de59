#include "engine/store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <map>
#include <vector>

#include "engine/base/failpoint.h"
#include "engine/base/out_of_memory.h"
#include "engine/base/text.h"
#include "engine/store/user_sql.h"

namespace berth {

// The connection and its idle statements. Statements share it, so it closes after the last of them.
struct Statement::Home {
  Home() = default;
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  ~Home() {
    for (const auto& [text, handle] : idle) sqlite3_finalize(handle);
    sqlite3_close(connection);
  }

  sqlite3* connection = nullptr;
  // After a statement of execute() has run.
  void follow_savepoint(std::string_view statement) {
    if (watch == nullptr) return;
    statement = trim(statement.substr(0, statement.find(';')));
    const auto follows = [&](std::string_view verb) {
      return equals_ignoring_case(statement.substr(0, verb.size()), verb);
    };
    if (follows("BEGIN")) savepoints.clear();
    if (follows("SAVEPOINT ")) savepoints.emplace_back(trim(statement.substr(10)), watch->mark());
    const bool goes_back = follows("ROLLBACK TO ");
    if (!goes_back && !follows("RELEASE ")) return;
    const std::string_view name = trim(statement.substr(goes_back ? 12 : 8));
    while (!savepoints.empty() && savepoints.back().first != name) savepoints.pop_back();
    if (savepoints.empty()) return;
    if (goes_back) watch->forget(savepoints.back().second);
    if (!goes_back) savepoints.pop_back();
  }
  // Changes rows, and no transaction is open.
  bool writes_alone(sqlite3_stmt* handle) const {
    if (watch == nullptr || sqlite3_get_autocommit(connection) == 0 || sqlite3_stmt_readonly(handle) != 0) return false;
    const std::string_view text = trim(sqlite3_sql(handle));
    return std::ranges::any_of(
        std::array<std::string_view, 5>{"INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"},
        [&](std::string_view verb) { return equals_ignoring_case(text.substr(0, verb.size()), verb); });
  }
  std::size_t mark() const { return watch != nullptr ? watch->mark() : 0; }
  void forget(std::size_t mark) {
    if (watch != nullptr) watch->forget(mark);
  }

  std::string path;
  std::multimap<std::string, sqlite3_stmt*, std::less<>> idle;
  std::unique_ptr<WriteWatch> watch;
  std::vector<std::pair<std::string, std::size_t>> savepoints;  // what was typed after SAVEPOINT, and the mark
  bool is_enclosed = false;
  Database::BeforeWrites before_writes = nullptr;
};

namespace {

// Idle statements kept at most; a program has a few dozen texts, a user's typed queries must not pile up.
constexpr std::size_t kIdleStatements = 128;
// Virtual machine steps between looks at the interrupt flag. One may put together some MiB of text.
constexpr int kStepsBetweenInterruptChecks = 100;

Status full_disk(std::string_view doing) {
  return Status(Code::kUnavailable, fmt::format("cannot {}: the disk (or the database's size limit) is full", doing),
                "nothing was changed; free some space and try again");
}

// SQLite has only its sentence to say which name it does not know.
Status about_name(Status status, std::string_view said) {
  for (const std::string_view kind : {"table", "column"}) {
    const std::string phrase = fmt::format("no such {}: ", kind);
    if (said.starts_with(phrase)) return std::move(status).about(kind, said.substr(phrase.size()));
  }
  return status;
}

Status sqlite_error(sqlite3* connection, int code, std::string_view doing) {
  const std::string said = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Status(Code::kBusy, fmt::format("cannot {}: another process is writing to the database", doing),
                    "try again in a moment");
    case SQLITE_CONSTRAINT:
      // A trigger of ours has said what is wrong in a sentence of its own.
      if (code == SQLITE_CONSTRAINT_TRIGGER) return Status(Code::kConflict, said);
      return Status(Code::kConflict, fmt::format("cannot {}: {}", doing, said));
    case SQLITE_FULL: return full_disk(doing);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_NOLFS:
      if (connection != nullptr && sqlite3_system_errno(connection) == ENOSPC) return full_disk(doing);
      return Status(Code::kUnavailable, fmt::format("cannot {}: the file system failed ({})", doing, said));
    case SQLITE_READONLY:
      return Status(Code::kUnavailable, fmt::format("cannot {}: the database is read-only ({})", doing, said),
                    "berth --read-only looks at it without writing");
    case SQLITE_CORRUPT: return Status(Code::kCorrupt, fmt::format("cannot {}: the file is damaged ({})", doing, said));
    case SQLITE_NOTADB: return Status(Code::kCorrupt, fmt::format("cannot {}: the file is no SQLite database", doing));
    case SQLITE_NOMEM:
      return Status(Code::kInvalid, fmt::format("cannot {}: it takes more memory than it may have", doing),
                    "let SQL add up, or take a part with LIMIT");
    case SQLITE_INTERRUPT: return Status(Code::kInterrupted, "interrupted");
    case SQLITE_AUTH:
      return Status(Code::kInvalid, "only SELECT, WITH, EXPLAIN QUERY PLAN and PRAGMA table_info may be used here");
    case SQLITE_TOOBIG:
      return Status(Code::kInvalid,
                    fmt::format("cannot {}: a text, a blob or a row is longer than {} MiB", doing,
                                sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, -1) >> 20),
                    "take a part of it");
    case SQLITE_ERROR:
    case SQLITE_MISMATCH: return about_name(Status(Code::kInvalid, fmt::format("cannot {}: {}", doing, said)), said);
    default: return Status(Code::kInternal, fmt::format("cannot {}: {} (SQLite code {})", doing, said, code));
  }
}

// The word or character at `offset`, which SQLite stumbled over.
Span word_at(std::string_view sql, std::size_t offset) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c < 0;
  };
  std::size_t end = std::min(offset, sql.size());
  while (end < sql.size() && is_part(sql[end])) ++end;
  return {offset, std::max<std::size_t>(1, end - offset)};
}

// SQLite takes a NUL for the end, whatever length it is given.
Status check_whole(std::string_view sql) {
  if (sql.find('\0') == std::string_view::npos) return {};
  return Status(Code::kInvalid, "the SQL has a NUL character, behind which SQLite reads nothing");
}

constexpr std::string_view kStatementDoing = "read or write the database";

// The URI that SQLite takes for "immutable".
std::string unchanging_address(const std::string& path) {
  std::string address = "file:";
  // "//" at the start would name a host.
  if (path.starts_with("//")) address += "//";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      address += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      address += c;
    }
  }
  return address + "?immutable=1";
}

// Pragmas that only describe the schema. Those that also set something may be read, not given a value.
bool pragma_only_reads(std::string_view name, const char* value) {
  constexpr std::array<std::string_view, 8> kDescribing = {"table_info",    "table_xinfo", "table_list",
                                                           "index_list",    "index_info",  "foreign_key_list",
                                                           "function_list", "index_xinfo"};
  constexpr std::array<std::string_view, 6> kReadable = {"user_version", "application_id", "page_count",
                                                         "page_size",    "journal_mode",   "freelist_count"};
  if (std::find(kDescribing.begin(), kDescribing.end(), name) != kDescribing.end()) return true;
  return value == nullptr && std::find(kReadable.begin(), kReadable.end(), name) != kReadable.end();
}

int authorize_reading(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION: {
      // They reach outside of SQL: into libraries, and with fts3_tokenizer to any address.
      const std::string_view function = second == nullptr ? "" : second;
      return function == "load_extension" || function == "fts3_tokenizer" ? SQLITE_DENY : SQLITE_OK;
    }
    // Asked for while a table-valued function (json_each, pragma_table_list) declares its columns; SQLite itself
    // refuses to really write there.
    case SQLITE_UPDATE: return std::string_view(first) == "sqlite_master" ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA: return pragma_only_reads(first, second) ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
  }
}

}  // namespace

// ---- Statement ------------------------------------------------------------------------------------------------------

Statement::Statement(Statement&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      home_(std::move(other.home_)),
      status_(std::move(other.status_)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    give_back();
    handle_ = std::exchange(other.handle_, nullptr);
    home_ = std::move(other.home_);
    status_ = std::move(other.status_);
  }
  return *this;
}

Statement::~Statement() { give_back(); }

void Statement::give_back() {
  if (handle_ == nullptr) return;
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  const bool is_kept = home_->idle.size() < kIdleStatements &&
                       has_memory_for([&] { home_->idle.emplace(sqlite3_sql(handle_), handle_); });
  if (!is_kept) sqlite3_finalize(handle_);
  handle_ = nullptr;
}

void Statement::rewind() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  status_ = Status();
}

void Statement::bind_integer(int parameter, std::int64_t value) {
  const int code = sqlite3_bind_int64(handle_, parameter, value);
  if (code != SQLITE_OK && status_.ok()) status_ = sqlite_error(home_->connection, code, "bind a value");
}

void Statement::bind_real(int parameter, double value) {
  const int code = sqlite3_bind_double(handle_, parameter, value);
  if (code != SQLITE_OK && status_.ok()) status_ = sqlite_error(home_->connection, code, "bind a value");
}

void Statement::bind_text(int parameter, std::string_view value, bool copy) {
  // An empty view may have no address, which SQLite would take for NULL.
  const char* bytes = value.data() != nullptr ? value.data() : "";
  const int code = sqlite3_bind_text64(handle_, parameter, bytes, value.size(), copy ? SQLITE_TRANSIENT : SQLITE_STATIC,
                                       SQLITE_UTF8);
  if (code != SQLITE_OK && status_.ok()) status_ = sqlite_error(home_->connection, code, "bind a value");
}

void Statement::bind_blob(int parameter, std::string_view value, bool copy) {
  const char* bytes = value.data() != nullptr ? value.data() : "";
  const int code =
      sqlite3_bind_blob64(handle_, parameter, bytes, value.size(), copy ? SQLITE_TRANSIENT : SQLITE_STATIC);
  if (code != SQLITE_OK && status_.ok()) status_ = sqlite_error(home_->connection, code, "bind a value");
}

bool Statement::next() {
  if (!status_.ok()) return false;
  const std::size_t mark = home_->mark();
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) home_->forget(mark);
  if (code != SQLITE_DONE) status_ = sqlite_error(home_->connection, code, kStatementDoing);
  sqlite3_reset(handle_);
  return false;
}

Status Statement::step_to_end() {
  while (next()) {
  }
  return status_;
}

Status Statement::finish() {
  // What is written outside of any transaction gets one of its own, or the watch would not hear of it.
  const bool is_alone =
      home_->watch != nullptr && sqlite3_get_autocommit(home_->connection) != 0 && sqlite3_stmt_readonly(handle_) == 0;
  if (!is_alone) return step_to_end();
  Database db(home_);
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_TRY(step_to_end());
  return transaction.commit();
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }
bool Statement::is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

CellType Statement::type(int column) const {
  switch (sqlite3_column_type(handle_, column)) {
    case SQLITE_INTEGER: return CellType::kInteger;
    case SQLITE_FLOAT: return CellType::kReal;
    case SQLITE_TEXT: return CellType::kText;
    case SQLITE_BLOB: return CellType::kBlob;
    default: return CellType::kNull;
  }
}

int Statement::parameter_count() const { return sqlite3_bind_parameter_count(handle_); }
int Statement::column_count() const { return sqlite3_column_count(handle_); }
std::string_view Statement::column_name(int column) const { return sqlite3_column_name(handle_, column); }

std::string_view Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(handle_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::string_view Statement::blob(int column) const {
  const void* bytes = sqlite3_column_blob(handle_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

// ---- Database -------------------------------------------------------------------------------------------------------

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::string& path, Access access) {
  const int flags = access == Access::kReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  auto home = std::make_shared<Statement::Home>();
  home->path = path;
  const bool unchanging = access == Access::kUnchanging;
  const std::string address = unchanging ? unchanging_address(path) : path;
  const int code = sqlite3_open_v2(address.c_str(), &home->connection,
                                   flags | SQLITE_OPEN_NOMUTEX | (unchanging ? SQLITE_OPEN_URI : 0), nullptr);
  if (code != SQLITE_OK) return sqlite_error(home->connection, code, fmt::format("open '{}'", path));
  sqlite3_extended_result_codes(home->connection, 1);
  BERTH_TRY(add_linear_functions(home->connection));
  return Database(std::move(home));
}

Result<Statement> Database::prepare(std::string_view sql) {
  if (const auto found = home_->idle.find(sql); found != home_->idle.end()) {
    sqlite3_stmt* handle = found->second;
    home_->idle.erase(found);
    return Statement(handle, home_);
  }
  BERTH_TRY(check_whole(sql));
  sqlite3_stmt* handle = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v3(home_->connection, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, &tail);
  if (code != SQLITE_OK) {
    Status status = error(code, "understand the SQL");
    const int offset = sqlite3_error_offset(home_->connection);
    return offset < 0 ? status : std::move(status).at(word_at(sql, static_cast<std::size_t>(offset)));
  }
  if (handle == nullptr) return Status(Code::kInvalid, "there is no SQL statement to run");
  Statement statement(handle, home_);
  // What follows must be empty too: a second statement would be ignored silently.
  const std::string_view rest(tail, static_cast<std::size_t>(sql.data() + sql.size() - tail));
  if (!rest.empty()) {
    sqlite3_stmt* second = nullptr;
    const int second_code =
        sqlite3_prepare_v2(home_->connection, rest.data(), static_cast<int>(rest.size()), &second, nullptr);
    sqlite3_finalize(second);
    if (second_code != SQLITE_OK || second != nullptr) {
      return Status(Code::kInvalid, "one SQL statement was expected, there is more after its ';'");
    }
  }
  return statement;
}

Status Database::execute(std::string_view script) {
  BERTH_TRY(check_whole(script));
  while (!script.empty()) {
    sqlite3_stmt* handle = nullptr;
    const char* tail = nullptr;
    int code = sqlite3_prepare_v2(home_->connection, script.data(), static_cast<int>(script.size()), &handle, &tail);
    if (code != SQLITE_OK) return error(code, kStatementDoing);
    const std::size_t mark = home_->mark();
    const std::string_view statement = script.substr(0, static_cast<std::size_t>(tail - script.data()));
    if (handle != nullptr && home_->writes_alone(handle)) {
      BERTH_TRY(Statement(handle, home_).run());
      script.remove_prefix(statement.size());
      continue;
    }
    while (handle != nullptr && (code = sqlite3_step(handle)) == SQLITE_ROW) {
    }
    Status status = handle == nullptr || code == SQLITE_DONE ? Status() : error(code, kStatementDoing);
    sqlite3_finalize(handle);
    if (!status.ok()) home_->forget(mark);
    if (!status.ok()) return status;
    home_->follow_savepoint(statement);
    script.remove_prefix(statement.size());
  }
  return {};
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  BERTH_ASSIGN(Statement rows, prepare(sql));
  if (rows.next()) return rows.integer(0);
  BERTH_TRY(rows.status());
  return Status(Code::kNotFound, "the query has no rows");
}

Result<std::string> Database::text(std::string_view sql) {
  BERTH_ASSIGN(Statement rows, prepare(sql));
  if (rows.next()) return std::string(rows.text(0));
  BERTH_TRY(rows.status());
  return Status(Code::kNotFound, "the query has no rows");
}

std::int64_t Database::last_row_id() const { return sqlite3_last_insert_rowid(home_->connection); }
std::int64_t Database::changed_rows() const { return sqlite3_changes64(home_->connection); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(home_->connection) == 0; }
const std::string& Database::path() const { return home_->path; }
sqlite3* Database::handle() const { return home_->connection; }
void Database::set_busy_timeout(int milliseconds) { sqlite3_busy_timeout(home_->connection, milliseconds); }

bool Database::is_enclosed() const { return home_->is_enclosed; }

void Database::watch_writes(std::unique_ptr<WriteWatch> watch) {
  home_->watch = std::move(watch);
  home_->watch->attend(home_->connection);
}
WriteWatch* Database::watch() const { return home_->watch.get(); }
void Database::before_writes(BeforeWrites act) { home_->before_writes = act; }

void Database::allow_everything() {
  sqlite3_set_authorizer(home_->connection, nullptr, nullptr);
  if (home_->watch != nullptr) home_->watch->attend(home_->connection);
}

void Database::allow_only_reading() { sqlite3_set_authorizer(home_->connection, authorize_reading, nullptr); }

Status Database::error(int code, std::string_view doing) const { return sqlite_error(home_->connection, code, doing); }

// ---- Transaction ----------------------------------------------------------------------------------------------------

namespace {

Status rolled_back_already() {
  return Status(Code::kUnavailable, "the database rolled the transaction back", "nothing was changed");
}

}  // namespace

Result<Transaction> Transaction::begin_read(Database& db) {
  if (sqlite3_get_autocommit(db.handle()) == 0) return Transaction(nullptr, Extent::kWhole);
  BERTH_TRY(db.execute("BEGIN"));
  return Transaction(&db, Extent::kWhole);
}

Result<Transaction> Transaction::begin_write(Database& db) {
  if (!db.is_enclosed()) return begin_whole(db, Extent::kWhole);
  if (!db.in_transaction()) return rolled_back_already();
  BERTH_TRY(db.execute("SAVEPOINT part"));
  return Transaction(&db, Extent::kPart);
}

Result<Transaction> Transaction::begin_enclosing(Database& db) {
  BERTH_ASSIGN(Transaction transaction, begin_whole(db, Extent::kEnclosing));
  db.home_->is_enclosed = true;
  return transaction;
}

Result<Transaction> Transaction::begin_whole(Database& db, Extent extent) {
  failpoint("before_begin");
  BERTH_TRY(db.execute("BEGIN IMMEDIATE"));
  Transaction transaction(&db, extent);
  if (db.watch() != nullptr) BERTH_TRY(db.watch()->begin(db));
  if (db.home_->before_writes != nullptr) BERTH_TRY(db.home_->before_writes(db));
  return transaction;
}

Transaction::~Transaction() {
  if (db_ == nullptr) return;
  // A full disk makes SQLite roll back by itself; then there is nothing left to do. Any other failure of ROLLBACK
  // leaves a transaction that ends with the connection.
  if (extent_ == Extent::kPart) {
    if (db_->in_transaction()) (void)db_->execute("ROLLBACK TO part; RELEASE part");
    return;
  }
  if (db_->in_transaction()) (void)db_->execute("ROLLBACK");
  end();
}

Status Transaction::commit() {
  if (!db_->in_transaction()) return rolled_back_already();
  if (extent_ == Extent::kPart) {
    BERTH_TRY(db_->execute("RELEASE part"));
    db_ = nullptr;
    return {};
  }
  if (db_->watch() != nullptr) BERTH_TRY(db_->watch()->before_commit(*db_));
  failpoint("before_commit");
  BERTH_TRY(db_->execute("COMMIT"));
  end();
  db_ = nullptr;
  failpoint("after_commit");
  return {};
}

void Transaction::end() {
  db_->home_->is_enclosed = false;
  if (db_->watch() != nullptr) db_->watch()->end();
}

// ---- Interruptible --------------------------------------------------------------------------------------------------

Interruptible::Interruptible(Database& db, const std::atomic<bool>* flag,
                             std::optional<std::chrono::milliseconds> budget)
    : db_(db), flag_(flag) {
  if (budget) deadline_ = std::chrono::steady_clock::now() + *budget;
  sqlite3_progress_handler(db_.handle(), kStepsBetweenInterruptChecks, look, this);
}

Interruptible::~Interruptible() { sqlite3_progress_handler(db_.handle(), 0, nullptr, nullptr); }

int Interruptible::look(void* self) {
  auto* const me = static_cast<Interruptible*>(self);
  if (me->flag_ != nullptr && me->flag_->load(std::memory_order_relaxed)) return 1;
  if (!me->deadline_ || std::chrono::steady_clock::now() < *me->deadline_) return 0;
  me->has_run_out_ = true;
  return 1;
}

// ---- ReadingOnly ----------------------------------------------------------------------------------------------------

// Setting it makes SQLite prepare again what was prepared before, so that it is asked of cached statements, too.
ReadingOnly::ReadingOnly(Database& db) : db_(&db) { db.allow_only_reading(); }

ReadingOnly::~ReadingOnly() {
  if (db_ != nullptr) db_->allow_everything();
}

}  // namespace berth
