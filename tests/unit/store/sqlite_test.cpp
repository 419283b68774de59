#include "engine/store/sqlite.h"

#include "engine/store/user_sql.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Sqlite : public StoreTest {
 protected:
  Database memory() { return must_have(Database::open(":memory:", Access::kReadWrite)); }
};

TEST_F(Sqlite, BindsAndReadsEveryKindOfValue) {
  Database db = memory();
  EXPECT_OK(db.execute("CREATE TABLE t (i INTEGER, r REAL, s TEXT, n INTEGER, e TEXT) STRICT"));
  Statement insert = must_have(db.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5)"));
  EXPECT_OK(insert.run(std::int64_t{7} << 40, 0.5, "text", std::nullopt, std::string_view()));
  EXPECT_OK(insert.run(MiB(3), std::optional(1.5), std::string("x"), std::optional<int>(), ""));
  Statement rows = must_have(db.prepare("SELECT * FROM t ORDER BY i DESC"));
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(0), std::int64_t{7} << 40);
  EXPECT_EQ(rows.real(1), 0.5);
  EXPECT_EQ(rows.text(2), "text");
  EXPECT_TRUE(rows.is_null(3));
  EXPECT_EQ(rows.type(4), CellType::kText) << "empty text is not NULL";
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.quantity<MiB>(0), MiB(3));
  EXPECT_FALSE(rows.next());
  EXPECT_OK(rows.status());
}

TEST_F(Sqlite, GivesStatementsBackToTheCache) {
  Database db = memory();
  sqlite3_stmt* first = must_have(db.prepare("SELECT 1")).handle();
  Statement again = must_have(db.prepare("SELECT 1"));
  EXPECT_EQ(again.handle(), first);
  Statement second = must_have(db.prepare("SELECT 1"));
  EXPECT_NE(second.handle(), first) << "in use, so another one is made";
}

TEST_F(Sqlite, RefusesMoreThanOneStatement) {
  Database db = memory();
  EXPECT_OK(db.prepare("SELECT 1; -- and no more\n"));
  EXPECT_ERROR(db.prepare("SELECT 1; SELECT 2"), Code::kInvalid, "one SQL statement");
  EXPECT_ERROR(db.prepare("SELECT 1; nonsense"), Code::kInvalid, "one SQL statement");
  EXPECT_ERROR(db.prepare("  -- nothing"), Code::kInvalid, "no SQL statement");
  EXPECT_ERROR(db.prepare("SELEC 1"), Code::kInvalid, "syntax error");
}

TEST_F(Sqlite, RollsBackUnlessCommitted) {
  Database db = memory();
  EXPECT_OK(db.execute("CREATE TABLE t (i INTEGER)"));
  {
    Transaction transaction = must_have(Transaction::begin_write(db));
    EXPECT_OK(db.execute("INSERT INTO t VALUES (1)"));
  }
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM t")), 0);
  Transaction transaction = must_have(Transaction::begin_write(db));
  EXPECT_OK(db.execute("INSERT INTO t VALUES (1)"));
  EXPECT_OK(transaction.commit());
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM t")), 1);
}

TEST_F(Sqlite, PartsOfAnEnclosingTransaction) {
  open();
  Database db = must_have(open_state(path()));
  Database other = must_have(open_state(path()));
  EXPECT_OK(db.execute("CREATE TABLE t (x)"));
  const auto count = [](Database& in) { return must_have(in.integer("SELECT count(*) FROM t")); };
  const auto insert = [&](bool keep) {
    Transaction part = must_have(Transaction::begin_write(db));
    EXPECT_OK(db.execute("INSERT INTO t VALUES (1)"));
    if (keep) EXPECT_OK(part.commit());
  };
  {
    const Transaction enclosing = must_have(Transaction::begin_enclosing(db));
    EXPECT_TRUE(db.is_enclosed());
    insert(true);
    insert(false);
    EXPECT_EQ(count(db), 1);
    EXPECT_EQ(count(other), 0);
    Transaction outer = must_have(Transaction::begin_write(db));
    insert(true);
    EXPECT_EQ(count(db), 2);
  }
  EXPECT_FALSE(db.is_enclosed());
  EXPECT_FALSE(db.in_transaction());
  EXPECT_EQ(count(db), 0);
  {
    Transaction enclosing = must_have(Transaction::begin_enclosing(db));
    other.set_busy_timeout(0);
    EXPECT_ERROR(Transaction::begin_write(other), Code::kBusy, "another process is writing");
    insert(true);
    EXPECT_OK(enclosing.commit());
  }
  EXPECT_FALSE(db.is_enclosed());
  EXPECT_EQ(count(other), 1);
  insert(false);
  EXPECT_EQ(count(db), 1);
}

