#include "engine/model/ledger.h"

#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "tests/builders.h"

namespace berth {
namespace {

Holding holding(NodeIndex node, DeviceMask devices, int milli, int memory, int cpu) {
  return {node, devices, MilliGpu(milli), MiB(memory), MilliCpu(cpu), MiB(10)};
}

TEST(LedgerTest, PlaceTakesAndReleaseGivesBack) {
  const Cluster cluster = test::cluster_from("2x4:A100");
  Ledger ledger(cluster);
  EXPECT_EQ(ledger.gpu_capacity(), MilliGpu(8000));
  ASSERT_TRUE(ledger.place(holding(1, 0b0110, 1000, 81920, 4000)).ok());
  const NodeView view = ledger.view(1);
  EXPECT_EQ(view.milli[0], 1000);
  EXPECT_EQ(view.milli[1], 0);
  EXPECT_EQ(view.device_memory[2], 0);
  EXPECT_EQ(view.cpu, MilliCpu(28000));
  EXPECT_EQ(view.free_milli(), 2000);
  EXPECT_EQ(view.tenants, 0b100);
  EXPECT_EQ(ledger.gpu_used(), MilliGpu(2000));
  ASSERT_TRUE(ledger.release(holding(1, 0b0110, 1000, 81920, 4000)).ok());
  EXPECT_EQ(ledger.view(1).tenants, 0);
  EXPECT_TRUE(ledger.violations().empty());
  EXPECT_EQ(ledger.gpu_used(), MilliGpu(0));
}

TEST(LedgerTest, RefusesWhatIsNotThere) {
  const Cluster cluster = test::cluster_from("1x2:A100 cpu=4");
  Ledger ledger(cluster);
  ASSERT_TRUE(ledger.place(holding(0, 0b01, 600, 60000, 1000)).ok());
  EXPECT_EQ(ledger.place(holding(0, 0b01, 500, 100, 1000)).code(), Code::kConflict);
  EXPECT_EQ(ledger.place(holding(0, 0b01, 300, 30000, 1000)).code(), Code::kConflict);
  EXPECT_EQ(ledger.place(holding(0, 0b10, 300, 100, 3001)).code(), Code::kConflict);
  EXPECT_EQ(ledger.place(holding(0, 0b100, 300, 100, 0)).code(), Code::kConflict);
  EXPECT_EQ(ledger.release(holding(0, 0b10, 300, 100, 0)).code(), Code::kInternal);
  EXPECT_EQ(ledger.gpu_used(), MilliGpu(600));
  EXPECT_TRUE(ledger.violations().empty());
}

TEST(LedgerTest, AFailedDeviceShowsNothingFreeWhateverRanOnIt) {
  const Cluster cluster = test::cluster_from("1x2:A100 bad=0");
  Ledger ledger(cluster);
  EXPECT_EQ(ledger.gpu_capacity(), MilliGpu(1000));
  ASSERT_TRUE(ledger.place(holding(0, 0b11, 1000, 81920, 1000)).ok());
  EXPECT_EQ(ledger.view(0).milli[0], 0);
  ASSERT_TRUE(ledger.release(holding(0, 0b11, 1000, 81920, 1000)).ok());
  EXPECT_EQ(ledger.view(0).milli[0], 0);
  EXPECT_EQ(ledger.view(0).milli[1], 1000);
  EXPECT_TRUE(ledger.violations().empty());
}

TEST(LedgerTest, ChangesAreLogged) {
  const Cluster cluster = test::cluster_from("3x2:A100");
  Ledger ledger(cluster);
  const std::size_t start = ledger.change_count();
  ASSERT_TRUE(ledger.place(holding(2, 1, 1000, 0, 0)).ok());
  const auto mark = ledger.checkpoint();
  ASSERT_TRUE(ledger.place(holding(0, 1, 1000, 0, 0)).ok());
  ledger.rollback(mark);
  const auto changes = ledger.changes_since(start);
  EXPECT_EQ(std::vector<NodeIndex>(changes.begin(), changes.end()), (std::vector<NodeIndex>{2, 0, 0}));
  ledger.forget_changes_before(start + 2);
  EXPECT_EQ(ledger.changes_since(start + 2).size(), 1U);
}

TEST(LedgerTest, ATwinHasTheAmountsAndALifeOfItsOwn) {
  const Cluster cluster = test::cluster_from("2x2:A100");
  Ledger ledger(cluster);
  const Holding holding{0, 0b01, kWholeDevice, MiB(100), MilliCpu(1000), MiB(1024)};
  ASSERT_TRUE(ledger.place(holding).ok());
  ledger.set_accepts(1, false);
  Ledger twin = ledger.twin();
  EXPECT_EQ(twin.gpu_used(), kWholeDevice);
  EXPECT_EQ(twin.gpu_capacity(), ledger.gpu_capacity());
  EXPECT_EQ(twin.change_count(), 0U);
  EXPECT_FALSE(twin.accepts_tasks(1));
  ASSERT_TRUE(twin.release(holding).ok());
  EXPECT_EQ(twin.free_cpu(0), MilliCpu(16000));
  EXPECT_EQ(ledger.free_cpu(0), MilliCpu(15000));
  EXPECT_TRUE(twin.violations().empty());
}

TEST(LedgerTest, RollbackRestoresExactly) {
  const Cluster cluster = test::cluster_from("8x4:A100; 2x0");
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    Ledger ledger(cluster);
    std::vector<Holding> placed;
    const auto step = [&] {
      if (!placed.empty() && random.below(3) == 0) {
        const std::size_t at = random.below(placed.size());
        ASSERT_TRUE(ledger.release(placed[at]).ok());
        placed.erase(placed.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      }
      const NodeIndex node = static_cast<NodeIndex>(random.below(10));
      const DeviceMask devices = node >= 8 ? 0 : random.below(15) + 1;
      const Holding h = holding(node, devices, 250, 20480, 1000);
      if (ledger.place(h).ok()) placed.push_back(h);
    };
    for (int i = 0; i < 40; ++i) step();
    std::vector<std::vector<std::int32_t>> before;
    for (NodeIndex n = 0; n < 10; ++n) before.emplace_back(ledger.view(n).milli.begin(), ledger.view(n).milli.end());
    const MilliGpu used = ledger.gpu_used();
    const auto mark = ledger.checkpoint();
    for (int i = 0; i < 60; ++i) step();
    ledger.rollback(mark);
    for (NodeIndex n = 0; n < 10; ++n) {
      EXPECT_EQ(before[static_cast<std::size_t>(n)],
                std::vector<std::int32_t>(ledger.view(n).milli.begin(), ledger.view(n).milli.end()))
          << "seed " << seed;
    }
    EXPECT_EQ(used, ledger.gpu_used()) << "seed " << seed;
    EXPECT_TRUE(ledger.violations().empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth
