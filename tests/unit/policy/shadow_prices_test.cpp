#include "engine/policy/shadow_prices.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/builders.h"

namespace berth::test {
namespace {

std::vector<WorkloadShape> workload_from(std::initializer_list<std::pair<const char*, double>> shapes,
                                         Cluster& cluster) {
  std::vector<WorkloadShape> workload;
  for (const auto& [text, popularity] : shapes) {
    workload.push_back({.shape = group_from(text, cluster).shape, .popularity = popularity});
  }
  return workload;
}

// Value of a node of `model` with so many idle devices and nothing started.
std::int32_t idle_node(const ShadowPrices& prices, std::int32_t model, int idle, std::int64_t cpu = 1'000'000) {
  return prices.value(prices.idle_value(model, idle), MilliCpu(cpu), MiB(1 << 20));
}

TEST(ShadowPricesTest, NothingIsKnownWithoutDemand) {
  Cluster cluster = cluster_from("2x8:H100; 1x0");
  const Ledger ledger(cluster);
  ShadowPrices prices(cluster, {});
  EXPECT_FALSE(prices.refresh(ledger));
  EXPECT_EQ(idle_node(prices, 0, 8), 0);
  prices.count_task(group_from("cpu=4", cluster).shape);
  EXPECT_FALSE(prices.refresh(ledger)) << "CPU tasks alone have no price";
  prices.count_task(group_from("gpus=1", cluster).shape);
  EXPECT_TRUE(prices.refresh(ledger));
  EXPECT_GT(idle_node(prices, 0, 8), 0);
  EXPECT_EQ(idle_node(prices, -1, 0), 0) << "a node without devices";
}

TEST(ShadowPricesTest, MoreIsWorthNoLess) {
  Cluster cluster = cluster_from("20x8:H100 cpu=64");
  const Ledger ledger(cluster);
  ShadowPrices prices(cluster,
                      workload_from({{"gpus=1 cpu=8", 0.5}, {"gpus=0.5 cpu=2", 0.3}, {"gpus=8 cpu=32", 0.2}}, cluster));
  ASSERT_TRUE(prices.refresh(ledger));
  for (int idle = 1; idle <= 8; ++idle) EXPECT_GE(idle_node(prices, 0, idle), idle_node(prices, 0, idle - 1)) << idle;
  for (std::int64_t cpu = 0; cpu <= 64000; cpu += 4000) {
    EXPECT_GE(idle_node(prices, 0, 8, cpu + 4000), idle_node(prices, 0, 8, cpu)) << cpu;
  }
  for (std::int32_t free = 10; free < 1000; free += 10) {
    for (std::size_t q = 0; q < ShadowPrices::kPoints; ++q) {
      EXPECT_GE(prices.started_value(0, free)[q], prices.started_value(0, free - 10)[q]) << free;
    }
  }
}

TEST(ShadowPricesTest, WhollyFreeNodesAreWorthMoreThanTheirDevices) {
  Cluster cluster = cluster_from("20x8:H100");
  const Ledger ledger(cluster);
  ShadowPrices prices(cluster, workload_from({{"gpus=1", 0.6}, {"gpus=8", 0.4}}, cluster));
  ASSERT_TRUE(prices.refresh(ledger));
  const std::int32_t last = idle_node(prices, 0, 8) - idle_node(prices, 0, 7);
  EXPECT_GT(last, idle_node(prices, 0, 1));
}

TEST(ShadowPricesTest, AScarceModelIsWorthMore) {
  Cluster cluster = cluster_from("4x8:H100; 40x8:A100");
  const Ledger ledger(cluster);
  ShadowPrices prices(cluster, workload_from({{"gpus=1", 0.8}, {"gpus=1 models=H100", 0.2}}, cluster));
  ASSERT_TRUE(prices.refresh(ledger));
  EXPECT_GT(idle_node(prices, 0, 1), idle_node(prices, 1, 1));
}

TEST(ShadowPricesTest, OrderOfNodesDoesNotMatter) {
  Cluster cluster = cluster_from("5x8:H100 cpu=64; 5x4:A100 cpu=32; 5x8:H100 cpu=128");
  Cluster turned = cluster;
  std::ranges::reverse(turned.nodes);
  const std::vector<WorkloadShape> workload =
      workload_from({{"gpus=1 cpu=12", 0.5}, {"gpus=0.3 cpu=4", 0.3}, {"gpus=4 models=H100", 0.2}}, cluster);
  ShadowPrices prices(cluster, workload);
  ShadowPrices turned_prices(turned, workload);
  ASSERT_TRUE(prices.refresh(Ledger(cluster)));
  ASSERT_TRUE(turned_prices.refresh(Ledger(turned)));
  for (int idle = 0; idle <= 8; ++idle) {
    EXPECT_EQ(prices.idle_value(0, idle), turned_prices.idle_value(0, idle));
    EXPECT_EQ(prices.idle_value(1, idle), turned_prices.idle_value(1, idle));
  }
}

// Shapes that can never run here, and nodes of other sizes, do no harm.
TEST(ShadowPricesTest, OddInput) {
  Cluster cluster = cluster_from("1x1:H100; 1x16:A100 cpu=2000 mem=8000GiB; 1x2:H100 state=down");
  const std::vector<WorkloadShape> workload =
      workload_from({{"gpus=32", 0.3}, {"gpus=0.001", 0.3}, {"gpus=16", 0.3}, {"gpus=1 models=B200", 0.1}}, cluster);
  cluster.models.pop_back();  // B200 is no model of this cluster
  const Ledger ledger(cluster);
  ShadowPrices prices(cluster, workload);
  for (int times = 0; times < 20; ++times) {
    ASSERT_TRUE(prices.refresh(ledger));
    EXPECT_GT(idle_node(prices, 1, 16), 0);
    EXPECT_LT(idle_node(prices, 1, 16), 2 * 16000 * ShadowPrices::kParts);
  }
}

}  // namespace
}  // namespace berth::test
