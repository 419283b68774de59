// Several programs on one database, a full disk, leases, settings, snapshots, simulations, and what CHECK finds.

#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "engine/base/process_mark.h"
#include "engine/store/check_work.h"
#include "engine/store/lease.h"
#include "engine/store/settings.h"
#include "engine/store/simulations.h"
#include "engine/store/snapshot_file.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Sharing : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_.emplace(open());
    fill(*db_);
  }
  std::optional<Database> db_;
};

TEST_F(Sharing, TwoWritersAtOnceLoseNothing) {
  constexpr int kEach = 100;
  const auto write = [this](const std::string& prefix) {
    Database db = open();
    for (int i = 0; i < kEach; ++i) {
      EXPECT_OK(change(db, [&](Change& c) { return add_pool(c, prefix + std::to_string(i)); }));
    }
  };
  const std::int64_t before = must_have(state_version(*db_));
  std::thread a(write, "a");
  std::thread b(write, "b");
  // Readers are never blocked meanwhile.
  for (int i = 0; i < 50; ++i) EXPECT_OK(load_state(*db_, {.now = Seconds(1)}));
  a.join();
  b.join();
  EXPECT_EQ(must_have(state_version(*db_)), before + 2 * kEach);
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM pools")), 2 + 2 * kEach);
  expect_healthy(*db_);
}

TEST_F(Sharing, AWriterThatWaitsTooLongIsTold) {
  Database other = must_have(open_state(path(), {.busy_timeout_ms = 20}));
  Change first = must_have(Change::begin(*db_, "tester", Seconds(1)));
  EXPECT_ERROR(Change::begin(other, "tester", Seconds(1)), Code::kBusy, "another process is writing");
  EXPECT_OK(load_state(other, {.now = Seconds(1)}));
}

