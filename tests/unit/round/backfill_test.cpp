// What a job that does not fit means for those behind it, rule by rule.
#include "engine/round/backfill.h"

#include <gtest/gtest.h>

#include "tests/company.h"
#include "tests/little_world.h"

namespace berth {
namespace {

using test::LittleWorld;

const Reservation* reservation_of(const Plan& plan, std::int64_t job) {
  const auto found = std::ranges::find(plan.reservations, job, &Reservation::job);
  return found == plan.reservations.end() ? nullptr : &*found;
}

const Waiting& waiting_of(const Plan& plan, std::int64_t job) {
  return *std::ranges::find(plan.waiting, job, &Waiting::job);
}

bool starts(const Plan& plan, std::int64_t job) {
  return std::ranges::find(plan.placements, job, &Placement::job) != plan.placements.end();
}

constexpr Seconds at(std::int64_t seconds) { return Seconds(seconds); }

// Devices of the first node, until 1000.
Reservation held_room(std::int64_t job, DeviceMask devices) {
  Reservation held;
  held.job = job;
  held.kind = ReservationKind::kEviction;
  held.expected = at(300);
  held.expires = at(1000);
  held.tasks = {{0, 0, 1, {0, devices, kWholeDevice, MiB(81920), MilliCpu(7000), MiB(1024)}}};
  return held;
}

Queue queue_named(std::string name) {
  Queue queue;
  queue.id = 1;
  queue.name = std::move(name);
  return queue;
}

// One node of 8: 6 devices are in use until 1000, the big job waits for all 8.
LittleWorld busy_world(BackfillMode mode) {
  LittleWorld world("1x8:A100");
  world.snapshot.rules.backfill = mode;
  world.submit("gpus=6", at(1000));
  world.round(at(0));
  return world;
}

// Who is promised room there is known to leave it soon: that is what the first waits for.
TEST(BackfillTest, NobodyPassesForTheTimeThatAPromiseDoesNotTake) {
  LittleWorld world("1x8:A100");
  world.snapshot.rules.backfill = BackfillMode::kEasy;
  world.snapshot.rules.default_duration = at(100'000);
  world.submit("gpus=6", at(1000));
  world.round(at(0));
  const std::int64_t promised = world.submit("gpus=2", at(100));
  world.snapshot.reservations.push_back(held_room(promised, 0b11));
  const std::int64_t big = world.submit("gpus=8", at(100));
  const Plan plan = world.round(at(10));
  ASSERT_NE(reservation_of(plan, big), nullptr);
  EXPECT_LE(reservation_of(plan, big)->expected, at(1100));
}

TEST(BackfillTest, GreedyPassesTheBigJobOver) {
  LittleWorld world = busy_world(BackfillMode::kGreedy);
  const std::int64_t big = world.submit("gpus=8", at(100));
  const std::int64_t small = world.submit("gpus=2", at(5000));
  const Plan plan = world.round(at(10));
  EXPECT_TRUE(starts(plan, small));
  EXPECT_EQ(reservation_of(plan, big), nullptr);
}

TEST(BackfillTest, NoneStopsEverybodyBehind) {
  LittleWorld world = busy_world(BackfillMode::kNone);
  const std::int64_t big = world.submit("gpus=8", at(100));
  const std::int64_t small = world.submit("gpus=1", at(10));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(waiting_of(plan, small).reason, Reason::kBlocked);
  EXPECT_EQ(waiting_of(plan, small).behind_job, big);
}

TEST(BackfillTest, EasyLetsPassWhoEndsInTime) {
  LittleWorld world = busy_world(BackfillMode::kEasy);
  const std::int64_t big = world.submit("gpus=8", at(100));
  const std::int64_t too_long = world.submit("gpus=1", at(991));
  const std::int64_t in_time = world.submit("gpus=1", at(990));
  const std::int64_t unknown = world.submit("gpus=1");
  const Plan plan = world.round(at(10));
  ASSERT_NE(reservation_of(plan, big), nullptr);
  EXPECT_EQ(reservation_of(plan, big)->expected, at(1000));
  EXPECT_EQ(reservation_of(plan, big)->tasks.size(), 1U);
  EXPECT_EQ(reservation_of(plan, big)->tasks[0].node_id, 1);
  EXPECT_TRUE(starts(plan, in_time));
  EXPECT_EQ(waiting_of(plan, too_long).reason, Reason::kReserved);
  EXPECT_EQ(waiting_of(plan, too_long).behind_job, big);
  EXPECT_EQ(waiting_of(plan, unknown).reason, Reason::kReserved) << "taken to last rules.default_duration";
  EXPECT_EQ(plan.reservations.size(), 1U);
  EXPECT_TRUE(starts(world.round(at(1000)), big));
}

TEST(BackfillTest, EasyLetsPassWhoTakesNothingReserved) {
  LittleWorld world("2x8:A100");
  world.submit("gpus=6", at(1000));
  world.submit("gpus=6", at(500));
  world.round(at(0));
  const std::int64_t big = world.submit("gpus=8", at(100));
  const std::int64_t beside = world.submit("gpus=2", at(50000));
  const std::int64_t more = world.submit("gpus=2", at(50000));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, big)->expected, at(500));
  EXPECT_EQ(reservation_of(plan, big)->tasks[0].holding.node, 1);
  EXPECT_TRUE(starts(plan, beside));
  EXPECT_EQ(world.node_of(beside), 0);
  EXPECT_EQ(waiting_of(plan, more).reason, Reason::kReserved);
}

// Part of a node is reserved; the rest of it is for everybody.
TEST(BackfillTest, EasySharesTheReservedNode) {
  LittleWorld world("1x8:A100");
  world.submit("gpus=4", at(1000));
  world.submit("gpus=1", at(400));
  world.round(at(0));  // 3 devices are free
  const std::int64_t big = world.submit("gpus=6 cpu=6", at(100));
  const std::int64_t one = world.submit("gpus=1", at(5000));
  const std::int64_t two = world.submit("gpus=1", at(5000));
  const std::int64_t three = world.submit("gpus=1", at(5000));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, big)->expected, at(1000));
  EXPECT_TRUE(starts(plan, one));
  EXPECT_TRUE(starts(plan, two));
  EXPECT_EQ(waiting_of(plan, three).reason, Reason::kReserved);
  EXPECT_TRUE(starts(world.round(at(1000)), big));
}

