// Rounds planned again from their records: over a random live history, and where the record is not what was planned.
//
// 150 rounds of history; BERTH_REPLAYED_ROUNDS=1000 for more, BERTH_REPLAY_SEED for another history, and
// BERTH_KEEP_HISTORY=file keeps the database, to be replayed by another program (the other compiler's).

#include "engine/runtime/replay.h"

#include <fmt/format.h>

#include <cstdlib>

#include "engine/base/env.h"
#include "engine/store/check.h"
#include "shell/commands.h"
#include "shell/session_factory.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

std::int64_t wanted(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

class ReplayTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    reopen();
  }
  void TearDown() override {
    session_.reset();
    StoreTest::TearDown();
  }

  void reopen() {
    session_.reset();
    session_ = must_have(open_session({.database = path(), .env = &clock_, .seed = std::nullopt, .actor = "tester"}));
  }
  Status say(const std::string& statement) { return execute(*session_, statement).status(); }
  void must_say(const std::string& statement) {
    const Status said = say(statement);
    EXPECT_TRUE(said.ok()) << statement << ": " << said.message();
  }
  Runtime& runtime() { return *session_->runtime; }
  Replay replay(std::int64_t round) { return must_have(replay_round(runtime(), round)); }

  void build() {
    for (const char* statement :
         {"CREATE DEVICE MODEL A100 WITH (memory = 80GiB)",
          "CREATE DEVICE MODEL T4 WITH (memory = 16GiB)",
          "CREATE NODE TYPE big WITH (cpu = 64, memory = 512GiB, device_model = A100, devices = 8, link_groups = "
          "'[0 1 2 3] [4 5 6 7]')",
          "CREATE NODE TYPE small WITH (cpu = 16, memory = 64GiB, device_model = T4, devices = 2)",
          "CREATE NODES a[1-12] TYPE big RACK r1",
          "CREATE NODES b[1-8] TYPE small RACK r2",
          "CREATE QUEUE root",
          "CREATE QUEUE ads UNDER root",
          "CREATE QUEUE nlp UNDER root",
          "CREATE QUEUE vision UNDER root",
          "CREATE PRIORITY CLASS urgent VALUE 100",
          "ALTER QUEUE ads SET QUOTA (A100 = 32, T4 = 6)",
          "ALTER QUEUE nlp SET QUOTA (A100 = 48)",
          "ALTER QUEUE vision SET QUOTA (A100 = 16, T4 = 10)",
          "CREATE POLICY p_fgd FROM 'scripts/policies/fgd.lua'",
          "CREATE POLICY p_night FROM 'scripts/policies/nights_and_weekends.lua'",
          "CREATE POLICY p_hero FROM 'scripts/policies/hero_jobs.lua'",
          "CREATE POLICY p_gravity FROM 'scripts/policies/data_gravity.lua'",
          "ALTER POLICY p_night SET (queue = nlp)",
          "ALTER POLICY p_gravity SET (home = '')",
          "SET min_runtime = 0",
          "SET pending_delay = 0",
          "SET eviction_cooldown = 60s",
          "SET job_retention = '1h'"})
      must_say(statement);
  }

  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[random_.below(values.size())];
  }
  std::string some_job(const char* state) {
    const Result<std::string> name = runtime().db().text(fmt::format(
        "SELECT name FROM jobs WHERE state = '{}' AND id % 7 = {} ORDER BY id DESC LIMIT 1", state, random_.below(7)));
    return name.ok() ? *name : std::string();
  }
  std::string queue() { return pick({"ads", "nlp", "vision"}); }

  // What users and admins do between two rounds; what is refused is refused.
  void live_a_little() {
    const std::uint64_t submissions = random_.below(6);
    for (std::uint64_t i = 0; i < submissions; ++i) {
      (void)say(
          fmt::format("SUBMIT JOB j{} IN QUEUE {} {} WITH (tasks = {}, gpus = {}, cpu = 2, memory = 4GiB{}{}{}{})",
                      ++jobs_, queue(), pick({"", "", "PRIORITY urgent"}), 1 + random_.below(6),
                      pick({"0.5", "1", "2", "4", "8"}), pick({"", ", models = A100", ", locality = rack"}),
                      pick({"", ", min_tasks = 1"}), pick({"", ", time_limit = 2h", ", time_limit = 10m"}),
                      pick({"", ", checkpoint_every = 20m", ", tag = daily"})));
    }
    for (std::uint64_t i = random_.below(4); i > 0; --i) {
      if (const std::string job = some_job("running"); !job.empty()) (void)say("FINISH JOB " + job);
    }
    const std::string job = some_job("pending");
    const std::string node = fmt::format("{}{}", pick({"a", "b"}), 1 + random_.below(12));
    switch (random_.below(19)) {
      case 0: (void)say("DRAIN NODE " + node); break;
      case 1: (void)say("RESUME NODE " + node); break;
      case 2: (void)say("ALTER NODE " + node + " SET STATE down"); break;
      case 3: (void)say(fmt::format("ALTER QUEUE {} SET QUOTA (A100 = {})", queue(), random_.below(60))); break;
      case 4: (void)say(fmt::format("ALTER QUEUE {} SET WEIGHT {}", queue(), 1 + random_.below(5))); break;
      case 5:
        (void)say(fmt::format("SET order_policy = {}",
                              pick({"priority", "fair_share", "drf", "wpai", "sjf", "las", "p_night", "p_hero"})));
        break;
      case 6:
        (void)say(fmt::format("SET score_policy = {}",
                              pick({"berth", "fgd", "best_fit", "random", "gpu_packing", "p_fgd", "p_gravity"})));
        break;
      case 7: (void)say(fmt::format("SET backfill = {}", pick({"easy", "conservative", "greedy", "none"}))); break;
      case 8: (void)say(fmt::format("SET seed = {}", random_.below(1000))); break;
      case 9:
        (void)say(fmt::format("CREATE LOAN 4 A100 FROM {} TO {} UNTIL '2026-01-02 00:00' RETURN GRACE 10m", queue(),
                              queue()));
        break;
      case 10:
        if (!job.empty()) (void)say("CANCEL JOB " + job);
        break;
      case 11:
        if (!job.empty()) (void)say("HOLD JOB " + job);
        break;
      case 12: (void)say("PLAN SCHEDULE"); break;
      case 13: (void)say(fmt::format("SET filter_policy = {}", pick({"none", "p_gravity"}))); break;
      case 14: (void)say(fmt::format("SET victim_policy = {}", pick({"none", "p_hero"}))); break;
      case 15: (void)say(fmt::format("ALTER POLICY p_night SET (opens = {})", random_.below(24))); break;
      case 16: (void)say(fmt::format("ALTER POLICY p_hero SET (devices = {})", 1 + random_.below(16))); break;
      case 17:
        (void)say(fmt::format("ALTER POLICY p_night FROM 'scripts/policies/{}.lua'",
                              pick({"nights_and_weekends", "hero_jobs"})));
        break;
      default: break;
    }
    clock_.advance(Seconds(static_cast<std::int64_t>(random_.below(400))));
  }

  ManualEnv clock_{Seconds(1767225600)};
  Random random_{static_cast<std::uint64_t>(wanted("BERTH_REPLAY_SEED", 7))};
  std::unique_ptr<Session> session_;
  std::int64_t jobs_ = 0;
};

