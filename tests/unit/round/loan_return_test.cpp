// Loans that end: who stops for their return, when, and who does not start any more.
#include "engine/round/loan_return.h"

#include <gtest/gtest.h>

#include "tests/company.h"

namespace berth::test {
namespace {

constexpr std::int64_t kUntil = 100'000;
constexpr std::int64_t kGrace = 10'000;

// Sixteen devices, half owned by each of two departments; ads lends 6 of its 8 to search, which uses them all.
struct Lent : Company {
  explicit Lent(std::string_view departments_text = "ads A100=8 / search A100=8")
      : Company("2x8:A100", departments_text) {
    departments.loan("ads", "search", "A100", 6, kUntil);
    departments.table.loans.back().return_grace = Seconds(kGrace);
    snapshot.quotas = departments.table;
    snapshot.rules.min_runtime = Seconds(0);
  }
  std::int64_t run(std::string_view text, std::int64_t seconds = 0) {
    const std::int64_t id = submit("search", text);
    if (seconds > 0) waiting_job(id).time_limit = Seconds(seconds);
    return id;
  }
  // A job of the lender that needs all that it will own; what it owns during the loan does not suffice.
  std::int64_t need(int tasks = 8) { return submit("ads", "gpus=1 tasks=" + std::to_string(tasks)); }
};

TEST(LoanReturnTest, NothingHappensBeforeTheGrace) {
  Lent world;
  world.run("gpus=1 tasks=14", 200'000);
  EXPECT_TRUE(world.round(0).evictions.empty());
  EXPECT_TRUE(world.round(kUntil - kGrace - 1).evictions.empty());
}

TEST(LoanReturnTest, AsFewAsSufficeAndThoseThatLoseLeast) {
  Lent world;
  const std::int64_t own = world.run("gpus=4", 200'000);
  const std::int64_t dear = world.run("gpus=4", 200'000);
  const std::int64_t cheap = world.run("gpus=4", 200'000);
  world.run("gpus=2", 95'000);
  world.round(0);
  for (const std::int64_t job : {own, dear}) {
    world.running_job(job).job.eviction.checkpoint_interval = Seconds(7000);
    world.running_job(job).job.eviction.restart_cost = Seconds(10);
  }
  world.running_job(cheap).job.eviction.checkpoint_grace = Seconds(60);
  const std::int64_t owner = world.need(6);
  // At the end search would use 12, 4 beyond its own, and 4 would be free of the 8 of ads.
  const Plan plan = world.round(kUntil - kGrace);
  ASSERT_EQ(plan.evictions.size(), 1u);
  EXPECT_EQ(plan.evictions[0].job, cheap);
  EXPECT_EQ(plan.evictions[0].rule, EvictionRule::kLoan);
  EXPECT_EQ(plan.evictions[0].beneficiary, 1);
  EXPECT_EQ(plan.evictions[0].stop_at, Seconds(kUntil));
  EXPECT_EQ(plan.evictions[0].lost, 0);
  EXPECT_TRUE(world.round(kUntil - 5000).evictions.empty()) << "told once";
  EXPECT_EQ(world.round(kUntil).evictions.size(), 1u) << "it stops now";
  EXPECT_TRUE(world.runs(owner));
  EXPECT_FALSE(world.runs(cheap));
  EXPECT_TRUE(world.runs(own) && world.runs(dear));
}

TEST(LoanReturnTest, StopsWhereLeastIsLost) {
  Lent world;
  const std::int64_t saves = world.run("gpus=7", 200'000);
  const std::int64_t loses = world.run("gpus=7", 200'000);
  world.round(0);
  world.running_job(saves).job.eviction.checkpoint_interval = Seconds(6000);
  world.running_job(saves).job.eviction.restart_cost = Seconds(5);
  world.need();
  Plan plan = world.round(kUntil - kGrace);
  ASSERT_EQ(plan.evictions.size(), 1u);
  EXPECT_EQ(plan.evictions[0].job, saves);
  EXPECT_EQ(plan.evictions[0].stop_at, Seconds(96'000)) << "its last checkpoint before the end";
  EXPECT_EQ(plan.evictions[0].lost, 5 * 7000);
  EXPECT_TRUE(world.runs(loses));

  Lent third;
  third.run("gpus=1 tasks=14");
  third.round(30'000);
  third.need();
  plan = third.round(kUntil - kGrace);
  ASSERT_EQ(plan.evictions.size(), 1u);
  EXPECT_EQ(plan.evictions[0].stop_at, Seconds(kUntil)) << "it may end by itself before";
}

TEST(LoanReturnTest, TheRoomIsUsedUntilTheEnd) {
  for (const std::int64_t checkpoint_every : {0, 20'000, 85'000}) {
    Lent world;
    const std::int64_t lent = world.run("gpus=1 tasks=14", 200'000);
    world.round(0);
    world.running_job(lent).job.eviction.checkpoint_interval = Seconds(checkpoint_every);
    const std::int64_t owner = world.need();
    const Plan plan = world.round(kUntil - kGrace);
    ASSERT_EQ(plan.evictions.size(), 1u);
    EXPECT_EQ(plan.evictions[0].stop_at, Seconds(kUntil)) << "no checkpoint is to come before";
    world.round(kUntil - 1);
    EXPECT_TRUE(world.runs(lent));
    world.round(kUntil);
    EXPECT_FALSE(world.runs(lent));
    EXPECT_TRUE(world.runs(owner));
  }
}

TEST(LoanReturnTest, NobodyStopsForALenderOfWhomNobodyWaits) {
  Lent world;
  const std::int64_t lent = world.run("gpus=1 tasks=14", 200'000);
  world.round(0);
  EXPECT_TRUE(world.round(kUntil - kGrace).evictions.empty());
  const std::int64_t other = world.submit("", "gpus=8");
  EXPECT_TRUE(world.round(kUntil - 2000).evictions.empty()) << "it is nobody of the lender";
  const std::int64_t greedy = world.submit("ads", "gpus=1 tasks=9");
  EXPECT_TRUE(world.round(kUntil - 1000).evictions.empty()) << "it wants more than the lender owns";
  std::erase_if(world.snapshot.quotas.loans, [](const LoanTerms&) { return true; });
  for (const std::int64_t now : {kUntil, kUntil + 600}) EXPECT_TRUE(world.round(now).evictions.empty());
  EXPECT_TRUE(world.runs(lent));
  EXPECT_FALSE(world.runs(other) || world.runs(greedy));
}

TEST(LoanReturnTest, AsMuchAsTheLendersJobsNeed) {
  Lent world;
  std::vector<std::int64_t> lent;
  for (int i = 0; i < 7; ++i) lent.push_back(world.run("gpus=2", 200'000));
  world.round(0);
  const std::int64_t owner = world.need(4);
  Plan plan = world.round(kUntil - kGrace);
  EXPECT_EQ(plan.evictions.size(), 1u) << "two of four are free";
  const std::int64_t later = world.need(3);
  plan = world.round(kUntil - 3000);
  EXPECT_EQ(plan.evictions.size(), 2u);
  std::erase_if(world.snapshot.jobs, [&](const Job& job) { return job.id == later; });
  plan = world.round(kUntil - 2000);
  EXPECT_EQ(plan.reprieves.size(), 2u) << "its job is gone";
  world.round(kUntil);
  EXPECT_TRUE(world.runs(owner));
  EXPECT_EQ(std::ranges::count_if(lent, [&](std::int64_t job) { return world.runs(job); }), 6);
}

TEST(LoanReturnTest, WhatEndsBeforeIsLeftAloneAndNothingThatOutlastsItStarts) {
  Lent world;
  for (int i = 0; i < 6; ++i) world.run("gpus=2", 99'000);
  world.round(0);
  const std::int64_t late = world.run("gpus=2", 20'000);
  const std::int64_t brief = world.run("gpus=2", 5'000);
  EXPECT_TRUE(world.round(kUntil - kGrace).evictions.empty());
  EXPECT_TRUE(world.runs(brief));
  EXPECT_TRUE(world.runs(late)) << "at the end there is enough for ads beside it";
}

TEST(LoanReturnTest, NobodyBorrowsWhatIsDue) {
  Lent world("ads A100=8 / search A100=4 / other A100=4");
  const std::int64_t own = world.run("gpus=4", 200'000);
  const std::int64_t lent = world.run("gpus=1 tasks=6", 200'000);
  world.submit("other", "gpus=4");
  world.round(0);
  world.running_job(lent).job.eviction.checkpoint_interval = Seconds(3000);
  const std::int64_t owner = world.submit("ads", "gpus=1 tasks=8");
  world.round(kUntil - kGrace);
  world.round(kUntil - 1000);
  EXPECT_FALSE(world.runs(lent));
  EXPECT_TRUE(world.runs(own));
  const std::int64_t much = world.submit("other", "gpus=1");
  const Plan plan = world.round(kUntil - 900);
  ASSERT_EQ(plan.waiting.size(), 2u);
  for (const Waiting& waiting : plan.waiting) {
    EXPECT_TRUE(waiting.job == lent || waiting.job == much);
    EXPECT_EQ(waiting.reason, Reason::kLenderKeeps);
  }
  EXPECT_TRUE(world.runs(owner)) << "what is due to its queue is there for it already";
}

TEST(LoanReturnTest, InTheRoundOfItsEndTheLenderGoesBeforeWhoBorrowsWhateverTheOrder) {
  for (const bool ended_just_now : {false, true}) {
    Lent world;
    world.snapshot.order_policy = "priority";
    world.snapshot.rules.preemption = Preemption::kNone;  // else owners always do
    std::swap(world.snapshot.quotas.loans, world.snapshot.quotas.ended_loans);
    if (!ended_just_now) world.snapshot.quotas.ended_loans.clear();
    const std::int64_t borrower = world.submit("search", "gpus=1 tasks=16");
    world.waiting_job(borrower).priority_class = 1;
    const std::int64_t owner = world.submit("ads", "gpus=1 tasks=8");
    world.round(kUntil);
    EXPECT_EQ(world.runs(owner), ended_just_now);
    EXPECT_EQ(world.runs(borrower), !ended_just_now);
  }
}

TEST(LoanReturnTest, RunsOnWhenOthersEndEarlier) {
  Lent world;
  const std::int64_t told = world.run("gpus=7", 200'000);
  const std::int64_t other = world.submit("search", "gpus=7", kUntil - 4000);
  world.waiting_job(other).time_limit = Seconds(300'000);
  world.round(0);
  world.running_job(told).job.eviction.checkpoint_grace = Seconds(60);
  world.need();
  Plan plan = world.round(kUntil - kGrace);
  ASSERT_EQ(plan.evictions.size(), 1u);
  plan = world.round(kUntil - 3000);
  EXPECT_EQ(plan.reprieves, std::vector<std::int64_t>{told});
  world.round(kUntil);
  EXPECT_TRUE(world.runs(told));
}

TEST(LoanReturnTest, RunsOnWhenTheLoanWasReturnedEarly) {
  Lent world;
  const std::int64_t told = world.run("gpus=1 tasks=14", 200'000);
  world.round(0);
  world.running_job(told).job.eviction.checkpoint_grace = Seconds(60);
  world.need();
  world.round(kUntil - kGrace);
  world.snapshot.quotas.loans.clear();
  const Plan plan = world.round(kUntil - 5000);
  EXPECT_EQ(plan.reprieves, std::vector<std::int64_t>{told});
}

TEST(LoanReturnTest, SurplusOfElasticJobsFirst) {
  Lent world;
  const std::int64_t elastic = world.run("gpus=1 tasks=14 min=2", 200'000);
  world.round(0);
  const std::int64_t owner = world.need();
  EXPECT_TRUE(world.round(kUntil - kGrace).evictions.empty());
  EXPECT_EQ(world.tasks_of(elastic), 14u) << "until the end";
  std::swap(world.snapshot.quotas.loans, world.snapshot.quotas.ended_loans);
  const Plan plan = world.round(kUntil);
  ASSERT_EQ(plan.evictions.size(), 1u);
  EXPECT_FALSE(plan.evictions[0].whole);
  EXPECT_EQ(plan.evictions[0].rule, EvictionRule::kLoan);
  EXPECT_EQ(plan.evictions[0].tasks.size(), 6u) << "what ads owns, less what is free";
  EXPECT_EQ(world.tasks_of(elastic), 8u);
  EXPECT_TRUE(world.runs(owner));
}

TEST(LoanReturnTest, NothingIsStoppedThatCannotBe) {
  Lent world;
  const std::int64_t fixed = world.run("gpus=1 tasks=14", 200'000);
  world.round(0);
  world.running_job(fixed).job.eviction.preemptible = false;
  world.need();
  EXPECT_TRUE(world.round(kUntil - kGrace).evictions.empty());
  const Planning planning = must(planning_of(world.snapshot));
  const auto returns = must(plan_loan_returns(*planning.state, world.snapshot.jobs, world.snapshot.now, {}));
  ASSERT_EQ(returns.size(), 1u);
  EXPECT_EQ(returns[0].missing, 6000);
}

TEST(LoanReturnTest, ASiblingWithinItsOwnQuotaIsNotStopped) {
  Company world("2x8:A100", "ads A100=8 / corp / a < corp A100=4 / b < corp A100=4");
  world.departments.loan("ads", "b", "A100", 6, kUntil);
  world.departments.table.loans.back().return_grace = Seconds(kGrace);
  world.snapshot.quotas = world.departments.table;
  const std::int64_t within = world.submit("a", "gpus=4");
  const std::int64_t lent = world.submit("b", "gpus=1 tasks=10");
  for (const std::int64_t job : {within, lent}) world.waiting_job(job).time_limit = Seconds(200'000);
  world.round(0);
  world.submit("ads", "gpus=1 tasks=8");
  const Plan plan = world.round(kUntil - kGrace);
  ASSERT_EQ(plan.evictions.size(), 1u);
  EXPECT_EQ(plan.evictions[0].job, lent);
  EXPECT_TRUE(world.runs(within));
}

TEST(LoanReturnTest, TheBudgetHolds) {
  Lent world("ads A100=8 / search A100=8 budget=1000");
  world.run("gpus=1 tasks=14", 200'000);
  world.round(0);
  world.need();
  EXPECT_TRUE(world.round(kUntil - kGrace).evictions.empty());
}

}  // namespace
}  // namespace berth::test