TEST(BackfillTest, CpuOnlyJobsAndFractionsCount) {
  LittleWorld world("1x1:A100 cpu=8");
  world.submit("gpus=0.6 cpu=4", at(1000));
  world.round(at(0));
  const std::int64_t half = world.submit("gpus=0.7 cpu=6", at(100));
  const std::int64_t much_cpu = world.submit("gpus=0 cpu=3", at(5000));
  const std::int64_t little_cpu = world.submit("gpus=0 cpu=2", at(5000));
  const std::int64_t much_gpu = world.submit("gpus=0.4 cpu=0", at(5000));
  const std::int64_t little_gpu = world.submit("gpus=0.3 cpu=0", at(5000));
  const std::int64_t quick = world.submit("gpus=0.1 cpu=2", at(900));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, half)->expected, at(1000));
  EXPECT_EQ(waiting_of(plan, much_cpu).reason, Reason::kReserved);
  EXPECT_TRUE(starts(plan, little_cpu));
  EXPECT_EQ(waiting_of(plan, much_gpu).reason, Reason::kReserved);
  EXPECT_TRUE(starts(plan, little_gpu));
  EXPECT_TRUE(starts(plan, quick));
  EXPECT_TRUE(starts(world.round(at(1000)), half));
}

TEST(BackfillTest, AGangIsReservedWithItsLocality) {
  LittleWorld world("2x4:A100 rack=a; 2x4:A100 rack=b");
  for (const std::int64_t seconds : {900, 300, 500, 600}) world.submit("gpus=4", at(seconds));
  world.round(at(0));
  const std::int64_t gang = world.submit("gpus=4 tasks=2 locality=rack", at(100));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, gang)->expected, at(600)) << "rack a has two nodes only at 900";
  EXPECT_EQ(reservation_of(plan, gang)->tasks.size(), 2U);
  EXPECT_EQ(reservation_of(plan, gang)->tasks[0].holding.node, 2);
}

