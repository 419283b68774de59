#include "engine/model/plan.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(PlanTest, JsonReadsBackToTheSamePlan) {
  Plan plan;
  plan.version = 7;
  plan.planned_at = Seconds(1000);
  plan.seed = 18446744073709551615ULL;
  plan.order_policy = "fifo";
  plan.score_policy = "fgd";
  plan.placements.push_back({.job = 1,
                             .group = 0,
                             .task = 3,
                             .node = -1,
                             .node_id = 9,
                             .devices = 0b11,
                             .gpu_milli = MilliGpu(1000),
                             .gpu_memory = MiB(81920),
                             .cpu = MilliCpu(4000),
                             .memory = MiB(1024)});
  plan.waiting.push_back({.job = 2, .reason = Reason::kGang, .group = 1, .fits = 2, .needed = 4});
  const Result<Plan> back = plan_from_json(plan_to_json(plan));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, plan);
  EXPECT_EQ(plan_to_text(*back), plan_to_text(plan));
}

TEST(PlanTest, BrokenJsonIsCorrupt) {
  for (const char* bad : {"", "{}", "[1]", R"({"version":"x"})"})
    EXPECT_EQ(plan_from_json(bad).status().code(), Code::kCorrupt) << bad;
}

TEST(PlanTest, EveryReasonHasAName) {
  for (int r = 0; r <= static_cast<int>(Reason::kOrder); ++r) {
    const Reason reason = static_cast<Reason>(r);
    EXPECT_EQ(*read_reason(reason_name(reason)), reason);
  }
}

}  // namespace
}  // namespace berth
