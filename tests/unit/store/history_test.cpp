#include "engine/store/history.h"

#include "engine/store/as_of.h"
#include "engine/store/history_recorder.h"
#include "engine/store/journal.h"
#include "engine/store/migrate.h"
#include "engine/store/past_rows.h"
#include "engine/store/past_tables.h"
#include "engine/store/round_records.h"
#include "engine/store/settings.h"
#include "engine/store/snapshot_file.h"
#include "engine/store/sql_text.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class History : public StoreTest {
 protected:
  // Rows of `table` as "a|b" lines at a version, by the columns given.
  std::string rows_at(std::int64_t version, const std::string& table, const std::string& columns) {
    Database queries = must_have(open_for_queries(path()));
    PastQueries past(queries);
    Result<Statement> rows = past.prepare(
        "SELECT " + columns + " FROM as_of('" + table + "', 'version " + std::to_string(version) + "') ORDER BY 1",
        Seconds(1'000'000));
    if (!rows.ok()) return rows.status().message();
    std::string text;
    while (rows->next()) {
      for (int i = 0; i < rows->column_count(); ++i)
        text += (i > 0 ? "|" : "") + (rows->is_null(i) ? "NULL" : std::string(rows->text(i)));
      text += "\n";
    }
    EXPECT_OK(rows->status());
    return text;
  }
  static std::int64_t version(Database& db) { return must_have(state_version(db)); }
};

TEST_F(History, WhatAStatementTakesBackIsNotInIt) {
  Database db = open();
  fill(db);
  const std::int64_t before = version(db);
  EXPECT_OK(change(db, [](Change& c) -> Status {
    BERTH_TRY(add_pool(c, "one"));
    // Several rows, then one that breaks the table: SQLite takes back all of them.
    EXPECT_FALSE(c.db().execute("INSERT INTO pools (name) VALUES ('x'), ('y'), ('one')").ok());
    BERTH_ASSIGN(Statement insert, c.db().prepare("INSERT INTO pools (name) VALUES ('z'), ('one')"));
    EXPECT_FALSE(insert.run().ok());
    BERTH_TRY(c.db().execute("SAVEPOINT outer; UPDATE pools SET name = 'other' WHERE name = 'one'"));
    BERTH_TRY(c.db().execute("SAVEPOINT inner; DELETE FROM pools WHERE name = 'other'; ROLLBACK TO inner"));
    BERTH_TRY(c.db().execute("RELEASE inner; ROLLBACK TO outer; RELEASE outer"));
    BERTH_TRY(c.db().execute("SAVEPOINT kept; INSERT INTO pools (name) VALUES ('two'); RELEASE kept"));
    return {};
  }));
  EXPECT_EQ(rows_at(before, "pools", "name"), "empty\nmain\n");
  EXPECT_EQ(rows_at(version(db), "pools", "name"), "empty\nmain\none\ntwo\n");
}

TEST_F(History, RowsThatComeGoAndComeAgain) {
  Database db = open();
  fill(db);
  std::vector<std::string> kept;
  const std::int64_t first = version(db);
  for (const char* sql :
       {"UPDATE queues SET weight = 2 WHERE name = 'train'",
        "UPDATE queues SET weight = 3, priority_band = 1 WHERE name = 'train'",
        "INSERT INTO queues (id, name) VALUES (77, 'new')", "UPDATE queues SET name = 'newer' WHERE id = 77",
        "DELETE FROM queues WHERE id = 77", "INSERT INTO queues (id, name, weight) VALUES (77, 'again', 5)",
        "UPDATE queues SET id = 78 WHERE id = 77", "INSERT OR REPLACE INTO queues (id, name) VALUES (79, 'again')",
        "DELETE FROM queues WHERE id = 79"}) {
    kept.push_back(rows_at(version(db), "queues", "id, name, weight, priority_band"));
    EXPECT_OK(change(db, [&](Change& c) { return c.db().execute(sql); }));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(rows_at(first + static_cast<std::int64_t>(i), "queues", "id, name, weight, priority_band"), kept[i]) << i;
  }
  EXPECT_NE(kept[2], kept[1]);
}

