#include "engine/policy/workload.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace berth {

namespace {

// What makes two tasks the same to the rule, in the order that breaks ties.
using WorkloadKey = std::tuple<std::int64_t, std::int64_t, std::int32_t, std::string_view>;

struct WorkloadCount {
  WorkloadKey key;
  TaskShape shape;
  std::int64_t tasks = 0;
  std::int64_t memory = 0;      // MiB, summed over the tasks
  std::int64_t gpu_memory = 0;  // MiB, summed over the tasks
};

std::vector<WorkloadCount> count_equal_tasks(std::span<const WorkloadTask> tasks) {
  std::map<WorkloadKey, WorkloadCount> counts;
  for (const WorkloadTask& task : tasks) {
    const TaskShape& shape = task.shape;
    const WorkloadKey key{shape.cpu.value(), shape.gpu_milli.value(), shape.gpu_count, task.models_text};
    WorkloadCount& count = counts.try_emplace(key, WorkloadCount{.key = key, .shape = shape}).first->second;
    count.tasks += task.weight;
    count.memory += task.weight * shape.memory.value();
    count.gpu_memory += task.weight * shape.gpu_memory.value();
  }
  std::vector<WorkloadCount> sorted;
  for (const auto& [key, count] : counts) {
    if (count.tasks > 0) sorted.push_back(count);
  }
  std::ranges::sort(sorted, [](const WorkloadCount& a, const WorkloadCount& b) {
    return std::tie(a.tasks, a.key) > std::tie(b.tasks, b.key);
  });
  return sorted;
}

}  // namespace

std::vector<WorkloadShape> typical_workload(std::span<const WorkloadTask> tasks) {
  const std::vector<WorkloadCount> counts = count_equal_tasks(tasks);
  std::int64_t total = 0;
  for (const WorkloadCount& count : counts) total += count.tasks;
  std::size_t kept = 0;
  std::int64_t covered = 0;
  while (kept < counts.size() && covered * 100 < total * 95) covered += counts[kept++].tasks;

  // Two divisions and no simpler form: the published scores depend on the last bit.
  const double whole = static_cast<double>(total);
  const double covered_share = static_cast<double>(covered) / whole;
  std::vector<WorkloadShape> typical;
  for (const WorkloadCount& count : std::span(counts).first(kept)) {
    WorkloadShape entry{.shape = count.shape, .popularity = static_cast<double>(count.tasks) / whole / covered_share};
    entry.shape.memory = MiB(count.memory / count.tasks);
    entry.shape.gpu_memory = MiB(count.gpu_memory / count.tasks);
    typical.push_back(entry);
  }
  return typical;
}

}  // namespace berth
