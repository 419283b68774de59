#include "engine/round/room_left.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/round/schedule.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

const Waiting& waiting_of(const Plan& plan, std::int64_t job) {
  return *std::ranges::find(plan.waiting, job, &Waiting::job);
}

TEST(RoomLeft, ScatteredGpusAreInPieces) {
  // Two nodes, each with one device left.
  const Plan plan = must(plan_schedule(snapshot_from("2x4:A100", {"gpus=3 tasks=2", "gpus=2", "gpus=3"}))).plan;
  EXPECT_TRUE(waiting_of(plan, 2).in_pieces);
  EXPECT_FALSE(waiting_of(plan, 3).in_pieces);
}

TEST(RoomLeft, GpusOfANodeWithoutCpuAreNoPieces) {
  // Of four devices three are left, of two cores one.
  const Plan plan = must(plan_schedule(snapshot_from("1x4:A100 cpu=2", {"gpus=1 cpu=1", "gpus=1 cpu=1 tasks=2"}))).plan;
  EXPECT_EQ(waiting_of(plan, 2).reason, Reason::kGang);
  EXPECT_FALSE(waiting_of(plan, 2).in_pieces);
}

TEST(RoomLeft, WhoWouldHaveFittedBeforeTheRoundWasPassedOver) {
  const Plan plan = must(plan_schedule(snapshot_from("1x4:A100", {"gpus=3", "gpus=4", "gpus=5"}))).plan;
  EXPECT_TRUE(waiting_of(plan, 2).passed_over);
  EXPECT_FALSE(waiting_of(plan, 3).passed_over);
}

TEST(RoomLeft, WhereNothingStartsNobodyIsPassedOver) {
  const Plan plan = must(plan_schedule(snapshot_from("2x4:A100", {"gpus=4 tasks=3", "gpus=4 tasks=4"}))).plan;
  EXPECT_FALSE(waiting_of(plan, 1).passed_over);
  EXPECT_FALSE(waiting_of(plan, 2).passed_over);
}

}  // namespace
}  // namespace berth::test
