#include "engine/policy/rightsizing.h"

#include <algorithm>

namespace berth {

namespace {

std::int64_t with_margin(std::int64_t amount, std::int64_t percent) { return divide_up(amount * (100 + percent), 100); }

// The highest value of a measure, and how many runs measured it.
template <class Quantity>
struct Measured {
  Quantity highest;
  std::int64_t runs = 0;
};

template <class Quantity>
Measured<Quantity> measured(std::span<const UsageSample> runs, std::optional<Quantity> UsageSample::*measure) {
  Measured<Quantity> result;
  for (const UsageSample& run : runs) {
    const std::optional<Quantity>& value = run.*measure;
    if (!value) continue;
    result.highest = std::max(result.highest, *value);
    ++result.runs;
  }
  return result;
}

struct Limited {
  std::int64_t amount;
  RightsizeGuard guard;
};

// Lifts a wish to its floor, in steps of `unit`, and keeps it at or below the request.
Limited limit_wish(std::int64_t wish, std::int64_t floor, RightsizeGuard floor_guard, std::int64_t asked,
                   std::int64_t unit) {
  Limited limited{std::max<std::int64_t>(wish, 1), RightsizeGuard::kPolicy};
  if (floor > limited.amount) limited = {floor, floor_guard};
  limited.amount = divide_up(limited.amount, unit) * unit;
  if (limited.amount >= asked) limited = {asked, RightsizeGuard::kRequest};
  return limited;
}

class Rightsizer {
 public:
  Rightsizer(const RightsizeInput& input, const RightsizeWish& wish, const RightsizeKnobs& knobs)
      : input_(input), wish_(wish), knobs_(knobs) {
    result_.shape = input.asked;
    result_.runs = static_cast<std::int64_t>(input.runs.size());
    result_.device_memory = input.device_memory;
  }

  Rightsizing run() {
    size_cpu();
    size_memory();
    size_gpu();
    return result_;
  }

 private:
  void note(RightsizedResource resource, RightsizeGuard guard) {
    result_.guards[static_cast<std::size_t>(resource)] = guard;
  }
  bool enough(std::int64_t runs) const { return runs >= knobs_.min_runs; }
  std::int64_t compute_floor(std::int64_t highest_mean) const {
    return knobs_.compute_floor ? with_margin(highest_mean, knobs_.compute_margin) : 0;
  }

  std::int64_t memory_floor(MiB highest, std::int64_t runs) const {
    const std::int64_t margin =
        knobs_.memory_margin + knobs_.memory_margin * knobs_.min_runs / std::max<std::int64_t>(runs, 1);
    return with_margin(highest.value(), margin);
  }

  void size_cpu();
  void size_memory();
  void size_gpu();
  void size_fraction(MilliGpu wish, MilliGpu highest_mean);
  void size_devices(MilliGpu wish, MilliGpu highest_mean);