TEST(BackfillTest, ALinkGroupIsReservedWhole) {
  LittleWorld world("1x8:A100 links=[0 1 2 3][4 5 6 7]");
  const std::int64_t first = world.submit("gpus=3", at(900));
  world.submit("gpus=3", at(500));
  world.round(at(0));  // one in each group, one device of each is free
  ASSERT_EQ(world.node_of(first), 0);
  const std::int64_t linked = world.submit("gpus=2 tasks=2 locality=link_group", at(100));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, linked)->expected, at(500));
  EXPECT_EQ(
      reservation_of(plan, linked)->tasks[0].holding.devices | reservation_of(plan, linked)->tasks[1].holding.devices,
      DeviceMask{0xF0});
}

TEST(BackfillTest, OnlyTheGangOfAnElasticJobIsReserved) {
  LittleWorld world("2x8:A100");
  world.submit("gpus=8", at(500));
  world.submit("gpus=8", at(9000));
  world.round(at(0));
  const std::int64_t elastic = world.submit("gpus=8 tasks=2 min=1", at(100));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, elastic)->expected, at(500));
  EXPECT_EQ(reservation_of(plan, elastic)->tasks.size(), 1U);
}

TEST(BackfillTest, WhatNeverFitsGetsNothing) {
  LittleWorld world = busy_world(BackfillMode::kEasy);
  const std::int64_t never = world.submit("gpus=8 tasks=2", at(100));
  const std::int64_t other = world.submit("gpus=1 models=H100", at(100));
  const std::int64_t big = world.submit("gpus=8", at(100));
  const std::int64_t behind = world.submit("gpus=1", at(5000));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, never), nullptr);
  EXPECT_EQ(reservation_of(plan, other), nullptr);
  EXPECT_NE(reservation_of(plan, big), nullptr) << "the first that can ever start";
  EXPECT_EQ(waiting_of(plan, behind).reason, Reason::kReserved);
}

TEST(BackfillTest, AReservationMovesToWhereItIsEarlier) {
  LittleWorld world("2x8:A100");
  world.submit("gpus=8", at(1000));
  const std::int64_t brief = world.submit("gpus=8", at(2000), at(2000));
  world.round(at(0));
  const std::int64_t big = world.submit("gpus=8", at(100));
  EXPECT_EQ(reservation_of(world.round(at(10)), big)->tasks[0].holding.node, 0);
  EXPECT_EQ(reservation_of(world.round(at(20)), big)->made_at, at(10));
  // The other one is now believed to end soon.
  std::ranges::find(world.snapshot.running, brief, [](const RunningJob& r) { return r.job.id; })->job.time_limit =
      at(500);
  const Plan plan = world.round(at(30));
  EXPECT_EQ(reservation_of(plan, big)->tasks[0].holding.node, 1);
  EXPECT_EQ(reservation_of(plan, big)->expected, at(500));
  EXPECT_EQ(reservation_of(plan, big)->made_at, at(10));
}

