#include "engine/round/placer.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/policy/registry.h"
#include "tests/builders.h"

namespace berth {
namespace {

// One world: a cluster, its ledger, a placer with best_fit.
struct World {
  explicit World(std::string_view text) : cluster(test::cluster_from(text)), ledger(cluster) { restart(); }
  void restart() {
    score = test::must(make_score("best_fit", ScoreInput{.cluster = &cluster, .workload = {}, .seed = 1}));
    placer.emplace(ledger, *score);
  }
  JobOutcome place(std::string_view job) { return placer->place_job(test::job_from(job, 1, cluster)); }
  std::set<NodeIndex> nodes(const JobOutcome& outcome) const {
    std::set<NodeIndex> set;
    for (const PlacedTask& task : outcome.placed) set.insert(task.holding.node);
    return set;
  }

  Cluster cluster;
  Ledger ledger;
  std::unique_ptr<NodeScore> score;
  std::optional<Placer> placer;
};

TEST(PlacerTest, AGangStartsWholeOrNotAtAll) {
  World world("2x8:A100");
  EXPECT_TRUE(world.place("gpus=8 tasks=2").started);
  World small("2x8:A100");
  const JobOutcome outcome = small.place("gpus=8 tasks=3");
  EXPECT_FALSE(outcome.started);
  EXPECT_TRUE(outcome.placed.empty());
  EXPECT_EQ(outcome.reason, Reason::kGang);
  EXPECT_EQ(outcome.fits, 2);
  EXPECT_EQ(outcome.needed, 3);
  EXPECT_EQ(small.ledger.gpu_used(), MilliGpu(0));
}

TEST(PlacerTest, MinTasksStartTheGangAndTheRestJoinsAsItFits) {
  World world("2x8:A100");
  const JobOutcome outcome = world.place("gpus=8 tasks=3 min=2");
  EXPECT_TRUE(outcome.started);
  EXPECT_EQ(outcome.placed.size(), 2U);
  EXPECT_EQ(outcome.placed[1].task, 1);
}

TEST(PlacerTest, AGroupWithLessChoiceIsNotCrowdedOut) {
  World world("1x4:A100; 1x4:T4; 1x4:H100");
  const JobOutcome outcome =
      world.place("gpus=1 models=A100|T4 / gpus=4 models=A100 / gpus=3 models=T4 / gpus=1 models=H100");
  ASSERT_TRUE(outcome.started);
  EXPECT_TRUE(std::ranges::is_sorted(outcome.placed, {}, &PlacedTask::group));
  EXPECT_EQ(outcome.placed[0].holding.node, 1);
  EXPECT_FALSE(world.place("gpus=1 / gpus=4 models=A100").started);
  EXPECT_EQ(world.ledger.gpu_used(), MilliGpu(9000));
}

TEST(PlacerTest, EveryGroupOfTheGangMustFit) {
  World world("1x8:A100; 1x0");
  const JobOutcome outcome = world.place("gpus=4 tasks=2 / cpu=100");
  EXPECT_FALSE(outcome.started);
  EXPECT_EQ(outcome.group, 1);
  EXPECT_EQ(world.ledger.gpu_used(), MilliGpu(0));
  EXPECT_TRUE(world.place("gpus=4 tasks=2 / cpu=60").started);
}

TEST(PlacerTest, WhatOneGroupNeedsGoesBeforeWhatAnotherWouldLike) {
  World world("1x8:A100");
  const JobOutcome outcome = world.place("gpus=1 tasks=8 min=1 / gpus=1");
  ASSERT_TRUE(outcome.started);
  EXPECT_EQ(outcome.placed.size(), 8U);
  std::set<std::pair<int, int>> tasks;
  for (const PlacedTask& task : outcome.placed) tasks.insert({task.group, task.task});
  EXPECT_EQ(tasks.size(), 8U);
  EXPECT_TRUE(tasks.contains({1, 0}));
}

TEST(PlacerTest, AGroupThatGrowsStaysInItsLinkGroup) {
  World world("1x8:A100 links=[0 1 2 3][4 5 6 7]");
  Job job = test::job_from("gpus=1 tasks=4 min=2 locality=link_group", 1, world.cluster);
  job.groups[0].placed = 2;
  job.groups[0].anchor = 0;
  job.groups[0].anchor_devices = 0b1100;
  ASSERT_TRUE(world.ledger.place({0, 0b1111, kWholeDevice, MiB(81920), MilliCpu(1000), MiB(1)}).ok());
  EXPECT_FALSE(world.placer->place_job(job).started);  // devices 4-7 are free, but in the other group
  ASSERT_TRUE(world.ledger.release({0, 0b1111, kWholeDevice, MiB(81920), MilliCpu(1000), MiB(1)}).ok());
  ASSERT_TRUE(world.ledger.place({0, 0b1100, kWholeDevice, MiB(81920), MilliCpu(1000), MiB(1)}).ok());
  const JobOutcome outcome = world.placer->place_job(job);
  ASSERT_EQ(outcome.placed.size(), 2U);
  EXPECT_EQ(outcome.placed[0].holding.devices | outcome.placed[1].holding.devices, 0b0011U);
  EXPECT_EQ(outcome.placed[0].task, 2);
}

TEST(PlacerTest, MoreThanAnyLinkGroupHoldsNeedsOnlyTheNode) {
  World whole("1x8:A100 links=[0 1 2 3][4 5 6 7]");
  EXPECT_TRUE(whole.place("gpus=1 tasks=5 locality=link_group").started);
  World fractions("1x4:A100 links=[0 1][2 3]");
  EXPECT_TRUE(fractions.place("gpus=0.9 tasks=3 locality=link_group").started);
}

TEST(PlacerTest, SameNodeMeansOneNode) {
  World world("4x4:A100");
  ASSERT_TRUE(world.place("gpus=1").started);  // one node has three left
  const JobOutcome outcome = world.place("gpus=1 tasks=4 locality=node");
  ASSERT_TRUE(outcome.started);
  EXPECT_EQ(world.nodes(outcome).size(), 1U);
  const JobOutcome too_many = world.place("gpus=1 tasks=5 locality=node");
  EXPECT_FALSE(too_many.started);
  EXPECT_EQ(too_many.reason, Reason::kLocality);
}

TEST(PlacerTest, FractionsOnOneNode) {
  World world("3x2:A100");
  const JobOutcome outcome = world.place("gpus=0.5 tasks=4 locality=node");
  ASSERT_TRUE(outcome.started);
  EXPECT_EQ(world.nodes(outcome).size(), 1U);
  EXPECT_FALSE(world.place("gpus=0.5 tasks=5 locality=node").started);
}

TEST(PlacerTest, SameRackTakesTheTightestRack) {
  World world("4x8:A100 rack=a; 2x8:A100 rack=b; 3x8:A100");
  const JobOutcome outcome = world.place("gpus=8 tasks=2 locality=rack");
  ASSERT_TRUE(outcome.started);
  EXPECT_EQ(world.nodes(outcome), (std::set<NodeIndex>{4, 5}));
  EXPECT_FALSE(world.place("gpus=8 tasks=5 locality=rack").started);
  EXPECT_TRUE(world.place("gpus=8 tasks=5 locality=rack preferred=1").started);
}

TEST(PlacerTest, RackCountsFollowTheLedger) {
  World world("2x8:A100 rack=a; 2x8:A100 rack=b");
  EXPECT_TRUE(world.place("gpus=8 tasks=2 locality=rack").started);
  EXPECT_TRUE(world.place("gpus=8 tasks=2 locality=rack").started);
  EXPECT_FALSE(world.place("gpus=8 tasks=2 locality=rack").started);
}

TEST(PlacerTest, SameLinkGroup) {
  World world("1x8:A100 links=[0 1 2 3][4 5 6 7]");
  ASSERT_TRUE(world.place("gpus=2").started);
  const JobOutcome outcome = world.place("gpus=2 tasks=2 locality=link_group");
  ASSERT_TRUE(outcome.started);
  EXPECT_EQ(outcome.placed[0].holding.devices | outcome.placed[1].holding.devices, 0xF0U);
  const JobOutcome across = world.place("gpus=1 tasks=3 locality=link_group");
  EXPECT_FALSE(across.started);
  EXPECT_TRUE(world.place("gpus=1 tasks=2 locality=link_group").started);
}

TEST(PlacerTest, FractionsInOneLinkGroup) {
  World world("1x4:A100 links=[0 1][2 3]");
  const JobOutcome outcome = world.place("gpus=0.6 tasks=2 locality=link_group");
  ASSERT_TRUE(outcome.started);
  EXPECT_EQ(outcome.placed[0].holding.devices | outcome.placed[1].holding.devices, 0b0011U);
  EXPECT_FALSE(world.place("gpus=0.6 tasks=3 locality=link_group").started);  // needs the node, two devices are left
}

TEST(PlacerTest, DrainingNodesTakeNothingNew) {
  World world("1x8:A100 state=draining; 1x4:A100");
  EXPECT_FALSE(world.place("gpus=8").started);
  EXPECT_TRUE(world.place("gpus=4").started);
}

// As a simulation does now and then: what placements know of the nodes must not depend on the log.
TEST(PlacerTest, ForgetsTheLogAndPlacesAsBefore) {
  World world("2x2:A100 rack=a; 3x2:A100 rack=b");
  World other("2x2:A100 rack=a; 3x2:A100 rack=b");
  for (const char* const job : {"gpus=1 tasks=3 locality=rack", "gpus=2", "gpus=1 tasks=4 locality=rack", "gpus=1"}) {
    const JobOutcome one = world.place(job);
    const JobOutcome same = other.place(job);
    world.placer->forget_changes();
    EXPECT_TRUE(world.ledger.changes_since(world.ledger.change_count()).empty());
    ASSERT_EQ(one.placed.size(), same.placed.size()) << job;
    for (std::size_t i = 0; i < one.placed.size(); ++i) EXPECT_EQ(one.placed[i].holding, same.placed[i].holding) << job;
  }
}

}  // namespace
}  // namespace berth
