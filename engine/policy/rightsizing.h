// What will a job that comes again really need? From what its last runs used, kept safe by guard rails.
//
//   runs of one recurrence group  ->  RightsizePolicy: a wish per resource  ->  guard rails  ->  the next request
//
// A policy only wishes; what it may not do is decided here, once for all of them (algorithms.md 2.2, peers.md 4.4):
//   - fewer than min_runs measured runs: the request stands
//   - after a run out of memory the request stands until min_runs runs went well, and earlier runs count no more
//   - host and device memory never below the observed peak plus memory_margin: memory cannot be squeezed, and the next
//     peak is never exactly the last. Few runs know little of how peaks vary, so the margin is wider while they are
//     few: memory_margin * (1 + min_runs / runs), twice as much at first
//   - CPU and GPU never below the most that a run used in the mean plus compute_margin, unless compute_floor is off:
//     a published formula that asks for less slows the job down
//   - never above the request; where that and a peak contradict each other, the request stands
//   - GPU in steps of gpu_unit; below one device a fraction, which then names its device memory; several devices stay
//     several whole devices, as many as were asked for, unless shrink_devices: a program started on eight rarely runs
//     on five
//
// Amounts are per task, GPU amounts per device. Pure; integers throughout; factors in percent.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/shape.h"

namespace berth {

// What the tasks of one group used in one run; means over the tasks, peaks of the task that used most. What was not
// measured is empty.
struct UsageSample {
  Seconds end;
  std::optional<MilliCpu> cpu_mean = {};
  std::optional<MilliCpu> cpu_peak = {};
  std::optional<MiB> memory_peak = {};
  std::optional<MilliGpu> gpu_mean = {};  // of each device, 1000 = busy all the time
  std::optional<MiB> gpu_memory_peak = {};
  bool out_of_memory = false;

  bool operator==(const UsageSample&) const = default;
};

enum class WpaiVariant : std::uint8_t { kA, kB };
enum class UsageStatistic : std::uint8_t { kMean, kPeak };

struct RightsizeKnobs {
  // Guard rails.
  std::int64_t min_runs = 3;
  std::int64_t history = 20;        // runs that policies and guard rails look at
  std::int64_t memory_margin = 30;  // percent, when many runs are known
  std::int64_t compute_margin = 5;  // percent
  bool compute_floor = true;
  bool shrink_devices = false;
  MilliGpu gpu_unit{10};
  // wpai; what is empty is as the variant has it.
  WpaiVariant variant = WpaiVariant::kB;
  std::int64_t window = 3;  // runs
  std::optional<std::int64_t> gpu_util_factor = {};
  std::optional<std::int64_t> gpu_mem_factor = {};
  std::optional<std::int64_t> cpu_req_factor = {};
  std::optional<UsageStatistic> cpu_req_stat = {};
  // histogram
  std::int64_t compute_percentile = 90;  // of the runs' means; 0 = their weighted mean
  std::int64_t memory_percentile = 100;  // of the runs' peaks; 100 = the highest
  std::int64_t margin = 10;              // percent
  Seconds compute_half_life{7 * 86400};  // of a run's weight
  Seconds memory_half_life{28 * 86400};
};

struct RightsizeInput {
  TaskShape asked;                    // what the user wants for one task
  MiB device_memory;                  // of the smallest device model it may use; 0 = not tracked
  std::span<const UsageSample> runs;  // oldest first
  Seconds now;
};

// What one task would get if the policy could do as it likes. Empty = no opinion: the request stands.
struct RightsizeWish {
  std::optional<MilliCpu> cpu = {};
  std::optional<MiB> memory = {};
  std::optional<MilliGpu> gpu = {};    // of each device
  std::optional<MiB> gpu_memory = {};  // of each device
};

class RightsizePolicy {
 public:
  virtual ~RightsizePolicy() = default;
  // input.runs has min_runs at least, none of them out of memory.
  virtual RightsizeWish wish(const RightsizeInput& input) const = 0;
};

// What decided an amount.
enum class RightsizeGuard : std::uint8_t {
  kPolicy,       // nothing held it back
  kNotAsked,     // the request has none of it
  kNotMeasured,  // no opinion, or too few runs measured it
  kTooFewRuns,
  kAfterOom,
  kRequest,       // would be above the request
  kPeakMemory,    // would be below the observed peak and margin
  kMeanUse,       // would be below the highest mean use and margin
  kWholeDevices,  // several devices stay whole
};
std::string_view rightsize_guard_name(RightsizeGuard guard);  // "policy", "peak_memory", ...

enum class RightsizedResource : std::uint8_t { kCpu, kMemory, kGpu, kGpuMemory };
inline constexpr std::size_t kRightsizedResources = 4;

struct Rightsizing {
  TaskShape shape;  // what the next run is given: `asked` with smaller amounts
  std::array<RightsizeGuard, kRightsizedResources> guards = {};
  std::int64_t runs = 0;  // that it rests on
  MiB device_memory;      // as in RightsizeInput

  RightsizeGuard guard(RightsizedResource resource) const { return guards[static_cast<std::size_t>(resource)]; }
};

// The next request of one task by `policy` within the guard rails.
Rightsizing rightsize(const RightsizePolicy& policy, const RightsizeInput& input, const RightsizeKnobs& knobs);

}  // namespace berth