// What it waits for outruns its prediction: nobody sneaks in, and the time is not forgotten.
TEST(BackfillTest, NothingStartsOnTheNodesOfADueReservation) {
  LittleWorld world("2x8:A100");
  world.submit("gpus=6", at(1000), at(3000));
  world.submit("gpus=6", at(5000));
  world.round(at(0));
  const std::int64_t big = world.submit("gpus=8", at(100));
  EXPECT_EQ(reservation_of(world.round(at(10)), big)->expected, at(1000));
  const std::int64_t quick = world.submit("gpus=1", at(100));
  const std::int64_t wide = world.submit("gpus=2", at(100));
  const std::int64_t cpu = world.submit("gpus=0 cpu=50", at(100));
  const Plan plan = world.round(at(1000));
  EXPECT_EQ(reservation_of(plan, big)->expected, at(1000));
  EXPECT_TRUE(starts(plan, quick));
  EXPECT_EQ(world.node_of(quick), 1);
  EXPECT_EQ(waiting_of(plan, wide).reason, Reason::kReserved);
  EXPECT_EQ(waiting_of(plan, wide).behind_job, big);
  EXPECT_TRUE(starts(plan, cpu));
  EXPECT_EQ(world.node_of(cpu), 1);
  EXPECT_EQ(reservation_of(world.round(at(2000)), big)->expected, at(1000));
  EXPECT_TRUE(starts(world.round(at(3000)), big));
}

// One without a limit, a notebook say, may run for ever: what certainly ends before it is believed to end now may pass.
TEST(BackfillTest, WhoEndsForCertainPassesALateReservation) {
  LittleWorld world("1x8:A100");
  world.snapshot.rules.default_duration = at(1000);
  world.submit("gpus=1", Seconds(), at(9000));
  world.round(at(0));
  const std::int64_t big = world.submit("gpus=8", at(100));
  EXPECT_EQ(reservation_of(world.round(at(10)), big)->expected, at(1000));
  const std::int64_t quick = world.submit("gpus=1", at(600));
  const std::int64_t endless = world.submit("gpus=1");
  Plan plan = world.round(at(1500));
  EXPECT_EQ(waiting_of(plan, quick).reason, Reason::kReserved) << "500 late: believed to end at 2000";
  plan = world.round(at(1700));
  EXPECT_TRUE(starts(plan, quick)) << "700 late";
  EXPECT_EQ(waiting_of(plan, endless).reason, Reason::kReserved) << "it has no limit";
  EXPECT_TRUE(starts(world.round(at(9000)), big));
}

// Once due it moves behind what ran then, wherever that is, but not behind what began later.
TEST(BackfillTest, ADueReservationMovesOnlyBehindWhatRanThen) {
  LittleWorld world("3x8:A100");
  world.submit("gpus=8", at(1000), at(9000));
  world.submit("gpus=8", at(3500));
  world.round(at(0));
  const std::int64_t big = world.submit("gpus=8 tasks=2", at(100));
  Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, big)->expected, at(1000)) << "nodes 1 and 3";
  const std::int64_t in_time = world.submit("gpus=8", at(900), at(900));
  EXPECT_TRUE(starts(world.round(at(20)), in_time));
  // The first is 3000 late: taken to run until 7000, while node 2 is free at 3500 - from then on with node 3.
  plan = world.round(at(2500));
  EXPECT_EQ(reservation_of(plan, big)->expected, at(1000));
  EXPECT_EQ(reservation_of(plan, big)->tasks[0].holding.node + reservation_of(plan, big)->tasks[1].holding.node, 1 + 2);
  // Node 1 is nobody's now, but for the job that runs there.
  EXPECT_TRUE(starts(world.round(at(3500)), big));
}

TEST(BackfillTest, ADrainingNodeIsNotReservedAnyMore) {
  LittleWorld world("2x8:A100");
  world.submit("gpus=8", at(1000));
  world.submit("gpus=8", at(2000));
  world.round(at(0));
  const std::int64_t big = world.submit("gpus=8", at(100));
  EXPECT_EQ(reservation_of(world.round(at(10)), big)->tasks[0].holding.node, 0);
  world.snapshot.cluster.nodes[0].state = NodeState::kDraining;
  const Plan plan = world.round(at(20));
  EXPECT_EQ(reservation_of(plan, big)->tasks[0].holding.node, 1);
  EXPECT_EQ(reservation_of(plan, big)->expected, at(2000));
  world.snapshot.cluster.nodes[1].state = NodeState::kDown;
  EXPECT_EQ(reservation_of(world.round(at(30)), big), nullptr);
}