TEST_F(ReplayTest, ARandomHistoryPlansTheSameAgain) {
  build();
  const std::int64_t rounds = wanted("BERTH_REPLAYED_ROUNDS", 150);
  for (std::int64_t i = 0; i < rounds; ++i) {
    live_a_little();
    must_say("RUN SCHEDULE");
  }
  reopen();
  const std::vector<std::int64_t> recorded = must_have(recorded_rounds(runtime().db(), 1, rounds));
  ASSERT_EQ(recorded.size(), static_cast<std::size_t>(rounds));
  std::int64_t started = 0;
  std::int64_t waiting = 0;
  for (const std::int64_t round : recorded) {
    const Replay again = replay(round);
    EXPECT_TRUE(again.is_equal) << "round " << round << (again.differences.empty() ? "" : again.differences[0].object);
    started += again.started_jobs;
    waiting += again.waiting_jobs;
  }
  const RecordStatistics size = must_have(record_statistics(runtime().db()));
  fmt::print("{} rounds: {} starts, {} waits, {} bytes a round ({} unpacked)\n", rounds, started, waiting,
             size.stored_bytes / rounds, size.unpacked_bytes / rounds);
  EXPECT_GT(started, rounds / 2);
  EXPECT_EQ(must_have(runtime().db().integer("SELECT count(*) FROM evictions")) > 0, true);
  if (const char* keep = std::getenv("BERTH_KEEP_HISTORY"); keep != nullptr)
    must_say(fmt::format("SNAPSHOT SAVE '{}' WITH (replace = true)", keep));
}

TEST_F(ReplayTest, WhatDiffersIsSaid) {
  build();
  must_say("SUBMIT JOB first IN QUEUE nlp WITH (tasks = 2, gpus = 4, models = A100)");
  must_say("SUBMIT JOB second IN QUEUE nlp WITH (tasks = 12, gpus = 8, models = A100)");
  must_say("RUN SCHEDULE");
  EXPECT_TRUE(replay(1).is_equal);

  // As another program might have decided: first elsewhere, nothing said of second.
  const RecordedRound recorded = must_have(read_recorded_round(runtime().db(), 1));
  Plan other = recorded.plan;
  ASSERT_FALSE(other.placements.empty());
  ASSERT_EQ(other.waiting.size(), 1u);
  other.placements[0].node = 19;
  other.waiting.clear();
  const auto put = [&](const Plan& plan) {
    EXPECT_OK(change(runtime().db(), [&](Change& c) -> Status {
      BERTH_ASSIGN(const WrittenRecord written,
                   write_round_record(c.db(), record_of(recorded.snapshot, plan), c.now()));
      BERTH_ASSIGN(Statement update, c.db().prepare("UPDATE rounds SET record_id = ?1"));
      return update.run(written.id);
    }));
  };
  put(other);
  const Replay changed = replay(1);
  EXPECT_FALSE(changed.is_equal);
  ASSERT_EQ(changed.differences.size(), 2u);
  EXPECT_EQ(changed.differences[0].object, "job first");
  EXPECT_NE(changed.differences[0].recorded.find("b8"), std::string::npos) << changed.differences[0].recorded;
  EXPECT_EQ(changed.differences[1].object, "job second");
  EXPECT_EQ(changed.differences[1].recorded.find("waits"), std::string::npos);
  EXPECT_NE(changed.differences[1].replayed.find("waits"), std::string::npos);

  // The same, decided in another order.
  other = recorded.plan;
  std::swap(other.placements[0], other.placements[1]);
  put(other);
  const Replay reordered = replay(1);
  EXPECT_FALSE(reordered.is_equal);
  ASSERT_EQ(reordered.differences.size(), 1u);

  const Result<Output> answer = execute(*session_, "REPLAY ROUNDS");
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->findings);
}

TEST_F(ReplayTest, EqualPartsAreStoredOnceAndGoWithTheLastThatHasThem) {
  build();
  must_say("SUBMIT JOB first IN QUEUE nlp WITH (tasks = 2, gpus = 4, models = A100)");
  for (int i = 0; i < 20; ++i) {
    must_say("RUN SCHEDULE");
    clock_.advance(Seconds(10));
  }
  Database& db = runtime().db();
  const std::int64_t first = must_have(db.integer("SELECT new_bytes FROM round_records ORDER BY id LIMIT 1"));
  EXPECT_LT(must_have(db.integer("SELECT max(new_bytes) FROM round_records WHERE id > 3")), first / 5);
  EXPECT_OK(drop_records(db, clock_.now() - Seconds(50)));
  EXPECT_EQ(must_have(recorded_rounds(db, 1, 20)).size(), 5u);
  for (const std::int64_t round : must_have(recorded_rounds(db, 1, 20))) EXPECT_TRUE(replay(round).is_equal);
  must_say("SET record_mib = 0");
  must_say("VACUUM ROUNDS");
  EXPECT_EQ(must_have(record_statistics(db)).parts, 0);
  must_say("CHECK");
}

TEST_F(ReplayTest, ADamagedRecordIsNamed) {
  build();
  must_say("RUN SCHEDULE");
  must_say("RUN SCHEDULE");
  Database& db = runtime().db();
  EXPECT_OK(change(db, [](Change& c) {
    return c.db().execute(
        "UPDATE record_parts SET data = zeroblob(40) WHERE id = (SELECT plan_parts FROM round_records "
        "WHERE id = 1)");
  }));
  EXPECT_NE(replay(1).unreadable.find("round 1"), std::string::npos);
  EXPECT_ERROR(say("REPLAY ROUND 1"), Code::kCorrupt, "damaged");
  EXPECT_OK(change(db, [](Change& c) { return c.db().execute("UPDATE round_records SET format = 99"); }));
  EXPECT_NE(replay(2).unreadable.find("format 99"), std::string::npos);
  const Result<Output> answer = execute(*session_, "REPLAY ROUNDS");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_TRUE(answer->findings);
}

// A round takes a part that is there already for whole, so what is damaged spreads until it goes.
TEST_F(ReplayTest, CheckFindsDamagedPartsAndVacuumDropsThem) {
  build();
  must_say("SUBMIT JOB first IN QUEUE nlp WITH (tasks = 2, gpus = 4, models = A100)");
  must_say("RUN SCHEDULE");
  must_say("RUN SCHEDULE");
  Database& db = runtime().db();
  EXPECT_TRUE(must_have(check_state(db)).empty());
  EXPECT_OK(change(
      db,
      [](Change& c) {
        return c.db().execute(
            "UPDATE record_parts SET data = zeroblob(40) WHERE id = (SELECT min(id) FROM record_parts)");
      },
      clock_.now()));
  must_say("RUN SCHEDULE");
  EXPECT_FALSE(replay(3).unreadable.empty()) << "the part is shared";
  const std::vector<Finding> found = must_have(check_state(db));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].promise, "records");
  EXPECT_EQ(found[2].object, "record of round 3");
  EXPECT_NE(found[2].sentence.find("VACUUM ROUNDS deletes"), std::string::npos) << found[2].sentence;
  must_say("VACUUM ROUNDS");
  for (const Finding& finding : must_have(check_state(db))) ADD_FAILURE() << finding.object << ": " << finding.sentence;
  EXPECT_EQ(must_have(record_statistics(db)).parts, 0);
  must_say("RUN SCHEDULE");
  EXPECT_TRUE(replay(4).is_equal);
}

}  // namespace
}  // namespace berth::test
