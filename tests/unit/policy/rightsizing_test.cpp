#include "engine/policy/rightsizing.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/policy/registry.h"

namespace berth {
namespace {

constexpr Seconds kNow{1000000};

TaskShape asked_shape(std::int32_t devices = 1, std::int64_t milli = 1000) {
  TaskShape shape;
  shape.cpu = MilliCpu(8000);
  shape.memory = MiB(32768);
  shape.gpu_count = devices;
  shape.gpu_milli = MilliGpu(devices > 0 ? milli : 0);
  return shape;
}

// CPU mean and peak in milli-cores, memory peak in MiB, GPU mean in milli, device memory peak in MiB.
UsageSample sample(std::int64_t cpu, std::int64_t cpu_peak, std::int64_t memory, std::int64_t gpu,
                   std::int64_t gpu_memory) {
  return {kNow, MilliCpu(cpu), MilliCpu(cpu_peak), MiB(memory), MilliGpu(gpu), MiB(gpu_memory), false};
}

Rightsizing sized(std::string_view name, const RightsizeKnobs& knobs, const TaskShape& asked,
                  const std::vector<UsageSample>& runs, MiB device_memory = MiB(16384)) {
  Result<std::unique_ptr<RightsizePolicy>> policy = make_rightsize(name, knobs);
  EXPECT_TRUE(policy.ok());
  return rightsize(**policy, {asked, device_memory, runs, kNow}, knobs);
}

RightsizeKnobs published(WpaiVariant variant) {
  RightsizeKnobs knobs;
  knobs.variant = variant;
  knobs.compute_floor = false;
  return knobs;
}

const std::vector<UsageSample> kRuns = {sample(9999, 9999, 9999, 999, 9999), sample(1000, 4000, 2000, 300, 3000),
                                        sample(1200, 3000, 2500, 360, 3200), sample(1100, 2000, 2100, 240, 2800)};

std::vector<UsageSample> last_three() { return {kRuns.begin() + 1, kRuns.end()}; }

TEST(WpaiRightsizing, VariantA) {
  const Rightsizing result = sized("wpai", published(WpaiVariant::kA), asked_shape(), last_three());
  EXPECT_EQ(result.shape.gpu_milli, MilliGpu(270));      // 0.9 x mean(300, 360, 240)
  EXPECT_EQ(result.shape.cpu, MilliCpu(2000));           // 0.5 x peak 4000
  EXPECT_EQ(result.shape.gpu_memory, MiB(5120));         // peak 3200 + 60 %: only three runs
  EXPECT_EQ(result.shape.memory, asked_shape().memory);  // not in the article
  EXPECT_EQ(result.guard(RightsizedResource::kGpu), RightsizeGuard::kPolicy);
  EXPECT_EQ(result.guard(RightsizedResource::kGpuMemory), RightsizeGuard::kPeakMemory);
  EXPECT_EQ(result.guard(RightsizedResource::kMemory), RightsizeGuard::kNotMeasured);
  EXPECT_EQ(result.runs, 3);
}

TEST(WpaiRightsizing, VariantB) {
  const Rightsizing result = sized("wpai", published(WpaiVariant::kB), asked_shape(), last_three());
  EXPECT_EQ(result.shape.gpu_milli, MilliGpu(300));  // mean 300 against 0.9 x 3200 / 16384 = 176
  EXPECT_EQ(result.shape.cpu, MilliCpu(550));        // 0.5 x mean 1100
  const Rightsizing small_device = sized("wpai", published(WpaiVariant::kB), asked_shape(), last_three(), MiB(4096));
  EXPECT_EQ(small_device.shape.gpu_milli, MilliGpu(710));  // 0.9 x 3200 / 4096 = 703.1, in steps of 10
}

TEST(WpaiRightsizing, EveryParameterCounts) {
  RightsizeKnobs knobs = published(WpaiVariant::kA);
  knobs.window = 1;
  knobs.gpu_util_factor = 200;
  knobs.cpu_req_factor = 100;
  knobs.cpu_req_stat = UsageStatistic::kMean;
  Rightsizing result = sized("wpai", knobs, asked_shape(), last_three());
  EXPECT_EQ(result.shape.gpu_milli, MilliGpu(480));
  EXPECT_EQ(result.shape.cpu, MilliCpu(1100));
  knobs.gpu_mem_factor = 300;
  result = sized("wpai", knobs, asked_shape(), last_three());
  EXPECT_EQ(result.shape.gpu_milli, MilliGpu(520));  // 3 x 2800 / 16384 = 512.7
}

TEST(HistogramRightsizing, PercentileAndMargin) {
  std::vector<UsageSample> runs;
  for (int i = 1; i <= 10; ++i) runs.push_back(sample(100 * i, 5000, 1000 + i, 40 * i, 2000 + i));
  RightsizeKnobs knobs;
  knobs.compute_floor = false;
  Rightsizing result = sized("histogram", knobs, asked_shape(), runs);
  EXPECT_EQ(result.shape.cpu, MilliCpu(990));        // 900 + 10 %
  EXPECT_EQ(result.shape.gpu_milli, MilliGpu(400));  // 360 + 10 % = 396
  EXPECT_EQ(result.shape.memory, MiB(1404));         // 1010 + 39 %: the guard rail at ten runs
  EXPECT_EQ(result.shape.gpu_memory, MiB(2794));
  knobs.compute_percentile = 0;
  result = sized("histogram", knobs, asked_shape(), runs);
  EXPECT_EQ(result.shape.cpu, MilliCpu(605));  // mean 550 + 10 %
}

TEST(HistogramRightsizing, OldRunsCountLess) {
  std::vector<UsageSample> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(sample(4000, 5000, 1000, 800, 2000));
  for (int i = 0; i < 4; ++i) runs.push_back(sample(400, 500, 1000, 80, 2000));
  for (int i = 0; i < 6; ++i) runs[static_cast<std::size_t>(i)].end = kNow - Seconds(70 * 86400);
  RightsizeKnobs knobs;
  knobs.compute_floor = false;
  EXPECT_EQ(sized("histogram", knobs, asked_shape(), runs).shape.cpu, MilliCpu(440));
}

TEST(RightsizeGuards, TooFewRuns) {
  const std::vector<UsageSample> two = {kRuns[1], kRuns[2]};
  for (const std::string_view name : {"wpai", "histogram"}) {
    const Rightsizing result = sized(name, {}, asked_shape(), two);
    EXPECT_EQ(result.shape, asked_shape());
    EXPECT_EQ(result.guard(RightsizedResource::kGpu), RightsizeGuard::kTooFewRuns);
  }
}

TEST(RightsizeGuards, BackToTheRequestAfterAnOom) {
  std::vector<UsageSample> runs = last_three();
  runs.push_back(sample(1000, 2000, 32768, 300, 16384));
  runs.back().out_of_memory = true;
  const Rightsizing after = sized("histogram", {}, asked_shape(), runs);
  EXPECT_EQ(after.shape, asked_shape());
  EXPECT_EQ(after.guard(RightsizedResource::kMemory), RightsizeGuard::kAfterOom);
  for (int i = 0; i < 3; ++i) runs.push_back(sample(1000, 2000, 20000, 300, 9000));
  const Rightsizing later = sized("histogram", {}, asked_shape(), runs);
  EXPECT_EQ(later.shape.memory, MiB(32000));
  EXPECT_EQ(later.runs, 3);
}

TEST(RightsizeGuards, NeverBelowMeanUseUnlessSwitchedOff) {
  RightsizeKnobs knobs = published(WpaiVariant::kB);
  knobs.compute_floor = true;
  const Rightsizing result = sized("wpai", knobs, asked_shape(), last_three());
  EXPECT_EQ(result.shape.cpu, MilliCpu(1260));       // 1200 + 5 %
  EXPECT_EQ(result.shape.gpu_milli, MilliGpu(380));  // 360 + 5 % = 378
  EXPECT_EQ(result.guard(RightsizedResource::kCpu), RightsizeGuard::kMeanUse);
}

TEST(RightsizeGuards, WhatIsNotMeasuredStands) {
  std::vector<UsageSample> runs = last_three();
  for (UsageSample& run : runs) run.gpu_memory_peak.reset();
  const Rightsizing result = sized("histogram", {}, asked_shape(), runs);
  EXPECT_EQ(result.shape.gpu_milli, kWholeDevice);
  EXPECT_EQ(result.shape.gpu_memory, MiB(0));
  EXPECT_EQ(result.guard(RightsizedResource::kGpu), RightsizeGuard::kNotMeasured);
  EXPECT_LT(result.shape.cpu, asked_shape().cpu);
  // Where device memory is not tracked, nothing can run out of it.
  EXPECT_EQ(sized("histogram", {}, asked_shape(), runs, MiB(0)).shape.gpu_milli, MilliGpu(400));
}

TEST(RightsizeGuards, APeakAboveTheSmallestDeviceKeepsTheRequest) {
  const std::vector<UsageSample> runs(3, sample(1000, 2000, 2000, 100, 20000));
  const Rightsizing result = sized("histogram", {}, asked_shape(), runs);
  EXPECT_EQ(result.shape.gpu_milli, kWholeDevice);
  EXPECT_EQ(result.shape.gpu_memory, MiB(0));
  EXPECT_EQ(result.guard(RightsizedResource::kGpu), RightsizeGuard::kPeakMemory);
}

TEST(RightsizeGuards, SeveralDevicesStayWhole) {
  const std::vector<UsageSample> runs(3, sample(1000, 2000, 2000, 200, 2000));
  const Rightsizing kept = sized("histogram", {}, asked_shape(8), runs);
  EXPECT_EQ(kept.shape.gpu_count, 8);
  EXPECT_EQ(kept.guard(RightsizedResource::kGpu), RightsizeGuard::kWholeDevices);
  RightsizeKnobs knobs;
  knobs.shrink_devices = true;
  EXPECT_EQ(sized("histogram", knobs, asked_shape(8), runs).shape.gpu_count, 2);  // 8 x 0.23
  const std::vector<UsageSample> full(3, sample(1000, 2000, 2000, 200, 14000));
  const Rightsizing by_memory = sized("histogram", knobs, asked_shape(8), full);
  EXPECT_EQ(by_memory.shape.gpu_count, 8);
  EXPECT_EQ(by_memory.shape.gpu_milli, kWholeDevice);
}

TEST(RightsizeGuards, CpuTasksAndUnknownPolicies) {
  const Rightsizing result = sized("histogram", {}, asked_shape(0), last_three());
  EXPECT_EQ(result.shape.gpu_count, 0);
  EXPECT_EQ(result.guard(RightsizedResource::kGpu), RightsizeGuard::kNotAsked);
  EXPECT_EQ(make_rightsize("histogramm", {}).status().code(), Code::kNotFound);
}

// Whatever was measured and whatever the parameters: amounts stay within the request and above the peaks, GPU shares
// keep to their rules.
TEST(RightsizeGuards, HoldForRandomHistories) {
  std::mt19937_64 random(11);
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  for (int round = 0; round < 20000; ++round) {
    RightsizeKnobs knobs;
    knobs.variant = below(1) == 0 ? WpaiVariant::kA : WpaiVariant::kB;
    knobs.compute_floor = below(1) == 0;
    knobs.shrink_devices = below(1) == 0;
    knobs.min_runs = below(5);
    knobs.window = below(5);
    knobs.history = below(25);
    if (below(3) == 0) knobs.gpu_util_factor = below(300);
    if (below(3) == 0) knobs.cpu_req_stat = UsageStatistic::kPeak;
    knobs.compute_percentile = below(100);
    knobs.memory_percentile = below(100);
    knobs.memory_margin = below(50);
    const auto devices = static_cast<std::int32_t>(below(4));
    TaskShape asked = asked_shape(devices, devices == 1 ? 1 + below(999) : 1000);
    if (asked.is_fraction() && below(1) == 0) asked.gpu_memory = MiB(1 + below(16000));
    const MiB device_memory(below(2) == 0 ? 0 : 16384);
    std::vector<UsageSample> runs(static_cast<std::size_t>(below(8)));
    for (UsageSample& run : runs) {
      run = sample(below(10000), below(12000), below(40000), below(1000), below(20000));
      run.end = kNow - Seconds(below(100 * 86400));
      if (below(8) == 0) run.cpu_mean.reset();
      if (below(8) == 0) run.memory_peak.reset();
      if (below(8) == 0) run.gpu_mean.reset();
      if (below(8) == 0) run.gpu_memory_peak.reset();
      run.out_of_memory = below(12) == 0;
    }
    const Rightsizing result = sized(below(1) == 0 ? "wpai" : "histogram", knobs, asked, runs, device_memory);
    const TaskShape& got = result.shape;
    EXPECT_LE(got.cpu, asked.cpu);
    EXPECT_GE(got.cpu, MilliCpu(1));
    EXPECT_LE(got.memory, asked.memory);
    EXPECT_GE(got.memory, MiB(1));
    EXPECT_LE(got.gpu_total(), asked.gpu_total());
    EXPECT_EQ(got.gpu_count > 0, asked.gpu_count > 0);
    EXPECT_TRUE(got.gpu_count == 1 || got.gpu_milli == asked.gpu_milli);
    EXPECT_TRUE(got.gpu_milli == asked.gpu_milli || got.gpu_milli.value() % knobs.gpu_unit.value() == 0);
    EXPECT_TRUE(result.runs >= knobs.min_runs || got == asked);
    const MiB memory_asked = device_memory_for(asked, device_memory);
    const MiB memory_got = device_memory_for(got, device_memory);
    EXPECT_LE(memory_got, memory_asked);
    const std::size_t counted = static_cast<std::size_t>(std::max<std::int64_t>(result.runs, 0));
    for (const UsageSample& run : std::span(runs).last(counted)) {
      EXPECT_TRUE(got.memory == asked.memory || got.memory >= run.memory_peak.value_or(MiB(0)));
      EXPECT_TRUE(got.gpu_count != 1 || memory_got == memory_asked ||
                  memory_got >= run.gpu_memory_peak.value_or(MiB(0)));
    }
  }
}

}  // namespace
}  // namespace berth
