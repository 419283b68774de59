// Shadow policies: what a round says of them, and that none can hold it up.
#include "engine/runtime/shadow.h"

#include <fmt/format.h>

#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

class Shadow : public RuntimeTest {
 protected:
  void watch(const ShadowRow& shadow) {
    EXPECT_OK(runtime_->change([&](Change& change) { return add_shadow(change, shadow); }).status());
  }
  void submit_many(int jobs) {
    EXPECT_OK(runtime_
                  ->change([&](Change& change) -> Status {
                    BERTH_ASSIGN(Submitter submitter, Submitter::make(change));
                    for (int i = 0; i < jobs; ++i) {
                      BERTH_TRY(submitter.submit(job(fmt::format("j{}", i), {group(1, 1)})).status());
                    }
                    return submitter.finish();
                  })
                  .status());
  }
  std::string state_of_last() {
    return must_have(runtime_->db().text("SELECT state FROM shadow_rounds ORDER BY round_id DESC, shadow_id DESC"));
  }
};

TEST_F(Shadow, OneThatCannotBeMadeIsNotedAndTheRoundStands) {
  watch({.policy = "gone", .order_policy = "gone"});
  submit_many(1);
  const RoundReport report = must_have(run_round(*runtime_));
  EXPECT_OK(report.watched);
  EXPECT_EQ(report.applied.started_jobs, 1);
  EXPECT_EQ(state_of_last(), "failed");
  EXPECT_NE(must_have(runtime_->db().text("SELECT detail FROM shadow_rounds")).find("gone"), std::string::npos);
}

TEST_F(Shadow, OneThatTakesTooLongIsCutOff) {
  watch({.policy = "drf", .order_policy = "drf"});
  submit_many(20000);
  EXPECT_OK(runtime_->change([](Change& change) { return set_setting(change, "shadow_budget_ms", "1"); }).status());
  const RoundReport report = must_have(run_round(*runtime_));
  EXPECT_OK(report.watched);
  EXPECT_GT(report.applied.started_jobs, 0);
  EXPECT_EQ(state_of_last(), "over_budget");
}

TEST_F(Shadow, ThePolicyThatIsLiveDiffersInNothing) {
  watch(must_have(shadow_of_policy(*runtime_, "priority")));
  submit_many(50);
  EXPECT_OK(must_have(run_round(*runtime_)).watched);
  EXPECT_EQ(must_have(runtime_->db().integer("SELECT rounds_different FROM shadow_effect")), 0);
  EXPECT_EQ(must_have(runtime_->db().integer("SELECT count(*) FROM shadow_differences")), 0);
}

}  // namespace
}  // namespace berth::test
