#include "engine/policy/fgd_score.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/env.h"

namespace berth {
namespace {

constexpr std::size_t kModels = 3;

std::vector<WorkloadShape> random_workload(Random& random) {
  std::vector<WorkloadShape> workload(1 + random.below(20));
  for (WorkloadShape& entry : workload) {
    entry.popularity = random.unit();
    entry.shape.cpu = MilliCpu(static_cast<std::int64_t>(random.below(8)) * 4000);
    entry.shape.gpu_count = static_cast<std::int32_t>(random.below(4));
    if (entry.shape.gpu_count > 0) entry.shape.gpu_milli = kWholeDevice;
    if (entry.shape.gpu_count == 1 && random.below(2) == 0) {
      entry.shape.gpu_milli = MilliGpu(1 + static_cast<std::int64_t>(random.below(999)));
    }
    if (entry.shape.gpu_count > 0 && random.below(3) == 0) entry.shape.models = 1 + random.below(7);
  }
  return workload;
}

// The formula of fgd.md section 4, written down as it stands there.
double plain_fragmentation(std::span<const WorkloadShape> workload, int model, std::int64_t cpu,
                           const std::vector<std::int32_t>& left) {
  double d[7] = {};
  double all = 0;
  for (const std::int32_t milli : left) all += milli;
  for (const WorkloadShape& entry : workload) {
    const TaskShape& m = entry.shape;
    const bool can_cpu = cpu >= m.cpu.value();
    if (m.gpu_count == 0) {
      d[can_cpu ? 4 : 5] += entry.popularity * all;
      continue;
    }
    if (m.models != 0 && ((m.models >> model) & 1) == 0) {
      d[6] += entry.popularity * all;
      continue;
    }
    int enough = 0;
    double fragments = 0;
    for (const std::int32_t milli : left) {
      if (milli >= m.gpu_milli.value()) {
        ++enough;
      } else {
        fragments += milli;
      }
    }
    const bool can_gpu = enough >= m.gpu_count;
    if (!can_gpu && !can_cpu) d[0] += entry.popularity * all;
    if (!can_gpu && can_cpu) d[1] += entry.popularity * all;
    if (can_gpu && !can_cpu) d[3] += entry.popularity * all;
    if (can_gpu && can_cpu) {
      d[1] += entry.popularity * fragments;
      d[2] += entry.popularity * (all - fragments);
    }
  }
  return d[0] + d[1] + d[3] + d[4] + d[5] + d[6];
}

TEST(FragmentationTest, EqualsTheFormulaToTheLastBit) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::vector<WorkloadShape> workload = random_workload(random);
    const Fragmentation fragmentation(workload, kModels);
    for (int i = 0; i < 50; ++i) {
      std::vector<std::int32_t> left(random.below(9));
      for (std::int32_t& milli : left) {
        const std::uint64_t draw = random.below(1500);
        milli = draw > 1000 ? 1000 : static_cast<std::int32_t>(draw);
      }
      const int model = static_cast<int>(random.below(kModels));
      const std::int64_t cpu = static_cast<std::int64_t>(random.below(40000));
      ASSERT_EQ(fragmentation.of(model, cpu, left), plain_fragmentation(workload, model, cpu, left)) << "seed " << seed;
    }
  }
}

TEST(FragmentationTest, NodesWithoutDevicesHaveNone) {
  Random random(1);
  EXPECT_EQ(Fragmentation(random_workload(random), kModels).of(-1, 64000, {}), 0);
}

TEST(FgdScoreTest, LimitsAgreeWithTheSigmoid) {
  const auto sigmoid = [](double drop) { return static_cast<Score>(100.0 * (1.0 / (1.0 + std::exp(-drop / 1000.0)))); };
  EXPECT_EQ(FgdScore::score_of_drop(0), 50);
  EXPECT_EQ(FgdScore::score_of_drop(1000), 73);
  EXPECT_EQ(FgdScore::score_of_drop(-1e9), 0);
  EXPECT_EQ(FgdScore::score_of_drop(1e9), 100);
  Random random(7);
  for (int i = 0; i < 200000; ++i) {
    const double drop = (random.unit() - 0.5) * 16000;
    ASSERT_EQ(FgdScore::score_of_drop(drop), sigmoid(drop)) << drop;
  }
  for (double drop = 1e-16; drop < 1; drop *= 1.5) {
    EXPECT_EQ(FgdScore::score_of_drop(drop), sigmoid(drop)) << drop;
    EXPECT_EQ(FgdScore::score_of_drop(-drop), sigmoid(-drop)) << -drop;
  }
}

}  // namespace
}  // namespace berth
