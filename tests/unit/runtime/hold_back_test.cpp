// Jobs held back for assertions: the rest goes on, and whoever is held back wrongly is tried within a stated time.
#include <string>

#include "engine/runtime/hold_back.h"
#include "engine/runtime/round_driver.h"
#include "engine/store/round_records.h"
#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

class HoldBackTest : public RuntimeTest {
 protected:
  void submit(const std::string& name, const std::string& queue, std::int64_t milli) {
    JobRequest request = job(name, {group(1, 1, MilliGpu(milli))});
    request.queue = queue;
    StoreTest::submit(runtime_->db(), request);
  }
  void assert_none(const std::string& name, const std::string& query) {
    EXPECT_OK(runtime_->change([&](Change& change) { return add_assertion(change, name, query); }).status());
  }
  std::int64_t count(const std::string& where) {
    return must_have(runtime_->db().integer("SELECT count(*) FROM jobs WHERE " + where));
  }
};

// All but the last of forty alike break it, one by one: the last is held back untried with them, but not for ever.
TEST_F(HoldBackTest, OneLikeThoseThatBreakItIsTriedSoon) {
  assert_none("no_bad", "SELECT name FROM jobs WHERE name LIKE 'bad%' AND state = 'running'");
  for (int i = 0; i < 40; ++i) submit("bad" + std::to_string(i), "train", 100);
  submit("good", "train", 100);
  int rounds = 0;
  while (count("name = 'good' AND state = 'running'") == 0 && rounds < 120) {
    ++rounds;
    const RoundReport report = must_have(run_round(*runtime_));
    ASSERT_FALSE(report.applied.is_refused());
    ASSERT_LE(report.applied.held_back.size(), static_cast<std::size_t>(HoldBack::kMostPlans));
    env_.advance(Seconds(60));
  }
  EXPECT_LT(rounds, 120);
  EXPECT_EQ(count("name LIKE 'bad%' AND state = 'running'"), 0);
}

// A bound that every queue's jobs break: what fits within it starts, whoever comes first, and nothing is refused.
TEST_F(HoldBackTest, ABoundOnAllIsNoStandstill) {
  assert_none("three", "SELECT count(*) AS tasks FROM allocations HAVING count(*) > 3");
  for (int i = 0; i < 60; ++i) submit("a" + std::to_string(i), i % 2 == 0 ? "train" : "serve", 100 + 10 * i);
  for (int round = 0; round < 3; ++round) {
    const RoundReport report = must_have(run_round(*runtime_));
    ASSERT_FALSE(report.applied.is_refused());
    EXPECT_EQ(count("state = 'running'"), 3);
    env_.advance(Seconds(60));
  }
  EXPECT_OK(runtime_->db().execute("DELETE FROM assertions"));
  must_have(run_round(*runtime_));
  EXPECT_GT(count("state = 'running'"), 3);
}

// Against every order of five small jobs: what starts breaks nothing, and no job that is held back could start beside.
TEST_F(HoldBackTest, WhatIsHeldBackWouldBreakIt) {
  assert_none("odd", "SELECT sum(a.gpu_milli) AS milli FROM allocations a HAVING milli > 550");
  const int sizes[] = {300, 400, 200, 100, 50};
  for (const int size : sizes) submit("s" + std::to_string(size), "train", size);
  const RoundReport report = must_have(run_round(*runtime_));
  const std::int64_t used = must_have(runtime_->db().integer("SELECT sum(gpu_milli) FROM allocations"));
  EXPECT_LE(used, 550);
  for (const AssertionHold& hold : report.plan.holds) {
    const std::int64_t size = must_have(
        runtime_->db().integer("SELECT gpu_milli FROM task_groups WHERE job_id = " + std::to_string(hold.job)));
    EXPECT_GT(used + size, 550) << "job " << hold.job;
  }
  EXPECT_EQ(used, 550);  // 300, 200, 50 in the order of submission
}

// Three of an elastic job's five tasks break nothing: it starts with them, and does not grow beyond the bound.
TEST_F(HoldBackTest, AnElasticJobStartsWithWhatItNeeds) {
  assert_none("four", "SELECT count(*) AS tasks FROM allocations HAVING tasks > 4");
  TaskGroupRequest five = group(5, 1, MilliGpu(100));
  five.min_tasks = 3;
  StoreTest::submit(runtime_->db(), job("grows", {five}));
  submit("small", "train", 100);
  const RoundReport first = must_have(run_round(*runtime_));
  ASSERT_FALSE(first.applied.is_refused());
  ASSERT_EQ(first.plan.surplus_holds.size(), 1U);
  EXPECT_TRUE(first.plan.holds.empty());
  EXPECT_EQ(count("state = 'running'"), 2);
  ASSERT_EQ(first.applied.held_back.size(), 1U);
  EXPECT_TRUE(first.applied.held_back[0].only_surplus);
  const auto tasks = [&] { return must_have(runtime_->db().integer("SELECT count(*) FROM allocations")); };
  EXPECT_EQ(tasks(), 4);
  EXPECT_EQ(must_have(runtime_->db().integer("SELECT only_surplus FROM assertion_holds")), 1);
  EXPECT_EQ(must_have(runtime_->db().integer("SELECT count(*) FROM assertion_refusals")), 0);
  const RecordedRound recorded = must_have(read_recorded_round(runtime_->db(), first.applied.round));
  EXPECT_EQ(recorded.snapshot.surplus_holds, first.plan.surplus_holds);
  env_.advance(Seconds(60));
  const RoundReport second = must_have(run_round(*runtime_));
  EXPECT_EQ(tasks(), 4);
  EXPECT_EQ(second.plan.holds.size(), 1U);  // it runs, and what is left of it is held
  assert_none("none", "SELECT name FROM jobs WHERE state = 'running' AND name = 'never'");
  StoreTest::submit(runtime_->db(), job("never", {five}));
  env_.advance(Seconds(60));
  const RoundReport third = must_have(run_round(*runtime_));
  EXPECT_EQ(count("name = 'never' AND state = 'pending'"), 1);
  EXPECT_EQ(third.applied.held_back.size(), 2U);
}

// What a round looked at can be read in this format and in the one before refusals.
TEST_F(HoldBackTest, ARecordKeepsWhatWasRefused) {
  assert_none("none", "SELECT name FROM jobs WHERE state = 'running'");
  submit("refused", "train", 500);
  must_have(run_round(*runtime_));
  env_.advance(Seconds(60));
  const RoundReport second = must_have(run_round(*runtime_));
  Database& db = runtime_->db();
  const RecordedRound recorded = must_have(read_recorded_round(db, second.applied.round));
  ASSERT_EQ(recorded.snapshot.refused.size(), 1U);
  EXPECT_EQ(recorded.snapshot.refused[0].at, Seconds(1800000000));
  const auto first_in_format = [&](std::int64_t format) {
    EXPECT_OK(db.execute("UPDATE round_records SET format = " + std::to_string(format) + " WHERE id = 1"));
    return read_recorded_round(db, second.applied.round - 1);
  };
  EXPECT_TRUE(must_have(first_in_format(kOldestRecordFormat)).snapshot.refused.empty());
  EXPECT_ERROR(first_in_format(kOldestRecordFormat - 1), Code::kInvalid, "was recorded in format");
  EXPECT_ERROR(first_in_format(kRecordFormat + 1), Code::kInvalid, "was recorded in format");
}

}  // namespace
}  // namespace berth::test
