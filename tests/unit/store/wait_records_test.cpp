// Every second that a job waits has one cause.
#include "engine/store/wait_records.h"

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Waits : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_.emplace(open());
    fill(*db_);
    asked_ = group(1, 8);
    job_ = submit(*db_, job("waits", {asked_}));  // at 1000
  }

  // A round at `now` that finds this.
  void judge(Seconds now, Reason reason, std::int64_t beneficiary = 0) {
    Plan plan = plan_on(*db_, {});
    plan.waiting.push_back({.job = job_, .reason = reason, .needed = 1});
    plan.waiting.back().beneficiary = beneficiary;
    run(plan, now);
  }
  void run(const Plan& plan, Seconds now) {
    const Loaded loaded = must_have(load_state(*db_, {.now = now, .node_names = true, .also_job = std::nullopt}));
    EXPECT_OK(apply_plan(*db_, plan,
                         {.kind = "schedule",
                          .actor = "tester",
                          .now = now,
                          .seconds = {},
                          .last_reasons = loaded.last_reasons,
                          .plan_id = 0}));
  }
  void start(Seconds now) { run(plan_on(*db_, {placement(*db_, job_, 0, 0, "a1", 0xFF, asked_, MiB(81920))}), now); }
  std::string parts() {
    Statement row = must_have(db_->prepare(
        "SELECT group_concat(cause || ' ' || from_time || '-' || coalesce(to_time, '') || coalesce(' q' || "
        "beneficiary_id, ''), '; ') FROM (SELECT * FROM wait_intervals WHERE job_id = ?1 ORDER BY from_time)"));
    EXPECT_TRUE(row.with(job_).next());
    return std::string(row.text(0));
  }

  std::optional<Database> db_;
  TaskGroupRequest asked_;
  std::int64_t job_ = 0;
};

TEST_F(Waits, BeforeTheFirstRoundItWaitsForARound) {
  EXPECT_EQ(parts(), "round 1000-");
  start(Seconds(1300));
  EXPECT_EQ(parts(), "round 1000-1300");
  expect_healthy(*db_);
}

TEST_F(Waits, AStretchEndsWhenTheCauseOrTheBeneficiaryChanges) {
  judge(Seconds(1100), Reason::kGpu);
  judge(Seconds(1200), Reason::kCpu);  // another reason, the same cause
  EXPECT_EQ(parts(), "round 1000-1100; no_capacity 1100-");
  EXPECT_EQ(must_have(db_->text("SELECT wait_reason FROM jobs")), "cpu");
  judge(Seconds(1300), Reason::kQuota, 2);
  judge(Seconds(1400), Reason::kQuota, 3);
  judge(Seconds(1500), Reason::kQuota, 3);
  start(Seconds(1600));
  EXPECT_EQ(parts(), "round 1000-1100; no_capacity 1100-1300; own_quota 1300-1400 q2; own_quota 1400-1600 q3");
  EXPECT_EQ(must_have(db_->integer("SELECT sum(seconds) FROM wait_parts")), 600);
  expect_healthy(*db_);
}

TEST_F(Waits, HoldReleaseAndCancelEndAStretch) {
  judge(Seconds(1100), Reason::kGpuFragmented);
  EXPECT_OK(change(
      *db_, [&](Change& c) { return hold_job(c, job_); }, Seconds(1200)));
  EXPECT_OK(change(
      *db_, [&](Change& c) { return release_job(c, job_); }, Seconds(1500)));
  EXPECT_EQ(parts(), "round 1000-1100; fragmentation 1100-1200; held 1200-1500; round 1500-");
  EXPECT_OK(change(
      *db_, [&](Change& c) { return cancel_job(c, job_); }, Seconds(1700)));
  EXPECT_EQ(parts(), "round 1000-1100; fragmentation 1100-1200; held 1200-1500; round 1500-1700");
  expect_healthy(*db_);
}

TEST_F(Waits, AfterAReclaimQuotaIsTheLendersUntilItStartsAgain) {
  start(Seconds(1100));
  const std::int64_t owner = submit(*db_, job("owner", {asked_}));
  Plan plan = plan_on(*db_, {});
  plan.planned_at = Seconds(2000);
  plan.evictions.push_back({.job = job_, .beneficiary = owner, .stop_at = Seconds(2000)});
  run(plan, Seconds(2000));
  judge(Seconds(2100), Reason::kQuota, 2);
  judge(Seconds(2200), Reason::kGpu);
  judge(Seconds(2300), Reason::kLimit);
  start(Seconds(2400));
  EXPECT_EQ(parts(), "round 1000-1100; lender_reclaimed 2000-2400 q2");
  expect_healthy(*db_);
}

