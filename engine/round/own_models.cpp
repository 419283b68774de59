#include "engine/round/own_models.h"

#include <algorithm>

namespace berth {

namespace {

bool is_of_gpus(const QuotaLedger& quotas, std::size_t resource) {
  return quotas.is_governed(resource) && quotas.resource(resource).kind == ResourceKind::kGpu;
}

// Of the queue's quota of that resource; 0 = all, or none.
ModelSet models_of(const QuotaLedger& quotas, std::int32_t queue, std::size_t resource) {
  if (!is_of_gpus(quotas, resource)) return 0;
  if (quotas.resource(resource).models != 0) return quotas.resource(resource).models;
  ModelSet others = 0;
  for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
    if (is_of_gpus(quotas, r) && quotas.has_quota_of(queue, r)) others |= quotas.resource(r).models;
  }
  return others == 0 ? 0 : quotas.models_within(queue, 0) & ~others;
}

std::vector<std::int64_t> left_of_quotas(const QuotaLedger& quotas, std::int32_t queue) {
  std::vector<std::int64_t> left(quotas.resource_count(), 0);
  for (std::size_t r = 0; r < left.size(); ++r) {
    if (is_of_gpus(quotas, r)) left[r] = std::max<std::int64_t>(0, quotas.quota(queue, r) - quotas.used(queue, r));
  }
  return left;
}

// So many tasks of which each counts for `one` fit what is left.
std::int64_t tasks_that_fit(const QuotaLedger& quotas, std::int32_t queue, std::span<const std::int64_t> left,
                            const Amounts& one, std::int64_t most) {
  for (std::size_t r = 0; r < left.size(); ++r) {
    if (is_of_gpus(quotas, r) && quotas.has_quota_of(queue, r) && one[r] > 0) most = std::min(most, left[r] / one[r]);
  }
  return std::max<std::int64_t>(0, most);
}

}  // namespace

std::vector<Job> on_each_own_model(const QuotaLedger& quotas, const Job& job, Seconds end) {
  std::vector<Job> jobs;
  for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
    const ModelSet models = models_of(quotas, job.queue, r);
    if (models == 0) continue;
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

namespace {

std::optional<Parts> parts_within(const QuotaLedger& quotas, const Job& job, std::vector<std::int64_t> left) {
  Parts parts{quotas.none(), {}};
  std::size_t pieces = 0;
  for (const TaskGroup& group : job.groups) {
    std::int64_t tasks = std::max(0, group.min_tasks - group.placed);
    if (group.shape.gpu_count == 0) {
      quotas.add_demand(group.shape, tasks, parts.demand);
      parts.groups.push_back(group);
      continue;
    }
    for (std::size_t r = 0; r < left.size() && tasks > 0; ++r) {
      const ModelSet models = models_of(quotas, job.queue, r);
      TaskGroup part = group;
      part.shape.models = part.shape.models == 0 ? models : part.shape.models & models;
      if (part.shape.models == 0) continue;
      Amounts one = quotas.none();
      quotas.add_demand(part.shape, 1, one);
      const std::int64_t fit = tasks_that_fit(quotas, job.queue, left, one, tasks);
      if (fit == 0) continue;
      quotas.add_demand(part.shape, fit, parts.demand);
      for (std::size_t of = 0; of < left.size(); ++of) left[of] -= fit * one[of];
      part.placed = 0;
      part.count = part.min_tasks = static_cast<std::int32_t>(fit);
      parts.groups.push_back(std::move(part));
      tasks -= fit;
      ++pieces;
    }
    if (tasks > 0) return std::nullopt;
  }
  return pieces > 1 ? std::optional(std::move(parts)) : std::nullopt;
}

}  // namespace

std::vector<Parts> across_own_models(const QuotaLedger& quotas, const Job& job) {
  std::vector<Parts> ways;
  if (job.queue < 0 || quotas.choices_of(job) == 0) return ways;
  for (std::int32_t q = job.queue; q >= 0; q = quotas.queues()[static_cast<std::size_t>(q)].parent) {
    std::optional<Parts> parts = parts_within(quotas, job, left_of_quotas(quotas, q));
    if (parts && std::ranges::find(ways, parts->demand, &Parts::demand) == ways.end())
      ways.push_back(*std::move(parts));
  }
  return ways;
}

}  // namespace berth
