#include "engine/sim/empty_cluster.h"

#include <fmt/format.h>

#include "engine/round/explain.h"

namespace berth {

std::optional<std::string> EmptyCluster::why_never(const Job& job) {
  for (const TaskGroup& group : job.groups) {
    key_.clear();
    append_demand(group, key_);
    const auto [known, is_new] = known_.try_emplace(key_);
    if (is_new) known->second = why_never(group);
    if (known->second) return known->second;
  }
  return std::nullopt;
}

std::optional<std::string> EmptyCluster::why_never(const TaskGroup& group) {
  Job alone;
  alone.groups.push_back(group);
  const Ledger::Checkpoint mark = ledger_.checkpoint();
  const JobOutcome outcome = placer_.place_job(alone);
  ledger_.rollback(mark);
  if (outcome.started) return std::nullopt;
  if (outcome.fits == 0) {
    return fmt::format("no node can run a task of it ({})", reason_name(explain_shape(ledger_, group.shape).dominant));
  }
  if (outcome.reason == Reason::kLocality) {
    return fmt::format("no {} takes its {} tasks together", locality_name(group.locality), outcome.needed);
  }
  return fmt::format("{} tasks must start together, {} fit the empty cluster", outcome.needed, outcome.fits);
}

}  // namespace berth
