#include "engine/store/open.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "engine/store/backup.h"
#include "engine/store/migrate.h"
#include "engine/store/quota_records.h"
#include "engine/store/snapshot_file.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Open : public StoreTest {
 protected:
  void write_file(const std::string& name, const std::string& content) { std::ofstream(path(name)) << content; }
  void make_database(const std::string& name, const std::string& sql) {
    write_file(name, "");
    Database db = must_have(Database::open(path(name), Access::kReadWrite));
    EXPECT_OK(db.execute(sql));
  }
  static int mode_of(const std::string& file) {
    struct stat info {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
    return info.st_mode & 0777;
  }
  // Opening fails and leaves the file as it was.
  void expect_refused(const std::string& name, const std::string& words) {
    const std::string before = file_content(path(name));
    EXPECT_ERROR(open_state(path(name)), Code::kInvalid, words);
    EXPECT_EQ(file_content(path(name)), before);
    EXPECT_FALSE(std::filesystem::exists(path(name + "-wal")));
  }
};

TEST_F(Open, MakesAPrivateFileWithTheNewestSchema) {
  Database db = open();
  EXPECT_OK(change(db, [](Change& c) { return add_pool(c, "p"); }));
  EXPECT_EQ(mode_of(path()), 0600);
  EXPECT_EQ(mode_of(path("berth.db-wal")), 0600);
  EXPECT_EQ(must_have(db.integer("PRAGMA user_version")), embedded_schema().newest());
  EXPECT_EQ(must_have(db.text("PRAGMA journal_mode")), "wal");
  EXPECT_EQ(must_have(db.integer("PRAGMA foreign_keys")), 1);
  EXPECT_EQ(must_have(db.integer("PRAGMA synchronous")), 2);
  expect_healthy(db);
}

TEST_F(Open, WritesNothingWhenCurrent) {
  { Database db = open(); }
  const std::string before = file_content(path());
  { Database db = open(); }
  EXPECT_EQ(file_content(path()), before);
}

// To close the file anywhere in a process lets go of its locks: then another one takes itself for the last, and removes
// the log under this one.
TEST_F(Open, TheProcessThatMadeTheFileKeepsItsLock) {
  Database db = open();
  EXPECT_OK(change(db, [](Change& c) { return add_pool(c, "p"); }));
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  // "1: POSIX  ADVISORY  READ 123 00:24:56 1073741826 1073742335"
  const auto locks = [&] {
    std::ifstream file("/proc/locks");
    int count = 0;
    for (std::string line; std::getline(file, line);)
      count += line.find(fmt::format(" {} ", getpid())) != std::string::npos &&
               line.find(fmt::format(":{} ", info.st_ino)) != std::string::npos;
    return count;
  };
  if (locks() == 0) GTEST_SKIP() << "this machine does not say who holds locks";
  const Database second = open();
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM pools")), 1);
  EXPECT_GT(locks(), 0);
}

// The log that a killed process left is not the file's that was put in the place of its own.
TEST_F(Open, RefusesALogThatIsAnotherFiles) {
  const std::string log = path() + "-wal";
  {
    Database db = open();
    EXPECT_OK(change(db, [](Change& c) { return add_pool(c, "first"); }));
    EXPECT_OK(save_snapshot(db, path("backup.db")));
  }
  {
    Database db = open();
    EXPECT_OK(change(db, [](Change& c) { return add_pool(c, "second"); }));
    std::filesystem::copy_file(log, path("left"));
  }
  std::filesystem::copy_file(path("left"), log);
  EXPECT_EQ(must_have(open().integer("SELECT count(*) FROM pools")), 2);  // its own
  std::filesystem::rename(path("backup.db"), path());
  std::filesystem::copy_file(path("left"), log);
  EXPECT_ERROR(open_state(path()), Code::kCorrupt, "the log of another file");
  EXPECT_TRUE(std::filesystem::exists(log));
  std::filesystem::remove(log);
  EXPECT_EQ(must_have(open().integer("SELECT count(*) FROM pools")), 1);
}

TEST_F(Open, ACopyTakesThePlaceOfAFileWithItsLog) {
  Database db = open();
  EXPECT_OK(save_snapshot(db, path("backup.db")));
  EXPECT_OK(change(db, [](Change& c) { return add_pool(c, "p"); }));
  Database backup = must_have(open_state(path("backup.db")));
  EXPECT_ERROR(copy_database(path("backup.db"), path()), Code::kBusy, "is open elsewhere");
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM pools")), 1);
}

