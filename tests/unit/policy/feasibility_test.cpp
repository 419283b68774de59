#include "engine/policy/feasibility.h"

#include <gtest/gtest.h>

#include "tests/builders.h"

namespace berth::test {
namespace {

struct Case {
  const char* what;
  const char* node;
  const char* running;  // a task on device 0 of the node, or empty
  const char* task;
  Reason expected;
};

// The state of the only node after `running` took device 0 (or the first devices).
struct OneNode {
  explicit OneNode(const char* node, const char* running) : cluster(cluster_from(node)), ledger(cluster) {
    if (*running == 0) return;
    const TaskShape shape = group_from(running, cluster).shape;
    const DeviceMask devices = (DeviceMask{1} << shape.gpu_count) - 1;
    EXPECT_TRUE(ledger.place(holding_for(shape, cluster.kinds[0], 0, devices)).ok());
  }
  Cluster cluster;
  Ledger ledger;
};

TEST(FeasibilityTest, NamesTheFirstReason) {
  const Case cases[] = {
      {"fits", "1x8:H100", "", "gpus=8 cpu=8", Reason::kNone},
      {"a CPU task fits a full node", "1x1:H100", "gpus=1", "cpu=1", Reason::kNone},
      {"a draining node", "1x8:H100 state=draining", "", "gpus=9", Reason::kNodeNotUp},
      {"another pool", "1x8:H100 pool=serve", "", "gpus=1 pool=train", Reason::kPool},
      {"no devices", "1x0", "", "gpus=0.5", Reason::kNoDevice},
      {"too few devices", "1x4:H100", "", "gpus=8", Reason::kNoDevice},
      {"another model", "1x8:H100", "", "gpus=1 models=A100", Reason::kDeviceModel},
      {"one of two models", "1x8:H100", "", "gpus=1 models=A100|H100", Reason::kNone},
      {"models do not bind CPU tasks", "1x8:H100", "", "models=A100", Reason::kNone},
      {"devices too small", "1x8:H100 devmem=40GiB", "", "gpus=1 gpumem=80GiB", Reason::kDeviceMemory},
      {"a fraction with too much memory", "1x8:H100 devmem=40GiB", "", "gpus=0.5 gpumem=41GiB", Reason::kDeviceMemory},
      {"memory not tracked", "1x8:H100 devmem=0", "", "gpus=0.5 gpumem=41GiB", Reason::kNone},
      {"a small node", "1x8:H100 cpu=8", "", "gpus=1 cpu=9", Reason::kNodeTooSmall},
      {"little node memory", "1x8:H100 mem=8GiB", "", "gpus=1 mem=9GiB", Reason::kNodeTooSmall},
      {"unhealthy devices", "1x8:H100 bad=0-1", "", "gpus=7", Reason::kUnhealthyDevice},
      {"CPU in use", "1x8:H100 cpu=8", "gpus=1 cpu=4", "gpus=1 cpu=5", Reason::kCpu},
      {"memory in use", "1x8:H100 mem=8GiB", "gpus=1 mem=4GiB", "gpus=1 mem=5GiB", Reason::kMemory},
      {"devices in use", "1x2:H100", "gpus=1", "gpus=2", Reason::kGpu},
      {"a fraction in use", "1x1:H100", "gpus=0.5", "gpus=0.6", Reason::kGpu},
      {"free in total only", "1x3:H100", "gpus=0.1", "gpus=3", Reason::kGpu},
      {"free in pieces", "1x2:H100", "gpus=0.5", "gpus=1", Reason::kNone},
      {"memory of the device in use", "1x1:H100", "gpus=0.2 gpumem=70GiB", "gpus=0.2 gpumem=20GiB", Reason::kGpuMemory},
  };
  for (const Case& c : cases) {
    OneNode one(c.node, c.running);
    const TaskShape shape = group_from(c.task, one.cluster).shape;
    const Node& node = one.cluster.nodes[0];
    const Reason reason = reason_against(one.ledger.view(0), shape, one.ledger.accepts_tasks(0), node.unhealthy);
    EXPECT_EQ(reason_name(reason), reason_name(c.expected)) << c.what;
    if (c.expected != Reason::kNodeNotUp) {
      EXPECT_EQ(is_feasible(one.ledger.view(0), shape), c.expected == Reason::kNone) << c.what;
    }
    EXPECT_EQ(is_feasible_when_empty(one.cluster.kinds[0], shape),
              c.expected == Reason::kNone || c.expected >= Reason::kUnhealthyDevice ||
                  (c.expected == Reason::kNodeNotUp && shape.gpu_count <= 8))
        << c.what;
  }
}

TEST(FeasibilityTest, EnoughInTotalButFragmented) {
  Cluster cluster = cluster_from("1x2:H100");
  Ledger ledger(cluster);
  const TaskShape small = group_from("gpus=0.3", cluster).shape;
  for (const DeviceMask device : {1U, 2U}) {
    ASSERT_TRUE(ledger.place(holding_for(small, cluster.kinds[0], 0, device)).ok());
  }
  EXPECT_EQ(reason_against(ledger.view(0), group_from("gpus=0.8", cluster).shape), Reason::kGpuFragmented);
  EXPECT_EQ(reason_against(ledger.view(0), group_from("gpus=1", cluster).shape), Reason::kGpuFragmented);
  EXPECT_EQ(reason_against(ledger.view(0), group_from("gpus=2", cluster).shape), Reason::kGpu);
}

TEST(FeasibilityTest, OneLinkGroupMeansAListedOneUnlessNoneIsLargeEnough) {
  Cluster cluster = cluster_from("1x8:H100 links=[0 1 2 3][4 5 6 7]");
  Ledger ledger(cluster);
  TaskShape shape = group_from("gpus=4", cluster).shape;
  shape.within_link_group = true;
  EXPECT_EQ(copies_that_fit(ledger.view(0), shape, 9), 2);
  const TaskShape single = group_from("gpus=1", cluster).shape;
  for (const DeviceMask device : {1U, 1U << 4}) {
    ASSERT_TRUE(ledger.place(holding_for(single, cluster.kinds[0], 0, device)).ok());
  }
  EXPECT_EQ(reason_against(ledger.view(0), shape), Reason::kLinkGroup);
  shape.gpu_count = 6;  // larger than any listed group: the node is its group
  EXPECT_EQ(reason_against(ledger.view(0), shape), Reason::kNone);
  shape.gpu_count = 3;
  EXPECT_EQ(reason_against(ledger.view(0), shape), Reason::kNone);
  EXPECT_EQ(copies_that_fit(ledger.view(0), shape, 9), 2);
}

TEST(FeasibilityTest, CountsCopies) {
  OneNode one("1x4:H100 cpu=32 mem=100GiB", "gpus=0.5");
  const NodeView view = one.ledger.view(0);
  const auto copies = [&](const char* task, int most = 100) {
    return copies_that_fit(view, group_from(task, one.cluster).shape, most);
  };
  EXPECT_EQ(copies("gpus=1"), 3);
  EXPECT_EQ(copies("gpus=2"), 1);
  EXPECT_EQ(copies("gpus=0.3"), 1 + 3 * 3);
  EXPECT_EQ(copies("gpus=0.1 gpumem=40GiB"), 1 + 3 * 2);
  EXPECT_EQ(copies("gpus=1 cpu=16"), 1);
  EXPECT_EQ(copies("cpu=1 mem=40GiB"), 2);
  EXPECT_EQ(copies("cpu=0 mem=0"), 100);
  EXPECT_EQ(copies("gpus=0.1", 5), 5);
  EXPECT_EQ(copies("gpus=5"), 0);
  EXPECT_EQ(copies("gpus=1", 0), 0);
}

}  // namespace
}  // namespace berth::test
