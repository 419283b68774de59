// Who waits gets its turn: reservations where ranks move, and room under limits.
#include "engine/round/limit_holds.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/departments.h"
#include "tests/little_world.h"

namespace berth {
namespace {

using test::LittleWorld;

constexpr Seconds at(std::int64_t seconds) { return Seconds(seconds); }

const Reservation* reservation_in(const Plan& plan, std::int64_t job) {
  const auto found = std::ranges::find(plan.reservations, job, &Reservation::job);
  return found == plan.reservations.end() ? nullptr : &*found;
}

const Waiting& waiting_in(const Plan& plan, std::int64_t job) {
  return *std::ranges::find(plan.waiting, job, &Waiting::job);
}

bool starts_in(const Plan& plan, std::int64_t job) {
  return std::ranges::find(plan.placements, job, &Placement::job) != plan.placements.end();
}

LittleWorld world_with(const char* order, BackfillMode mode, const char* departments) {
  LittleWorld world("1x8:A100");
  world.snapshot.order_policy = order;
  world.snapshot.rules.backfill = mode;
  world.snapshot.rules.preemption = Preemption::kNone;
  const test::Departments made = test::departments_from(world.snapshot.cluster, departments);
  world.snapshot.queues = made.queues;
  world.snapshot.quotas = made.table;
  return world;
}

std::int64_t submit_to(LittleWorld& world, std::int32_t queue, std::string_view text, std::int64_t believed,
                       std::int64_t real = 0) {
  const std::int64_t job = world.submit(text, at(believed), at(real));
  world.snapshot.jobs.back().queue = queue;
  return job;
}

// ---- where ranks move with what queues use --------------------------------------------------------------------------

// q gives something back and ranks first with its next small job, every time.
TEST(MovingRanksTest, ADueReservationBindsThoseThatAreTriedFirst) {
  for (const char* order : {"fair_share", "drf"}) {
    for (const char* text : {"q / z", "q / z gpu=8"}) {
      for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone}) {
        SCOPED_TRACE(std::string(order) + ", " + text + ", " + std::string(backfill_mode_name(mode)));
        LittleWorld world = world_with(order, mode, text);
        submit_to(world, 0, "gpus=1", 3600);
        world.round(at(0));
        const std::int64_t big = submit_to(world, 1, "gpus=8", 3600);
        for (int i = 0; i < 4; ++i) submit_to(world, 0, "gpus=1", 7200);
        world.round(at(10));
        for (std::int64_t now = 600; now <= 40000 && !world.start_of(big); now += 600) world.round(at(now));
        ASSERT_TRUE(world.start_of(big));
        EXPECT_LE(*world.start_of(big), at(3600 + 7200));
      }
    }
  }
}

// One that borrows gives way to a queue within its quota, but not for ever.
TEST(MovingRanksTest, ABorrowerGivesWayForABoundedTime) {
  LittleWorld world = world_with("fair_share", BackfillMode::kEasy, "q gpu=4 / z gpu=4");
  world.snapshot.rules.reservation_ttl = at(5000);
  submit_to(world, 0, "gpus=2", 1000);
  submit_to(world, 0, "gpus=2", 1500);
  world.round(at(0));
  const std::int64_t big = submit_to(world, 1, "gpus=8", 1000);
  for (std::int64_t now = 100; now < 40000 && !world.start_of(big); now += 100) {
    while (world.snapshot.jobs.size() < 3) submit_to(world, 0, "gpus=2", 1000);
    world.round(at(now));
  }
  ASSERT_TRUE(world.start_of(big));
  EXPECT_GE(*world.start_of(big), at(6500)) << "due at 1500, 5000 of patience";
  EXPECT_LE(*world.start_of(big), at(6500 + 1100));
}