TEST_F(History, ATableWithoutAPrimaryKeyIsToldApartByAllColumns) {
  Database db = open();
  fill(db);
  EXPECT_OK(change(db, [](Change& c) {
    return c.db().execute("INSERT INTO borrowing_records VALUES (2, 3, 'gpu', 5, 1), (3, 2, 'cpu', 6, 1)");
  }));
  const std::int64_t before = version(db);
  EXPECT_OK(change(db, [](Change& c) {
    return c.db().execute(
        "UPDATE borrowing_records SET amount = 7 WHERE resource = 'gpu'; DELETE FROM "
        "borrowing_records WHERE resource = 'cpu'");
  }));
  EXPECT_OK(db.execute("VACUUM"));
  EXPECT_EQ(rows_at(before, "borrowing_records", "resource, amount"), "cpu|6\ngpu|5\n");
}

TEST_F(History, WhatIsWrittenOutsideOfATransactionIsSeen) {
  Database db = open();
  fill(db);
  const std::int64_t before = must_have(db.integer("SELECT max(id) FROM history_moments"));
  Statement update = must_have(db.prepare("UPDATE nodes SET rack = 'r9' WHERE name = 'a1'"));
  EXPECT_OK(update.run());
  EXPECT_OK(
      db.execute("UPDATE nodes SET rack = 'r8' WHERE name = 'a1'; UPDATE nodes SET rack = 'r8' WHERE name = 'a2'"));
  EXPECT_EQ(must_have(db.integer("SELECT max(id) FROM history_moments")), before + 3);
}

// A column that came later reads as its default, also in rows that are gone since.
TEST_F(History, ColumnsThatCameLater) {
  Database db = open();
  fill(db);
  const std::int64_t before = version(db);
  EXPECT_OK(change(db, [](Change& c) { return c.db().execute("DELETE FROM pools WHERE name = 'empty'"); }));
  const Schema& present = embedded_schema();
  std::vector<SchemaStep> steps(present.steps.begin(), present.steps.end());
  steps.push_back({present.newest() + 1, "later", "ALTER TABLE pools ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'"});
  EXPECT_OK(migrate(db, {steps, present.views}, KeepCopy::kNo));
  EXPECT_OK(change(db, [](Change& c) { return c.db().execute("UPDATE pools SET colour = 'red', name = 'hall'"); }));
  const Moment then = must_have(moment_of_version(db, before));
  Database past = must_have(Database::open(":memory:", Access::kReadWrite));
  EXPECT_OK(must_have(past_tables(db, then, {"pools"})).attach(past, "past"));
  EXPECT_EQ(must_have(past.text("SELECT group_concat(name || colour) FROM (SELECT * FROM past.pools ORDER BY name)")),
            "emptygrey,maingrey");
}

TEST_F(History, AnotherProgramsDeletionIsNoticed) {
  Database db = open();
  fill(db);
  const std::int64_t before = version(db);
  EXPECT_OK(change(db, [](Change& c) { return c.db().execute("UPDATE pools SET name = 'hall' WHERE name = 'main'"); }));
  {
    Database other = must_have(Database::open(path(), Access::kReadWrite));
    EXPECT_OK(other.execute("UPDATE nodes SET pool_id = NULL; DELETE FROM pools WHERE name = 'hall'"));
  }
  EXPECT_NE(rows_at(before, "pools", "name").find("gone of which the history does not know"), std::string::npos);
  const std::vector<Finding> findings = must_have(check_state(db));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].promise + ": " + findings[0].object, "history: table pools row 1");
}

TEST_F(History, TakesSoMuchRoomAtMost) {
  Database db = open();
  fill(db);
  EXPECT_OK(change(db, [](Change& c) { return set_setting(c, "history_mib", "1"); }));
  for (int i = 0; i < 40; ++i) {
    EXPECT_OK(change(db, [&](Change& c) -> Status {
      BERTH_ASSIGN(Statement update,
                   c.db().prepare("UPDATE nodes SET labels = json_object('x', hex(randomblob(30000)))"));
      return update.run();
    }));
  }
  EXPECT_GT(must_have(history_statistics(db)).bytes, 2 << 20);
  EXPECT_OK(prune_history(db, Seconds(1000)));
  const HistoryStatistics left = must_have(history_statistics(db));
  EXPECT_LE(left.bytes, 1 << 20);
  EXPECT_GT(left.moments, 2);
  EXPECT_EQ(must_have(db.integer("SELECT sum(length(data)) FROM history_changes")), left.bytes);
}

TEST_F(History, ASnapshotThatIsLoadedLeavesAGap) {
  Database db = open();
  const auto add = [&](const char* pool, std::int64_t time) {
    EXPECT_OK(change(
        db, [&](Change& c) { return add_pool(c, pool); }, Seconds(time)));
  };
  add("a", 100);
  add("b", 200);
  EXPECT_OK(save_snapshot(db, path("saved.db")));
  add("c", 300);
  EXPECT_OK(load_snapshot(db, path("saved.db"), "tester", Seconds(400)));
  add("d", 500);
  const auto at = [&](std::int64_t time) { return moment_at(db, Seconds(time), Seconds(1000)); };
  EXPECT_OK(at(100));
  EXPECT_OK(at(200));
  EXPECT_ERROR(at(300), Code::kNotFound, "was replaced by a snapshot, loaded at 1970-01-01 00:06:40");
  EXPECT_OK(at(400));
  EXPECT_ERROR(at(99), Code::kNotFound, "before the history");
  EXPECT_EQ(rows_at(1, "pools", "name"), "a\n");
  EXPECT_EQ(rows_at(2, "pools", "name"), "a\nb\n");
}

TEST_F(History, AClockThatIsSetBack) {
  Database db = open();
  const std::pair<const char*, std::int64_t> pools[] = {{"a", 100}, {"b", 9000}, {"c", 200}, {"d", 300}};
  for (const auto& pool : pools)
    EXPECT_OK(change(
        db, [&](Change& c) { return add_pool(c, pool.first); }, Seconds(pool.second)));
  EXPECT_EQ(must_have(moment_at(db, Seconds(150), Seconds(10000))).version, 1);
  EXPECT_EQ(must_have(moment_at(db, Seconds(250), Seconds(10000))).version, 3);
}

// Every name and text, looked for in the bytes of the file.
TEST_F(History, ARedactedSnapshotHoldsNoName) {
  Database db = open();
  const std::vector<std::string> secrets = {
      "zqpool", "zqtype", "zqnode", "zqrack", "zqlabel", "zqvalue", "zqqueue", "zqclass",  "zqjob",    "zquser",
      "zqtag",  "zqcmd",  "zqenv",  "zqdir",  "zqimage", "zqgroup", "zqactor", "zqreason", "zqassert", "zqview"};
  Change made = must_have(Change::begin(db, "zqactor", Seconds(1000)));
  EXPECT_OK(add_pool(made, "zqpool"));
  EXPECT_OK(add_device_model(made, {"A100", MiB(81920), 1.0}));
  EXPECT_OK(add_node_type(made, {"zqtype", MilliCpu(128000), MiB(1048576), "A100", 8, ""}));
  const std::vector<NodeRequest> nodes = {{"zqnode", "zqtype", "zqpool", "zqrack", {{"zqlabel", "zqvalue"}}}};
  EXPECT_OK(add_nodes(made, nodes));
  EXPECT_OK(add_queue(made, {"zqqueue", ""}));
  EXPECT_OK(add_priority_class(made, {"zqclass", 100}));
  EXPECT_OK(
      made.db().execute("CREATE VIEW zqview AS SELECT * FROM nodes; CREATE TABLE notes_zqview (zqview TEXT);"
                        "INSERT INTO assertions (name, query, created_at, created_by) VALUES ('zqassert', 'SELECT "
                        "1', 1, 'zqactor')"));
  JobRequest request = job("zqjob", {group(1, 1)});
  request.queue = "zqqueue";
  request.user = "zquser";
  request.groups[0].name = "zqgroup";
  EXPECT_OK(submit_job(made, request));
  EXPECT_OK(made.commit());
  EXPECT_OK(change(db, [](Change& c) {
    return c.db().execute(
        "UPDATE jobs SET tag = 'zqtag', command = 'zqcmd', environment = '{\"zqenv\":\"zqenv\"}', "
        "working_directory = '/zqdir', image = 'zqimage'; INSERT INTO drains VALUES (1, 'zqreason', "
        "1, NULL)");
  }));
  const Loaded loaded = load(db);
  Plan plan = plan_on(db, {});
  const RoundRecord record = record_of(loaded.snapshot, plan);
  EXPECT_OK(apply_plan(db, plan, {.actor = "zqactor", .now = Seconds(2000), .last_reasons = {}, .record = &record}));
  EXPECT_OK(save_snapshot(db, path("plain.db")));
  EXPECT_OK(save_snapshot(db, path("redacted.db"), false, Redaction::kNames));
  const std::string plain = file_content(path("plain.db"));
  const std::string redacted = file_content(path("redacted.db"));
  for (const std::string& secret : secrets) {
    EXPECT_NE(plain.find(secret), std::string::npos) << secret;
    EXPECT_EQ(redacted.find(secret), std::string::npos) << secret;
  }
  Database opened = open("redacted.db");
  expect_healthy(opened);
  const RecordedRound round = must_have(read_recorded_round(opened, 1));
  EXPECT_EQ(round.snapshot.cluster.node_names[0], must_have(opened.text("SELECT name FROM nodes")));
  EXPECT_EQ(round.snapshot.queues[0].name, must_have(opened.text("SELECT name FROM queues")));
  EXPECT_EQ(round.snapshot.now, loaded.snapshot.now);
}