  const RightsizeInput& input_;
  const RightsizeWish& wish_;
  const RightsizeKnobs& knobs_;
  Rightsizing result_;
};

void Rightsizer::size_cpu() {
  const auto resource = RightsizedResource::kCpu;
  const auto mean = measured(input_.runs, &UsageSample::cpu_mean);
  if (input_.asked.cpu == MilliCpu(0)) return note(resource, RightsizeGuard::kNotAsked);
  if (!wish_.cpu || !enough(mean.runs)) return note(resource, RightsizeGuard::kNotMeasured);
  const Limited limited = limit_wish(wish_.cpu->value(), compute_floor(mean.highest.value()), RightsizeGuard::kMeanUse,
                                     input_.asked.cpu.value(), 1);
  result_.shape.cpu = MilliCpu(limited.amount);
  note(resource, limited.guard);
}

void Rightsizer::size_memory() {
  const auto resource = RightsizedResource::kMemory;
  const auto peak = measured(input_.runs, &UsageSample::memory_peak);
  if (input_.asked.memory == MiB(0)) return note(resource, RightsizeGuard::kNotAsked);
  if (!wish_.memory || !enough(peak.runs)) return note(resource, RightsizeGuard::kNotMeasured);
  const Limited limited = limit_wish(wish_.memory->value(), memory_floor(peak.highest, peak.runs),
                                     RightsizeGuard::kPeakMemory, input_.asked.memory.value(), 1);
  result_.shape.memory = MiB(limited.amount);
  note(resource, limited.guard);
}

void Rightsizer::size_gpu() {
  const auto resource = RightsizedResource::kGpu;
  const auto mean = measured(input_.runs, &UsageSample::gpu_mean);
  note(RightsizedResource::kGpuMemory, RightsizeGuard::kNotAsked);
  if (input_.asked.gpu_count == 0) return note(resource, RightsizeGuard::kNotAsked);
  if (!wish_.gpu || !enough(mean.runs)) return note(resource, RightsizeGuard::kNotMeasured);
  if (input_.asked.gpu_count > 1) return size_devices(*wish_.gpu, mean.highest);
  size_fraction(*wish_.gpu, mean.highest);
}

// One device or a part of one. A smaller part would come with less device memory, so the part that remains names its
// memory, and without knowing the peak nothing is taken away.
void Rightsizer::size_fraction(MilliGpu wish, MilliGpu highest_mean) {
  const TaskShape& asked = input_.asked;
  const Limited gpu = limit_wish(wish.value(), compute_floor(highest_mean.value()), RightsizeGuard::kMeanUse,
                                 asked.gpu_milli.value(), knobs_.gpu_unit.value());
  note(RightsizedResource::kGpu, gpu.guard);
  if (input_.device_memory == MiB(0) && asked.gpu_memory == MiB(0)) {
    result_.shape.gpu_milli = MilliGpu(gpu.amount);
    return;
  }
  const auto peak = measured(input_.runs, &UsageSample::gpu_memory_peak);
  if (!enough(peak.runs)) {
    note(RightsizedResource::kGpu, RightsizeGuard::kNotMeasured);
    return note(RightsizedResource::kGpuMemory, RightsizeGuard::kNotMeasured);
  }
  const MiB had = device_memory_for(asked, input_.device_memory);
  if (peak.highest > had) {  // it ran on a larger device than the smallest it may use
    note(RightsizedResource::kGpu, RightsizeGuard::kPeakMemory);
    return note(RightsizedResource::kGpuMemory, RightsizeGuard::kRequest);
  }
  const std::int64_t wished = wish_.gpu_memory ? wish_.gpu_memory->value() : 0;
  const Limited memory =
      limit_wish(wished, memory_floor(peak.highest, peak.runs), RightsizeGuard::kPeakMemory, had.value(), 1);
  note(RightsizedResource::kGpuMemory, memory.guard);
  const bool whole = gpu.amount == kWholeDevice.value();  // comes with all its memory
  if (whole || (gpu.amount == asked.gpu_milli.value() && memory.amount == had.value())) return;
  result_.shape.gpu_milli = MilliGpu(gpu.amount);
  result_.shape.gpu_memory = MiB(memory.amount);
}

void Rightsizer::size_devices(MilliGpu wish, MilliGpu highest_mean) {
  const TaskShape& asked = input_.asked;
  const auto resource = RightsizedResource::kGpu;
  if (!knobs_.shrink_devices) return note(resource, RightsizeGuard::kWholeDevices);
  const auto peak = measured(input_.runs, &UsageSample::gpu_memory_peak);
  const bool memory_counts = input_.device_memory > MiB(0);
  if (memory_counts && !enough(peak.runs)) return note(resource, RightsizeGuard::kNotMeasured);
  const std::int64_t all = asked.gpu_count;
  const std::int64_t busy =
      divide_up(std::max(wish.value(), compute_floor(highest_mean.value())) * all, kWholeDevice.value());
  const std::int64_t full =
      memory_counts ? divide_up(memory_floor(peak.highest, peak.runs) * all, input_.device_memory.value()) : 0;
  const std::int64_t devices = std::clamp<std::int64_t>(std::max(busy, full), 1, all);
  result_.shape.gpu_count = static_cast<std::int32_t>(devices);
  if (devices == all) return note(resource, RightsizeGuard::kRequest);
  if (full > busy) return note(resource, RightsizeGuard::kPeakMemory);
  const bool held = compute_floor(highest_mean.value()) > wish.value();
  note(resource, held ? RightsizeGuard::kMeanUse : RightsizeGuard::kPolicy);
}

}  // namespace

std::string_view rightsize_guard_name(RightsizeGuard guard) {
  switch (guard) {
    case RightsizeGuard::kPolicy: return "policy";
    case RightsizeGuard::kNotAsked: return "not_asked";
    case RightsizeGuard::kNotMeasured: return "not_measured";
    case RightsizeGuard::kTooFewRuns: return "too_few_runs";
    case RightsizeGuard::kAfterOom: return "after_oom";
    case RightsizeGuard::kRequest: return "request";
    case RightsizeGuard::kPeakMemory: return "peak_memory";
    case RightsizeGuard::kMeanUse: return "mean_use";
    case RightsizeGuard::kWholeDevices: return "whole_devices";
  }
  return "";
}

Rightsizing rightsize(const RightsizePolicy& policy, const RightsizeInput& input, const RightsizeKnobs& knobs) {
  std::span<const UsageSample> runs = input.runs;
  runs = runs.last(std::min(runs.size(), static_cast<std::size_t>(std::max<std::int64_t>(knobs.history, 1))));
  const auto bad = std::find_if(runs.rbegin(), runs.rend(), [](const UsageSample& run) { return run.out_of_memory; });
  const auto good = static_cast<std::size_t>(bad - runs.rbegin());
  if (static_cast<std::int64_t>(good) < std::max<std::int64_t>(knobs.min_runs, 1)) {
    Rightsizing stands{
        .shape = input.asked, .runs = static_cast<std::int64_t>(good), .device_memory = input.device_memory};
    stands.guards.fill(good < runs.size() ? RightsizeGuard::kAfterOom : RightsizeGuard::kTooFewRuns);
    return stands;
  }
  const RightsizeInput seen{input.asked, input.device_memory, runs.last(good), input.now};
  return Rightsizer(seen, policy.wish(seen), knobs).run();
}

}  // namespace berth