// The reservation goes each time to the job that q submitted last, unless age decides whose turn it is.
TEST(MovingRanksTest, TheTurnIsThatOfTheJobThatCameFirst) {
  for (const char* order : {"fair_share", "drf", "wpai"}) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone}) {
      SCOPED_TRACE(std::string(order) + ", " + std::string(backfill_mode_name(mode)));
      LittleWorld world = world_with(order, mode, "q / z");
      submit_to(world, 0, "gpus=4", 50);
      submit_to(world, 0, "gpus=4", 100);
      submit_to(world, 0, "gpus=4", 100);
      world.round(at(0));
      const std::int64_t big = submit_to(world, 1, "gpus=8", 100);
      world.round(at(0));
      for (std::int64_t now = 50; now <= 10000 && !world.start_of(big); now += 50) {
        submit_to(world, 0, "gpus=4", 100);
        world.round(at(now));
      }
      ASSERT_TRUE(world.start_of(big));
      EXPECT_LE(*world.start_of(big), at(300));
    }
  }
}

// With none, two queues with large jobs close the pass by turns before the small one of a third is looked at.
TEST(MovingRanksTest, AJobThatIsNotLookedAtHasItsTurn) {
  for (const char* order : {"fair_share", "drf", "wpai"}) {
    SCOPED_TRACE(order);
    LittleWorld world = world_with(order, BackfillMode::kNone, "p / q / z");
    submit_to(world, 0, "gpus=8", 100);
    world.round(at(0));
    submit_to(world, 1, "gpus=8", 100);
    world.round(at(0));
    const std::int64_t small = submit_to(world, 2, "gpus=1", 100);
    submit_to(world, 0, "gpus=8", 100);
    world.round(at(0));
    for (std::int64_t now = 100; now <= 10000 && !world.start_of(small); now += 100) {
      submit_to(world, (now / 100) % 2 == 0 ? 0 : 1, "gpus=8", 100);
      world.round(at(now));
    }
    ASSERT_TRUE(world.start_of(small));
    EXPECT_LE(*world.start_of(small), at(300));
  }
}

// The one that closes the pass is tried, though one before it that asks for the same was not looked at.
TEST(MovingRanksTest, TheFirstIsTriedBehindItsLike) {
  for (const char* order : {"fair_share", "drf", "wpai"}) {
    SCOPED_TRACE(order);
    LittleWorld world = world_with(order, BackfillMode::kNone, "q / z");
    submit_to(world, 0, "gpus=1", 100);
    const std::int64_t first = submit_to(world, 0, "gpus=1", 100);
    world.snapshot.reservations = {{.job = first, .made_at = at(0), .expected = at(0), .tasks = {}}};
    EXPECT_TRUE(starts_in(world.round(at(10)), first));
  }
}

// One waits at a limit, the other for nodes: neither makes the other begin anew.
TEST(MovingRanksTest, TwoThatWaitDoNotTakeEachOthersTurn) {
  for (const char* order : {"fair_share", "drf"}) {
    SCOPED_TRACE(order);
    LittleWorld world = world_with(order, BackfillMode::kEasy, "p gpu=4 / q gpu.limit=8 / z");
    world.snapshot.rules.reservation_ttl = at(600);
    submit_to(world, 0, "gpus=4", 100);
    submit_to(world, 1, "gpus=2", 30);
    world.round(at(0));
    const std::int64_t limited = submit_to(world, 1, "gpus=8", 100);
    const std::int64_t other = submit_to(world, 2, "gpus=8", 100);
    world.round(at(0));
    world.round(at(30));
    for (std::int64_t now = 50; now <= 20000 && !(world.start_of(limited) && world.start_of(other)); now += 50) {
      if (now % 100 == 50) submit_to(world, 0, "gpus=4", 100);
      world.round(at(now));
    }
    ASSERT_TRUE(world.start_of(limited));
    ASSERT_TRUE(world.start_of(other));
    EXPECT_LE(std::max(*world.start_of(limited), *world.start_of(other)), at(2000));
  }
}

