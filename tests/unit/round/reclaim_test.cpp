// Who is evicted for whom, and who is not.
#include "engine/round/reclaim.h"

#include <gtest/gtest.h>

#include "tests/company.h"

namespace berth::test {
namespace {

using Ids = std::vector<std::int64_t>;

Ids victims_of(const Plan& plan) {
  Ids ids;
  for (const Eviction& eviction : plan.evictions) ids.push_back(eviction.job);
  std::ranges::sort(ids);
  return ids;
}

const Waiting* waiting_of(const Plan& plan, std::int64_t job) {
  const auto found = std::ranges::find(plan.waiting, job, &Waiting::job);
  return found == plan.waiting.end() ? nullptr : &*found;
}

// Two nodes of eight, two departments that own half each; search has borrowed all.
struct Borrowed : Company {
  Borrowed() : Company("2x8:A100", "ads gpu=8 / search gpu=8") {
    for (int i = 0; i < 16; ++i) jobs.push_back(submit("search", "gpus=1"));
    round(0);
  }
  Ids jobs;
};

TEST(ReclaimTest, QuotaLentIsTakenBack) {
  Borrowed world;
  const std::int64_t owner = world.submit("ads", "gpus=1 tasks=3");
  const Plan plan = world.round(1000);
  ASSERT_EQ(plan.evictions.size(), 3u);
  EXPECT_TRUE(world.runs(owner));
  for (const Eviction& eviction : plan.evictions) {
    EXPECT_EQ(eviction.rule, EvictionRule::kReclaim);
    EXPECT_EQ(eviction.beneficiary, owner);
    EXPECT_TRUE(eviction.whole);
    EXPECT_EQ(eviction.lost, 1000 * 1000) << "no checkpoints: all of 1000 s on one GPU";
    EXPECT_EQ(eviction.stop_at, Seconds(1000));
  }
}

TEST(ReclaimTest, NeverBeyondTheOwnQuotaAndNeverWithinTheOthers) {
  Borrowed world;
  const std::int64_t owner = world.submit("ads", "gpus=1 tasks=8");
  const std::int64_t more = world.submit("ads", "gpus=1");
  EXPECT_EQ(world.round(1000).evictions.size(), 8u);
  EXPECT_TRUE(world.runs(owner));
  EXPECT_FALSE(world.runs(more));
  EXPECT_TRUE(world.round(9000).evictions.empty()) << "search has its own 8 left, its evicted jobs wait";
}

TEST(ReclaimTest, TheOldestRunWithinQuota) {
  Company world("2x8:A100", "ads gpu=8 / search gpu=8");
  const std::int64_t first = world.submit("search", "gpus=8");
  world.round(0);
  const std::int64_t second = world.submit("search", "gpus=8");
  world.round(10);
  world.submit("ads", "gpus=8");
  EXPECT_EQ(victims_of(world.round(5000)), Ids{second});
  EXPECT_TRUE(world.runs(first));
}

TEST(ReclaimTest, NobodyIsEvictedForLessThanAWholeGang) {
  Borrowed world;
  world.running_job(world.jobs[0]).job.eviction.preemptible = false;
  world.running_job(world.jobs[8]).job.eviction.preemptible = false;
  const std::int64_t owner = world.submit("ads", "gpus=8");
  const Plan plan = world.round(1000);
  EXPECT_TRUE(plan.evictions.empty()) << "no node can be cleared";
  EXPECT_NE(waiting_of(plan, owner), nullptr);
}

TEST(ReclaimTest, OneNodeIsClearedNotHalfTheCluster) {
  Company world("4x8:A100", "ads gpu=8 / own gpu=18 / search");
  // Six of own and two of search on each of three nodes, search alone on the fourth.
  for (int node = 0; node < 3; ++node) {
    for (int i = 0; i < 6; ++i) world.submit("own", "gpus=1");
    world.round(2 * node);
    for (int i = 0; i < 2; ++i) world.submit("search", "gpus=1");
    world.round(2 * node + 1);
  }
  for (RunningJob& run : world.snapshot.running) run.job.eviction.checkpoint_interval = Seconds(1);  // cheaper
  Ids last;
  for (int i = 0; i < 8; ++i) last.push_back(world.submit("search", "gpus=1"));
  world.round(10);
  const std::int64_t owner = world.submit("ads", "gpus=8");
  EXPECT_EQ(victims_of(world.round(5000)), last);
  EXPECT_TRUE(world.runs(owner));
}

TEST(ReclaimTest, TheCheapestNodeIsCleared) {
  Company world("3x2:A100", "ads gpu=2 / search gpu=4");
  Ids jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back(world.submit("search", "gpus=1"));
  world.round(0);
  const NodeIndex cheap = std::ranges::find(world.snapshot.allocations, jobs.back(), &Allocation::job)
                              ->node;  // search's quota covers the rest
  world.submit("ads", "gpus=2");
  const Plan plan = world.round(1000);
  ASSERT_EQ(plan.evictions.size(), 2u);
  ASSERT_EQ(plan.placements.size(), 1u);
  EXPECT_EQ(plan.placements.front().node, cheap);
}

TEST(ReclaimTest, LeastLostWorkFirstThenNewest) {
  Company world("1x4:A100", "ads gpu=4 / search");
  const std::int64_t plain = world.submit("search", "gpus=1");
  const std::int64_t saving = world.submit("search", "gpus=1");
  world.round(0);
  const std::int64_t newer = world.submit("search", "gpus=1");
  const std::int64_t newest = world.submit("search", "gpus=1");
  world.round(500);
  world.running_job(saving).job.eviction.checkpoint_interval = Seconds(300);
  world.running_job(newest).job.eviction.checkpoint_interval = Seconds(300);
  world.running_job(newest).job.eviction.restart_cost = Seconds(100);
  // At 1500: plain 1500 s, saving 0, newer 1000, newest 100 + 100.
  world.submit("ads", "gpus=1");
  Plan plan = world.round(1500);
  EXPECT_EQ(victims_of(plan), Ids{saving});
  EXPECT_EQ(plan.evictions.front().lost, 0);
  world.submit("ads", "gpus=1");
  plan = world.round(1530);
  EXPECT_EQ(victims_of(plan), Ids{newest});
  EXPECT_EQ(plan.evictions.front().lost, (130 + 100) * 1000);
  world.submit("ads", "gpus=1");
  EXPECT_EQ(victims_of(world.round(1560)), Ids{newer});
  EXPECT_TRUE(world.runs(plain));
}

TEST(ReclaimTest, LowerClassesGoFirstWhateverTheyLose) {
  Company world("1x2:A100", "ads gpu=2 / search");
  const std::int64_t high = world.submit("search", "gpus=1 class=1");
  const std::int64_t low = world.submit("search", "gpus=1 class=0");
  world.round(0);
  world.running_job(high).job.eviction.checkpoint_interval = Seconds(1);
  world.submit("ads", "gpus=1");
  EXPECT_EQ(victims_of(world.round(1000)), Ids{low});
}

TEST(ReclaimTest, RulesOfTime) {
  Borrowed world;
  world.submit("ads", "gpus=1");
  EXPECT_TRUE(world.round(599).evictions.empty()) << "minimum run time of 600 s";
  const std::int64_t late = world.submit("ads", "gpus=1");
  EXPECT_EQ(world.round(600).evictions.size(), 1u) << "and only for the one that has waited for 30 s";
  EXPECT_FALSE(world.runs(late));
  EXPECT_EQ(world.round(629).evictions.size(), 1u) << "submitted at 599";
}

TEST(ReclaimTest, CoolDownAfterAnEviction) {
  Company world("1x1:A100", "ads gpu=1 / search");
  world.snapshot.rules.min_runtime = Seconds(10);
  const std::int64_t victim = world.submit("search", "gpus=1");
  world.round(0);
  world.submit("ads", "gpus=1", 100);
  EXPECT_EQ(victims_of(world.round(50)), Ids{victim});
  world.round(150);
  EXPECT_TRUE(world.runs(victim));
  world.submit("ads", "gpus=1");
  EXPECT_TRUE(world.round(749).evictions.empty());
  EXPECT_EQ(victims_of(world.round(750)), Ids{victim}) << "600 s after its start at 150";
}

TEST(ReclaimTest, AJobsOwnMinimumRunTimeCounts) {
  Borrowed world;
  for (const std::int64_t job : world.jobs) world.running_job(job).job.eviction.min_runtime = Seconds(3000);
  world.submit("ads", "gpus=1");
  EXPECT_TRUE(world.round(2999).evictions.empty());
  EXPECT_EQ(world.round(3000).evictions.size(), 1u);
}

TEST(ReclaimTest, AnOwnerTakesBackFromWhatEvictedIt) {
  Borrowed world;  // what was evicted for these ran on a quota that is the other queue's now
  const std::int64_t owner = world.submit("ads", "gpus=8");
  world.waiting_job(owner).eviction.evicted_for = world.jobs;
  EXPECT_EQ(world.round(1000).evictions.size(), 8u);
}

TEST(ReclaimTest, ByPriorityNeverAJobThatEvictedIt) {
  Company world("1x4:A100", "ads gpu=4");
  const std::int64_t low = world.submit("ads", "gpus=4 class=0");
  world.round(0);
  const std::int64_t high = world.submit("ads", "gpus=4 class=1");
  world.waiting_job(high).eviction.evicted_for = {low};
  EXPECT_TRUE(world.round(1000).evictions.empty());
}

TEST(ReclaimTest, TheBudgetOfAQueueBoundsWhatItLoses) {
  Company world("1x8:A100", "ads gpu=8 / search budget=2500000");
  for (int i = 0; i < 8; ++i) world.submit("search", "gpus=1");
  world.round(0);
  for (int i = 0; i < 8; ++i) world.submit("ads", "gpus=1");
  EXPECT_EQ(world.round(1000).evictions.size(), 2u) << "1000 GPU-seconds each";
  EXPECT_TRUE(world.round(2000).evictions.empty());
  EXPECT_TRUE(world.round(4000).evictions.empty()) << "one would lose more than the budget of an hour";
}

TEST(ReclaimTest, SurplusOfElasticJobsBeforeWholeJobs) {
  Company world("1x8:A100", "ads gpu=4 / search gpu=2");
  const std::int64_t elastic = world.submit("search", "gpus=1 tasks=6 min=2");
  const std::int64_t fixed = world.submit("search", "gpus=1 tasks=2");
  world.round(0);
  EXPECT_EQ(world.tasks_of(elastic), 6u);
  world.running_job(fixed).job.eviction.checkpoint_interval = Seconds(1);
  const std::int64_t owner = world.submit("ads", "gpus=1 tasks=3");
  const Plan plan = world.round(1000);
  ASSERT_EQ(victims_of(plan), Ids{elastic});
  EXPECT_FALSE(plan.evictions.front().whole);
  EXPECT_EQ(plan.evictions.front().tasks, (std::vector<TaskName>{{0, 5}, {0, 4}, {0, 3}}));
  EXPECT_TRUE(world.runs(owner));
  EXPECT_EQ(world.tasks_of(elastic), 3u);
}

TEST(ReclaimTest, TheGangOfAnElasticJobWithinQuotaIsLeftAlone) {
  Company world("1x8:A100", "ads gpu=8 / search gpu=2");
  const std::int64_t elastic = world.submit("search", "gpus=1 tasks=8 min=2");
  world.round(0);
  world.submit("ads", "gpus=1 tasks=7");
  EXPECT_TRUE(world.round(1000).evictions.empty()) << "6 are on loan, no more";
  world.submit("ads", "gpus=1 tasks=6");
  EXPECT_EQ(world.round(1100).evictions.size(), 1u);
  EXPECT_EQ(world.tasks_of(elastic), 2u);
}

TEST(ReclaimTest, AHigherClassOfTheSameQueue) {
  Company world("1x4:A100", "ads gpu=4");
  const std::int64_t low = world.submit("ads", "gpus=2 class=0");
  const std::int64_t high = world.submit("ads", "gpus=2 class=1");
  world.round(0);
  const std::int64_t same = world.submit("ads", "gpus=2 class=0");
  EXPECT_TRUE(world.round(1000).evictions.empty());
  const std::int64_t next = world.submit("ads", "gpus=2 class=1");
  const Plan plan = world.round(2000);
  ASSERT_EQ(victims_of(plan), Ids{low});
  EXPECT_EQ(plan.evictions.front().rule, EvictionRule::kPriority);
  EXPECT_TRUE(world.runs(next) && world.runs(high) && !world.runs(same));
}

TEST(ReclaimTest, AHigherClassTakesThePlaceOfALowerAtTheLimit) {
  Company world("1x8:A100", "ads gpu=2 gpu.limit=4");
  const std::int64_t low = world.submit("ads", "gpus=2 class=0");
  const std::int64_t other = world.submit("ads", "gpus=2 class=0");
  world.round(0);
  const std::int64_t high = world.submit("ads", "gpus=2 class=1");
  const Plan plan = world.round(1000);
  EXPECT_EQ(victims_of(plan), Ids{other}) << "the first is within quota, and the newcomer would not be";
  EXPECT_TRUE(world.runs(high) && world.runs(low));
}

TEST(ReclaimTest, ByPriorityOnlyWithTheQuotaOfTheVictim) {
  Company world("1x4:A100", "ads gpu=2");
  const std::int64_t low = world.submit("ads", "gpus=2 class=0");
  const std::int64_t other = world.submit("ads", "gpus=2 class=0");
  world.round(0);
  world.submit("ads", "gpus=4 class=1");
  EXPECT_TRUE(world.round(1000).evictions.empty()) << "it would borrow, the first does not";
  EXPECT_TRUE(world.runs(low) && world.runs(other));
}

TEST(ReclaimTest, GraceHoldsTheRoomForTheBeneficiary) {
  Borrowed world;
  for (const std::int64_t job : world.jobs) {
    world.running_job(job).job.eviction.checkpoint_grace = Seconds(120);
    world.running_job(job).job.eviction.restart_cost = Seconds(7);
  }
  const std::int64_t owner = world.submit("ads", "gpus=8");
  Plan plan = world.round(1000);
  ASSERT_EQ(plan.evictions.size(), 8u);
  EXPECT_EQ(plan.evictions.front().stop_at, Seconds(1120));
  EXPECT_EQ(plan.evictions.front().lost, 7000) << "it writes a checkpoint first";
  ASSERT_EQ(plan.reservations.size(), 1u);
  const Reservation& held = plan.reservations.front();
  EXPECT_EQ(held.job, owner);
  EXPECT_EQ(held.kind, ReservationKind::kEviction);
  EXPECT_EQ(held.expected, Seconds(1120));
  EXPECT_EQ(held.expires, Seconds(1120 + 3600));
  ASSERT_EQ(held.tasks.size(), 1u);
  EXPECT_FALSE(world.runs(owner));
  EXPECT_TRUE(world.round(1060).evictions.empty()) << "nobody else is evicted for it meanwhile";
  const std::int64_t thief = world.submit("search", "gpus=1");
  plan = world.round(1120);
  EXPECT_EQ(plan.evictions.size(), 8u) << "those told to stop end";
  EXPECT_TRUE(world.runs(owner));
  EXPECT_FALSE(world.runs(thief));
}

TEST(ReclaimTest, NobodyStopsBeforeTheLastGraceIsOver) {
  Company world("1x4:A100", "ads gpu=4 / search");
  const std::int64_t saves = world.submit("search", "gpus=1");
  const std::int64_t plain = world.submit("search", "gpus=3");
  world.round(0);
  world.running_job(saves).job.eviction.checkpoint_grace = Seconds(600);
  const std::int64_t owner = world.submit("ads", "gpus=4");
  const Plan plan = world.round(1000);
  ASSERT_EQ(victims_of(plan), (Ids{saves, plain}));
  for (const Eviction& eviction : plan.evictions) EXPECT_EQ(eviction.stop_at, Seconds(1600));
  EXPECT_EQ(std::ranges::find(plan.evictions, plain, &Eviction::job)->lost, 3 * 1600 * 1000);
  EXPECT_TRUE(world.runs(plain)) << "its room is of no use to the owner without the other's";
  world.round(1600);
  EXPECT_TRUE(world.runs(owner) && !world.runs(plain) && !world.runs(saves));
}

TEST(ReclaimTest, WhoWaitedForAGraceThatIsOverStops) {
  Company world("1x4:A100", "ads gpu=4 / search");
  const std::int64_t slow = world.submit("search", "gpus=1", 1050);
  const std::int64_t quick = world.submit("search", "gpus=1", 1105);
  const std::int64_t plain = world.submit("search", "gpus=2");
  world.round(0);
  world.running_job(slow).job.eviction.checkpoint_grace = Seconds(600);
  world.running_job(quick).job.eviction.checkpoint_grace = Seconds(60);
  const std::int64_t owner = world.submit("ads", "gpus=4");
  EXPECT_EQ(world.round(1000).evictions.size(), 3u);
  Plan plan = world.round(1100);
  EXPECT_EQ(victims_of(plan), (Ids{quick, plain}));
  for (const Eviction& eviction : plan.evictions) EXPECT_EQ(eviction.stop_at, Seconds(1160)) << "its grace is to come";
  EXPECT_EQ(plan.reservations.front().expected, Seconds(1160));
  plan = world.round(1110);
  EXPECT_EQ(victims_of(plan), Ids{plain});
  EXPECT_EQ(plan.evictions.front().lost, 2 * 1110 * 1000);
  EXPECT_TRUE(world.runs(owner));
}

TEST(ReclaimTest, SurplusIsTakenWhenTheLastGraceIsOver) {
  Company world("1x8:A100", "ads gpu=7 / search gpu=1");
  const std::int64_t elastic = world.submit("search", "gpus=1 tasks=4 min=1");
  const std::int64_t saves = world.submit("search", "gpus=4");
  world.round(0);
  world.running_job(saves).job.eviction.checkpoint_grace = Seconds(600);
  const std::int64_t owner = world.submit("ads", "gpus=7");
  EXPECT_EQ(victims_of(world.round(1000)), Ids{saves});
  EXPECT_EQ(world.tasks_of(elastic), 4u);
  EXPECT_TRUE(world.round(1300).evictions.empty());
  world.round(1600);
  EXPECT_TRUE(world.runs(owner));
  EXPECT_EQ(world.tasks_of(elastic), 1u);
}

TEST(ReclaimTest, WhoseBudgetIsUsedUpDoesNotWorkOn) {
  Company world("1x4:A100", "ads gpu=4 / search");
  const std::int64_t saves = world.submit("search", "gpus=1");
  const std::int64_t plain = world.submit("search", "gpus=3");
  world.round(0);
  world.running_job(saves).job.eviction.checkpoint_grace = Seconds(600);
  world.snapshot.rules.eviction_budget = 3 * 1000 * 1000;
  world.submit("ads", "gpus=4");
  const Plan plan = world.round(1000);
  EXPECT_EQ(victims_of(plan), (Ids{saves, plain}));
  EXPECT_FALSE(world.runs(plain));
}

TEST(ReclaimTest, NobodyIsEvictedForRoomThatACancelledJobLeaves) {
  Company world("2x2:A100", "ads gpu=4 / search");
  const std::int64_t leaves = world.submit("search", "gpus=2");
  const std::int64_t stays = world.submit("search", "gpus=2");
  world.round(0);
  world.running_job(leaves).ends_by = Seconds(1060);
  const std::int64_t first = world.submit("ads", "gpus=2");
  EXPECT_TRUE(world.round(1000).evictions.empty());
  world.submit("ads", "gpus=1");
  EXPECT_EQ(victims_of(world.round(1040)), Ids{stays}) << "the room is the first owner's";
  EXPECT_FALSE(world.runs(first));
  world.submit("ads", "gpus=1");
  EXPECT_EQ(victims_of(world.round(1045)), Ids{}) << "it fits beside the second";
}

TEST(ReclaimTest, OthersAreEvictedWhereACancelledJobHangs) {
  Company world("2x2:A100", "ads gpu=4 / search");
  const std::int64_t hangs = world.submit("search", "gpus=2");
  const std::int64_t stays = world.submit("search", "gpus=2");
  world.round(0);
  world.running_job(hangs).ends_by = Seconds(500);
  const std::int64_t owner = world.submit("ads", "gpus=2");
  EXPECT_EQ(victims_of(world.round(1000)), Ids{stays});
  EXPECT_TRUE(world.runs(owner) && world.runs(hangs));
}

TEST(ReclaimTest, RoomToComeThatDoesNotFitServesNobody) {
  Company world("2x2:A100", "ads gpu=4 / search");
  Ids jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(world.submit("search", "gpus=1"));
    world.round(i);
  }
  world.running_job(jobs[0]).ends_by = Seconds(1060);
  const std::int64_t owner = world.submit("ads", "gpus=2");
  EXPECT_FALSE(world.round(1000).evictions.empty()) << "half a node";
  EXPECT_TRUE(world.runs(owner));
}

TEST(ReclaimTest, EvictsWithinARackThatIsAskedFor) {
  Company world("2x2:A100 rack=r1; 2x2:A100 rack=r2", "ads gpu=4 / search gpu=2");
  Ids jobs;
  for (int i = 0; i < 8; ++i) {
    jobs.push_back(world.submit("search", "gpus=1"));
    world.round(i);
  }
  const std::int64_t owner = world.submit("ads", "gpus=2 tasks=2 locality=rack");
  const Plan plan = world.round(5000);
  EXPECT_TRUE(world.runs(owner));
  EXPECT_EQ(plan.evictions.size(), 4u);
}

TEST(ReclaimTest, SparesWhomTheJobDoesNotNeed) {
  Company world("2x8:A100", "ads gpu=8 / search gpu=2");
  const std::int64_t wide = world.submit("search", "gpus=4 tasks=3");  // 12 on two nodes
  const std::int64_t small = world.submit("search", "gpus=1");
  world.round(0);
  const std::int64_t owner = world.submit("ads", "gpus=8");
  const Plan plan = world.round(1000);
  EXPECT_EQ(victims_of(plan), Ids{wide});
  EXPECT_TRUE(world.runs(owner) && world.runs(small));
}

TEST(ReclaimTest, BetweenTeamsOfOneDepartment) {
  Company world("1x8:A100", "corp gpu=8 / ads < corp gpu=4 / search < corp gpu=4");
  for (int i = 0; i < 8; ++i) world.submit("search", "gpus=1");
  world.round(0);
  for (int i = 0; i < 6; ++i) world.submit("ads", "gpus=1");
  EXPECT_EQ(world.round(1000).evictions.size(), 4u);
}

TEST(ReclaimTest, JobsWithoutAQueueRunOnWhatOthersOwn) {
  Company world("1x2:A100", "ads gpu=1");
  world.submit("", "gpus=1");
  world.submit("", "gpus=1");
  world.round(0);
  const std::int64_t owner = world.submit("ads", "gpus=1");
  EXPECT_EQ(world.round(1000).evictions.size(), 1u);
  EXPECT_TRUE(world.runs(owner));
}

TEST(ReclaimTest, ABorrowersReservationGivesWay) {
  Company world("1x8:A100", "ads gpu=4 / search gpu=4");
  world.snapshot.rules.backfill = BackfillMode::kEasy;
  world.snapshot.rules.preemption = Preemption::kNone;
  world.submit("search", "gpus=6 class=1", 1000);
  world.round(0);
  const std::int64_t borrower = world.submit("search", "gpus=8 class=1");
  Plan plan = world.round(10);
  ASSERT_EQ(plan.reservations.size(), 1u);
  EXPECT_EQ(plan.reservations.front().job, borrower);
  const std::int64_t owner = world.submit("ads", "gpus=2");
  world.snapshot.order_policy = "fifo";
  plan = world.round(20);
  EXPECT_TRUE(world.runs(owner)) << "it would delay the borrower, but owns what it takes";
}

TEST(ReclaimTest, PreemptionNoneEvictsNobody) {
  Borrowed world;
  world.snapshot.rules.preemption = Preemption::kNone;
  world.submit("ads", "gpus=1");
  EXPECT_TRUE(world.round(5000).evictions.empty());
}

TEST(ReclaimTest, AJobForSeveralModelsTakesBackWhatIsItsOwnOfAny) {
  Company world("1x4:A100; 1x4:T4", "ads A100=4 / search T4=4");
  const std::int64_t lent = world.submit("search", "gpus=4 models=A100");
  const std::int64_t own = world.submit("search", "gpus=4 models=T4");
  world.round(0);
  ASSERT_TRUE(world.runs(lent) && world.runs(own));
  const std::int64_t either = world.submit("ads", "gpus=2 models=T4|A100");
  const Plan plan = world.round(1000);
  EXPECT_EQ(victims_of(plan), Ids{lent}) << "search has its own T4";
  EXPECT_TRUE(world.runs(either));
  const std::int64_t any = world.submit("ads", "gpus=2");
  EXPECT_TRUE(world.round(2000).evictions.empty()) << "there is room beside it";
  EXPECT_TRUE(world.runs(any));
  world.submit("ads", "gpus=2");
  EXPECT_TRUE(world.round(9000).evictions.empty()) << "ads uses all its A100, and has no T4";
}

TEST(ReclaimTest, AQueueIsJudgedByWhatItHasAQuotaOf) {
  Company world("2x8:A100", "ads gpu=8 / search gpu=8 cpu=64");
  const std::int64_t own = world.submit("ads", "gpus=8 cpu=8");
  const std::int64_t lent = world.submit("ads", "gpus=8 cpu=8");
  world.round(0);
  ASSERT_TRUE(world.runs(own) && world.runs(lent));
  const std::int64_t owner = world.submit("search", "gpus=8 cpu=8");
  EXPECT_EQ(world.round(1000).evictions.size(), 1u) << "one of ads is within its quota, though it has none of CPU";
  EXPECT_TRUE(world.runs(owner));
  EXPECT_TRUE(world.runs(own) || world.runs(lent));

  Company other("2x8:A100", "ads gpu=8 / search gpu=8 cpu=64");
  other.submit("search", "gpus=8 cpu=8");
  const std::int64_t borrows = other.submit("search", "gpus=8 cpu=8");
  other.round(0);
  const std::int64_t of_ads = other.submit("ads", "gpus=8 cpu=8");
  EXPECT_EQ(other.round(1000).evictions.size(), 1u) << "and takes back its GPUs";
  EXPECT_TRUE(other.runs(of_ads));
  EXPECT_FALSE(other.runs(borrows));
}

TEST(ReclaimTest, AVictimRunsOnWhenTheBeneficiaryStartsElsewhere) {
  Company world("2x8:A100", "ads gpu=8 / search gpu=8");
  const std::int64_t first = world.submit("search", "gpus=8", 1030);
  const std::int64_t told = world.submit("search", "gpus=8");
  world.round(0);
  for (const std::int64_t job : {first, told}) world.running_job(job).job.eviction.checkpoint_grace = Seconds(120);
  world.running_job(first).job.eviction.restart_cost = Seconds(50);
  world.running_job(first).quota_mark = 1;
  world.running_job(told).quota_mark = 0;
  const std::int64_t owner = world.submit("ads", "gpus=8");
  EXPECT_EQ(victims_of(world.round(1000)), Ids{told});
  const Plan plan = world.round(1060);
  EXPECT_TRUE(world.runs(owner)) << "the other has ended";
  EXPECT_EQ(plan.reprieves, Ids{told});
  EXPECT_TRUE(plan.reservations.empty());
  EXPECT_TRUE(world.round(1200).evictions.empty());
  EXPECT_TRUE(world.runs(told));
}

TEST(ReclaimTest, WhatAnEvictionLeavesGoesToAJobThatWasTriedBefore) {
  Company world("1x8:A100", "ads gpu=8 / search");
  world.snapshot.order_policy = "priority";
  world.snapshot.rules.min_runtime = Seconds(0);
  const std::int64_t guest = world.submit("search", "gpus=8");
  world.round(0);
  world.snapshot.now = Seconds(100);
  const std::int64_t owner = world.submit("ads", "gpus=4");
  world.snapshot.now = Seconds(140);
  const std::int64_t fresh = world.submit("ads", "gpus=3");
  const std::int64_t large = world.submit("ads", "gpus=2");
  for (const std::int64_t job : {fresh, large}) world.waiting_job(job).priority_class = 1;
  const Plan plan = world.round(140);
  EXPECT_EQ(victims_of(plan), Ids{guest});
  EXPECT_TRUE(world.runs(owner));
  EXPECT_TRUE(world.runs(fresh)) << "first in the order, but it has not waited long enough to evict";
  ASSERT_EQ(plan.waiting.size(), 1u);
  EXPECT_EQ(plan.waiting[0].job, large);
  EXPECT_FALSE(world.runs(large)) << "one GPU is left";
  ASSERT_EQ(plan.placements.size(), 2u);
  EXPECT_EQ(plan.placements[0].job, owner) << "its decision is first: the other rests on it";
}

TEST(ReclaimTest, WhomRoomWasMadeForIsNotKeptWaitingByWhoClosesThePass) {
  Company world("2x8:A100", "ads gpu=8 / search / other gpu=1");
  world.snapshot.rules.backfill = BackfillMode::kNone;
  for (int i = 0; i < 2; ++i) {
    const std::int64_t guest = world.submit("search", "gpus=8");
    world.waiting_job(guest).eviction.checkpoint_grace = Seconds(120);
  }
  world.round(0);
  const std::int64_t owner = world.submit("ads", "gpus=8");
  world.snapshot.now = Seconds(999);
  const std::int64_t closer = world.submit("other", "gpus=1");
  EXPECT_EQ(world.round(1000).evictions.size(), 1u);
  world.round(1120);
  EXPECT_TRUE(world.runs(owner));
  EXPECT_FALSE(world.runs(closer));
}

// The borrowers run on past what was believed, so what is reserved among them would never be free.
TEST(ReclaimTest, AnOwnerTakesWhatABorrowerHasReservedAmongLateOnes) {
  for (const char* order : {"fifo", "fair_share", "drf"}) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone}) {
      SCOPED_TRACE(std::string(order) + ", " + std::string(backfill_mode_name(mode)));
      Company world("1x8:A100", "ads gpu=4 / search");
      world.snapshot.order_policy = order;
      world.snapshot.rules.backfill = mode;
      world.snapshot.rules.default_duration = Seconds(1000);
      world.snapshot.rules.reservation_ttl = Seconds(500);
      for (int i = 0; i < 3; ++i) world.submit("search", "gpus=2");
      world.round(0);
      const std::int64_t wide = world.submit("search", "gpus=8");
      for (const std::int64_t now : {10, 1000, 1600, 2200}) world.round(now);
      const std::int64_t owner = world.submit("ads", "gpus=2");
      const Plan plan = world.round(2300);
      EXPECT_TRUE(world.runs(owner));
      EXPECT_TRUE(plan.evictions.empty()) << "what is idle is not kept for the borrower as long as others are late";
      EXPECT_FALSE(world.runs(wide));
    }
  }
}

TEST(ReclaimTest, SurplusTasksThatGoAloneWriteNoCheckpoint) {
  Company world("1x8:A100", "ads gpu=8 / search");
  const std::int64_t elastic = world.submit("search", "gpus=1 tasks=8 min=2");
  world.round(0);
  world.running_job(elastic).job.eviction.checkpoint_grace = Seconds(60);
  world.submit("ads", "gpus=1 tasks=3");
  const Plan plan = world.round(1000);
  ASSERT_EQ(plan.evictions.size(), 1u);
  EXPECT_FALSE(plan.evictions[0].whole);
  EXPECT_EQ(plan.evictions[0].lost, 3 * 1000 * 1000);
}

}  // namespace
}  // namespace berth::test
