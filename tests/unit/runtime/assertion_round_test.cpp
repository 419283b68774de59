// Rounds while an assertion takes its time: they stop when told to.
#include <atomic>
#include <chrono>
#include <thread>

#include "engine/runtime/change_plan.h"
#include "engine/runtime/round_driver.h"
#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

constexpr const char* kEndless =
    "SELECT * FROM (WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c) WHERE x < 0";

class AssertionRound : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    Database db = open();
    EXPECT_OK(must_have(db.prepare("INSERT INTO assertions (name, query, created_at, created_by) "
                                   "VALUES ('slow', ?1, 0, 'tester')"))
                  .run(kEndless));
    set("assertion_budget_ms", "3600000");
  }
  void TearDown() override {
    if (teller_.joinable()) teller_.join();
  }

  void set(std::string_view name, std::string_view value) {
    EXPECT_OK(runtime_->change([&](Change& change) { return set_setting(change, name, value); }).status());
  }
  // Turns true soon.
  const std::atomic<bool>* soon() {
    teller_ = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      told_ = true;
    });
    return &told_;
  }
  RoundOptions options() { return {.interrupted = soon(), .order_policy = "", .score_policy = ""}; }

  std::atomic<bool> told_{false};
  std::thread teller_;
};

TEST_F(AssertionRound, ARoundIsInterrupted) {
  EXPECT_ERROR(run_round(*runtime_, options()).status(), Code::kInterrupted, "interrupted");
  EXPECT_EQ(must_have(runtime_->db().integer("SELECT count(*) FROM events WHERE kind = 'fail assertion'")), 0);
}

TEST_F(AssertionRound, APlanIsInterrupted) {
  EXPECT_ERROR(save_round_plan(*runtime_, options()).status(), Code::kInterrupted, "interrupted");
}

TEST_F(AssertionRound, APlanOfAChangeIsInterrupted) {
  const std::atomic<bool>* const told = soon();
  EXPECT_ERROR(outlook_of_change(
                   *runtime_, {}, [] { return Status(); }, told)
                   .status(),
               Code::kInterrupted, "interrupted");
}

TEST_F(AssertionRound, ApplyingAPlanIsInterrupted) {
  EXPECT_OK(runtime_->db().execute("UPDATE assertions SET state = 'off'"));
  const std::int64_t plan = must_have(save_round_plan(*runtime_)).id;
  EXPECT_OK(runtime_->db().execute("UPDATE assertions SET state = 'on'"));
  EXPECT_ERROR(apply_saved_plan(*runtime_, plan, soon()).status(), Code::kInterrupted, "interrupted");
}

TEST_F(AssertionRound, OneWithoutAnAnswerIsNotedOnce) {
  set("assertion_budget_ms", "20");
  for (int i = 0; i < 2; ++i) {
    EXPECT_ERROR(run_round(*runtime_).status(), Code::kInvalid, "assertion 'slow' was not answered within 20 ms");
  }
  EXPECT_EQ(must_have(runtime_->db().integer("SELECT count(*) FROM events WHERE kind = 'fail assertion'")), 1);
  EXPECT_EQ(must_have(runtime_->db().integer("SELECT count(*) FROM rounds")), 0);
}

}  // namespace
}  // namespace berth::test
