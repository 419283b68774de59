#include "engine/model/plan_prefix.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace berth {

namespace {

// For a loan; or an earlier round told it to stop, and its grace is over.
bool ends_anyway(const Plan& plan, const Eviction& eviction) {
  return eviction.rule == EvictionRule::kLoan || (eviction.was_told_before() && eviction.stop_at <= plan.planned_at);
}

}  // namespace

std::vector<std::int64_t> deciding_jobs(const Plan& plan) {
  std::vector<std::int64_t> jobs;
  std::unordered_set<std::int64_t> seen;
  for (const Placement& placement : plan.placements) {
    if (seen.insert(placement.job).second) jobs.push_back(placement.job);
  }
  for (const Eviction& eviction : plan.evictions) {
    if (!ends_anyway(plan, eviction) && seen.insert(eviction.beneficiary).second) jobs.push_back(eviction.beneficiary);
  }
  for (const Reservation& each : plan.loan_starts) {
    if (seen.insert(each.job).second) jobs.push_back(each.job);
  }
  return jobs;
}

std::int64_t common_decisions(const Plan& a, const Plan& b) {
  const auto [end, end_b] = std::ranges::mismatch(a.placements, b.placements);
  std::unordered_set<std::int64_t> jobs;
  for (auto each = a.placements.begin(); each != end; ++each) jobs.insert(each->job);
  // The last of them may have been placed otherwise from there on.
  if (end != a.placements.end()) jobs.erase(end->job);
  if (end_b != b.placements.end()) jobs.erase(end_b->job);
  return static_cast<std::int64_t>(jobs.size());
}

Plan first_decisions(const Plan& plan, std::int64_t decisions) {
  std::vector<std::int64_t> jobs = deciding_jobs(plan);
  const auto kept = std::min(static_cast<std::size_t>(std::max<std::int64_t>(decisions, 0)), jobs.size());
  const std::unordered_set<std::int64_t> cut(jobs.begin() + static_cast<std::ptrdiff_t>(kept), jobs.end());
  Plan prefix = plan;
  std::erase_if(prefix.placements, [&](const Placement& each) { return cut.contains(each.job); });
  std::erase_if(prefix.evictions,
                [&](const Eviction& each) { return !ends_anyway(plan, each) && cut.contains(each.beneficiary); });
  std::erase_if(prefix.reservations, [&](const Reservation& each) {
    return each.kind == ReservationKind::kEviction && cut.contains(each.job);
  });
  std::erase_if(prefix.loan_starts, [&](const Reservation& each) { return cut.contains(each.job); });
  // Of jobs that run already, marks and surplus tasks may stay as they are; those that were to start do not run.
  std::erase_if(prefix.marks, [&](const QuotaMark& each) { return cut.contains(each.job); });
  std::unordered_set<std::int64_t> waits_anyway;
  for (const Waiting& each : plan.waiting) waits_anyway.insert(each.job);
  std::vector<Waiting> waiting;
  std::unordered_map<std::int64_t, std::int32_t> tasks;
  for (const Placement& each : plan.placements) ++tasks[each.job];
  for (std::size_t i = kept; i < jobs.size(); ++i) {
    if (waits_anyway.contains(jobs[i])) continue;
    Waiting& each = waiting.emplace_back();
    each.job = jobs[i];
    each.reason = Reason::kBlocked;
    each.fits = each.needed = tasks[jobs[i]];
  }
  prefix.waiting.insert(prefix.waiting.begin(), waiting.begin(), waiting.end());
  return prefix;
}

std::optional<Plan> with_room_made(const Plan& plan) {
  std::unordered_set<std::int64_t> awaiting;
  for (const Eviction& each : plan.evictions) {
    if (each.rule != EvictionRule::kLoan && each.stop_at > plan.planned_at) awaiting.insert(each.beneficiary);
  }
  const auto is_made = [&](const Reservation& each) {
    return each.kind == ReservationKind::kEviction && !each.tasks.empty() && awaiting.contains(each.job);
  };
  if (plan.loan_starts.empty() && std::ranges::none_of(plan.reservations, is_made)) return std::nullopt;
  Plan made = plan;
  std::unordered_set<std::int64_t> starting;
  const auto start = [&](const Reservation& each) {
    starting.insert(each.job);
    for (const ReservedTask& task : each.tasks) {
      made.placements.push_back({.job = each.job,
                                 .group = task.group,
                                 .task = task.task,
                                 .node = task.holding.node,
                                 .node_id = task.node_id,
                                 .devices = task.holding.devices,
                                 .gpu_milli = task.holding.gpu_milli,
                                 .gpu_memory = task.holding.gpu_memory,
                                 .cpu = task.holding.cpu,
                                 .memory = task.holding.memory});
    }
  };
  for (const Reservation& each : plan.reservations) {
    if (is_made(each)) start(each);
  }
  for (const Reservation& each : plan.loan_starts) start(each);
  for (Eviction& each : made.evictions) {
    const bool makes_room =
        each.rule == EvictionRule::kLoan ? !plan.loan_starts.empty() : starting.contains(each.beneficiary);
    if (makes_room) each.stop_at = std::min(each.stop_at, plan.planned_at);
  }
  std::erase_if(made.reservations, is_made);
  std::erase_if(made.waiting, [&](const Waiting& each) { return starting.contains(each.job); });
  return made;
}

}  // namespace berth
