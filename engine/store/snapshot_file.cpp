#include "engine/store/snapshot_file.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "engine/base/failpoint.h"
#include "engine/store/backup.h"
#include "engine/store/change.h"
#include "engine/store/check.h"
#include "engine/store/database_home.h"
#include "engine/store/history_recorder.h"
#include "engine/store/migrate.h"
#include "engine/store/redact.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

Status check_on_disk(const Database& db) {
  if (db.path() != ":memory:") return {};
  return Status(Code::kInvalid, "a database in memory has no snapshots");
}

// A private copy of a snapshot beside the database, gone when this is.
class PrivateCopy {
 public:
  static Result<PrivateCopy> make(const std::string& file, const std::string& beside) {
    remove_stale_copies(beside, "loading");
    PrivateCopy copy(fmt::format("{}.loading-{}", beside, ::getpid()));
    BERTH_TRY(copy_database(file, copy.path_));
    return copy;
  }
  PrivateCopy(PrivateCopy&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateCopy& operator=(PrivateCopy&&) = delete;
  ~PrivateCopy() {
    for (const std::string_view suffix : {"", "-journal", "-wal", "-shm"}) {
      if (!path_.empty()) std::remove(fmt::format("{}{}", path_, suffix).c_str());
    }
  }
  const std::string& path() const { return path_; }

 private:
  explicit PrivateCopy(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Result<Database> open_checked(const PrivateCopy& copy, const std::string& file) {
  BERTH_ASSIGN(Database snapshot, Database::open(copy.path(), Access::kReadWrite));
  BERTH_ASSIGN(const FileIdentity identity, identify(snapshot));
  if (identity.kind == FileKind::kEmpty)
    return Status(Code::kInvalid, fmt::format("'{}' is empty, not a snapshot", file));
  BERTH_TRY(migrate(snapshot, embedded_schema(), KeepCopy::kNo));
  BERTH_ASSIGN(const std::vector<Finding> findings, check_state(snapshot, 1));
  if (findings.empty()) return snapshot;
  return Status(Code::kCorrupt,
                fmt::format("'{}' breaks a promise ({}): {}: {}", file, findings[0].promise, findings[0].object,
                            findings[0].sentence),
                "nothing was loaded");
}

// A database that logs ahead keeps its page size, so the snapshot takes that one.
Status fit_pages(Database& snapshot, Database& db) {
  BERTH_ASSIGN(const std::int64_t wanted, db.integer("PRAGMA page_size"));
  BERTH_ASSIGN(const std::int64_t present, snapshot.integer("PRAGMA page_size"));
  if (present == wanted) return {};
  return snapshot.execute(fmt::format("PRAGMA page_size = {}; VACUUM", wanted));
}

// Makes the snapshot the next state of the database that is at `present`.
Result<std::int64_t> move_version(Database& snapshot, Database& present, const std::string& file, const Author& author,
                                  Seconds now) {
  BERTH_ASSIGN(const std::int64_t saved, state_version(snapshot));
  BERTH_ASSIGN(const std::int64_t reached, state_version(present));
  const std::int64_t version = std::max(reached, saved) + 1;
  record_history(snapshot);
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(snapshot));
  set_history_time(snapshot, now);
  mark_history_load(snapshot);
  BERTH_TRY(take_home_along(snapshot, present));
  BERTH_TRY(take_log_name(snapshot, present));
  BERTH_ASSIGN(Statement move, snapshot.prepare("UPDATE meta SET value = ?1 WHERE key = 'state_version'"));
  BERTH_TRY(move.run(version));
  BERTH_ASSIGN(Statement event, snapshot.prepare("INSERT INTO events (time, state_version, kind, object, actor, "
                                                 "statement) VALUES (?1, ?2, 'load snapshot', ?3, ?4, ?5)"));
  BERTH_TRY(event.run(now, version, file, author.name, author.statement));
  BERTH_ASSIGN(Statement leases, snapshot.prepare("DELETE FROM leases"));
  BERTH_TRY(leases.run());
  BERTH_TRY(transaction.commit());
  return version;
}

// Copies page by page in one write transaction of `db`, which finish() commits when all pages have come and rolls back
// otherwise.
class PageCopy {
 public:
  PageCopy(Database& db, Database& snapshot)
      : db_(db), backup_(sqlite3_backup_init(db.handle(), "main", snapshot.handle(), "main")) {}
  PageCopy(const PageCopy&) = delete;
  PageCopy& operator=(const PageCopy&) = delete;
  ~PageCopy() {
    if (backup_ != nullptr) sqlite3_backup_finish(backup_);
  }

  // Negative = all that are left.
  Status copy(int pages) {
    if (backup_ == nullptr) return db_.error(sqlite3_errcode(db_.handle()), "load the snapshot");
    const int code = sqlite3_backup_step(backup_, pages);
    return code == SQLITE_OK || code == SQLITE_DONE ? Status() : db_.error(code, "load the snapshot");
  }
  Status finish() {
    const int code = sqlite3_backup_finish(std::exchange(backup_, nullptr));
    return code == SQLITE_OK ? Status() : db_.error(code, "load the snapshot");
  }

 private:
  Database& db_;
  sqlite3_backup* backup_;
};

}  // namespace

Status save_snapshot(Database& db, const std::string& file, bool replace, Redaction redaction) {
  BERTH_TRY(check_on_disk(db));
  std::error_code failure;
  if (fs::is_directory(file, failure)) return Status(Code::kInvalid, fmt::format("'{}' is a folder", file));
  if (fs::exists(file, failure) && !fs::is_regular_file(file, failure))
    return Status(Code::kInvalid, fmt::format("'{}' is no regular file", file));
  if (fs::exists(file, failure)) {
    if (fs::equivalent(file, db.path(), failure))
      return Status(Code::kInvalid, "a snapshot cannot replace its own database");
    if (!replace)
      return Status(Code::kExists, fmt::format("'{}' exists already", file), "WITH (replace = true) replaces it");
  }
  if (redaction == Redaction::kNone) return copy_database(db.path(), file);
  BERTH_ASSIGN(const PrivateCopy copy, PrivateCopy::make(db.path(), file));
  {
    BERTH_ASSIGN(Database redacted, Database::open(copy.path(), Access::kReadWrite));
    BERTH_TRY(redact_database(redacted));
  }
  BERTH_TRY(copy_database(copy.path(), file));
  return {};
}

Result<std::int64_t> load_snapshot(Database& db, const std::string& file, const Author& author, Seconds now) {
  BERTH_TRY(check_on_disk(db));
  std::error_code failure;
  if (fs::is_directory(file, failure)) return Status(Code::kInvalid, fmt::format("'{}' is a folder", file));
  if (fs::exists(file, failure) && !fs::is_regular_file(file, failure))
    return Status(Code::kInvalid, fmt::format("'{}' is no regular file", file));
  if (!fs::is_regular_file(file, failure)) return Status(Code::kNotFound, fmt::format("there is no file '{}'", file));
  if (fs::equivalent(file, db.path(), failure))
    return Status(Code::kInvalid, fmt::format("'{}' is the open database itself", file));
  BERTH_ASSIGN(Database original, Database::open(file, Access::kReadOnly));
  BERTH_ASSIGN(const FileIdentity identity, identify(original));
  BERTH_TRY(check_identity(identity, embedded_schema(), file));
  BERTH_ASSIGN(const PrivateCopy copy, PrivateCopy::make(file, db.path()));
  BERTH_ASSIGN(Database snapshot, open_checked(copy, file));
  BERTH_TRY(fit_pages(snapshot, db));

  PageCopy pages(db, snapshot);
  // The first page takes the write lock, so the version read after it stays the last one before ours.
  BERTH_TRY(pages.copy(1));
  BERTH_ASSIGN(Database present, Database::open(db.path(), Access::kReadOnly));
  BERTH_ASSIGN(const std::int64_t next, move_version(snapshot, present, file, author, now));
  failpoint("mid_write");
  BERTH_TRY(pages.copy(-1));
  BERTH_TRY(pages.finish());
  return next;
}

}  // namespace berth
