// Opening a Berth database: created when missing, migrated when old, refused when it is not ours.
//
// One file holds everything; beside it live SQLite's -wal and -shm. A new file gets mode 0600 (SQLite gives -wal and
// -shm the same). The journal is write-ahead, so that nobody blocks a reader. synchronous is FULL: in WAL mode a killed
// process loses nothing even with NORMAL, but a power cut may then take the last accepted statements with it; FULL
// costs one fsync a transaction, and Berth writes one transaction a statement or a round.
#pragma once

#include <string>

#include "engine/store/sqlite.h"

namespace berth {

struct OpenOptions {
  Access access = Access::kReadWrite;
  bool create = true;          // with kReadWrite: make the file when it is missing
  int busy_timeout_ms = 5000;  // how long a writer waits for another
};

// kInvalid for a file that is not a Berth database (left untouched) or one made by a newer Berth; kNotFound when it is
// missing and not to be created; kUnavailable when the file or folder cannot be used. An older database is migrated in
// one transaction after a backup copy (migrate.h); with kReadOnly it is refused instead.
Result<Database> open_state(const std::string& path, const OpenOptions& options = {});

// A second, read-only connection for SQL that a user typed: see Database::allow_only_reading. The file must exist and
// be current.
Result<Database> open_for_queries(const std::string& path);

// Whether nothing has been put into it since it was made: its tables have as many rows as those of a new one.
Result<bool> holds_nothing(Database& db);

}  // namespace berth