TEST_F(Waits, AClockSetBackCountsNothingTwice) {
  judge(Seconds(2000), Reason::kGpu);
  judge(Seconds(1500), Reason::kQuota);
  judge(Seconds(2500), Reason::kGpu);
  EXPECT_EQ(parts(), "round 1000-2000; own_quota 2000-2500; no_capacity 2500-");
  expect_healthy(*db_);
}

TEST_F(Waits, AJobThatIsHeldOrEvictedAfterTheClockWasSetBackWaitsFromWhereItsLastStretchEnded) {
  judge(Seconds(2000), Reason::kGpu);
  EXPECT_OK(change(
      *db_, [&](Change& c) { return hold_job(c, job_); }, Seconds(1500)));
  EXPECT_OK(change(
      *db_, [&](Change& c) { return release_job(c, job_); }, Seconds(2300)));
  EXPECT_EQ(parts(), "round 1000-2000; held 2000-2300; round 2300-");
  start(Seconds(2400));
  Plan plan = plan_on(*db_, {});
  plan.evictions.push_back(
      {.job = job_, .beneficiary = submit(*db_, job("owner", {asked_})), .stop_at = Seconds(1200)});
  plan.version = must_have(db_->integer("SELECT value FROM meta WHERE key = 'state_version'"));
  run(plan, Seconds(1200));
  judge(Seconds(2500), Reason::kGpu);
  start(Seconds(2600));
  EXPECT_EQ(parts(), "round 1000-2000; held 2000-2300; round 2300-2400; lender_reclaimed 2400-2600 q2");
  expect_healthy(*db_);
}

TEST_F(Waits, ASavedPlanFindsTheReasonsInTheTables) {
  judge(Seconds(1100), Reason::kGpu);
  Plan plan = plan_on(*db_, {});
  plan.waiting.push_back({.job = job_, .reason = Reason::kGpu, .needed = 1});
  EXPECT_EQ(must_have(apply(*db_, plan)).changed_reasons, 0);
  plan = plan_on(*db_, {});
  plan.waiting.push_back({.job = job_, .reason = Reason::kLocality, .needed = 1});
  EXPECT_EQ(must_have(apply(*db_, plan)).changed_reasons, 1);
  EXPECT_EQ(parts(), "round 1000-1100; no_capacity 1100-2000; locality 2000-");
}

TEST_F(Waits, DaysAddUpToo) {
  judge(Seconds(86400 + 100), Reason::kGpu);
  start(Seconds(3 * 86400 + 50));
  EXPECT_EQ(must_have(db_->text("SELECT group_concat(day || ' ' || cause || ' ' || seconds, '; ') FROM (SELECT * FROM "
                                "waits_by_queue_and_day ORDER BY day, cause)")),
            "1970-01-01 round 85400; 1970-01-02 no_capacity 86300; 1970-01-02 round 100; 1970-01-03 no_capacity 86400; "
            "1970-01-04 no_capacity 50");
}

TEST_F(Waits, EveryReasonHasACause) {
  for (int r = 0; r <= static_cast<int>(Reason::kPolicy); ++r) {
    const auto reason = static_cast<Reason>(r);
    const WaitCause cause = cause_of({.job = 1, .reason = reason}, WaitCause::kRound, false);
    EXPECT_EQ(cause == WaitCause::kRound, reason == Reason::kNone) << reason_name(reason);
    EXPECT_EQ(must_have(read_wait_cause(wait_cause_name(cause))), cause);
  }
}

TEST_F(Waits, OrderAndReclaimLastAsLongAsItFindsNoRoom) {
  const Waiting no_gpu = {.job = 1, .reason = Reason::kGpu};
  Waiting passed_over = no_gpu;
  passed_over.passed_over = true;
  Waiting scattered = no_gpu;
  scattered.in_pieces = true;
  EXPECT_EQ(cause_of(no_gpu, WaitCause::kRound, false), WaitCause::kNoCapacity);
  EXPECT_EQ(cause_of(scattered, WaitCause::kRound, false), WaitCause::kFragmentation);
  EXPECT_EQ(cause_of(passed_over, WaitCause::kNoCapacity, false), WaitCause::kOrder);
  EXPECT_EQ(cause_of(no_gpu, WaitCause::kOrder, false), WaitCause::kOrder);
  EXPECT_EQ(cause_of({.job = 1, .reason = Reason::kQuota}, WaitCause::kOrder, false), WaitCause::kOwnQuota);
  EXPECT_EQ(cause_of(no_gpu, WaitCause::kLenderReclaimed, true), WaitCause::kLenderReclaimed);
  EXPECT_EQ(cause_of({.job = 1, .reason = Reason::kReserved}, WaitCause::kOrder, true), WaitCause::kReservation);
}

}  // namespace
}  // namespace berth::test
