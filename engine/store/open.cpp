#include "engine/store/open.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "engine/store/backup.h"
#include "engine/store/check.h"
#include "engine/store/history_recorder.h"
#include "engine/store/left_log.h"
#include "engine/store/migrate.h"
#include "engine/store/row_sums.h"

namespace berth {

namespace {

constexpr std::string_view kInMemory = ":memory:";

// What the file system forbids us, which SQLite does not tell apart.
Status check_permission(const std::string& path, bool writes) {
  const auto may = [](const std::string& what, int how) {
    return ::faccessat(AT_FDCWD, what.c_str(), how, AT_EACCESS) == 0;
  };
  const auto refused = [](std::string_view doing, const std::string& what, std::string_view hint = {}) {
    return Status(Code::kUnavailable, fmt::format("cannot {} '{}': {}", doing, what, std::strerror(errno)),
                  std::string(hint));
  };
  if (!may(path, R_OK)) return refused("read", path);
  if (!writes) return {};
  constexpr std::string_view kLook = "berth --read-only looks at it without writing";
  if (!may(path, W_OK)) return refused("write", path, kLook);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!may(folder.empty() ? "." : folder, W_OK | X_OK)) return refused("make files beside", path, kLook);
  return {};
}

// SQLite names the log after the path that it was opened by: two names of one file have two logs, and what is
// acknowledged in one of them is lost to the other.
Status check_single_name(const std::string& path) {
  struct stat file = {};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_nlink < 2) return {};
  return Status(Code::kConflict,
                fmt::format("'{}' is one of {} names of the same file (hard links): changes made under one name would "
                            "be lost under the other",
                            path, file.st_nlink),
                "remove the other names; for a copy use SNAPSHOT SAVE, or cp while nobody has it open");
}

// CHECK knows this version's tables alone.
bool keeps_promises(Database& db) {
  const Result<FileIdentity> identity = identify(db);
  if (!identity.ok() || identity->version != embedded_schema().newest()) return true;
  const Result<std::vector<Finding>> findings = check_state(db, 1);
  return findings.ok() && findings->empty();
}

Status find_or_make_file(const std::string& path, bool create, bool writes) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (std::filesystem::is_directory(status)) {
    return Status(Code::kInvalid, fmt::format("'{}' is a folder; a database is a file", path));
  }
  if (std::filesystem::exists(status)) {
    BERTH_TRY(check_permission(path, writes));
    BERTH_TRY(check_single_name(path));
    return check_left_log(path, keeps_promises);
  }
  if (status.type() == std::filesystem::file_type::none)
    return Status(Code::kUnavailable, fmt::format("cannot open '{}': {}", path, failure.message()));
  if (!create) return Status(Code::kNotFound, fmt::format("there is no database '{}'", path));
  return make_private_file(path);
}

// Two processes may turn a new file to write-ahead logging at once; SQLite answers one of them "busy" without waiting.
Status use_write_ahead_log(Database& db, int busy_timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(busy_timeout_ms);
  while (true) {
    Status switched = db.text("PRAGMA journal_mode = WAL").status();
    if (switched.code() != Code::kBusy || Clock::now() >= deadline) return switched;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Read-only connections never migrate, so the file must be current.
Status check_current(Database& db) {
  BERTH_ASSIGN(const FileIdentity identity, identify(db));
  const std::int64_t newest = embedded_schema().newest();
  if (identity.kind == FileKind::kBerth && identity.version == newest) return {};
  if (identity.kind == FileKind::kBerth && identity.version < newest) {
    return Status(Code::kInvalid,
                  fmt::format("'{}' has schema version {}, this program needs {}", db.path(), identity.version, newest),
                  "open it once without --read-only; a copy is kept");
  }
  if (identity.kind == FileKind::kEmpty) {
    return Status(Code::kInvalid, fmt::format("'{}' is empty, not yet a Berth database", db.path()));
  }
  return migrate(db);  // refuses: another program's, or newer
}

Result<Database> open_current(const std::string& path, Access access) {
  BERTH_ASSIGN(Database db, Database::open(path, access));
  db.set_busy_timeout(5000);
  BERTH_TRY(check_current(db));
  BERTH_TRY(db.execute("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;"));
  return db;
}

// To read, SQLite makes <path>-shm, which a read-only or full file system forbids. All is in the file itself when
// nothing lies in the log beside it; then it is read without.
Result<Database> open_to_read(const std::string& path) {
  BERTH_TRY(find_or_make_file(path, false, false));
  Result<Database> db = open_current(path, Access::kReadOnly);
  if (db.ok() || db.status().code() != Code::kUnavailable) return db;
  std::error_code failure;
  const auto logged = std::filesystem::file_size(path + "-wal", failure);
  if (failure || logged == 0) return open_current(path, Access::kUnchanging);
  return Status(
      Code::kUnavailable,
      fmt::format("cannot read '{0}': SQLite needs to make '{0}-shm' there, for the changes in '{0}-wal'", path),
      "open it once where it can be written");
}

Result<std::vector<std::string>> table_sizes(Database& db) {
  BERTH_ASSIGN(Statement tables, db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                                            "'sqlite\\_%' ESCAPE '\\' ORDER BY name"));
  std::vector<std::string> sizes;
  while (tables.next()) {
    const std::string name(tables.text(0));
    const std::string_view which = name == "meta" ? " WHERE key <> 'log'" : "";  // the log's name is no content
    BERTH_ASSIGN(const std::int64_t rows, db.integer(fmt::format("SELECT count(*) FROM \"{}\"{}", name, which)));
    sizes.push_back(fmt::format("{} {}", name, rows));
  }
  BERTH_TRY(tables.status());
  return sizes;
}

}  // namespace

Result<Database> open_state(const std::string& path, const OpenOptions& options) {
  if (options.access != Access::kReadWrite) return open_to_read(path);
  const bool in_memory = path == kInMemory;
  if (!in_memory) BERTH_TRY(find_or_make_file(path, options.create, true));
  BERTH_ASSIGN(Database db, Database::open(path, Access::kReadWrite));
  db.set_busy_timeout(options.busy_timeout_ms);
  BERTH_ASSIGN(const FileIdentity identity, identify(db));
  // Refused before anything is written; a file that passes may change its journal mode.
  const bool ours = identity.kind != FileKind::kOther && identity.version <= embedded_schema().newest();
  if (ours && !in_memory) BERTH_TRY(use_write_ahead_log(db, options.busy_timeout_ms));
  BERTH_TRY(db.execute(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;"
      "PRAGMA cache_size = -65536;"          // 64 MiB: a round's changed pages stay in memory
      "PRAGMA wal_autocheckpoint = 8000"));  // 32 MiB: a round does not wait for its pages to be moved a second time
  BERTH_TRY(migrate(db));
  BERTH_TRY(keep_row_sums(db));
  record_history(db);
  if (!in_memory) db.before_writes(name_new_log);
  return db;
}

Result<Database> open_for_queries(const std::string& path) {
  BERTH_ASSIGN(Database db, open_to_read(path));
  db.allow_only_reading();
  return db;
}

Result<bool> holds_nothing(Database& db) {
  BERTH_ASSIGN(Database fresh, open_state(std::string(kInMemory)));
  BERTH_ASSIGN(const std::vector<std::string> as_new, table_sizes(fresh));
  BERTH_ASSIGN(const std::vector<std::string> present, table_sizes(db));
  return present == as_new;
}

}  // namespace berth
