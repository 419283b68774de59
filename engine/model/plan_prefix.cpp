#include "engine/model/plan_prefix.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace berth {

namespace {

// Jobs for which something is done, in the order of the plan.
std::vector<std::int64_t> deciding_jobs(const Plan& plan) {
  std::vector<std::int64_t> jobs;
  std::unordered_set<std::int64_t> seen;
  for (const Placement& placement : plan.placements) {
    if (seen.insert(placement.job).second) jobs.push_back(placement.job);
  }
  for (const Eviction& eviction : plan.evictions) {
    if (eviction.rule != EvictionRule::kLoan && seen.insert(eviction.beneficiary).second)
      jobs.push_back(eviction.beneficiary);
  }
  return jobs;
}

}  // namespace

std::int64_t decision_count(const Plan& plan) { return static_cast<std::int64_t>(deciding_jobs(plan).size()); }

Plan first_decisions(const Plan& plan, std::int64_t decisions) {
  std::vector<std::int64_t> jobs = deciding_jobs(plan);
  const auto kept = std::min(static_cast<std::size_t>(std::max<std::int64_t>(decisions, 0)), jobs.size());
  const std::unordered_set<std::int64_t> cut(jobs.begin() + static_cast<std::ptrdiff_t>(kept), jobs.end());
  Plan prefix = plan;
  std::erase_if(prefix.placements, [&](const Placement& each) { return cut.contains(each.job); });
  std::erase_if(prefix.evictions, [&](const Eviction& each) {
    return each.rule != EvictionRule::kLoan && cut.contains(each.beneficiary);
  });
  std::erase_if(prefix.reservations, [&](const Reservation& each) {
    return each.kind == ReservationKind::kEviction && cut.contains(each.job);
  });
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
    each.reason = i == kept ? Reason::kAssertion : Reason::kBlocked;
    each.behind_job = i == kept ? 0 : jobs[kept];
    each.fits = each.needed = tasks[jobs[i]];
  }
  prefix.waiting.insert(prefix.waiting.begin(), waiting.begin(), waiting.end());
  return prefix;
}

}  // namespace berth