TEST(BackfillTest, NobodyWaitsForAJobThatNoNodeCanRunNow) {
  for (const BackfillMode mode : {BackfillMode::kNone, BackfillMode::kNonePerQueue}) {
    LittleWorld world("1x8:A100; 1x4:A100");
    world.snapshot.rules.backfill = mode;
    world.snapshot.cluster.nodes[0].state = NodeState::kDraining;
    const std::int64_t big = world.submit("gpus=8", at(1000));
    EXPECT_TRUE(starts(world.round(at(0)), world.submit("gpus=4", at(100))));
    world.snapshot.cluster.nodes[0].state = NodeState::kUp;
    world.submit("gpus=4", at(100));
    EXPECT_TRUE(starts(world.round(at(10)), big)) << "its turn came first";
  }
}

TEST(BackfillTest, ACancelledJobLeavesNothingBehind) {
  LittleWorld world = busy_world(BackfillMode::kEasy);
  const std::int64_t big = world.submit("gpus=8", at(100));
  const std::int64_t small = world.submit("gpus=2", at(5000));
  EXPECT_NE(reservation_of(world.round(at(10)), big), nullptr);
  world.cancel(big);
  const Plan plan = world.round(at(20));
  EXPECT_TRUE(starts(plan, small));
  EXPECT_TRUE(plan.reservations.empty());
}

TEST(BackfillTest, AReservationGoesToTheNewFirst) {
  LittleWorld world = busy_world(BackfillMode::kEasy);
  world.snapshot.order_policy = "priority";
  world.snapshot.priority_classes = {{.id = 1, .name = "high", .value = 10}};
  const std::int64_t big = world.submit("gpus=8", at(100));
  EXPECT_NE(reservation_of(world.round(at(10)), big), nullptr);
  const std::int64_t higher = world.submit("gpus=7 class=0", at(100));
  const Plan plan = world.round(at(20));
  EXPECT_EQ(reservation_of(plan, big), nullptr);
  EXPECT_NE(reservation_of(plan, higher), nullptr);
}

TEST(BackfillTest, ConservativeReservesForEachAndDelaysNobody) {
  LittleWorld world = busy_world(BackfillMode::kConservative);
  const std::int64_t first = world.submit("gpus=8", at(100));
  const std::int64_t second = world.submit("gpus=8", at(200));
  const std::int64_t third = world.submit("gpus=4", at(100));
  const std::int64_t fits = world.submit("gpus=2", at(990));
  const Plan plan = world.round(at(10));
  EXPECT_EQ(reservation_of(plan, first)->expected, at(1000));
  EXPECT_EQ(reservation_of(plan, second)->expected, at(1100));
  EXPECT_EQ(reservation_of(plan, third)->expected, at(1300));
  EXPECT_TRUE(starts(plan, fits));
  EXPECT_EQ(plan.reservations.size(), 3U);
}

// Easy lets a job pass that conservative does not: it delays the second, not the first.
TEST(BackfillTest, ConservativeFillsTheGapsBetweenReservations) {
  for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative}) {
    LittleWorld world("2x4:A100");
    world.snapshot.rules.backfill = mode;
    world.submit("gpus=4", at(1000));
    world.submit("gpus=3", at(500));
    world.round(at(0));
    const std::int64_t first = world.submit("gpus=4 tasks=2", at(100));
    const std::int64_t second = world.submit("gpus=4", at(500));
    const std::int64_t small = world.submit("gpus=1", at(700));
    const Plan plan = world.round(at(10));
    EXPECT_EQ(reservation_of(plan, first)->expected, at(1000));
    if (mode == BackfillMode::kEasy) {
      EXPECT_EQ(reservation_of(plan, second), nullptr);
      EXPECT_TRUE(starts(plan, small));
      continue;
    }
    EXPECT_EQ(reservation_of(plan, second)->expected, at(500)) << "in the gap on node 1, over before the first begins";
    EXPECT_EQ(waiting_of(plan, small).behind_job, second);
  }
}

