#include "engine/round/schedule.h"

#include <gtest/gtest.h>

#include "engine/round/explain.h"
#include "tests/builders.h"

namespace berth {
namespace {

Plan plan_of(const Snapshot& snapshot) { return test::must(plan_schedule(snapshot, {.check_invariants = true})).plan; }

TEST(ScheduleTest, AJobThatDoesNotFitDoesNotBlockTheNext) {
  const Snapshot snapshot = test::snapshot_from("1x8:A100", {"gpus=8", "gpus=8", "gpus=0 cpu=4"});
  const Plan plan = plan_of(snapshot);
  ASSERT_EQ(plan.placements.size(), 2U);
  EXPECT_EQ(plan.placements[0].job, 1);
  EXPECT_EQ(plan.placements[1].job, 3);
  ASSERT_EQ(plan.waiting.size(), 1U);
  EXPECT_EQ(plan.waiting[0].job, 2);
  EXPECT_EQ(plan.waiting[0].reason, Reason::kGpu);
}

TEST(ScheduleTest, ReasonsTellThePermanentFromThePassing) {
  const Snapshot snapshot =
      test::snapshot_from("2x8:A100 cpu=16; 1x4:T4", {"gpus=16", "gpus=1 models=H100", "gpus=1 cpu=200",
                                                      "gpus=8 cpu=16", "gpus=8 cpu=16", "gpus=1 cpu=1 models=A100"});
  const Plan plan = plan_of(snapshot);
  ASSERT_EQ(plan.waiting.size(), 4U);
  EXPECT_EQ(plan.waiting[0].reason, Reason::kNoDevice);
  EXPECT_EQ(plan.waiting[1].reason, Reason::kDeviceModel);
  EXPECT_EQ(plan.waiting[2].reason, Reason::kNodeTooSmall);
  EXPECT_EQ(plan.waiting[3].job, 6);
  EXPECT_EQ(plan.waiting[3].reason, Reason::kCpu);
}

TEST(ScheduleTest, SameSnapshotSamePlanBytes) {
  const Snapshot snapshot =
      test::snapshot_from("4x8:A100; 4x4:T4", {"gpus=0.5 tasks=9", "gpus=2 tasks=3", "gpus=8", "cpu=3 tasks=7"});
  EXPECT_EQ(plan_to_text(plan_of(snapshot)), plan_to_text(plan_of(snapshot)));
}

TEST(ScheduleTest, AllocationsOfTheSnapshotCount) {
  Snapshot snapshot = test::snapshot_from("1x8:A100", {"gpus=1"});
  snapshot.allocations.push_back({.job = 99,
                                  .node = 0,
                                  .devices = 0xFF,
                                  .gpu_milli = kWholeDevice,
                                  .gpu_memory = MiB(81920),
                                  .cpu = MilliCpu(1000),
                                  .memory = MiB(1)});
  EXPECT_TRUE(plan_of(snapshot).placements.empty());
  snapshot.allocations.push_back(snapshot.allocations.front());
  EXPECT_EQ(plan_schedule(snapshot).status().code(), Code::kCorrupt);
}

TEST(ScheduleTest, InterruptedPlansNothing) {
  const Snapshot snapshot = test::snapshot_from("1x8:A100", {"gpus=1"});
  const std::atomic<bool> stop = true;
  EXPECT_EQ(plan_schedule(snapshot, {.interrupted = &stop}).status().code(), Code::kInterrupted);
}

TEST(ExplainTest, NearestNodeAndItsShortfall) {
  Snapshot snapshot = test::snapshot_from("2x8:A100; 1x0", {"gpus=4"});
  for (const auto& [node, devices] : {std::pair{0, 0x7F}, std::pair{1, 0x1F}}) {
    snapshot.allocations.push_back({.job = 90 + node,
                                    .node = node,
                                    .devices = static_cast<DeviceMask>(devices),
                                    .gpu_milli = kWholeDevice,
                                    .gpu_memory = MiB(81920),
                                    .cpu = MilliCpu(0),
                                    .memory = MiB(0)});
  }
  const Ledger ledger = test::must(ledger_of(snapshot));
  const ShapeExplanation explanation = explain_shape(ledger, snapshot.jobs[0].groups[0].shape);
  EXPECT_EQ(explanation.dominant, Reason::kGpu);
  EXPECT_EQ(explanation.eligible, 2);
  EXPECT_EQ(explanation.nearest, 1);
  EXPECT_EQ(explanation.lacks.devices, 1);
}

TEST(ExplainTest, NodesThatKeepItOut) {
  Snapshot snapshot = test::snapshot_from("2x8:A100", {"gpus=4"});
  snapshot.kept_out = {{0, Seconds(kNoLimit)}, {1, Seconds(3600)}};
  apply_kept_out(snapshot);
  const Ledger ledger = test::must(ledger_of(snapshot));
  const ShapeExplanation explanation = explain_shape(ledger, snapshot.jobs[0].groups[0].shape);
  EXPECT_EQ(explanation.dominant, Reason::kKeptOut);
  EXPECT_EQ(explanation.eligible, 0);
}

}  // namespace
}  // namespace berth
