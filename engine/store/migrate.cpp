#include "engine/store/migrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/text.h"
#include "engine/model/hash.h"
#include "engine/store/backup.h"

namespace berth {

namespace {

std::int64_t text_hash(std::string_view text) {
  std::uint64_t seed = text.size();
  for (const char c : text) hash_add(seed, static_cast<unsigned char>(c));
  return static_cast<std::int64_t>(seed >> 1);
}

Result<std::vector<std::string>> view_names(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name"));
  std::vector<std::string> names;
  while (rows.next()) names.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return names;
}

// Drops the views that views.sql made; those of the steps, or added by an admin, stay.
Status drop_made_views(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT value FROM meta WHERE key = 'views_made'"));
  std::string made;
  if (rows.next()) made = rows.text(0);
  BERTH_TRY(rows.status());
  for (const std::string_view name : split(made, ',')) {
    if (!name.empty()) BERTH_TRY(db.execute(fmt::format("DROP VIEW IF EXISTS \"{}\"", name)));
  }
  return {};
}

Status make_views(Database& db, std::string_view views) {
  BERTH_ASSIGN(const std::vector<std::string> before, view_names(db));
  BERTH_TRY(db.execute(views));
  BERTH_ASSIGN(const std::vector<std::string> after, view_names(db));
  std::vector<std::string> made;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(made));
  BERTH_ASSIGN(Statement put, db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)"));
  BERTH_TRY(put.run("views_made", join(made, ",")));
  return put.run("views_hash", text_hash(views));
}

Result<bool> has_current_views(Database& db, std::string_view views) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT value FROM meta WHERE key = 'views_hash'"));
  const bool current = rows.next() && rows.integer(0) == text_hash(views);
  BERTH_TRY(rows.status());
  return current;
}

Status run_steps(Database& db, const Schema& schema, std::int64_t version) {
  if (version > 0) BERTH_TRY(drop_made_views(db));
  for (const SchemaStep& step : schema.steps) {
    if (step.version <= version) continue;
    BERTH_TRY(db.execute(step.sql).prefixed(fmt::format("in schema step {}", step.name)));
  }
  BERTH_TRY(
      db.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, schema.newest())));
  BERTH_TRY(make_views(db, schema.views).prefixed("in views.sql"));
  BERTH_ASSIGN(Statement broken, db.prepare("SELECT \"table\" FROM pragma_foreign_key_check"));
  if (broken.next()) {
    return Status(Code::kCorrupt, fmt::format("a row of table {} would refer to nothing", broken.text(0)));
  }
  return broken.status();
}

Status damaged(const Database& db, std::string_view why) {
  return Status(Code::kCorrupt, fmt::format("'{}' is damaged: {}", db.path(), why),
                "it was left as it is; load a snapshot into a new database");
}

}  // namespace

Status check_identity(const FileIdentity& identity, const Schema& schema, const std::string& path) {
  if (identity.kind == FileKind::kOther) {
    return Status(Code::kInvalid, fmt::format("'{}' is a database of another program, not Berth's", path),
                  "it was left as it is; name another file");
  }
  if (identity.version > schema.newest()) {
    return Status(
        Code::kInvalid,
        fmt::format("'{}' was written by a newer Berth: its schema is version {}, this program knows up to {}", path,
                    identity.version, schema.newest()),
        "it was left as it is; use the newer berth");
  }
  return {};
}

namespace {

// Under the write lock: another process may have migrated while we waited for it.
Status migrate_locked(Database& db, const Schema& schema, KeepCopy copy) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(const FileIdentity identity, identify(db));
  BERTH_TRY(check_identity(identity, schema, db.path()));
  if (identity.version == schema.newest()) return {};
  // The copy is read by a second connection: this one holds the lock but has changed nothing yet.
  if (copy == KeepCopy::kYes && identity.version > 0 && db.path() != ":memory:") {
    BERTH_TRY(copy_database(db.path(), fmt::format("{}.before-v{}", db.path(), schema.newest()))
                  .prefixed("before migrating"));
  }
  BERTH_TRY(
      run_steps(db, schema, identity.version)
          .prefixed(fmt::format("migrating '{}' from schema {} to {}", db.path(), identity.version, schema.newest())));
  return transaction.commit();
}

}  // namespace

Result<FileIdentity> identify(Database& db) {
  FileIdentity identity;
  Result<std::int64_t> application = db.integer("PRAGMA application_id");
  if (!application.ok()) {
    if (application.status().code() != Code::kCorrupt) return application.status();
    return Status(Code::kInvalid, fmt::format("'{}' is not a Berth database: it is no SQLite file", db.path()),
                  "it was left as it is; name another file");
  }
  identity.application_id = *application;
  BERTH_ASSIGN(identity.version, db.integer("PRAGMA user_version"));
  BERTH_ASSIGN(const std::int64_t objects, db.integer("SELECT count(*) FROM sqlite_schema"));
  if (identity.application_id == kApplicationId) {
    identity.kind = FileKind::kBerth;
    if (identity.version < 0) return damaged(db, fmt::format("its schema version is {}", identity.version));
    BERTH_ASSIGN(const std::int64_t has_meta,
                 db.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'meta'"));
    if (identity.version > 0 && has_meta == 0) return damaged(db, "it has no table meta");
  } else if (identity.application_id != 0 || identity.version != 0 || objects != 0) {
    identity.kind = FileKind::kOther;
  }
  return identity;
}

Status migrate(Database& db, const Schema& schema, KeepCopy copy) {
  BERTH_ASSIGN(const FileIdentity identity, identify(db));
  BERTH_TRY(check_identity(identity, schema, db.path()));
  if (identity.version < schema.newest()) {
    // Rebuilding a table must not fire its foreign keys; run_steps checks them all before the commit.
    BERTH_TRY(db.execute("PRAGMA foreign_keys = OFF"));
    Status migrated = migrate_locked(db, schema, copy);
    BERTH_TRY(db.execute("PRAGMA foreign_keys = ON"));
    BERTH_TRY(migrated);
  }
  BERTH_ASSIGN(bool current, has_current_views(db, schema.views));
  if (current) return {};
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_TRY(drop_made_views(db));
  BERTH_TRY(make_views(db, schema.views));
  return transaction.commit();
}

}  // namespace berth
