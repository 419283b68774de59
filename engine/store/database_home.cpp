#include "engine/store/database_home.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "engine/store/job_records.h"

namespace berth {

namespace {

struct Home {
  std::string path;  // canonical
  std::string inode;

  bool operator==(const Home&) const = default;
};

bool is_in_memory(const Database& db) { return db.path().empty() || db.path() == ":memory:"; }

Result<Home> present_home(const Database& db) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(db.path(), error);
  struct stat file = {};
  if (error || stat(path.c_str(), &file) != 0)
    return Status(Code::kUnavailable, fmt::format("'{}' cannot be looked at", db.path()));
  return Home{path.string(), std::to_string(file.st_ino)};
}

Result<std::optional<Home>> recorded_home(Database& db) {
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT p.value, i.value FROM meta p JOIN meta i ON i.key = 'home_inode' WHERE "
                          "p.key = 'home_path'"));
  std::optional<Home> home;
  if (row.next()) home = Home{std::string(row.text(0)), std::string(row.text(1))};
  BERTH_TRY(row.status());
  return home;
}

Status write_home(Database& db, const Home& home) {
  BERTH_ASSIGN(Statement put, db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('home_path', ?1), "
                                         "('home_inode', ?2)"));
  return put.run(home.path, home.inode);
}

Result<std::vector<std::int64_t>> jobs_at_executors(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT job_id FROM runs WHERE end_time IS NULL ORDER BY job_id"));
  std::vector<std::int64_t> jobs;
  while (rows.next()) jobs.push_back(rows.integer(0));
  BERTH_TRY(rows.status());
  return jobs;
}

}  // namespace

Status record_home(Database& db) {
  if (is_in_memory(db)) return {};
  BERTH_ASSIGN(const Home present, present_home(db));
  return write_home(db, present);
}

Status check_home(Database& db) {
  if (is_in_memory(db)) return {};
  BERTH_ASSIGN(const Home present, present_home(db));
  BERTH_ASSIGN(const std::optional<Home> home, recorded_home(db));
  if (home == present) return {};
  if (!home || home->path == present.path || home->inode == present.inode) return write_home(db, present);
  return Status(Code::kConflict,
                fmt::format("this database is a copy of '{}', which drives the work: nothing is told to executors or "
                            "asked of them from here",
                            home->path),
                "ALTER DATABASE FORK makes it one to try things out, on simulated executors; ALTER DATABASE ADOPT lets "
                "it drive the work, when the other one is out of use");
}

Status fork_database(Change& change) {
  Database& db = change.db();
  BERTH_TRY(db.execute("UPDATE meta SET value = lower(hex(randomblob(4))) WHERE key = 'tag'"));
  BERTH_TRY(db.execute("DELETE FROM outbox"));
  BERTH_TRY(
      db.execute("UPDATE executors SET type = 'simulated', options = '{}', state = 'unknown', failures = 0, "
                 "next_try = 0, error = '' WHERE type <> 'simulated'"));
  BERTH_TRY(db.execute("UPDATE drains SET told_at = NULL"));
  BERTH_TRY(
      db.execute("UPDATE run_tasks SET phase = 'lost', end_time = start_time, detail = 'the original has it' "
                 "WHERE phase = 'pending' OR phase = 'starting' OR phase = 'running'"));
  BERTH_ASSIGN(const std::vector<std::int64_t> jobs, jobs_at_executors(db));
  for (const std::int64_t job : jobs) BERTH_TRY(forget_run(change, job, "forked: the original has it"));
  BERTH_TRY(record_home(db));
  return change.record("fork database", db.path());
}

}  // namespace berth