TEST_F(Open, RefusesWhatIsNotBerths) {
  write_file("notes.txt", "not a database at all, but long enough to have a header of its own: sixteen bytes and more");
  expect_refused("notes.txt", "no SQLite file");
  make_database("other.db", "CREATE TABLE t (i); INSERT INTO t VALUES (1)");
  expect_refused("other.db", "another program");
  make_database("marked.db", "PRAGMA application_id = 77");
  expect_refused("marked.db", "another program");
  EXPECT_ERROR(open_state(folder_.string()), Code::kInvalid, "is a folder");
  EXPECT_ERROR(open_state(path("no/such/folder.db")), Code::kUnavailable, "cannot create");
  EXPECT_ERROR(open_state(path("missing.db"), {.create = false}), Code::kNotFound, "there is no database");
}

TEST_F(Open, RefusesANewerSchemaNamingBothVersions) {
  {
    Database db = open();
    EXPECT_OK(db.execute("PRAGMA journal_mode = DELETE; PRAGMA user_version = 99"));
  }
  expect_refused("berth.db",
                 "schema is version 99, this program knows up to " + std::to_string(embedded_schema().newest()));
  EXPECT_ERROR(open_for_queries(path()), Code::kInvalid, "version 99");
}

TEST_F(Open, ReadOnlyRefusesChanges) {
  { Database db = open(); }
  Database db = must_have(open_state(path(), {.access = Access::kReadOnly}));
  EXPECT_FALSE(db.execute("INSERT INTO pools (name) VALUES ('x')").ok());
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM pools")), 0);
  EXPECT_ERROR(open_state(path("other.db"), {.access = Access::kReadOnly}), Code::kNotFound, "there is no database");
}

// A link to nowhere called <file>-shm stands for a file system that takes no new files: SQLite cannot make that file.
TEST_F(Open, ReadsWhereNothingCanBeMade) {
  const std::string odd = "a%20 b?c#d.db";
  {
    Database db = open(odd);
    fill(db);
  }
  std::filesystem::create_symlink(path("no/such"), path(odd + "-shm"));
  {
    Database db = must_have(open_state(path(odd), {.access = Access::kReadOnly}));
    EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM nodes")), 7);
    EXPECT_FALSE(db.execute("DELETE FROM nodes").ok());
    Database queries = must_have(open_for_queries(path(odd)));
    EXPECT_EQ(must_have(queries.integer("SELECT count(*) FROM nodes")), 7);
  }
  Database db = open();
  fill(db);
  std::filesystem::copy_file(path(), path("copy.db"));
  std::filesystem::copy_file(path("berth.db-wal"), path("copy.db-wal"));
  std::filesystem::create_symlink(path("no/such"), path("copy.db-shm"));
  EXPECT_ERROR(open_for_queries(path("copy.db")), Code::kUnavailable, "copy.db-shm' there");
}

TEST_F(Open, ADamagedIdentityIsNamed) {
  { Database db = open(); }
  const auto break_it = [&](const char* sql) {
    Database db = must_have(Database::open(path(), Access::kReadWrite));
    EXPECT_OK(db.execute(sql));
  };
  break_it("PRAGMA user_version = -3");
  EXPECT_ERROR(open_state(path()), Code::kCorrupt, "is damaged: its schema version is -3");
  EXPECT_ERROR(open_for_queries(path()), Code::kCorrupt, "is damaged");
  break_it("PRAGMA user_version = 5; DROP TABLE meta");
  EXPECT_ERROR(open_state(path()), Code::kCorrupt, "is damaged: it has no table meta");
}

