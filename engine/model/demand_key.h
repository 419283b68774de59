// What a task group asks for as a row of integers: groups that ask for the same have equal keys, fit alike and fail
// alike.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/job.h"

namespace berth {

using DemandKey = std::vector<std::int64_t>;

inline void append_demand(const TaskGroup& group, DemandKey& key) {
  const TaskShape& shape = group.shape;
  key.insert(key.end(),
             {shape.cpu.value(), shape.memory.value(), shape.gpu_count, shape.gpu_milli.value(),
              shape.gpu_memory.value(), static_cast<std::int64_t>(shape.models), shape.pool, shape.within_link_group,
              shape.limit_class, group.count, group.min_tasks, group.placed, static_cast<std::int64_t>(group.locality),
              group.locality_required, group.anchor, static_cast<std::int64_t>(group.anchor_devices)});
}

}  // namespace berth