// What is known of one gang bounds only those that are no smaller and no shorter.
TEST(BackfillTest, ConservativeFindsGapsForSmallerAndShorterGangs) {
  LittleWorld world = busy_world(BackfillMode::kConservative);
  const auto gang = [&](int tasks, std::int64_t duration) {
    return world.submit("gpus=1 tasks=" + std::to_string(tasks), at(duration));
  };
  const std::int64_t half = gang(4, 2000);
  const std::int64_t whole = gang(8, 100);
  const std::int64_t short_half = gang(4, 100);
  const std::int64_t long_half = gang(4, 2500);
  const std::int64_t fitting_half = gang(4, 1900);
  const std::int64_t last = gang(3, 1950);
  for (int round = 0; round < 2; ++round) {
    const Plan plan = world.round(at(10 + round));
    EXPECT_EQ(reservation_of(plan, half)->expected, at(1000));
    EXPECT_EQ(reservation_of(plan, whole)->expected, at(3000));
    EXPECT_EQ(reservation_of(plan, short_half)->expected, at(1000));
    EXPECT_EQ(reservation_of(plan, long_half)->expected, at(3100)) << "between the other halves it is too long";
    EXPECT_EQ(reservation_of(plan, fitting_half)->expected, at(1100));
    EXPECT_EQ(reservation_of(plan, last)->expected, at(3100));
  }
}

TEST(BackfillTest, ConservativeStopsAtItsDepth) {
  LittleWorld world = busy_world(BackfillMode::kConservative);
  world.snapshot.rules.backfill_depth = 2;
  for (int i = 0; i < 5; ++i) world.submit("gpus=8", at(100));
  EXPECT_EQ(world.round(at(10)).reservations.size(), 2U);
}

// Quota is not room.
TEST(BackfillTest, AJobRefusedByQuotaGetsNoReservation) {
  LittleWorld world = busy_world(BackfillMode::kEasy);
  world.snapshot.queues = {queue_named("a")};
  world.snapshot.quotas.resources = {{.name = "gpu", .kind = ResourceKind::kGpu}};
  world.snapshot.quotas.terms = {{{.has_quota = true, .quota = 2000, .limit = 4000}}};
  const std::int64_t big = world.submit("gpus=8", at(100));
  const std::int64_t small = world.submit("gpus=2", at(5000));
  for (Job& job : world.snapshot.jobs) job.queue = 0;
  const Plan plan = world.round(at(10));
  EXPECT_EQ(waiting_of(plan, big).reason, Reason::kLimit);
  EXPECT_TRUE(plan.reservations.empty());
  EXPECT_TRUE(starts(plan, small));
}

// Its quota of T4 is used up, so it waits for an A100 - and gets one reserved.
TEST(BackfillTest, TheReservationIsWhereTheQuotaHasRoom) {
  LittleWorld world("1x2:A100; 1x2:T4");
  world.snapshot.queues = {queue_named("a")};
  world.snapshot.quotas.resources = {{.name = "T4", .kind = ResourceKind::kGpu, .models = 2}};
  world.snapshot.quotas.terms = {{{.has_quota = true, .quota = 0, .limit = 0}}};
  world.submit("gpus=2 models=A100", at(1000));
  world.submit("gpus=1 models=T4", at(500));
  world.round(at(0));
  const std::int64_t any = world.submit("gpus=1", at(100));
  const std::int64_t sly = world.submit("gpus=1 models=A100", at(100));
  for (Job& job : world.snapshot.jobs) job.queue = 0;
  const Plan plan = world.round(at(10));
  ASSERT_NE(reservation_of(plan, any), nullptr);
  EXPECT_EQ(reservation_of(plan, any)->tasks[0].holding.node, 0);
  EXPECT_EQ(reservation_of(plan, any)->expected, at(1000));
  EXPECT_EQ(reservation_of(plan, sly), nullptr);
}

