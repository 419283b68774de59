#include "engine/policy/candidates.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/policy/best_fit_score.h"
#include "engine/policy/random_score.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

TaskShape shape_from(const char* text, Cluster& cluster) { return group_from(text, cluster).shape; }

Holding taking(NodeIndex node, std::int64_t cpu, std::int64_t memory) {
  Holding holding;
  holding.node = node;
  holding.cpu = MilliCpu(cpu);
  holding.memory = MiB(memory);
  return holding;
}

TEST(CandidatesTest, TiesGoToTheLowestRank) {
  Cluster cluster = cluster_from("4x8:H100");
  Ledger ledger(cluster);
  BestFitScore policy;
  const TaskShape shape = shape_from("gpus=1", cluster);
  EXPECT_EQ(Candidates(ledger, policy).best(shape), 0);
  const std::vector<std::int32_t> rank{3, 1, 0, 2};
  Candidates candidates(ledger, policy, rank);
  EXPECT_EQ(candidates.best(shape), 2);
  EXPECT_EQ(candidates.best_among(shape, std::array<NodeIndex, 2>{0, 3}), 3);
  EXPECT_EQ(candidates.best_among(shape, {}), std::nullopt);
}

TEST(CandidatesTest, NothingFits) {
  Cluster cluster = cluster_from("2x8:H100; 1x8:H100 state=draining");
  Ledger ledger(cluster);
  BestFitScore policy;
  Candidates candidates(ledger, policy);
  EXPECT_EQ(candidates.best(shape_from("gpus=9", cluster)), std::nullopt);
  EXPECT_EQ(candidates.best(shape_from("gpus=1 mem=999GiB", cluster)), std::nullopt);
  EXPECT_EQ(candidates.score_of(shape_from("gpus=1", cluster), 2), kInfeasibleScore);
  EXPECT_NE(candidates.score_of(shape_from("gpus=1", cluster), 1), kInfeasibleScore);
  Cluster empty;
  Ledger empty_ledger(empty);
  EXPECT_EQ(Candidates(empty_ledger, policy).best(shape_from("cpu=1", cluster)), std::nullopt);
}

// Nodes that look best but for their memory, more and more of them, asked for by tasks of falling and rising memory.
TEST(CandidatesTest, ANodeMayBeClosedForAWhile) {
  Cluster cluster = cluster_from("2x8:H100");
  Ledger ledger(cluster);
  BestFitScore policy;
  const TaskShape shape = shape_from("gpus=1", cluster);
  Candidates candidates(ledger, policy);
  EXPECT_EQ(candidates.best(shape), 0);
  ledger.set_accepts(0, false);
  EXPECT_EQ(candidates.best(shape), 1);
  EXPECT_EQ(candidates.score_of(shape, 0), kInfeasibleScore);
  ASSERT_TRUE(ledger.place(taking(0, 1000, 0)).ok());
  ledger.set_accepts(1, false);
  EXPECT_EQ(candidates.best(shape), std::nullopt);
  ledger.set_accepts(0, true);
  EXPECT_EQ(candidates.best(shape), 0);
}

TEST(CandidatesTest, NodesThatLackMemoryOnly) {
  Cluster cluster = cluster_from("300x8:H100 cpu=64 mem=100GiB");
  Ledger ledger(cluster);
  BestFitScore policy;
  Candidates candidates(ledger, policy);
  for (NodeIndex node = 0; node < 299; ++node) {
    ASSERT_TRUE(ledger.place(taking(node, 40000, (100 - node / 3) * 1024 - 512)).ok());
  }
  for (int round = 0; round < 40; ++round) {
    for (const int memory : {60, 2, 90, 1, 99, 33, 0}) {
      TaskShape shape = shape_from("gpus=1 cpu=4", cluster);
      shape.memory = MiB(memory * 1024);
      EXPECT_EQ(candidates.best(shape), memory >= 100 ? 299 : memory * 3) << memory;
    }
  }
}

