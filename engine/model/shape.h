// What one task asks of one node.
//
// A task asks for CPU, memory and either no device, a number of whole devices, or a fraction of one device together
// with device memory. Tasks that ask for the same are one shape: scores, feasibility and searches are kept per shape,
// so a thousand equal tasks cost one. Device memory 0 means "the same fraction of the device's memory as of its
// compute", worked out per device model by device_memory_for().
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "engine/base/units.h"

namespace berth {

// Device models a task may use, as a bit per model index; 0 = any model.
using ModelSet = std::uint64_t;
inline constexpr int kMaxModels = 64;

struct TaskShape {
  MilliCpu cpu;
  MiB memory;
  std::int32_t gpu_count = 0;  // devices; 0 = a CPU task
  MilliGpu gpu_milli;          // of each device: 1000 = all of it; less only with gpu_count == 1
  MiB gpu_memory;              // of each device; 0 = in proportion to gpu_milli
  ModelSet models = 0;
  std::int32_t pool = -1;          // only nodes of this pool; -1 = any
  bool within_link_group = false;  // its devices must lie in one link group
  // Some nodes keep out what may run for long (NodeKind::keeps_out): the longer, the higher.
  std::int32_t limit_class = 0;
  static constexpr std::int32_t kUnlimited = std::numeric_limits<std::int32_t>::max();  // the class

  bool operator==(const TaskShape&) const = default;

  bool is_fraction() const { return gpu_count == 1 && gpu_milli < kWholeDevice; }
  MilliGpu gpu_total() const { return gpu_milli * gpu_count; }
};

// Device memory that a task of this shape takes from each of its devices. A whole device comes with all its memory.
// `device_memory` 0 = not tracked (a trace that does not say), then nothing is taken.
MiB device_memory_for(const TaskShape& shape, MiB device_memory);

struct TaskShapeHash {
  std::size_t operator()(const TaskShape& shape) const;
};

}  // namespace berth