TEST_F(Open, ManyAtOnceMakeOneDatabase) {
  std::vector<std::thread> threads;
  std::vector<Status> results(8);
  for (Status& result : results) {
    threads.emplace_back([this, &result] { result = open_state(path()).status(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) EXPECT_OK(result);
  Database db = open();
  expect_healthy(db);
}

// ---- migrations -----------------------------------------------------------------------------------------------------

class Migrate : public Open {
 protected:
  // A database as the program that knew only the first `version` steps left it.
  void make_old(const std::string& name, std::int64_t version) {
    write_file(name, "");
    Database db = must_have(Database::open(path(name), Access::kReadWrite));
    const Schema old{embedded_schema().steps.first(static_cast<std::size_t>(version)), ""};
    EXPECT_OK(migrate(db, old));
    EXPECT_EQ(must_have(db.integer("PRAGMA user_version")), version);
  }
};

TEST_F(Migrate, EveryOlderVersionOpensAndKeepsACopy) {
  for (std::int64_t version = 1; version < embedded_schema().newest(); ++version) {
    const std::string name = "v" + std::to_string(version) + ".db";
    make_old(name, version);
    {
      Database old = must_have(Database::open(path(name), Access::kReadWrite));
      EXPECT_OK(old.execute("INSERT INTO pools (name) VALUES ('kept')"));
    }
    EXPECT_ERROR(open_for_queries(path(name)), Code::kInvalid, "this program needs");
    Database db = open(name);
    EXPECT_EQ(must_have(db.integer("PRAGMA user_version")), embedded_schema().newest());
    EXPECT_EQ(must_have(db.text("SELECT name FROM pools")), "kept");
    expect_healthy(db);
    const std::string copy = path(name + ".before-v" + std::to_string(embedded_schema().newest()));
    EXPECT_EQ(mode_of(copy), 0600);
    Database kept = must_have(Database::open(copy, Access::kReadOnly));
    EXPECT_EQ(must_have(kept.integer("PRAGMA user_version")), version);
    EXPECT_EQ(must_have(kept.text("SELECT name FROM pools")), "kept");
  }
}

// What ran before departments owned anything goes on, and can be governed.
TEST_F(Migrate, RunningWorkMeetsItsFirstQuota) {
  make_old("v5.db", 5);
  {
    Database old = must_have(Database::open(path("v5.db"), Access::kReadWrite));
    EXPECT_OK(old.execute(
        "INSERT INTO device_models (name, memory_mib) VALUES ('A100', 81920);"
        "INSERT INTO node_types (name, cpu_milli, memory_mib, device_model_id, device_count) VALUES "
        "('x', 64000, 65536, 1, 4);"
        "INSERT INTO nodes (name, type_id) VALUES ('n1', 1);"
        "INSERT INTO queues (name) VALUES ('train'), ('serve');"
        "INSERT INTO jobs (name, queue_id, state, submit_time, start_time) VALUES ('j', 1, 'running', 10, 20);"
        "INSERT INTO task_groups (job_id, group_index, name, task_count, min_tasks, cpu_milli, memory_mib, gpu_count, "
        "gpu_milli, gpu_memory_mib) VALUES (1, 0, 'g', 1, 1, 1000, 1024, 3, 1000, 0);"
        "INSERT INTO allocations (node_id, job_id, group_index, task_index, device_mask, gpu_milli, gpu_memory_mib, "
        "cpu_milli, memory_mib, start_time) VALUES (1, 1, 0, 0, 7, 1000, 81920, 1000, 1024, 20)"));
  }
  Database db = open("v5.db");
  expect_healthy(db);
  EXPECT_EQ(must_have(db.text("SELECT weight || ' ' || priority_band || ' ' || rightsizing FROM queues WHERE id = 1")),
            "1.0 0 off");
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM queue_standing")), 0);
  EXPECT_OK(change(db, [](Change& c) {
    return set_quota(c, "serve", std::vector<QuotaSetting>{{QuotaColumn::kQuota, "A100", 2000, {}}});
  }));
  EXPECT_EQ(must_have(db.text("SELECT group_concat(borrower || ' ' || coalesce(lender, '-') || ' ' || amount) "
                              "FROM borrowing")),
            "train - 1000,train serve 2000");
  expect_healthy(db);
}

// Attempts and what they used keep their rows when runs get states.
TEST_F(Migrate, RunsKeepWhatRefersToThem) {
  make_old("v7.db", 7);
  {
    Database old = must_have(Database::open(path("v7.db"), Access::kReadWrite));
    EXPECT_OK(old.execute(
        "INSERT INTO queues (name) VALUES ('train');"
        "INSERT INTO jobs (name, queue_id, state, submit_time, start_time, end_time) VALUES ('j', 1, 'finished', 10, "
        "20, "
        "30), ('k', 1, 'failed', 10, 20, 30);"
        "INSERT INTO task_groups (job_id, group_index, name, task_count, min_tasks, cpu_milli, memory_mib, gpu_count, "
        "gpu_milli, gpu_memory_mib) VALUES (1, 0, 'g', 1, 1, 1000, 1024, 0, 0, 0), (2, 0, 'g', 1, 1, 1000, 1024, 0, 0, "
        "0);"
        "INSERT INTO runs (job_id, attempt, start_time, end_time, outcome, tasks, gpu_milli, nodes) VALUES "
        "(1, 1, 20, 30, 'finished', 1, 0, '[]'), (2, 1, 20, 30, 'failed', 1, 0, '[]');"
        "INSERT INTO run_usage (run_id, group_index, recurrence, end_time, memory_peak_mib) VALUES (1, 0, 7, 30, "
        "300)"));
  }
  Database db = open("v7.db");
  expect_healthy(db);
  EXPECT_EQ(must_have(db.text("SELECT group_concat(job_id || ' ' || state, ', ') FROM runs")), "1 succeeded, 2 failed");
  EXPECT_EQ(must_have(db.text("SELECT run_id || ' ' || memory_peak_mib FROM run_usage")), "1 300");
}

TEST_F(Migrate, ReshapesATableThatOthersReferTo) {
  Database db = open();
  fill(db);
  std::vector<SchemaStep> steps(embedded_schema().steps.begin(), embedded_schema().steps.end());
  steps.push_back({embedded_schema().newest() + 1, "next",
                   "CREATE TABLE new_pools (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner TEXT) STRICT;"
                   "INSERT INTO new_pools (id, name) SELECT id, name FROM pools;"
                   "DROP TABLE pools; ALTER TABLE new_pools RENAME TO pools"});
  EXPECT_OK(migrate(db, {steps, embedded_schema().views}));
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM pools WHERE owner IS NULL")), 2);
  EXPECT_EQ(must_have(db.text("SELECT pool FROM node_usage WHERE node = 'a1'")), "main") << "views came back";
  EXPECT_EQ(must_have(db.integer("PRAGMA foreign_keys")), 1);
}

TEST_F(Migrate, AFailedStepChangesNothing) {
  Database db = open();
  fill(db);
  std::vector<SchemaStep> steps(embedded_schema().steps.begin(), embedded_schema().steps.end());
  steps.push_back(
      {embedded_schema().newest() + 1, "bad", "CREATE TABLE extra (i); DELETE FROM pools; SELECT nonsense"});
  EXPECT_ERROR(migrate(db, {steps, embedded_schema().views}), Code::kInvalid, "in schema step bad");
  EXPECT_EQ(must_have(db.integer("PRAGMA user_version")), embedded_schema().newest());
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM pools")), 2);
  steps.back() = {embedded_schema().newest() + 1, "dangling", "DELETE FROM pools"};
  EXPECT_ERROR(migrate(db, {steps, embedded_schema().views}), Code::kCorrupt, "would refer to nothing");
  expect_healthy(db);
}

TEST_F(Migrate, RebuildsViewsWhenTheirTextChanged) {
  Database db = open();
  EXPECT_OK(db.execute("CREATE VIEW mine AS SELECT 1 AS one"));
  EXPECT_OK(migrate(db, {embedded_schema().steps, "CREATE VIEW only_view AS SELECT 2 AS two"}));
  EXPECT_EQ(must_have(db.integer("SELECT two FROM only_view")), 2);
  EXPECT_EQ(must_have(db.integer("SELECT one FROM mine")), 1) << "an admin's view stays";
  EXPECT_FALSE(db.integer("SELECT count(*) FROM node_usage").ok());
  EXPECT_OK(migrate(db));
  EXPECT_OK(db.integer("SELECT count(*) FROM node_usage"));
}

// Each name would have a log of its own: what one of them took in would be lost to the other.
TEST_F(Open, AFileOfTwoNamesIsRefused) {
  {
    Database db = open();
    EXPECT_OK(change(db, [](Change& c) { return add_pool(c, "p"); }));
  }
  std::filesystem::create_hard_link(path(), path("twin.db"));
  for (const char* name : {"berth.db", "twin.db"}) {
    EXPECT_ERROR(open_state(path(name)), Code::kConflict, "one of 2 names");
    EXPECT_ERROR(open_for_queries(path(name)), Code::kConflict, "one of 2 names");
  }
  std::filesystem::create_symlink(path(), path("link.db"));
  EXPECT_ERROR(open_state(path("link.db")), Code::kConflict, "one of 2 names");
  std::filesystem::remove(path("twin.db"));
  Database db = must_have(open_state(path("link.db")));
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM pools")), 1);
}

}  // namespace
}  // namespace berth::test
