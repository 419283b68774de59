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

std::uint32_t depths_that_suffice(const QuotaLedger& quotas, std::int32_t queue, const Amounts& demand) {
  std::uint32_t depths = 0;
  for (std::int32_t q = queue; q >= 0; q = quotas.queues()[static_cast<std::size_t>(q)].parent) {
    bool suffices = true;
    for (std::size_t r = 0; r < demand.size() && suffices; ++r)
      suffices = demand[r] == 0 || !quotas.has_quota_of(queue, r) || demand[r] <= quotas.quota(q, r);
    if (suffices) depths |= depth_bit(quotas.depth(q));
  }
  return depths;
}

}  // namespace berth
