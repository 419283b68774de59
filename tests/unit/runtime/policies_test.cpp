// Policies in Lua whose files change, and what a failing one leaves of a round.
#include "engine/runtime/policies.h"

#include <fstream>

#include "engine/runtime/round_driver.h"
#include "engine/store/settings.h"
#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

class Policies : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    file_ = path("p.lua");
  }

  void write(std::string_view text) const { std::ofstream(file_) << text; }
  template <class Body>
  Status do_(Body&& body) {
    return runtime_->change(std::forward<Body>(body)).status();
  }
  std::vector<std::string> reload() { return must_have(reload_policies(*runtime_)); }
  std::int64_t count(const std::string& kind) {
    return must_have(runtime_->db().integer("SELECT count(*) FROM events WHERE kind = '" + kind + "'"));
  }

  std::string file_;
};

TEST_F(Policies, ChangedFilesAreNewVersionsWhereTheyAreGood) {
  write("knobs = {weight = {default = 1}} function order(job) return job.id end");
  EXPECT_OK(do_([&](Change& change) { return create_policy(change, "p", file_); }));
  std::size_t failed = 0;
  EXPECT_OK(do_([&](Change& change) { return set_policy_knobs(change, "p", {{"weight", "4"}}, failed); }));
  EXPECT_TRUE(reload().empty());

  write("knobs = {weight = {default = 1}} function order(job) return -job.id * knob.weight end");
  ASSERT_EQ(reload().size(), 1u);
  StoredPolicy stored = must_have(read_policy(runtime_->db(), "p"));
  EXPECT_EQ(stored.script.version, 2);
  EXPECT_EQ(stored.script.knobs, (std::vector<ScriptKnobValue>{{"weight", "4"}}));

  write("function order(job) return");
  const std::vector<std::string> said = reload();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("version 2 stays: "), std::string::npos) << said[0];
  EXPECT_TRUE(reload().empty());  // told once
  EXPECT_EQ(count("refuse policy"), 1);
  std::ofstream(file_, std::ios::trunc).close();
  EXPECT_EQ(reload().size(), 1u);

  // A knob that is gone is forgotten; a file that is gone leaves what there is.
  write("function order(job) return 1 end");
  ASSERT_EQ(reload().size(), 1u);
  stored = must_have(read_policy(runtime_->db(), "p"));
  EXPECT_EQ(stored.script.version, 3);
  EXPECT_TRUE(stored.script.knobs.empty());
  EXPECT_EQ(must_have(read_policy(runtime_->db(), "p", 1)).script.version, 1);
  ASSERT_EQ(std::remove(file_.c_str()), 0);
  EXPECT_TRUE(reload().empty());
}

TEST_F(Policies, KnobsAreSetAllOrNone) {
  write("knobs = {a = {default = 1, most = 5}, b = {default = 1}} function order(job) return 1 end");
  EXPECT_OK(do_([&](Change& change) { return create_policy(change, "p", file_); }));
  std::size_t failed = 0;
  EXPECT_ERROR(do_([&](Change& change) {
                 return set_policy_knobs(change, "p", {{"b", "2"}, {"a", "6"}}, failed);
               }),
               Code::kInvalid, "at most 5");
  EXPECT_EQ(failed, 1u);
  EXPECT_TRUE(must_have(read_policy(runtime_->db(), "p")).script.knobs.empty());
}

TEST_F(Policies, AFailingPolicyIsLeftOutOfTheWholeRound) {
  write("function score(node) if node.free_devices < 8 then return nil end return 1 end");
  EXPECT_OK(do_([&](Change& change) { return create_policy(change, "p", file_); }));
  EXPECT_OK(do_([&](Change& change) { return set_setting(change, "score_policy", "p"); }));
  EXPECT_OK(do_([&](Change& change) -> Status {
    for (const char* name : {"j1", "j2", "j3"}) {
      JobRequest job{.name = name, .queue = "train"};
      job.groups.push_back(
          {.count = 1, .cpu = MilliCpu(1000), .memory = MiB(1024), .gpu_count = 1, .models = {"A100"}});
      BERTH_TRY(submit_job(change, job).status());
    }
    return {};
  }));
  const RoundReport report = must_have(run_round(*runtime_));
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.failures[0].message, "p: score() gives a nil; expected a number");
  EXPECT_EQ(report.plan.score_policy, "berth");
  EXPECT_EQ(report.plan.placements.size(), 3u);
  EXPECT_EQ(must_have(runtime_->db().text("SELECT score_policy FROM rounds")), "berth");
  EXPECT_EQ(count("fail policy"), 1);
}

}  // namespace
}  // namespace berth::test
