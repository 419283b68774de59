// Plans cut behind a decision, and plans with the room that they make for later.
#include "engine/model/plan_prefix.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth {
namespace {

constexpr std::int64_t kVictim = 1;
constexpr std::int64_t kBeneficiary = 5;

Reservation room_for(std::int64_t job, ReservationKind kind) {
  return {.job = job,
          .kind = kind,
          .made_at = Seconds(100),
          .expected = Seconds(220),
          .tasks = {{.group = 0,
                     .task = 0,
                     .node_id = 9,
                     .holding = {2, 0b11, kWholeDevice, MiB(81920), MilliCpu(4000), MiB(1024)}}}};
}

// At 100 job 1 is told to stop until 220, for job 5; job 3 starts anyway.
Plan graceful_plan() {
  Plan plan;
  plan.planned_at = Seconds(100);
  plan.placements.emplace_back().job = 3;
  plan.evictions.push_back({.job = kVictim, .beneficiary = kBeneficiary, .stop_at = Seconds(220)});
  plan.reservations.push_back(room_for(kBeneficiary, ReservationKind::kEviction));
  plan.reservations.push_back(room_for(7, ReservationKind::kBackfill));
  plan.waiting.push_back({.job = kBeneficiary, .reason = Reason::kReserved});
  plan.waiting.push_back({.job = 7, .reason = Reason::kGpu});
  return plan;
}

TEST(PlanPrefixTest, TheRoomThatIsMadeIsThereAtOnce) {
  const std::optional<Plan> made = with_room_made(graceful_plan());
  ASSERT_TRUE(made);
  ASSERT_EQ(made->evictions.size(), 1U);
  EXPECT_EQ(made->evictions[0].stop_at, Seconds(100));
  ASSERT_EQ(made->placements.size(), 2U);
  EXPECT_EQ(made->placements[0].job, 3);
  const Placement placed{.job = kBeneficiary,
                         .node = 2,
                         .node_id = 9,
                         .devices = 0b11,
                         .gpu_milli = kWholeDevice,
                         .gpu_memory = MiB(81920),
                         .cpu = MilliCpu(4000),
                         .memory = MiB(1024)};
  EXPECT_EQ(made->placements[1], placed);
  ASSERT_EQ(made->reservations.size(), 1U);
  EXPECT_EQ(made->reservations[0].job, 7);
  ASSERT_EQ(made->waiting.size(), 1U);
  EXPECT_EQ(made->waiting[0].job, 7);
}

TEST(PlanPrefixTest, WhereNobodyIsToldToStopForAJobNoRoomIsMade) {
  EXPECT_FALSE(with_room_made(Plan()));
  Plan at_once = graceful_plan();
  at_once.evictions[0].stop_at = at_once.planned_at;
  EXPECT_FALSE(with_room_made(at_once));
  Plan for_a_loan = graceful_plan();
  for_a_loan.evictions[0].rule = EvictionRule::kLoan;
  EXPECT_FALSE(with_room_made(for_a_loan));
  // What an earlier round made is kept.
  Plan kept = graceful_plan();
  kept.evictions.clear();
  EXPECT_FALSE(with_room_made(kept));
}

TEST(PlanPrefixTest, ABeneficiaryIsADecisionOfItsOwn) {
  const Plan plan = graceful_plan();
  EXPECT_EQ(deciding_jobs(plan), (std::vector<std::int64_t>{3, kBeneficiary}));
  EXPECT_FALSE(with_room_made(first_decisions(plan, 1)));
  EXPECT_TRUE(with_room_made(first_decisions(plan, 2)));
}

// An earlier round told it to stop: others may take its room before the job for which it was made.
TEST(PlanPrefixTest, AVictimWhoseGraceIsOverEndsInAnyCase) {
  Plan plan = graceful_plan();
  plan.placements.emplace_back().job = kBeneficiary;
  plan.evictions[0].stop_at = plan.planned_at;
  EXPECT_EQ(first_decisions(plan, 1).evictions.size(), 1U);
  plan.evictions[0].why = VictimChoiceReason::kOnly;  // it is this round that evicts it
  EXPECT_TRUE(first_decisions(plan, 1).evictions.empty());
  EXPECT_EQ(first_decisions(plan, 2).evictions.size(), 1U);
}

}  // namespace
}  // namespace berth
