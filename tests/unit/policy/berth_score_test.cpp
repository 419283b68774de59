#include "engine/policy/berth_score.h"

#include <gtest/gtest.h>

#include "engine/policy/candidates.h"
#include "engine/policy/device_choice.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

// A cluster with its policy; places tasks the way a round does.
class World {
 public:
  World(const char* text, std::initializer_list<std::pair<const char*, double>> shapes)
      : cluster_(cluster_from(text)), ledger_(cluster_) {
    for (const auto& [task, popularity] : shapes) {
      workload_.push_back({.shape = group_from(task, cluster_).shape, .popularity = popularity});
    }
    policy_ = std::make_unique<BerthScore>(ScoreInput{.cluster = &cluster_, .workload = workload_});
    candidates_ = std::make_unique<Candidates>(ledger_, *policy_);
  }

  // "node 3 devices 0-1", or "nothing".
  std::string place(const char* task) {
    const TaskShape shape = group_from(task, cluster_).shape;
    const std::optional<NodeIndex> node = candidates_->best(shape);
    if (!node) return "nothing";
    const NodeView view = ledger_.view(*node);
    const DeviceMask devices = *choose_devices(view, shape, *policy_);
    EXPECT_TRUE(ledger_.place(holding_for(shape, *view.kind, *node, devices)).ok());
    return "node " + std::to_string(*node) + " devices " + print_device_mask(devices);
  }

 private:
  Cluster cluster_;
  Ledger ledger_;
  std::vector<WorkloadShape> workload_;
  std::unique_ptr<BerthScore> policy_;
  std::unique_ptr<Candidates> candidates_;
};

TEST(BerthScoreTest, KeepsWhollyFreeNodesForThoseWhoNeedThem) {
  World world("3x4:H100", {{"gpus=1", 0.5}, {"gpus=4", 0.5}});
  const std::string first = world.place("gpus=1");
  EXPECT_EQ(first, "node 0 devices 0");
  EXPECT_EQ(world.place("gpus=1"), "node 0 devices 1");
  EXPECT_EQ(world.place("gpus=4"), "node 1 devices 0-3");
}

TEST(BerthScoreTest, FillsStartedDevices) {
  World world("3x2:H100", {{"gpus=0.5", 0.5}, {"gpus=1", 0.5}});
  EXPECT_EQ(world.place("gpus=0.5"), "node 0 devices 0");
  EXPECT_EQ(world.place("gpus=0.5"), "node 0 devices 0");
  EXPECT_EQ(world.place("gpus=0.5"), "node 0 devices 1");
}

TEST(BerthScoreTest, LeavesTheScarceModel) {
  World world("1x2:H100; 9x2:A100", {{"gpus=1", 0.7}, {"gpus=1 models=H100", 0.3}});
  EXPECT_EQ(world.place("gpus=1"), "node 1 devices 0");
  EXPECT_EQ(world.place("gpus=1 models=H100"), "node 0 devices 0");
}

TEST(BerthScoreTest, CpuTasksGoWhereNoGpuNeedsTheCpu) {
  World world("2x4:H100 cpu=16; 1x0 cpu=16", {{"gpus=1 cpu=4", 1.0}});
  EXPECT_EQ(world.place("cpu=8"), "node 2 devices ");
}

TEST(BerthScoreTest, PlacesWhateverFits) {
  World world("1x2:H100", {});
  EXPECT_EQ(world.place("gpus=2"), "node 0 devices 0-1");
  EXPECT_EQ(world.place("gpus=1"), "nothing");
  EXPECT_EQ(world.place("cpu=1"), "node 0 devices ");
}

}  // namespace
}  // namespace berth::test