// A full disk makes SQLite roll back all of it, whatever part was at work.
TEST_F(Sqlite, NoPartAfterTheEnclosingTransactionIsGone) {
  Database db = memory();
  EXPECT_OK(db.execute("CREATE TABLE t (x)"));
  Transaction enclosing = must_have(Transaction::begin_enclosing(db));
  EXPECT_OK(db.execute("ROLLBACK"));
  EXPECT_ERROR(Transaction::begin_write(db), Code::kUnavailable, "rolled the transaction back");
  EXPECT_ERROR(enclosing.commit(), Code::kUnavailable, "rolled the transaction back");
}

TEST_F(Sqlite, ReadsOnlyForAWhile) {
  Database db = memory();
  EXPECT_OK(db.execute("CREATE TABLE t (x)"));
  const std::string_view insert = "INSERT INTO t VALUES (1)";
  EXPECT_OK(must_have(db.prepare(insert)).run());
  {
    const ReadingOnly guard(db);
    EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM t")), 1);
    // Also what was prepared before.
    Result<Statement> cached = db.prepare(insert);
    EXPECT_ERROR(cached.ok() ? cached->run() : cached.status(), Code::kInvalid, "only SELECT");
    EXPECT_ERROR(db.execute("DELETE FROM t"), Code::kInvalid, "only SELECT");
  }
  EXPECT_OK(must_have(db.prepare(insert)).run());
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM t")), 2);
}

TEST_F(Sqlite, StopsWhenInterrupted) {
  Database db = memory();
  std::atomic<bool> stop{true};
  const std::string endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  {
    const Interruptible interruptible(db, &stop);
    EXPECT_ERROR(db.integer(endless), Code::kInterrupted, "interrupted");
    EXPECT_FALSE(interruptible.has_run_out());
  }
  {
    const Interruptible interruptible(db, nullptr, std::chrono::milliseconds(20));
    EXPECT_EQ(must_have(db.integer("SELECT 1")), 1);
    EXPECT_ERROR(db.integer(endless), Code::kInterrupted, "interrupted");
    EXPECT_TRUE(interruptible.has_run_out());
  }
  EXPECT_EQ(must_have(db.integer("SELECT 1")), 1);
}

// As SQLite's own say.
TEST_F(Sqlite, FunctionsThatAreOurs) {
  Database db = memory();
  for (const auto& [sql, expected] : std::vector<std::pair<std::string, std::string>>{
           {"instr('berth', 'r')", "3"},
           {"instr('berth', 'x')", "0"},
           {"instr('berth', '')", "1"},
           {"instr('', 'x')", "0"},
           {"instr('größe', 'e')", "5"},
           {"instr(x'c3b665', x'65')", "3"},
           {"instr('ö', x'b6')", "0"},
           {"instr(1234, 3)", "3"},
           {"coalesce(instr(NULL, 'x'), 'null')", "null"},
           {"replace('a|b|c', '|', '\",\"')", "a\",\"b\",\"c"},
           {"replace('aaa', 'aa', 'b')", "ba"},
           {"replace('abc', '', 'x')", "abc"},
           {"replace('abc', 'c', '')", "ab"},
           {"typeof(replace(7, '', 'x'))", "integer"},
           {"coalesce(replace('a', 'a', NULL), 'null')", "null"},
           {"trim('xxaxbxy', 'xy')", "axb"},
           {"ltrim('ööa', 'ö')", "a"},
           {"rtrim('aöxö', 'öx')", "a"},
           {"trim('  a ')", "a"},
           {"'[' || trim('aaa', 'a') || ']'", "[]"},
           {"coalesce(trim('a', NULL), 'null')", "null"},
           {"coalesce(replace('a', '', NULL), 'null')", "a"},
           {"printf('%d task%s, %.3c %5.1f|%%', 3, 's', 'x', 0.25)", "3 tasks, xxx   0.3|%"},
           {"format('%.*c%d', 2, 'x', 2000000000)", "xx2000000000"}})
    EXPECT_EQ(must_have(db.text("SELECT " + sql)), expected) << sql;
  EXPECT_ERROR(db.text("SELECT json_patch('{}', '{}')"), Code::kInvalid, "is not to be had here");
}