TEST(CandidatesTest, ScoresEachClassOnce) {
  Cluster cluster = cluster_from("1000x8:H100; 1000x4:A100");
  Ledger ledger(cluster);
  BestFitScore policy;
  Candidates candidates(ledger, policy);
  const TaskShape shape = shape_from("gpus=2", cluster);
  candidates.best(shape);
  EXPECT_EQ(candidates.counters().scores_computed, 2);
  EXPECT_EQ(candidates.counters().classes, 2);
  const Ledger::Checkpoint mark = ledger.checkpoint();
  ASSERT_TRUE(ledger.place(holding_for(shape, cluster.kinds[0], 7, 0b11)).ok());
  EXPECT_EQ(candidates.best(shape), 1000) << "4 devices are left fuller than 8";
  EXPECT_EQ(candidates.counters().scores_computed, 3);
  for (int times = 0; times < 3; ++times) {
    ledger.rollback(mark);
    EXPECT_EQ(candidates.best(shape), 1000);
    ASSERT_TRUE(ledger.place(holding_for(shape, cluster.kinds[0], 7, 0b11)).ok());
    EXPECT_EQ(candidates.best(shape), 1000);
  }
  EXPECT_LE(candidates.counters().scores_computed, 4);
  EXPECT_EQ(candidates.counters().queries, 8);
}

// Far more classes and rankings than are kept.
TEST(CandidatesTest, ForgetsAndStaysRight) {
  Cluster cluster = cluster_from("3x8:H100 cpu=1000");
  Ledger ledger(cluster);
  BestFitScore policy;
  Candidates candidates(ledger, policy);
  for (std::int64_t cpu = 1; cpu <= 150000; ++cpu) {
    const Ledger::Checkpoint mark = ledger.checkpoint();
    const NodeIndex node = static_cast<NodeIndex>(cpu % 3);
    ASSERT_TRUE(ledger.place(taking(node, cpu + 64000, 0)).ok());
    TaskShape shape = shape_from("gpus=1", cluster);
    shape.cpu = MilliCpu(1 + cpu % 3000);
    ASSERT_EQ(candidates.best(shape), node) << cpu;
    ledger.rollback(mark);
  }
  EXPECT_LE(candidates.counters().classes, 70000);
}

// A policy whose scores change when told to.
class MovingScore : public NodeScore {
 public:
  Score score(const NodeView& node, const TaskShape&) const override {
    return node.kind->device_count == preferred ? 1 : 0;
  }
  bool refresh(const Ledger&, const TaskShape&) override { return std::exchange(moved, false); }
  int preferred = 8;
  bool moved = false;
};

TEST(CandidatesTest, RefreshForgetsScores) {
  Cluster cluster = cluster_from("1x8:H100; 1x4:A100");
  Ledger ledger(cluster);
  MovingScore policy;
  Candidates candidates(ledger, policy);
  const TaskShape shape = shape_from("gpus=1", cluster);
  EXPECT_EQ(candidates.best(shape), 0);
  policy.preferred = 4;
  EXPECT_EQ(candidates.best(shape), 0) << "memoised";
  policy.moved = true;
  EXPECT_EQ(candidates.best(shape), 1);
}

TEST(CandidatesTest, RandomIsUniformAndReproducible) {
  Cluster cluster = cluster_from("10x8:H100; 5x0; 5x8:H100 state=down; 5x8:H100 mem=4GiB");
  Ledger ledger(cluster);
  RandomScore policy(1);
  const std::vector<NodeIndex> some{0, 3, 11, 7};
  for (const bool among : {false, true}) {
    Candidates candidates(ledger, policy, {}, 42);
    Candidates again(ledger, policy, {}, 42);
    const TaskShape shape = shape_from("gpus=1 mem=8GiB", cluster);
    std::map<NodeIndex, int> drawn;
    for (int i = 0; i < 10000; ++i) {
      const std::optional<NodeIndex> node = among ? candidates.best_among(shape, some) : candidates.best(shape);
      ASSERT_EQ(node, among ? again.best_among(shape, some) : again.best(shape));
      ASSERT_TRUE(node);
      ++drawn[*node];
    }
    ASSERT_EQ(drawn.size(), among ? 3U : 10U);
    for (const auto& [node, times] : drawn) EXPECT_NEAR(times, among ? 3333 : 1000, 200) << node;
  }
}

// Only one of many feasible nodes has the memory: drawing gives up and counts.
TEST(CandidatesTest, RandomFindsTheOneNodeWithMemory) {
  Cluster cluster = cluster_from("500x8:H100 mem=8GiB; 1x8:H100 mem=64GiB");
  Ledger ledger(cluster);
  RandomScore policy(1);
  Candidates candidates(ledger, policy, {}, 42);
  EXPECT_TRUE(candidates.best(shape_from("gpus=1 mem=1GiB", cluster)));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(candidates.best(shape_from("gpus=1 mem=32GiB", cluster)), 500);
  EXPECT_EQ(candidates.best(shape_from("gpus=1 mem=65GiB", cluster)), std::nullopt);
}

}  // namespace
}  // namespace berth::test
