#include "engine/round/own_models.h"

#include <algorithm>

namespace berth {

std::vector<Job> on_each_own_model(const QuotaLedger& quotas, const Job& job, Seconds end) {
  std::vector<Job> jobs;
  for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
    const ModelSet models = quotas.resource(r).models;
    if (models == 0 || !quotas.is_governed(r)) continue;
    Job narrowed = job;
    bool is_narrower = false;
    bool is_possible = true;
    for (TaskGroup& group : narrowed.groups) {
      if (group.shape.gpu_count == 0 || group.placed >= group.min_tasks) continue;
      const ModelSet allowed = group.shape.models == 0 ? models : group.shape.models & models;
      is_possible = is_possible && allowed != 0;
      is_narrower = is_narrower || allowed != group.shape.models;
      group.shape.models = allowed;
    }
    if (is_narrower && is_possible && quotas.has_quota_for(job.queue, quotas.demand_to_start(narrowed), end)) {
      jobs.push_back(std::move(narrowed));
    }
  }
  return jobs;
}

std::optional<Amounts> across_own_models(const QuotaLedger& quotas, const Job& job) {
  if (job.queue < 0 || quotas.choices_of(job) == 0) return std::nullopt;
  std::vector<std::int64_t> left(quotas.resource_count(), 0);  // of quotas of models, the most on the path
  for (std::size_t r = 0; r < left.size(); ++r) {
    if (quotas.resource(r).models == 0 || !quotas.is_governed(r)) continue;
    for (std::int32_t q = job.queue; q >= 0; q = quotas.queues()[static_cast<std::size_t>(q)].parent)
      left[r] = std::max(left[r], quotas.quota(q, r) - quotas.used(q, r));
  }
  Amounts demand = quotas.none();
  std::size_t parts = 0;
  for (const TaskGroup& group : job.groups) {
    std::int64_t tasks = std::max(0, group.min_tasks - group.placed);
    for (std::size_t r = 0; r < left.size() && tasks > 0 && group.shape.gpu_count > 0; ++r) {
      TaskShape shape = group.shape;
      shape.models = shape.models == 0 ? quotas.resource(r).models : shape.models & quotas.resource(r).models;
      Amounts one = quotas.none();
      quotas.add_demand(shape, 1, one);
      const std::int64_t fit = shape.models == 0 || one[r] <= 0 ? 0 : std::min(tasks, left[r] / one[r]);
      if (fit <= 0) continue;
      quotas.add_demand(shape, fit, demand);
      left[r] -= fit * one[r];
      tasks -= fit;
      ++parts;
    }
    if (group.shape.gpu_count == 0) {
      quotas.add_demand(group.shape, tasks, demand);
    } else if (tasks > 0) {
      return std::nullopt;
    }
  }
  return parts > 1 ? std::optional(demand) : std::nullopt;
}

}  // namespace berth
