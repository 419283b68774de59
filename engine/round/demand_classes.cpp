#include "engine/round/demand_classes.h"

#include <utility>

namespace berth {

std::size_t DemandClasses::kind_of(const Job& job) {
  DemandKey key = {job.queue, job.priority_class};
  for (const TaskGroup& group : job.groups) append_demand(group, key);
  return kinds_.try_emplace(std::move(key), kinds_.size()).first->second;
}

std::size_t DemandClasses::of(std::size_t kind, const Job& job, MayEvict may_evict, Seconds end, int levels) {
  // Whom it may evict is its own matter then.
  const bool has_a_past = may_evict != MayEvict::kNobody && !job.eviction.evicted_for.empty();
  const std::array<std::int64_t, 6> key = {static_cast<std::int64_t>(kind),
                                           static_cast<std::int64_t>(may_evict),
                                           has_a_past ? job.id : 0,
                                           job.after.empty() ? 0 : 1,
                                           end.value(),
                                           levels};
  return numbers_.try_emplace(key, numbers_.size()).first->second;
}

void FailedDemands::note(std::size_t demand_class, std::size_t evictions, std::size_t remembered) {
  if (demand_class >= failures_.size()) failures_.resize(demand_class + 1);
  failures_[demand_class] = Failure{evictions, remembered};
}

std::optional<std::size_t> FailedDemands::find(std::size_t demand_class, std::size_t evictions) const {
  if (demand_class >= failures_.size() || !failures_[demand_class]) return std::nullopt;
  const Failure& failure = *failures_[demand_class];
  return failure.evictions == evictions ? std::optional(failure.remembered) : std::nullopt;
}

}  // namespace berth