TEST_F(Sharing, AFullDiskIsAClearErrorAndHurtsNothing) {
  EXPECT_OK(db_->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  const std::int64_t pages = must_have(db_->integer("PRAGMA page_count"));
  EXPECT_OK(db_->integer("PRAGMA max_page_count = " + std::to_string(pages + 20)));
  Status failed;
  int accepted = 0;
  while (failed.ok() && accepted < 10000) {
    failed = change(*db_, [&](Change& c) { return submit_job(c, job("", {group(1, 1)})); });
    if (failed.ok()) ++accepted;
  }
  EXPECT_ERROR(failed, Code::kUnavailable, "full");
  EXPECT_FALSE(db_->in_transaction());
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM jobs")), accepted);
  EXPECT_EQ(must_have(state_version(*db_)), 1 + accepted);
  expect_healthy(*db_);
  EXPECT_OK(db_->integer("PRAGMA max_page_count = 100000"));
  EXPECT_OK(change(*db_, [&](Change& c) { return submit_job(c, job("", {group(1, 1)})); }));
}

TEST_F(Sharing, ALeaseIsHeldByOne) {
  Database other = open();
  const LeaseRequest mine{.holder = "alice", .now = Seconds(1000), .duration = Seconds(60)};
  const LeaseRequest theirs{.holder = "cron", .now = Seconds(1059), .duration = Seconds(60)};
  {
    Lease lease = must_have(Lease::acquire(*db_, mine));
    EXPECT_ERROR(Lease::acquire(other, theirs), Code::kBusy, "a round is being run by alice (process");
    EXPECT_ERROR(Lease::acquire(other, theirs), Code::kBusy, "until 1970-01-01 00:17:40");
    EXPECT_OK(lease.renew(Seconds(1050)));
    EXPECT_ERROR(Lease::acquire(other, {.holder = "cron", .now = Seconds(1061)}), Code::kBusy, "alice");
    Lease taken = must_have(Lease::acquire(other, {.holder = "cron", .now = Seconds(1110)}));
    EXPECT_ERROR(lease.renew(Seconds(1111)), Code::kConflict, "was lost");
    EXPECT_OK(lease.release());
    EXPECT_ERROR(Lease::acquire(*db_, {.holder = "eva", .now = Seconds(1112)}), Code::kBusy, "cron");
  }
  EXPECT_OK(Lease::acquire(other, theirs));
}

TEST_F(Sharing, WhoWritesIsNamedWhereItIsKnown) {
  db_->set_busy_timeout(0);
  EXPECT_OK(
      db_->execute("INSERT INTO leases (name, holder, host, pid, acquired_at, expires_at, token) "
                   "VALUES ('round', 'cron', 'elsewhere', 812, 1000, 1600, 1)"));
  Database other = open();
  other.set_busy_timeout(0);
  const Transaction writing = must_have(Transaction::begin_write(other));
  const std::string_view said =
      "another process is writing to the database; a round is being run by cron (process 812 "
      "on elsewhere)";
  EXPECT_ERROR(Change::begin(*db_, "alice", Seconds(1001)).status(), Code::kBusy, said);
  EXPECT_ERROR(Lease::acquire(*db_, {.holder = "alice", .now = Seconds(1001)}).status(), Code::kBusy, said);
}

// Numbers of processes come again: a container's first process is the number 1 each time.
TEST_F(Sharing, ALeaseIsOfAProcessAndNotOfItsNumber) {
  const std::string host = host_name();
  const auto held_by = [&](std::int64_t pid, std::int64_t start, const std::string& boot) {
    EXPECT_OK(db_->execute("DELETE FROM leases"));
    Statement put =
        must_have(db_->prepare("INSERT INTO leases (name, holder, host, pid, process_start, boot, "
                               "acquired_at, expires_at, token) VALUES ('round', 'cron', ?1, ?2, ?3, ?4, "
                               "1000, 1600, 1)"));
    EXPECT_OK(put.run(host, pid, start, boot));
    return Lease::acquire(*db_, {.holder = "alice", .now = Seconds(1001)}).status();
  };
  const std::int64_t start = process_stat(getppid())->start;
  EXPECT_ERROR(held_by(getppid(), start, this_boot()), Code::kBusy, "cron");
  EXPECT_OK(held_by(getppid(), start - 1, this_boot()));
  EXPECT_OK(held_by(getppid(), start, "the boot before"));
  // In another container: its numbers mean nothing here.
  EXPECT_ERROR(held_by(getppid(), start - 1, this_boot() + "/1"), Code::kBusy, "cron");
  EXPECT_OK(held_by(getppid(), start - 1, own_process_mark().boot));
}

TEST_F(Sharing, ALeaseOfAnotherContainerMayBeBrokenByWhoKnows) {
  Statement put =
      must_have(db_->prepare("INSERT INTO leases (name, holder, host, pid, process_start, boot, acquired_at, "
                             "expires_at, token) VALUES ('round', 'cron', ?1, ?2, 1, ?3, 1000, 1600, 1)"));
  EXPECT_OK(put.run(host_name(), getpid(), this_boot() + "/1"));
  EXPECT_ERROR(Lease::acquire(*db_, {.holder = "alice", .now = Seconds(1001)}), Code::kBusy, "cron");
  EXPECT_OK(change(*db_, [](Change& c) { return break_leases(c).status(); }));
  EXPECT_OK(Lease::acquire(*db_, {.holder = "alice", .now = Seconds(1001)}));
}

TEST_F(Sharing, ALeaseThatIsBrokenIsLostAtOnce) {
  const auto broken = [&] { return change(*db_, [](Change& c) { return break_leases(c).status(); }); };
  EXPECT_ERROR(broken(), Code::kNotFound, "nobody runs a round");
  // Elsewhere, by a clock that was ahead: until 2100.
  EXPECT_OK(
      db_->execute("INSERT INTO leases (name, holder, host, pid, acquired_at, expires_at, token) "
                   "VALUES ('round', 'cron', 'elsewhere', 812, 4102444200, 4102444800, 1)"));
  EXPECT_ERROR(Lease::acquire(*db_, {.holder = "alice", .now = Seconds(1001)}), Code::kBusy, "until 2100");
  EXPECT_OK(broken());
  Lease lease = must_have(Lease::acquire(*db_, {.holder = "alice", .now = Seconds(1001)}));
  EXPECT_OK(lease.keep(Seconds(1002)));
  EXPECT_OK(broken());  // of this process, which cannot be at it while it says so
  EXPECT_ERROR(lease.keep(Seconds(1002)), Code::kConflict, "was broken");
  Statement put =
      must_have(db_->prepare("INSERT OR REPLACE INTO leases (name, holder, host, pid, acquired_at, "
                             "expires_at, token) VALUES ('round', 'cron', ?1, ?2, 1000, 1600, 1)"));
  EXPECT_OK(put.run(host_name(), getppid()));
  EXPECT_ERROR(broken(), Code::kConflict, "which lives");
}

// Another program writes while the process gives its lease back.
TEST_F(Sharing, ALeaseThatCouldNotBeGivenBackIsTakenBack) {
  db_->set_busy_timeout(10);
  Database other = open();
  std::optional<Lease> lease = must_have(Lease::acquire(*db_, {.holder = "alice", .now = Seconds(1000)}));
  std::optional<Transaction> writes = must_have(Transaction::begin_write(other));
  lease.reset();
  writes.reset();
  EXPECT_OK(Lease::acquire(*db_, {.holder = "alice", .now = Seconds(1001)}));
}

TEST_F(Sharing, InTheYear10000ALeaseLastsItsTime) {
  const Seconds now(253402300800);
  const Lease lease = must_have(Lease::acquire(*db_, {.holder = "alice", .now = now, .duration = Seconds(60)}));
  Database other = open();
  EXPECT_ERROR(Lease::acquire(other, {.holder = "cron", .now = now}), Code::kBusy, "until 10000-01-01 00:01:00");
}

TEST_F(Sharing, ALeaseOfADeadProcessIsTakenOverAtOnce) {
  const pid_t child = ::fork();
  if (child == 0) {
    Result<Database> db = open_state(path());
    if (db.ok() && Lease::acquire(*db, {.holder = "dead", .now = Seconds(1000), .duration = Seconds(3600)}).ok()) {
      // The lease was released by its destructor; take it for good.
      if (db->execute("UPDATE leases SET expires_at = 9999999999").ok()) ::_exit(0);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(must_have(db_->integer("SELECT pid FROM leases")), child);
  EXPECT_OK(Lease::acquire(*db_, {.holder = "alive", .now = Seconds(1001)}));
}

TEST_F(Sharing, SettingsAreTypedAndBounded) {
  const auto set = [&](const std::string& name, const std::string& value) {
    return change(*db_, [&](Change& c) { return set_setting(c, name, value); });
  };
  const std::int64_t before = must_have(state_version(*db_));
  EXPECT_OK(set("aging_interval", "30m"));
  EXPECT_OK(set("SEED", "42"));
  EXPECT_OK(set("order_policy", "fifo"));
  EXPECT_EQ(must_have(state_version(*db_)), before + 3) << "plans depend on settings";
  Settings settings = must_have(read_settings(*db_));
  EXPECT_EQ(settings.aging_interval, Seconds(1800));
  EXPECT_EQ(settings.seed, 42u);
  EXPECT_EQ(settings.order_policy, "fifo");
  EXPECT_EQ(load(*db_).snapshot.order_policy, "fifo");
  const Status unknown = set("sed", "1");
  EXPECT_ERROR(unknown, Code::kNotFound, "no setting 'sed'");
  EXPECT_EQ(unknown.hint(), "did you mean 'seed'?");
  EXPECT_ERROR(set("seed", "-1"), Code::kInvalid, "");
  EXPECT_ERROR(set("seed", "many"), Code::kInvalid, "");
  EXPECT_ERROR(set("aging_interval", "0s"), Code::kInvalid, "lies between 1s and");
  EXPECT_EQ(set("order_policy", "fifa").code(), Code::kNotFound);
  EXPECT_OK(change(*db_, [](Change& c) { return reset_setting(c, "order_policy"); }));
  for (const Setting& setting : must_have(list_settings(*db_))) {
    EXPECT_EQ(setting.is_default, setting.knob->name != "seed" && setting.knob->name != "aging_interval");
    EXPECT_FALSE(setting.knob->sentence.empty());
  }
  expect_healthy(*db_);
}

TEST_F(Sharing, ASnapshotComesBackAsTheNextState) {
  run_job(*db_, "kept", 2, "a1");
  const std::string file = path("saved.db");
  EXPECT_OK(save_snapshot(*db_, file));
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_ERROR(save_snapshot(*db_, file), Code::kExists, "exists already");
  EXPECT_OK(save_snapshot(*db_, file, true));
  EXPECT_ERROR(save_snapshot(*db_, path(), true), Code::kInvalid, "its own database");
  EXPECT_ERROR(save_snapshot(*db_, path("no/folder/x.db")), Code::kUnavailable, "cannot create");

  Plan stale = plan_on(*db_, {});
  for (int i = 0; i < 4; ++i) submit(*db_, job("", {group(1, 1)}));
  const std::int64_t before = must_have(state_version(*db_));
  Database reader = must_have(open_for_queries(path()));
  EXPECT_EQ(must_have(reader.integer("SELECT count(*) FROM jobs")), 5);
  const std::int64_t version = must_have(load_snapshot(*db_, file, "tester", Seconds(3000)));
  EXPECT_EQ(version, before + 1);
  EXPECT_EQ(must_have(state_version(*db_)), version);
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM jobs")), 1);
  EXPECT_EQ(must_have(reader.integer("SELECT count(*) FROM jobs")), 1) << "other connections see it";
  EXPECT_EQ(must_have(db_->text("SELECT kind FROM events ORDER BY id DESC LIMIT 1")), "load snapshot");
  EXPECT_EQ(must_have(db_->text("PRAGMA journal_mode")), "wal");
  EXPECT_ERROR(apply(*db_, stale), Code::kConflict, "load snapshot");
  submit(*db_, job("after", {group(1, 1)}));
  expect_healthy(*db_);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    ++files;
    EXPECT_EQ(entry.path().string().find("loading"), std::string::npos) << entry.path();
    EXPECT_EQ(entry.path().string().find("unfinished"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(files, 4) << "database, -wal, -shm, snapshot";
}

TEST_F(Sharing, ASnapshotWithOtherPagesTakesOurs) {
  const std::string file = path("saved.db");
  EXPECT_OK(save_snapshot(*db_, file));
  {
    Database saved = must_have(Database::open(file, Access::kReadWrite));
    EXPECT_OK(saved.execute("PRAGMA page_size = 8192; VACUUM"));
    EXPECT_EQ(must_have(saved.integer("PRAGMA page_size")), 8192);
  }
  EXPECT_OK(change(*db_, [](Change& c) { return add_pool(c, "later"); }));
  EXPECT_OK(load_snapshot(*db_, file, "tester", Seconds(1)));
  EXPECT_EQ(must_have(db_->integer("PRAGMA page_size")), 4096);
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM pools")), 2);
  EXPECT_EQ(must_have(db_->text("PRAGMA journal_mode")), "wal");
  expect_healthy(*db_);
}

TEST_F(Sharing, CopiesOfDeadProcessesAreRemoved) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const std::string dead = std::to_string(child);
  const std::string alive = std::to_string(::getppid());
  const auto make = [&](const std::string& name) {
    std::ofstream(path(name)).flush();
    return path(name);
  };
  const std::string stale[] = {make("berth.db.loading-" + dead), make("berth.db.loading-" + dead + "-journal"),
                               make("saved.db.unfinished-" + dead)};
  const std::string kept[] = {make("berth.db.loading-" + alive), make("berth.db.loading-x"),
                              make("other.db.loading-" + dead)};
  EXPECT_OK(save_snapshot(*db_, path("saved.db")));
  EXPECT_OK(load_snapshot(*db_, path("saved.db"), "tester", Seconds(1)));
  for (const std::string& file : stale) EXPECT_FALSE(std::filesystem::exists(file)) << file;
  for (const std::string& file : kept) EXPECT_TRUE(std::filesystem::exists(file)) << file;
}

TEST_F(Sharing, ABadSnapshotChangesNothing) {
  const std::string before = must_have(db_->text("SELECT group_concat(name) FROM nodes"));
  const auto refused = [&](const std::string& file, Code code, const std::string& words) {
    EXPECT_ERROR(load_snapshot(*db_, file, "tester", Seconds(1)), code, words);
    EXPECT_EQ(must_have(db_->text("SELECT group_concat(name) FROM nodes")), before);
    EXPECT_EQ(must_have(state_version(*db_)), 1);
  };
  refused(path("none.db"), Code::kNotFound, "there is no file");
  std::ofstream(path("text.db")) << "hello, this is not a database but a text of more than sixteen bytes";
  refused(path("text.db"), Code::kInvalid, "no SQLite file");
  std::ofstream(path("empty.db")).flush();
  refused(path("empty.db"), Code::kInvalid, "empty");
  EXPECT_OK(save_snapshot(*db_, path("broken.db")));
  {
    Database broken = must_have(Database::open(path("broken.db"), Access::kReadWrite));
    EXPECT_OK(broken.execute("DELETE FROM devices WHERE node_id = 1 AND device_index = 3"));
  }
  refused(path("broken.db"), Code::kCorrupt, "breaks a promise");
  const std::pair<const char*, const char*> tampered[] = {
      {"DROP TRIGGER allocations_fit_insert", "trigger allocations_fit_insert: it is missing"},
      {"DROP TRIGGER nodes_busy_delete; CREATE TRIGGER nodes_busy_delete BEFORE DELETE ON nodes BEGIN SELECT 1; END",
       "trigger nodes_busy_delete: it is not as Berth made it"},
      {"CREATE TRIGGER mine AFTER INSERT ON jobs BEGIN DELETE FROM nodes; END", "trigger mine: somebody added it"},
      {"UPDATE run_edges SET from_state = 'pendinf' WHERE from_state = 'pending' AND to_state = 'starting'",
       "row pending > starting: it is missing"},
      {"INSERT INTO device_slots VALUES (77)", "row device 77: somebody added it"},
      {"DROP TABLE leases", "table leases: it is missing"},
      {"DROP VIEW device_usage", "view device_usage: it is missing"},
      {"DELETE FROM meta WHERE key = 'state_version'", "state version: meta has no integer"},
      {"UPDATE meta SET value = -1 WHERE key = 'state_version'", "state version: meta has no integer"}};
  for (const auto& [sql, words] : tampered) {
    EXPECT_OK(save_snapshot(*db_, path("tampered.db"), true));
    {
      Database file = must_have(Database::open(path("tampered.db"), Access::kReadWrite));
      EXPECT_OK(file.execute(sql));
    }
    refused(path("tampered.db"), Code::kCorrupt, words);
  }
  EXPECT_OK(save_snapshot(*db_, path("own.db")));
  {
    Database file = must_have(Database::open(path("own.db"), Access::kReadWrite));
    EXPECT_OK(
        file.execute("CREATE TABLE mine (i); CREATE VIEW mine_too AS SELECT * FROM jobs; ANALYZE;"
                     "CREATE TRIGGER mine_on_mine AFTER INSERT ON mine BEGIN SELECT 1; END"));
    expect_healthy(file);
  }
  EXPECT_OK(save_snapshot(*db_, path("newer.db")));
  {
    Database newer = must_have(Database::open(path("newer.db"), Access::kReadWrite));
    EXPECT_OK(newer.execute("PRAGMA user_version = 99"));
  }
  refused(path("newer.db"), Code::kInvalid, "newer.db' was written by a newer Berth");
  {
    Database newer = must_have(Database::open(path("newer.db"), Access::kReadWrite));
    EXPECT_OK(newer.execute("PRAGMA user_version = -1"));
  }
  refused(path("newer.db"), Code::kCorrupt, "newer.db' is damaged");
}

TEST_F(Sharing, SimulationsKeepWhatIsComplete) {
  EXPECT_OK(start_simulation(*db_, {"run1", "arrivals", "SIMULATE ...", 42, Seconds(1)}));
  EXPECT_ERROR(start_simulation(*db_, {"run1", "jobs", "", 0, Seconds(2)}), Code::kExists, "exists already");
  const std::vector<SimulationCurveRow> curve = {{50, 49.5, 1.25}, {100, 95, std::nullopt}};
  const std::vector<SimulationTaskRow> tasks = {{0, "pod-1", "node-7", "0-1", "placed", 0, 0, std::nullopt},
                                                {1, "pod-2", "", "", "failed", 0, std::nullopt, std::nullopt}};
  const std::vector<SimulationUtilisationRow> utilisation = {{0, 10.5, 3, 1}};
  std::vector<SimulationQueueRow> queues(2);
  queues[0].queue = "nlp";
  SimulationPolicyRows rows{{}, curve, tasks, utilisation, queues};
  rows.result.policy = "fgd";
  rows.result.allocated_pct_at_100 = 95.14;
  EXPECT_OK(save_simulation_policy(*db_, "run1", rows));
  EXPECT_ERROR(save_simulation_policy(*db_, "run1", rows), Code::kExists, "has policy 'fgd' already");
  EXPECT_ERROR(save_simulation_policy(*db_, "run2", rows), Code::kNotFound, "no simulation 'run2'");
  EXPECT_EQ(must_have(db_->text(
                "SELECT group_concat(task || coalesce(node, '-') || coalesce(devices, '-')) FROM simulation_tasks")),
            "pod-1node-70-1,pod-2--");
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM simulation_curves WHERE fragmented_pct IS NULL")), 1);
  EXPECT_EQ(must_have(db_->text("SELECT group_concat(seq || coalesce(queue, '-')) FROM simulation_queues")), "0nlp,1-");
  EXPECT_OK(start_simulation(*db_, {"run1", "jobs", "", 0, Seconds(2)}, true));
  for (const char* table :
       {"simulation_results", "simulation_curves", "simulation_tasks", "simulation_utilisation", "simulation_queues"}) {
    EXPECT_EQ(must_have(db_->integer(std::string("SELECT count(*) FROM ") + table)), 0) << table;
  }
  EXPECT_OK(drop_simulation(*db_, "run1"));
  EXPECT_EQ(must_have(state_version(*db_)), 1);
  expect_healthy(*db_);
}

// Each promise broken in turn by raw SQL, with triggers and foreign keys out of the way.
TEST_F(Sharing, CheckNamesEveryBrokenPromise) {
  run_job(*db_, "runs", 2, "a1");
  submit(*db_, job("waits", {group(1, 1)}));
  EXPECT_OK(change(*db_, [](Change& c) { return set_setting(c, "seed", "1"); }));
  expect_healthy(*db_);
  EXPECT_OK(save_snapshot(*db_, path("healthy.db")));
  // What an executor runs; more in run_promises_test.cpp.
  const std::string a_run =
      "INSERT INTO runs (id, job_id, attempt, state, start_time, tasks, gpu_milli, nodes) VALUES (9, 1, 1, 'pending', "
      "1, 0, 0, '[]'); ";
  const std::string a_task =
      "INSERT INTO run_tasks (run_id, group_index, task_index, executor_id, sequence, node_id) VALUES (9, 0, 7, 1, 0, "
      "1); ";
  const std::string an_effect =
      "INSERT INTO outbox (round_id, seq, executor_id, kind, run_id, created_at) VALUES (0, 1, 1, 'stop', 9, 1)";
  const std::vector<std::pair<std::string, std::string>> breaks = {
      {"schema_whole", "SELECT 1"},  // the triggers are gone
      {"version_present", "UPDATE meta SET value = 'one' WHERE key = 'state_version'"},
      {"references", "UPDATE jobs SET queue_id = 77"},
      {"nodes_exist", "UPDATE allocations SET node_id = 99"},
      {"device_share", "UPDATE allocations SET device_mask = 1"},
      {"device_memory", "UPDATE allocations SET gpu_memory_mib = 81921"},
      {"node_cpu", "UPDATE allocations SET cpu_milli = 64001"},
      {"node_memory", "UPDATE allocations SET memory_mib = 999999"},
      {"device_exists", "UPDATE allocations SET device_mask = 256 WHERE task_index = 1"},
      {"devices_listed", "DELETE FROM devices WHERE node_id = 3 AND device_index = 2"},
      {"one_node_a_task",
       "DROP INDEX allocations_task; INSERT INTO allocations SELECT 2, job_id, group_index, task_index, device_mask, "
       "gpu_milli, gpu_memory_mib, cpu_milli, memory_mib, start_time, round_id FROM allocations"},
      {"gang_whole", "DELETE FROM allocations WHERE task_index = 1"},
      {"only_running_hold", "UPDATE jobs SET state = 'pending' WHERE name = 'runs'"},
      {"as_asked", "UPDATE allocations SET cpu_milli = 1"},
      {"as_asked", "UPDATE allocations SET gpu_memory_mib = 0"},
      {"as_asked",
       "UPDATE task_groups SET gpu_milli = 500, gpu_memory_mib = 1; UPDATE allocations SET gpu_milli = 500"},
      {"as_asked", "UPDATE device_models SET memory_mib = 0"},
      {"groups_numbered", "UPDATE task_groups SET group_index = 1 WHERE job_id = 2"},
      {"queue_tree", "UPDATE queues SET parent_id = 3 WHERE id = 1"},
      {"leaves_hold_jobs", "UPDATE jobs SET queue_id = 1"},
      {"drained_empty", "UPDATE nodes SET state = 'drained' WHERE id = 1"},
      {"only_running_marked", "UPDATE jobs SET quota_mark = 1 WHERE name = 'waits'"},
      {"stopping_runs", "INSERT INTO stopping_jobs VALUES (2, 1, 'reclaim', 5000, 0)"},
      {"stops_told",
       "INSERT INTO evictions (round_id, time, victim_id, victim_queue_id, beneficiary_id, beneficiary_queue_id, rule, "
       "tasks, whole, lost_gpu_milli_s, state) VALUES (1, 1000, 1, 1, 2, 1, 'reclaim', 1, 1, 0, 'stopping')"},
      {"reservation_waits", "INSERT INTO reservations VALUES (1, 'backfill', 1000, 2000, NULL)"},
      {"dependencies_follow", "INSERT INTO dependencies VALUES (2, 1, 'met')"},
      {"dependencies_follow", "INSERT INTO dependencies VALUES (1, 2, 'open')"},
      {"only_waiting_wait", "UPDATE jobs SET wait_cause = 'order' WHERE name = 'runs'"},
      {"waits_apart",
       "UPDATE jobs SET wait_since = 1500 WHERE id = 2; INSERT INTO wait_stretches VALUES (2, 1000, 1600, "
       "'round', NULL)"},
      {"quota_resources", "INSERT INTO quotas (queue_id, resource, quota) VALUES (1, 'V100', 1)"},
      {"loans_apart",
       "INSERT INTO loans (lender_id, borrower_id, resource, amount, valid_from) VALUES (1, 2, 'A100', 1, 0)"},
      {"borrowing_sums", "INSERT INTO quotas (queue_id, resource, quota) VALUES (2, 'A100', 1000)"},
      {"history", "DELETE FROM settings WHERE key = 'seed'"},
      {"live_runs", a_run},
      {"run_tasks_hold", a_run + a_task},
      {"run_tasks_end", a_run + "UPDATE runs SET state = 'lost', end_time = 2; " + a_task},
      {"run_executors", a_run + a_task},
      {"launches_told", a_run + a_task},
      {"outbox_live", a_run + an_effect},
      {"stops_decided", a_run + "UPDATE runs SET state = 'stopping'"},
      {"runs_journalled",
       a_run + "INSERT INTO run_changes (run_id, time, from_state, to_state) VALUES (9, 1, '', 'running')"},
      {"changes_journalled", "DELETE FROM events WHERE state_version = (SELECT max(state_version) FROM events)"},
      {"names_of_files", "DELETE FROM meta WHERE key = 'tag'"},
      {"names_of_files", "UPDATE meta SET value = '../../../etc/x' WHERE key = 'tag'"},
      {"names_of_files", "INSERT INTO executors (name, type, options) VALUES ('../../X', 'local', '{}')"},
      {"version_rises", "UPDATE meta SET value = 1 WHERE key = 'state_version'"},
      {"records",
       "INSERT INTO record_parts (id, hash, size, data) VALUES (99, x'00', 3, x'00'); INSERT INTO round_records "
       "(recorded_at, engine, format, input_head, input_parts, plan_head, plan_parts, new_bytes) VALUES (1, '', 1, "
       "x'', 99, x'', 99, 0)"},
      {"rows_unchanged", "UPDATE events SET detail = detail || 'x'"},
      {"readable", "UPDATE settings SET value = 'often'"},
      {"readable", "UPDATE node_types SET link_groups = '[[0 1'"},
  };
  std::set<std::string> broken;
  for (const auto& [promise, sql] : breaks) {
    std::filesystem::copy_file(path("healthy.db"), path("broken.db"),
                               std::filesystem::copy_options::overwrite_existing);
    Database db = must_have(Database::open(path("broken.db"), Access::kReadWrite));
    const std::string triggers = must_have(
        db.text("SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE type = 'trigger'"));
    EXPECT_OK(db.execute(triggers));
    EXPECT_OK(db.execute(sql));
    const std::vector<Finding> findings = must_have(check_state(db));
    const bool named = std::any_of(findings.begin(), findings.end(),
                                   [&name = promise](const Finding& f) { return f.promise == name; });
    EXPECT_TRUE(named) << promise << " after " << sql;
    broken.insert(promise);
  }
  // Those of the past: runtime/damage_test.cpp.
  for (const PromiseQuery& query : work_promises()) broken.insert(std::string(query.promise.name));
  broken.insert(std::string(kMarksPromise.name));
  for (const Promise& promise : check_promises()) {
    const bool tested = promise.name == "file_intact" || broken.contains(std::string(promise.name));
    EXPECT_TRUE(tested) << promise.name << " is not tested";
  }
}

TEST_F(Sharing, CheckFindsADamagedFile) {
  run_job(*db_, "runs", 2, "a1");
  for (int i = 0; i < 200; ++i) submit(*db_, job("", {group(1, 1)}));
  EXPECT_OK(save_snapshot(*db_, path("damaged.db")));
  {
    Database whole = must_have(Database::open(path("damaged.db"), Access::kReadOnly));
    EXPECT_EQ(must_have(check_state(whole)).size(), 0u);
  }
  const std::int64_t page = must_have(db_->integer("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs'"));
  std::fstream file(path("damaged.db"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp((page - 1) * 4096 + 8);
  file << std::string(64, '\x7f');
  file.close();
  Database db = must_have(Database::open(path("damaged.db"), Access::kReadOnly));
  const std::vector<Finding> findings = must_have(check_state(db));
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].promise, "file_intact");
}

}  // namespace
}  // namespace berth::test
