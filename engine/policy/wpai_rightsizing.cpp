#include "engine/policy/wpai_rightsizing.h"

#include <algorithm>

namespace berth {

namespace {

struct WindowStatistic {
  std::int64_t sum = 0;
  std::int64_t highest = 0;
  std::int64_t runs = 0;

  void add(std::int64_t value) {
    sum += value;
    highest = std::max(highest, value);
    ++runs;
  }
};

}  // namespace

WpaiRightsizing::WpaiRightsizing(const RightsizeKnobs& knobs)
    : window_(std::max<std::int64_t>(knobs.window, 1)),
      gpu_util_factor_(knobs.gpu_util_factor.value_or(knobs.variant == WpaiVariant::kA ? 90 : 100)),
      gpu_mem_factor_(knobs.gpu_mem_factor.value_or(knobs.variant == WpaiVariant::kA ? 0 : 90)),
      cpu_req_factor_(knobs.cpu_req_factor.value_or(50)),
      cpu_req_stat_(knobs.cpu_req_stat.value_or(knobs.variant == WpaiVariant::kA ? UsageStatistic::kPeak
                                                                                 : UsageStatistic::kMean)) {}

RightsizeWish WpaiRightsizing::wish(const RightsizeInput& input) const {
  WindowStatistic gpu;
  WindowStatistic gpu_memory;
  WindowStatistic cpu;
  for (const UsageSample& run : input.runs.last(std::min(input.runs.size(), static_cast<std::size_t>(window_)))) {
    if (run.gpu_mean) gpu.add(run.gpu_mean->value());
    if (run.gpu_memory_peak) gpu_memory.add(run.gpu_memory_peak->value());
    const auto& measure = cpu_req_stat_ == UsageStatistic::kPeak ? run.cpu_peak : run.cpu_mean;
    if (measure) cpu.add(measure->value());
  }
  RightsizeWish wish;
  if (gpu.runs > 0) {
    std::int64_t share = divide_up(gpu.sum * gpu_util_factor_, 100 * gpu.runs);
    if (gpu_memory.runs > 0 && input.device_memory > MiB(0)) {
      share =
          std::max(share, divide_up(gpu_memory.highest * gpu_mem_factor_ * 1000, 100 * input.device_memory.value()));
    }
    wish.gpu = MilliGpu(share);
  }
  if (cpu.runs > 0) {
    wish.cpu = cpu_req_stat_ == UsageStatistic::kPeak ? MilliCpu(divide_up(cpu.highest * cpu_req_factor_, 100))
                                                      : MilliCpu(divide_up(cpu.sum * cpu_req_factor_, 100 * cpu.runs));
  }
  return wish;
}

}  // namespace berth
