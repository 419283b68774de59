// SQLite behind three small classes: Database (a connection), Statement (a prepared statement), Transaction.
//
// They own what they open and report errors as Status; sqlite3.h stays out of this header. Prepared statements are
// cached by their text: prepare() hands out a cached one and its destruction gives it back, reset and without bindings.
// A connection belongs to one thread at a time.
//
// Errors by what the caller should do: BUSY and LOCKED are kBusy, a broken constraint or trigger kConflict (with
// SQLite's own sentence), a full disk or a failing one kUnavailable, a damaged file kCorrupt, an interrupted query
// kInterrupted, SQL that does not parse or a read-only violation kInvalid.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/base/units.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth {

class Database;

enum class CellType { kNull, kInteger, kReal, kText, kBlob };

// Bytes to be bound as a BLOB.
struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // Binds the values in order to ?1, ?2, ... Integers, doubles, text, Blob, Quantity, std::optional of these,
  // std::nullopt. Text and blobs are copied. A failed binding is reported by next() or run().
  template <class... Values>
  Statement& with(const Values&... values) {
    rewind();
    int parameter = 0;
    (bind(++parameter, values, true), ...);
    return *this;
  }

  // Binds, steps to the end and rewinds. Rows, if any, are thrown away.
  template <class... Values>
  Status run(const Values&... values) {
    rewind();
    int parameter = 0;
    (bind(++parameter, values, false), ...);
    return finish();
  }

  // Moves to the next row; false at the end or on an error, which status() then holds:
  //   while (rows.next()) ...;  BERTH_TRY(rows.status());
  bool next();
  const Status& status() const { return status_; }

  // Columns of the present row, counted from 0. Text is valid until the next call of next(), run() or with().
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::string_view blob(int column) const;  // as text
  CellType type(int column) const;          // ask before reading the cell: reading may convert it
  bool is_null(int column) const;
  template <class Unit>
  Unit quantity(int column) const {
    return Unit(integer(column));
  }

  // One value, for queries whose parameters are known only when they run; after with().
  template <class Value>
  void bind_one(int parameter, const Value& value) {
    bind(parameter, value, true);
  }

  int parameter_count() const;
  int column_count() const;
  std::string_view column_name(int column) const;
  sqlite3_stmt* handle() const { return handle_; }

 private:
  friend class Database;
  struct Home;
  Statement(sqlite3_stmt* handle, std::shared_ptr<Home> home) : handle_(handle), home_(std::move(home)) {}

  template <std::integral Integer>
  void bind(int parameter, Integer value, bool) {
    bind_integer(parameter, static_cast<std::int64_t>(value));
  }
  void bind(int parameter, double value, bool) { bind_real(parameter, value); }
  void bind(int parameter, std::string_view value, bool copy) { bind_text(parameter, value, copy); }
  void bind(int parameter, Blob value, bool copy) { bind_blob(parameter, value.bytes, copy); }
  void bind(int, std::nullopt_t, bool) {}  // unbound parameters are NULL
  template <class Tag>
  void bind(int parameter, Quantity<Tag> value, bool) {
    bind_integer(parameter, value.value());
  }
  template <class Value>
  void bind(int parameter, const std::optional<Value>& value, bool copy) {
    if (value) bind(parameter, *value, copy);
  }
  void bind_integer(int parameter, std::int64_t value);
  void bind_real(int parameter, double value);
  void bind_text(int parameter, std::string_view value, bool copy);
  void bind_blob(int parameter, std::string_view value, bool copy);
  void rewind();
  void give_back();
  Status finish();
  Status step_to_end();

  sqlite3_stmt* handle_ = nullptr;
  std::shared_ptr<Home> home_;
  Status status_;
};

// Looks on as one connection writes (see history_recorder.h). What a statement or savepoint took back it is told to
// forget, for SQLite does not say so.
class WriteWatch {
 public:
  virtual ~WriteWatch() = default;
  // Takes the connection's hooks, the authorizer among them.
  virtual void attend(sqlite3* connection) = 0;
  virtual Status begin(Database& db) = 0;
  // How far it has come; forget() goes back to it.
  virtual std::size_t mark() const = 0;
  virtual void forget(std::size_t mark) = 0;
  // Just before the COMMIT, and after the end, whichever it was.
  virtual Status before_commit(Database& db) = 0;
  virtual void end() = 0;
};

// kUnchanging: read-only, and nobody writes meanwhile, so neither a lock nor a file beside it is needed.
enum class Access { kReadOnly, kReadWrite, kUnchanging };

class Database {
 public:
  // Opens a file that exists (or ":memory:", private to this connection). No pragma is set: see open.h.
  static Result<Database> open(const std::string& path, Access access);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // One statement; text after its end other than white space and comments is kInvalid.
  Result<Statement> prepare(std::string_view sql);
  // Several statements whose rows, if any, are thrown away. Savepoints are set, gone back to and released here, not
  // with prepare(): the watch hears of them.
  Status execute(std::string_view script);
  // First column of the first row; kNotFound when there is none.
  Result<std::int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

  std::int64_t last_row_id() const;
  std::int64_t changed_rows() const;  // by the last statement
  bool in_transaction() const;
  const std::string& path() const;
  sqlite3* handle() const;

  void set_busy_timeout(int milliseconds);
  // From now on only SELECT, WITH, EXPLAIN and the schema-reading pragmas pass (sqlite3_set_authorizer).
  void allow_only_reading();
  // Until the next allow_only_reading().
  void allow_everything();
  // Between Transaction::begin_enclosing() and its end.
  bool is_enclosed() const;
  // Sees every write transaction from now on.
  void watch_writes(std::unique_ptr<WriteWatch> watch);
  WriteWatch* watch() const;
  // Is called as each write transaction begins from now on; what it writes is a part of it.
  using BeforeWrites = Status (*)(Database& db);
  void before_writes(BeforeWrites act);

  // The Status of an SQLite result code on this connection; `doing` completes "cannot ...".
  Status error(int code, std::string_view doing) const;

 private:
  friend class Statement;
  friend class Transaction;
  explicit Database(std::shared_ptr<Statement::Home> home) : home_(std::move(home)) {}
  std::shared_ptr<Statement::Home> home_;
};

// Rolls back when destroyed without commit().
class Transaction {
 public:
  // One consistent view until its end. Within a transaction of the same connection it is part of that one.
  static Result<Transaction> begin_read(Database& db);
  // BEGIN IMMEDIATE: kBusy when another writer outlasts the timeout. Within an enclosing one a part of it, which can
  // be rolled back alone.
  static Result<Transaction> begin_write(Database& db);
  // As begin_write(); until its end, what begin_write() begins on this connection are parts of it. Not within another.
  static Result<Transaction> begin_enclosing(Database& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)), extent_(other.extent_) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Status commit();

 private:
  enum class Extent : std::uint8_t { kWhole, kPart, kEnclosing };
  Transaction(Database* db, Extent extent) : db_(db), extent_(extent) {}
  static Result<Transaction> begin_whole(Database& db, Extent extent);
  void end();
  Database* db_;  // null = nothing to end
  Extent extent_;
};

// While it lives a running statement of the connection stops with kInterrupted soon after *flag turns true, or when the
// budget is used up, which counts from the beginning. One at a time on a connection.
class Interruptible {
 public:
  // `flag`: nullptr = there is none; it must outlive this.
  Interruptible(Database& db, const std::atomic<bool>* flag,
                std::optional<std::chrono::milliseconds> budget = std::nullopt);
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible();

  // That the budget, not the flag, has stopped something.
  bool has_run_out() const { return has_run_out_; }

 private:
  static int look(void* self);

  Database& db_;
  const std::atomic<bool>* flag_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  bool has_run_out_ = false;
};

// While it lives the connection only reads, as after allow_only_reading().
class ReadingOnly {
 public:
  explicit ReadingOnly(Database& db);
  ReadingOnly(ReadingOnly&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  ReadingOnly& operator=(ReadingOnly&&) = delete;
  ~ReadingOnly();

 private:
  Database* db_;
};

}  // namespace berth