TEST(AsOf, FindsCallsAndNothingElse) {
  const std::vector<AsOfCall> calls = must_have(
      find_as_of("SELECT 'as_of(''x'', 1)', \"as_of\" /* as_of('a','b') */ FROM AS_OF ( jobs , 'now' ) -- as_of("));
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].relation, "jobs");
  EXPECT_EQ(calls[0].moment, "now");
  for (const char* wrong : {"SELECT * FROM as_of(", "SELECT * FROM as_of('a' 'b')", "SELECT * FROM as_of('a', b)",
                            "SELECT * FROM as_of('a', 'b', 'c')", "SELECT as_of('a', 'b'"})
    EXPECT_ERROR(find_as_of(wrong), Code::kInvalid, "both written out");
}

TEST(SqlText, Words) {
  std::string text;
  for (const SqlWord& word : sql_words("a.b = 'it''s' -- c\n+ [x y] 1.5 /* */ `q` \"r\"\"s\"")) text += word.text + "~";
  EXPECT_EQ(text, "a~.~b~=~it's~+~x y~1~.~5~q~r\"s~");
  EXPECT_TRUE(sql_words("'open").size() == 1 && sql_words("/* open").empty());
  EXPECT_EQ(sql_string("it's") + sql_name("a\"b"), "'it''s'\"a\"\"b\"");
}

TEST(UndoLog, DamagedBytesAreNoticed) {
  const RowLayout layout{"t", {"id", "name"}, {0}};
  std::string bytes(1, static_cast<char>(UndoKind::kChanged));
  put_integer(bytes, -7);
  put_number(bytes, 2);
  put_text(bytes, "old");
  UndoEntry entry;
  UndoReader whole(bytes, layout);
  ASSERT_TRUE(whole.next(entry));
  EXPECT_EQ(read_values(entry.key), std::vector<TableValue>{std::int64_t{-7}});
  EXPECT_EQ(read_values(entry.values), std::vector<TableValue>{std::string("old")});
  EXPECT_FALSE(whole.next(entry) || whole.is_damaged());
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    UndoReader cut(std::string_view(bytes).substr(0, size), layout);
    EXPECT_FALSE(cut.next(entry));
    EXPECT_TRUE(cut.is_damaged()) << size;
  }
}

TEST_F(History, AViewWithANulIsToldOf) {
  Database db = open();
  fill(db);
  EXPECT_OK(
      db.execute("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' FROM', char(10, 0) || "
                 "'FROM') WHERE type = 'view'; PRAGMA writable_schema = OFF"));
  Moment moment;
  moment.asked = Seconds(1);
  EXPECT_ERROR(past_tables(db, moment, {"jobs"}), Code::kInvalid, "NUL");
}

}  // namespace
}  // namespace berth::test
