// Jobs that an assertion refused not long ago: they start when they fit, and mean nothing for others until then.
#include <gtest/gtest.h>

#include "engine/round/forecast.h"
#include "engine/round/schedule.h"
#include "tests/company.h"
#include "tests/little_world.h"

namespace berth::test {
namespace {

constexpr Seconds at(std::int64_t seconds) { return Seconds(seconds); }

const Reservation* reservation_of(const Plan& plan, std::int64_t job) {
  const auto found = std::ranges::find(plan.reservations, job, &Reservation::job);
  return found == plan.reservations.end() ? nullptr : &*found;
}

bool starts(const Plan& plan, std::int64_t job) {
  return std::ranges::find(plan.placements, job, &Placement::job) != plan.placements.end();
}

// One node of 8: 6 devices are in use until 1000, the big job, which waits for all 8, was refused at 10.
struct Refused : LittleWorld {
  explicit Refused(BackfillMode mode) : LittleWorld("1x8:A100") {
    snapshot.rules.backfill = mode;
    submit("gpus=6", at(1000));
    round(at(0));
    big = submit("gpus=8", at(100));
    snapshot.refused = {{big, 1, at(10)}};
  }
  std::int64_t big = 0;
};

TEST(RefusedTest, ItGetsNoReservationAndClosesNothing) {
  for (const BackfillMode mode : {BackfillMode::kNone, BackfillMode::kNonePerQueue, BackfillMode::kEasy,
                                  BackfillMode::kConservative, BackfillMode::kGreedy}) {
    SCOPED_TRACE(backfill_mode_name(mode));
    Refused world(mode);
    const std::int64_t small = world.submit("gpus=2", at(5000));
    const Plan plan = world.round(at(20));
    EXPECT_TRUE(starts(plan, small));
    EXPECT_TRUE(plan.reservations.empty());
  }
}

TEST(RefusedTest, AfterAWhileItCountsAgain) {
  Refused world(BackfillMode::kEasy);
  world.submit("gpus=2", at(5000));
  EXPECT_EQ(reservation_of(world.round(at(20)), world.big), nullptr);
  EXPECT_EQ(reservation_of(world.round(at(3609)), world.big), nullptr);
  EXPECT_NE(reservation_of(world.round(at(3610)), world.big), nullptr);
}

TEST(RefusedTest, ItStartsWhenItFits) {
  Refused world(BackfillMode::kEasy);
  EXPECT_TRUE(starts(world.round(at(1000)), world.big));
}

TEST(RefusedTest, WhatWasReservedForItIsGivenUp) {
  Refused world(BackfillMode::kEasy);
  world.snapshot.refused.clear();
  EXPECT_NE(reservation_of(world.round(at(5)), world.big), nullptr);
  world.snapshot.refused = {{world.big, 1, at(10)}};
  EXPECT_EQ(reservation_of(world.round(at(20)), world.big), nullptr);
}

// That it has no claim says nothing about another that asks for the same.
TEST(RefusedTest, OneLikeItGetsTheReservation) {
  Refused world(BackfillMode::kEasy);
  const std::int64_t like = world.submit("gpus=8", at(100));
  const Plan plan = world.round(at(20));
  EXPECT_EQ(reservation_of(plan, world.big), nullptr);
  EXPECT_NE(reservation_of(plan, like), nullptr);
}

TEST(RefusedTest, ItHoldsNoRoomUnderALimit) {
  for (const bool is_refused : {false, true}) {
    LittleWorld world("1x8:A100");
    world.snapshot.rules.backfill = BackfillMode::kEasy;
    const Departments made = departments_from(world.snapshot.cluster, "q gpu.limit=4");
    world.snapshot.queues = made.queues;
    world.snapshot.quotas = made.table;
    const auto submit = [&](std::string_view text, std::int64_t believed) {
      const std::int64_t job = world.submit(text, at(believed));
      world.snapshot.jobs.back().queue = 0;
      return job;
    };
    submit("gpus=3", 1000);
    world.round(at(0));
    const std::int64_t big = submit("gpus=4", 100);
    const std::int64_t small = submit("gpus=1", 5000);
    if (is_refused) world.snapshot.refused = {{big, 1, at(10)}};
    EXPECT_EQ(starts(world.round(at(20)), small), is_refused);
  }
}

TEST(RefusedTest, NobodyIsEvictedForIt) {
  Company world("2x8:A100", "ads gpu=8 / search gpu=8");
  for (int i = 0; i < 16; ++i) world.submit("search", "gpus=1");
  world.round(0);
  const std::int64_t owner = world.submit("ads", "gpus=1 tasks=3");
  world.snapshot.refused = {{owner, 1, at(1000)}};
  EXPECT_TRUE(world.round(1000).evictions.empty());
  EXPECT_TRUE(world.round(4599).evictions.empty());
  EXPECT_EQ(world.round(4600).evictions.size(), 3U);
  EXPECT_TRUE(world.runs(owner));
}

// The forecast knows that room is made for it later.
TEST(RefusedTest, TheForecastWaitsUntilItCounts) {
  Company world("2x8:A100", "ads gpu=8 / search gpu=8");
  for (int i = 0; i < 16; ++i) world.submit("search", "gpus=1");
  world.round(0);
  const std::int64_t owner = world.submit("ads", "gpus=1 tasks=3");
  world.snapshot.now = at(1000);
  const Forecast at_once = must(forecast_start(world.snapshot, owner));
  world.snapshot.refused = {{owner, 1, at(1000)}};
  const Forecast later = must(forecast_start(world.snapshot, owner));
  EXPECT_EQ(at_once.p50, at(1000));
  EXPECT_EQ(later.p50, at(4600));
}

}  // namespace
}  // namespace berth::test