// Its reservation gives way to one within its quota, and it starts all the same, elsewhere.
TEST(MovingRanksTest, WhatStartsKeepsNoReservation) {
  for (const char* order : {"fair_share", "drf"}) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative}) {
      SCOPED_TRACE(std::string(order) + ", " + std::string(backfill_mode_name(mode)));
      LittleWorld world = world_with(order, mode, "p gpu=4 / z");
      submit_to(world, 1, "gpus=4", 100);
      submit_to(world, 1, "gpus=2", 100);
      submit_to(world, 1, "gpus=1", 1000);
      submit_to(world, 1, "gpus=1", 200, 100);
      world.round(at(0));
      const std::int64_t waits = submit_to(world, 1, "gpus=1", 300);
      world.round(at(0));
      submit_to(world, 0, "gpus=4", 50);
      const Plan plan = world.round(at(101));
      EXPECT_TRUE(starts_in(plan, waits));
      EXPECT_EQ(reservation_in(plan, waits), nullptr);
    }
  }
}

// ---- room under limits ----------------------------------------------------------------------------------------------

// Whatever says so, q may use 4 of 8 GPUs.
constexpr std::array kFourGpus = {"q gpu.limit=4 / z", "q gpu=4 gpu.borrow=0 / z gpu=4",
                                  "q gpu=2 gpu.borrow=2 / z gpu=6", "q / z gpu=8 gpu.lend=4"};

// Two are in use until 1000, one until 2000.
LittleWorld limited_world(const char* order, BackfillMode mode, const char* departments) {
  LittleWorld world = world_with(order, mode, departments);
  submit_to(world, 0, "gpus=1", 1000);
  submit_to(world, 0, "gpus=1", 1000);
  submit_to(world, 0, "gpus=1", 2000);
  world.round(at(0));
  return world;
}

TEST(LimitHoldsTest, TheHeadGetsItsRoom) {
  for (const char* order : {"fifo", "priority", "fair_share", "drf"}) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone}) {
      for (const char* departments : kFourGpus) {
        SCOPED_TRACE(std::string(order) + ", " + std::string(backfill_mode_name(mode)) + ", " + departments);
        LittleWorld world = limited_world(order, mode, departments);
        const std::int64_t head = submit_to(world, 0, "gpus=3", 1000);
        const std::int64_t other = submit_to(world, 1, "gpus=3", 900);
        for (std::int64_t now = 10; now < 20000 && !world.start_of(head); now += 90) {
          while (world.snapshot.jobs.size() < 5) submit_to(world, 0, "gpus=1", 1500);
          world.round(at(now));
        }
        ASSERT_TRUE(world.start_of(head));
        // What z does not lend it lacks only while z uses less: those pass that start while the nodes are full.
        EXPECT_LE(*world.start_of(head), at(departments == kFourGpus.back() ? 2600 : 1100));
        ASSERT_TRUE(world.start_of(other)) << "other queues are not held up";
        EXPECT_EQ(*world.start_of(other), at(10));
      }
    }
  }
}

TEST(LimitHoldsTest, EasyLetsPassWhoEndsInTime) {
  LittleWorld world = limited_world("fifo", BackfillMode::kEasy, kFourGpus[0]);
  const std::int64_t head = submit_to(world, 0, "gpus=3", 1000);
  const std::int64_t too_long = submit_to(world, 0, "gpus=1", 1000);
  const std::int64_t in_time = submit_to(world, 0, "gpus=1", 990);
  const Plan plan = world.round(at(10));
  EXPECT_EQ(waiting_in(plan, head).reason, Reason::kLimit);
  ASSERT_NE(reservation_in(plan, head), nullptr);
  EXPECT_EQ(reservation_in(plan, head)->expected, at(1000));
  EXPECT_TRUE(reservation_in(plan, head)->tasks.empty());
  EXPECT_EQ(waiting_in(plan, too_long).reason, Reason::kReserved);
  EXPECT_EQ(waiting_in(plan, too_long).behind_job, head);
  EXPECT_TRUE(starts_in(plan, in_time));
  EXPECT_TRUE(starts_in(world.round(at(1000)), head));
}

