#include "engine/model/cluster.h"

#include <gtest/gtest.h>

#include "engine/model/job.h"
#include "engine/model/shape.h"

namespace berth {
namespace {

TEST(LinkGroups, ReadNestedAndPrintBack) {
  const auto groups = read_link_groups("[[0 1] [2 3]] [[4 5] [6 7]]", 8);
  ASSERT_TRUE(groups.ok()) << groups.status().message();
  EXPECT_EQ(*groups, (std::vector<DeviceMask>{0x03, 0x0C, 0x30, 0xC0, 0x0F, 0xF0}));
  EXPECT_EQ(print_link_groups(*groups), "[[0 1] [2 3]] [[4 5] [6 7]]");
  EXPECT_EQ(*read_link_groups(print_link_groups(*groups), 8), *groups);
}

TEST(LinkGroups, WholeNodeAndSinglesAreNotListed) {
  EXPECT_TRUE(read_link_groups("[0 1 2 3]", 4)->empty());
  EXPECT_TRUE(read_link_groups("[0]", 4)->empty());
  EXPECT_TRUE(read_link_groups("", 4)->empty());
}

TEST(LinkGroups, BadTextIsRefused) {
  for (const char* bad : {"[0 1", "0 1]", "[]", "0 1", "[0 9]", "[0 0]", "[0 1] [1 2]", "[a]"}) {
    EXPECT_FALSE(read_link_groups(bad, 8).ok()) << bad;
  }
}

TEST(States, OnlyListedEdges) {
  EXPECT_TRUE(node_may_change(NodeState::kUp, NodeState::kDraining));
  EXPECT_TRUE(node_may_change(NodeState::kDown, NodeState::kDrained));
  EXPECT_FALSE(node_may_change(NodeState::kDrained, NodeState::kDraining));
  EXPECT_FALSE(node_may_change(NodeState::kUp, NodeState::kBooting));
  EXPECT_TRUE(job_may_change(JobState::kHeld, JobState::kPending));
  EXPECT_FALSE(job_may_change(JobState::kFinished, JobState::kRunning));
  for (const char* name : {"up", "draining", "drained", "down", "booting"})
    EXPECT_EQ(node_state_name(*read_node_state(name)), name);
}

TEST(DeviceMemory, AFractionComesWithItsMemory) {
  TaskShape half;
  half.gpu_count = 1;
  half.gpu_milli = MilliGpu(500);
  EXPECT_EQ(device_memory_for(half, MiB(81920)), MiB(40960));
  half.gpu_memory = MiB(1000);
  EXPECT_EQ(device_memory_for(half, MiB(81920)), MiB(1000));
  half.gpu_milli = kWholeDevice;
  EXPECT_EQ(device_memory_for(half, MiB(81920)), MiB(81920));
  EXPECT_EQ(device_memory_for(half, MiB(0)), MiB(0));
}

}  // namespace
}  // namespace berth
