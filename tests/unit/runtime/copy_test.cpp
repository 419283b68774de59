// A copy of a database does not drive the original's work.
#include <filesystem>

#include "engine/runtime/executors.h"
#include "engine/runtime/round_driver.h"
#include "engine/runtime/sync.h"
#include "engine/store/database_home.h"
#include "engine/store/snapshot_file.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Copy : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    copy_ = path() + ".copy";
    Database db = open();
    fill(db);
    EXPECT_OK(change(db, [](Change& c) {
      ExecutorRecord executor;
      executor.name = "here";
      executor.type = "local";
      return create_executor(c, executor);
    }));
    for (const char* name : {"first", "second"}) {
      JobRequest request = job(name, {group(1, 1)});
      request.command.command = "true";
      submit(db, request);
    }
    EXPECT_OK(save_snapshot(db, copy_));
  }

  std::unique_ptr<Runtime> runtime(const std::string& file) {
    return must_have(Runtime::open({.database = file, .actor = "tester", .env = &env_, .seed = {}}));
  }
  static Status sync(Runtime& runtime) { return run_sync(runtime, true).status(); }

  std::string copy_;
  ManualEnv env_{Seconds(1800000000)};
};

TEST_F(Copy, RoundsGoOnAndNobodyIsTold) {
  const auto copy = runtime(copy_);
  EXPECT_ERROR(sync(*copy), Code::kConflict, "is a copy of");
  const RoundReport round = must_have(run_round(*copy, {}));
  EXPECT_EQ(round.applied.started_jobs, 2);
  EXPECT_EQ(round.dispatched.refusal.code(), Code::kConflict);
  EXPECT_EQ(round.dispatched.launches, 0);
  EXPECT_EQ(must_have(copy->db().integer("SELECT count(*) FROM outbox")), 2);
  EXPECT_FALSE(std::filesystem::exists(copy_ + ".executors"));
}

TEST_F(Copy, AFileThatWasMovedOrRestoredIsNone) {
  const std::string moved = path() + ".moved";
  std::filesystem::rename(path(), moved);
  EXPECT_OK(check_home(runtime(moved)->db()));
  // Moved means remembered anew: a copy where it was before is a copy.
  std::filesystem::copy_file(moved, path());
  EXPECT_ERROR(check_home(runtime(path())->db()), Code::kConflict, moved);
  // Restored where it is.
  std::filesystem::rename(path(), moved);
  EXPECT_OK(check_home(runtime(moved)->db()));
}

TEST_F(Copy, OneThatIsAdoptedDrivesTheWork) {
  const auto copy = runtime(copy_);
  EXPECT_OK(record_home(copy->db()));
  EXPECT_OK(check_home(copy->db()));
  EXPECT_EQ(must_have(database_tag(copy->db())), must_have(database_tag(runtime(path())->db())));
}

TEST_F(Copy, AForkTouchesNothingAndStartsAgain) {
  const auto copy = runtime(copy_);
  const std::string tag = must_have(database_tag(copy->db()));
  must_have(run_round(*copy, {}));
  EXPECT_OK(copy->db().execute("UPDATE run_tasks SET phase = 'running' WHERE run_id = 1"));
  EXPECT_OK(copy->change([](Change& c) { return fork_database(c); }).status());
  EXPECT_NE(must_have(database_tag(copy->db())), tag);
  const auto count = [&](const char* sql) { return must_have(copy->db().integer(sql)); };
  EXPECT_EQ(count("SELECT count(*) FROM outbox"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM allocations"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM executors WHERE type <> 'simulated'"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM jobs WHERE state = 'pending' AND losses = 0"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM runs WHERE state = 'lost'"), 2);
  EXPECT_OK(sync(*copy));
  EXPECT_EQ(must_have(run_round(*copy, {})).dispatched.launches, 2);
  EXPECT_TRUE(must_have(check_state(copy->db(), 10)).empty());
  // The original is as it was.
  EXPECT_OK(check_home(runtime(path())->db()));
}

}  // namespace
}  // namespace berth::test