// SQLite's own take hours for each of these, and cannot be interrupted.
TEST_F(Sqlite, NoCallOfAFunctionIsLong) {
  Database db = memory();
  const UserSqlLimits limits(db);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(must_have(db.integer("SELECT instr(hex(zeroblob(3000000)), hex(zeroblob(1500000)) || '1')")), 0);
  EXPECT_EQ(must_have(db.integer("SELECT length(replace(hex(zeroblob(3000000)), hex(zeroblob(1500000)) || '1', ''))")),
            6000000);
  EXPECT_EQ(must_have(db.integer("SELECT length(trim(hex(zeroblob(3000000)), printf('%.*c', 3000000, '1') || '0'))")),
            0);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST_F(Sqlite, TextsOfUsersSqlAreBounded) {
  Database db = memory();
  EXPECT_OK(db.execute("CREATE TABLE t (x)"));
  EXPECT_OK(db.execute("INSERT INTO t VALUES (zeroblob(9000000))"));
  {
    const UserSqlLimits limits(db);
    for (const char* sql : {"SELECT printf('%.*c', 2000000000, 'x')",
                            "SELECT length(replace(hex(zeroblob(100000)), '0', hex(zeroblob(10000))))",
                            "SELECT hex(zeroblob(5000000))", "SELECT x FROM t"})
      EXPECT_ERROR(db.text(sql), Code::kInvalid, "longer than 8 MiB");
    EXPECT_ERROR(db.text("SELECT 'a' LIKE printf('%.*c', 101, '%')"), Code::kInvalid, "pattern too complex");
  }
  EXPECT_EQ(must_have(db.integer("SELECT length(hex(x)) FROM t")), 18000000);
}

TEST_F(Sqlite, LetsUserSqlOnlyRead) {
  open();
  Database db = must_have(open_for_queries(path()));
  for (const char* allowed :
       {"SELECT * FROM nodes", "WITH x AS (SELECT 1) SELECT * FROM x", "EXPLAIN QUERY PLAN SELECT * FROM jobs",
        "VALUES (1)", "PRAGMA table_info(nodes)", "SELECT name FROM sqlite_schema", "SELECT * FROM pragma_table_list",
        "PRAGMA user_version", "SELECT value FROM json_each('[1]')",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5) SELECT sum(i) FROM n"}) {
    Result<Statement> statement = db.prepare(allowed);
    ASSERT_TRUE(statement.ok()) << allowed << ": " << statement.status().message();
    while (statement->next()) {
    }
    EXPECT_OK(statement->status());
  }
  const std::string copy = path("copy.db");
  for (const std::string& refused : std::vector<std::string>{"DELETE FROM nodes",
                                                             "INSERT INTO pools (name) VALUES ('x')",
                                                             "UPDATE meta SET value = 9",
                                                             "CREATE TABLE t (i)",
                                                             "CREATE TEMP TABLE t (i)",
                                                             "DROP TABLE nodes",
                                                             "ATTACH 'x.db' AS x",
                                                             "DETACH main",
                                                             "PRAGMA user_version = 9",
                                                             "PRAGMA journal_mode = DELETE",
                                                             "PRAGMA writable_schema = 1",
                                                             "BEGIN",
                                                             "VACUUM",
                                                             "VACUUM INTO '" + copy + "'",
                                                             "SELECT load_extension('x')",
                                                             "PRAGMA query_only = 0",
                                                             "REINDEX",
                                                             "ANALYZE",
                                                             "UPDATE sqlite_master SET sql = ''",
                                                             "SAVEPOINT s"}) {
    Result<Statement> statement = db.prepare(refused);
    // VACUUM is refused only when it starts.
    EXPECT_TRUE(!statement.ok() || (!statement->next() && !statement->status().ok())) << refused;
  }
  EXPECT_FALSE(std::filesystem::exists(copy));
}

// SQLite stops at a NUL: what lies behind it is neither ignored nor waited for.
TEST_F(Sqlite, RefusesTextWithANul) {
  using namespace std::string_view_literals;
  Database db = must_have(Database::open(":memory:", Access::kReadWrite));
  for (const std::string_view sql : {"\0"sv, "SELECT 1\0"sv, "SELECT 1; \0 SELECT 2"sv, "CREATE TABLE t (a) \0;"sv}) {
    EXPECT_ERROR(db.execute(sql), Code::kInvalid, "NUL");
    EXPECT_ERROR(db.prepare(sql), Code::kInvalid, "NUL");
  }
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM sqlite_schema")), 0);
}

}  // namespace
}  // namespace berth::test
