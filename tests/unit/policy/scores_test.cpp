// Each simple score on hand-made nodes; the comparison with the published runs is tests/reference/fgd_golden_test.cpp.

#include <gtest/gtest.h>

#include <set>

#include "engine/policy/allocation_rate.h"
#include "engine/policy/best_fit_score.h"
#include "engine/policy/dot_product_score.h"
#include "engine/policy/gpu_clustering_score.h"
#include "engine/policy/gpu_packing_score.h"
#include "engine/policy/random_score.h"
#include "engine/policy/reserving_packing_score.h"
#include "engine/policy/worst_fit_score.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

// A cluster with some devices taken, to be scored.
struct World {
  explicit World(const char* text) : cluster(cluster_from(text)), ledger(cluster) {}
  void take(NodeIndex node, DeviceMask devices, const char* task) {
    const TaskShape shape = group_from(task, cluster).shape;
    const NodeKind& kind = cluster.kind_of(static_cast<std::size_t>(node));
    ASSERT_TRUE(ledger.place(holding_for(shape, kind, node, devices)).ok());
  }
  Score score(const NodeScore& policy, NodeIndex node, const char* task) {
    return policy.score(ledger.view(node), group_from(task, cluster).shape);
  }
  Cluster cluster;
  Ledger ledger;
};

TEST(ScoresTest, BestFitLeavesLeast) {
  World world("2x8:H100 cpu=128");
  const BestFitScore policy;
  EXPECT_EQ(world.score(policy, 0, "gpus=1 cpu=64"), 31);  // 1 - (64/128 + 7/8) / 2, truncated
  world.take(0, 0b1111, "gpus=4 cpu=32");
  EXPECT_EQ(world.score(policy, 0, "gpus=1 cpu=64"), 68);
}

TEST(ScoresTest, DotProductIsLeastAligned) {
  World world("1x8:H100 cpu=128; 1x4:H100 cpu=128");
  const DotProductScore policy;
  EXPECT_EQ(world.score(policy, 0, "gpus=4 cpu=64"), 50);  // 1 - (1/2 + 1/2) / 2
  EXPECT_EQ(world.score(policy, 1, "gpus=4 cpu=64"), 62);  // 1 - (1/2 + 1/4) / 2
}

TEST(ScoresTest, GpuPackingBands) {
  World world("3x8:H100");
  const GpuPackingScore policy;
  EXPECT_EQ(world.score(policy, 0, "cpu=1"), 0);
  EXPECT_EQ(world.score(policy, 0, "gpus=1"), 25);
  world.take(1, 1, "gpus=0.5");
  EXPECT_EQ(world.score(policy, 1, "gpus=0.5"), 95);
  EXPECT_EQ(world.score(policy, 1, "gpus=0.6"), 49);
  EXPECT_EQ(world.score(policy, 1, "gpus=2"), 48);
}

TEST(ScoresTest, GpuClusteringLikesItsOwnKind) {
  World world("4x8:H100");
  const GpuClusteringScore policy;
  EXPECT_EQ(world.score(policy, 0, "gpus=0.5"), 25);
  world.take(1, 1, "gpus=0.5");
  EXPECT_EQ(world.score(policy, 1, "gpus=0.2"), 1 + 75);
  EXPECT_EQ(world.score(policy, 1, "gpus=2"), 1);
  world.take(1, 0b110, "gpus=2");
  EXPECT_EQ(world.score(policy, 1, "gpus=0.2"), 7 + 50);
  EXPECT_EQ(world.score(policy, 1, "cpu=1"), 0);
}

TEST(ScoresTest, WorstFitPrefersTheEmptier) {
  World world("2x4:H100 cpu=100 mem=100GiB");
  const WorstFitScore policy;
  EXPECT_EQ(allocation_rate_after(world.ledger.view(0), group_from("gpus=2 cpu=25 mem=75GiB", world.cluster).shape),
            kFullRate / 2);
  world.take(0, 1, "gpus=1 cpu=10");
  EXPECT_LT(world.score(policy, 0, "gpus=1"), world.score(policy, 1, "gpus=1"));
  world.take(1, 0, "cpu=90 mem=90GiB");
  EXPECT_GT(world.score(policy, 0, "gpus=1"), world.score(policy, 1, "gpus=1"));
}

TEST(ScoresTest, ReservingPackingRanksModels) {
  // 40 GiB and 80 GiB devices; the eight-device 80 GiB machines are the most advanced.
  World world("6x4:A10 devmem=24GiB; 2x4:A100 devmem=80GiB; 1x8:H100 devmem=80GiB");
  const ReservingPackingScore policy(world.cluster);
  EXPECT_EQ(policy.rank_of(0), 0);
  EXPECT_EQ(policy.rank_of(1), 1);
  EXPECT_EQ(policy.rank_of(2), 2);
  EXPECT_EQ(policy.high_end(), ModelSet{0b110}) << "H100 alone own less than a quarter";
}

TEST(ScoresTest, ReservingPackingPlans) {
  World world("6x4:A10 devmem=24GiB; 1x8:H100 devmem=80GiB; 1x0");
  const ReservingPackingScore policy(world.cluster);
  const NodeIndex plain = 0;
  const NodeIndex high_end = 6;
  const NodeIndex cpu_node = 7;
  EXPECT_GT(world.score(policy, high_end, "gpus=4"), world.score(policy, plain, "gpus=4")) << "high-GPU";
  EXPECT_GT(world.score(policy, plain, "gpus=1"), world.score(policy, high_end, "gpus=1")) << "packed on plain models";
  EXPECT_GT(world.score(policy, cpu_node, "cpu=1"), world.score(policy, plain, "cpu=1"));
  EXPECT_GT(world.score(policy, plain, "cpu=1"), world.score(policy, high_end, "cpu=1"));
  world.take(1, 0b11, "gpus=2");
  world.take(1, 0b100, "gpus=0.5");
  EXPECT_GT(world.score(policy, 1, "gpus=0.5"), world.score(policy, 0, "gpus=0.5")) << "a shared device first";
  EXPECT_LT(world.score(policy, 1, "gpus=0.6"), world.score(policy, 0, "gpus=0.6")) << "else the emptier node";
}

TEST(ScoresTest, AClusterOfOneModelHasNoHighEnd) {
  World world("4x8:H100");
  EXPECT_EQ(ReservingPackingScore(world.cluster).high_end(), ModelSet{0});
}

TEST(ScoresTest, RandomDrawsEveryDeviceTheSameWayEachTime) {
  World world("1x8:H100");
  std::set<int> drawn;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomScore policy(seed);
    const TaskShape shape = group_from("gpus=0.5", world.cluster).shape;
    const int device = policy.choose_device(world.ledger.view(0), shape, 0b10110100);
    EXPECT_EQ(device, policy.choose_device(world.ledger.view(0), shape, 0b10110100));
    drawn.insert(device);
  }
  EXPECT_EQ(drawn, (std::set<int>{2, 4, 5, 7}));
}

}  // namespace
}  // namespace berth::test
