// How a task is kept within the CPU and memory it was given, and how much of them it used.
//
// With a cgroup (version 2) of its own the task as a whole is limited: its memory with a kill of all of it, its CPU by
// time slices, and its peak is the kernel's. Without one the memory limit is RLIMIT_DATA of each of its processes:
// private memory that can be written. (RLIMIT_AS would count address space, of which CUDA reserves far more than it
// uses.) Then an allocation fails instead of a kill, n processes may use n times the limit, and CPU is not limited:
// the task only learns its number of cores from its environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/status.h"
#include "engine/base/units.h"

namespace berth {

enum class LimitKind : std::uint8_t { kNone, kRlimit, kCgroup };

// The folder under which each task gets a cgroup: made under `parent` (of the cgroup file system) when it can be, with
// the controllers cpu and memory switched on. kUnavailable: why that cannot be.
Result<std::string> prepare_cgroups(const std::string& parent);

class TaskLimits {
 public:
  TaskLimits() = default;
  // `cgroup` = the task's own folder, for kCgroup; 0 = not limited.
  TaskLimits(LimitKind kind, std::string cgroup, MilliCpu cpu, MiB memory)
      : kind_(kind), cgroup_(std::move(cgroup)), cpu_(cpu), memory_(memory) {}

  // By the supervisor, before the task starts.
  Status prepare() const;
  // In the process that will be the task.
  Status enter() const;
  // Whatever is left of it.
  void kill_all() const;
  // Once it has ended; nothing = not measured.
  std::optional<MiB> memory_peak() const;
  // Whether a task that failed with this peak failed for want of memory: the kernel's word where it has a cgroup; else
  // having come within a tenth of its limit is taken for it.
  bool ran_out_of_memory(MiB peak) const;
  // False when processes still have to go: ask again.
  bool remove() const;

 private:
  LimitKind kind_ = LimitKind::kNone;
  std::string cgroup_;
  MilliCpu cpu_;
  MiB memory_;
};

// The whole of a small file, trimmed; nothing when it cannot be read.
std::optional<std::string> read_small_file(const std::string& path);

}  // namespace berth
