// The schema as numbered steps, and how a database gets from its version to ours.
//
// schema/NNN_*.sql are embedded at build time, append-only; PRAGMA user_version counts the steps a file has seen,
// PRAGMA application_id says that the file is Berth's. All missing steps run in one transaction, after a copy of the
// file has been put beside it as <file>.before-v<N>, N being the version it is about to reach. views.sql holds what can
// be dropped and made again; it is run whenever its text differs from the one the database last saw (a hash in meta),
// so opening a current database writes nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/store/sqlite.h"

namespace berth {

// "BrTh" in PRAGMA application_id.
inline constexpr std::int64_t kApplicationId = 0x42725468;

struct SchemaStep {
  std::int64_t version = 0;  // 1, 2, ...
  std::string_view name;     // "001_cluster"
  std::string_view sql;
};

struct Schema {
  std::span<const SchemaStep> steps;
  std::string_view views;
  std::int64_t newest() const { return static_cast<std::int64_t>(steps.size()); }
};

// What is embedded in this build.
const Schema& embedded_schema();

enum class FileKind { kEmpty, kBerth, kOther };
struct FileIdentity {
  FileKind kind = FileKind::kEmpty;
  std::int64_t version = 0;  // of the schema
  std::int64_t application_id = 0;
};
// kCorrupt when the file is Berth's and what every version of it has is not there.
Result<FileIdentity> identify(Database& db);
// Refuses a file that is not ours, or newer than `schema`; the error names it `path`.
Status check_identity(const FileIdentity& identity, const Schema& schema, const std::string& path);

enum class KeepCopy { kYes, kNo };
// Refuses a file that is not ours or newer than `schema`, else brings it up to date. Safe when two processes do it at
// once.
Status migrate(Database& db, const Schema& schema = embedded_schema(), KeepCopy copy = KeepCopy::kYes);

}  // namespace berth