// Room made by evictions is for the beneficiary alone, however short the others are.
TEST(BackfillTest, HeldRoomIsForItsJobAlone) {
  for (const BackfillMode mode : {BackfillMode::kGreedy, BackfillMode::kEasy, BackfillMode::kNone}) {
    LittleWorld world("1x8:A100");
    world.snapshot.rules.backfill = mode;
    world.snapshot.rules.preemption = Preemption::kNone;
    world.snapshot.rules.told_still_stop = true;
    const std::int64_t victim = world.submit("gpus=6", at(9000));
    world.round(at(0));
    const std::int64_t ahead = world.submit("gpus=2", at(10));
    const std::int64_t owner = world.submit("gpus=7 cpu=7", at(100));
    world.snapshot.running[0].stop_at = at(300);
    world.snapshot.running[0].stops_for = owner;
    world.snapshot.running[0].job.eviction.checkpoint_grace = at(300);
    world.snapshot.reservations = {held_room(owner, 0x7F)};
    const std::int64_t one = world.submit("gpus=1", at(90000));
    Plan plan = world.round(at(10));
    EXPECT_EQ(waiting_of(plan, ahead).behind_job, owner);
    EXPECT_EQ(waiting_of(plan, owner).reason, Reason::kReserved);
    if (mode != BackfillMode::kNone) {
      EXPECT_TRUE(starts(plan, one)) << "the eighth device is nobody's";
    }
    world.cancel(victim);
    plan = world.round(at(300));
    EXPECT_TRUE(starts(plan, owner));
    EXPECT_EQ(reservation_of(plan, owner), nullptr);
  }
}

TEST(BackfillTest, HeldRoomExpires) {
  LittleWorld world("1x8:A100");
  world.snapshot.rules.backfill = BackfillMode::kGreedy;
  world.submit("gpus=1", at(9000));
  world.round(at(0));
  const std::int64_t small = world.submit("gpus=2", at(10));
  const std::int64_t owner = world.submit("gpus=8 cpu=7", at(100));
  world.snapshot.reservations = {held_room(owner, 0xFF)};
  EXPECT_FALSE(starts(world.round(at(999)), small));
  EXPECT_TRUE(starts(world.round(at(1000)), small));
  EXPECT_TRUE(world.snapshot.reservations.empty());
}

// A job that asks for the same as one that was refused for a reservation, and is shorter, is still tried.
TEST(BackfillTest, AShorterJobIsTriedAfterALongerWasRefused) {
  LittleWorld world = busy_world(BackfillMode::kEasy);
  world.submit("gpus=8", at(100));
  for (const std::int64_t seconds : {5000, 6000, 2000}) world.submit("gpus=1", at(seconds));
  const std::int64_t in_time = world.submit("gpus=1", at(500));
  const Plan plan = world.round(at(10));
  EXPECT_TRUE(starts(plan, in_time));
  EXPECT_EQ(plan.placements.size(), 1U);
}

// Room is taken back for it on the model of which its queue owns some: its surplus may join it on the other one.
TEST(BackfillTest, WhoTakesBackBehindACloserMayGrowOnAnyModel) {
  test::Company world("1x4:A100; 1x4:T4", "ads A100=2 T4=4 / guest / big");
  world.snapshot.order_policy = "fifo";
  world.snapshot.rules.backfill = BackfillMode::kNone;
  world.submit("ads", "gpus=2 models=A100");
  for (const char* text : {"gpus=2 models=A100", "gpus=2 models=T4", "gpus=2 models=T4"}) world.submit("guest", text);
  world.round(0);
  world.submit("big", "gpus=4 models=A100");
  const std::int64_t owner = world.submit("ads", "gpus=2 tasks=4 min=1");
  std::optional<ModelSet> models;
  world.look = [&](const Plan&, const RoundState& state) {
    if (const RunningJob* const run = state.running().find(owner)) models = run->job.groups.front().shape.models;
  };
  EXPECT_EQ(world.round(1000).evictions.size(), 1u);
  EXPECT_EQ(models, ModelSet{0});
}

}  // namespace
}  // namespace berth