TEST(LimitHoldsTest, WhatIsSpareBesideTheHeadIsForAll) {
  LittleWorld world = limited_world("fifo", BackfillMode::kEasy, "q gpu.limit=5 / z");
  const std::int64_t head = submit_to(world, 0, "gpus=3", 1000);
  const std::int64_t beside = submit_to(world, 0, "gpus=1", 5000);
  const std::int64_t more = submit_to(world, 0, "gpus=1", 5000);
  const Plan plan = world.round(at(10));
  EXPECT_TRUE(starts_in(plan, beside)) << "one until 2000, three for the head";
  EXPECT_EQ(waiting_in(plan, more).behind_job, head);
  EXPECT_TRUE(starts_in(world.round(at(1000)), head));
}

TEST(LimitHoldsTest, GreedyLetsEverybodyPass) {
  LittleWorld world = limited_world("fifo", BackfillMode::kGreedy, kFourGpus[0]);
  const std::int64_t head = submit_to(world, 0, "gpus=3", 1000);
  const std::int64_t small = submit_to(world, 0, "gpus=1", 5000);
  const Plan plan = world.round(at(10));
  EXPECT_TRUE(starts_in(plan, small));
  EXPECT_EQ(reservation_in(plan, head), nullptr);
}

// What it waits for outruns what was believed of it: nobody sneaks in.
TEST(LimitHoldsTest, OnlyWhoEndsForCertainPassesADueHold) {
  LittleWorld world = world_with("fifo", BackfillMode::kEasy, "q gpu.limit=4");
  submit_to(world, 0, "gpus=3", 1000, 4000);
  world.round(at(0));
  const std::int64_t head = submit_to(world, 0, "gpus=4", 100);
  world.round(at(10));
  const std::int64_t quick = submit_to(world, 0, "gpus=1", 100);
  Plan plan = world.round(at(1010));
  EXPECT_EQ(waiting_in(plan, quick).reason, Reason::kReserved);
  EXPECT_EQ(waiting_in(plan, quick).behind_job, head);
  EXPECT_TRUE(starts_in(world.round(at(1100)), quick)) << "100 late: believed to last as long again";
  EXPECT_TRUE(starts_in(world.round(at(4000)), head));
}

TEST(LimitHoldsTest, AJobThatCouldNeverBeAdmittedHoldsNothing) {
  for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kNone}) {
    LittleWorld world = limited_world("fifo", mode, kFourGpus[0]);
    const std::int64_t never = submit_to(world, 0, "gpus=5", 100);
    const std::int64_t small = submit_to(world, 0, "gpus=1", 5000);
    const Plan plan = world.round(at(10));
    EXPECT_TRUE(starts_in(plan, small));
    EXPECT_EQ(reservation_in(plan, never), nullptr);
  }
}

// While somebody runs, nodes lack room for it anyway: that it may borrow so much is known of an empty cluster alone.
TEST(LimitHoldsTest, AJobForWhichOwnersDoNotLendEnoughHoldsNothing) {
  for (const char* order : {"fifo", "fair_share", "drf"}) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone}) {
      SCOPED_TRACE(std::string(order) + ", " + std::string(backfill_mode_name(mode)));
      LittleWorld world = world_with(order, mode, "q gpu=4 gpu.lend=2 / z gpu=4");
      submit_to(world, 0, "gpus=1", 3600);
      world.round(at(0));
      const std::int64_t never = submit_to(world, 1, "gpus=8", 3600);
      EXPECT_EQ(reservation_in(world.round(at(10)), never), nullptr);
      const std::int64_t own = submit_to(world, 1, "gpus=4", 7200);
      EXPECT_TRUE(starts_in(world.round(at(20)), own));
    }
  }
}

}  // namespace
}  // namespace berth
