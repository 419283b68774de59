#include "engine/runtime/hold_back.h"

#include <algorithm>

#include "engine/model/hash.h"

namespace berth {

namespace {

DemandKey demand_in_queue(const Job& job) {
  DemandKey key{job.queue};
  for (const TaskGroup& group : job.groups) append_demand(group, key);
  return key;
}

// False: the job is there already.
bool insert(const AssertionHold& hold, std::vector<AssertionHold>& holds) {
  const auto at = std::ranges::lower_bound(holds, hold.job, {}, &AssertionHold::job);
  if (at != holds.end() && at->job == hold.job) return false;
  holds.insert(at, hold);
  return true;
}

}  // namespace

std::function<Result<std::optional<PlanWithout>>(const Culprit&)> HoldBack::callback() {
  if (!settings_.holds_back) return {};
  return [this](const Culprit& culprit) { return plan_without(culprit); };
}

void HoldBack::take_back() {
  if (!first_) return;
  round_.schedule = *std::move(first_);
  round_.loaded.snapshot.holds.clear();
  round_.loaded.snapshot.surplus_holds.clear();
  round_.loaded.snapshot.kept_off.clear();
  first_.reset();
}

void HoldBack::hold(std::int64_t job, std::int64_t assertion, std::int64_t like_job) {
  insert({job, assertion, like_job}, round_.loaded.snapshot.holds);
}

bool HoldBack::hold_surplus(const Job& job, std::int64_t assertion) {
  std::vector<AssertionHold>& held = round_.loaded.snapshot.surplus_holds;
  const auto wants_more = [](const TaskGroup& group) { return group.count > std::max(group.min_tasks, group.placed); };
  const bool is_elastic = !has_its_gang(job) && std::ranges::any_of(job.groups, wants_more);
  if (is_elastic && insert({job.id, assertion, 0}, held)) return true;
  std::erase_if(held, [&](const AssertionHold& each) { return each.job == job.id; });
  return false;
}

void HoldBack::hold_untried(const Culprit& culprit, const std::function<bool(const Job&)>& is_meant) {
  const Snapshot& snapshot = round_.loaded.snapshot;
  std::vector<std::pair<std::uint64_t, std::int64_t>> drawn;
  for (const Job& job : snapshot.jobs) {
    if (job.state != JobState::kPending || find_hold(snapshot.holds, job.id) != nullptr || !is_meant(job)) continue;
    std::uint64_t draw = static_cast<std::uint64_t>(snapshot.version);
    hash_add(draw, static_cast<std::uint64_t>(job.id));
    drawn.emplace_back(draw, job.id);
  }
  const std::size_t spared = std::min(kSpared, drawn.size());
  std::ranges::partial_sort(drawn, drawn.begin() + static_cast<std::ptrdiff_t>(spared));
  for (std::size_t i = spared; i < drawn.size(); ++i) hold(drawn[i].second, culprit.broken.front().id, culprit.job);
}

bool HoldBack::keep_off(const Culprit& culprit) {
  constexpr int kMostTimes = 2;  // of a job
  Snapshot& snapshot = round_.loaded.snapshot;
  std::vector<KeptOffNodes>& all = snapshot.kept_off;
  const auto at = std::ranges::lower_bound(all, culprit.job, {}, &KeptOffNodes::job);
  const bool is_there = at != all.end() && at->job == culprit.job;
  auto& [times, assertion] = kept_off_[culprit.job];
  if (culprit.nodes.empty() || times == kMostTimes || tried_elsewhere_ == kMostElsewhere) {
    if (is_there) all.erase(at);
    return false;
  }
  ++times;
  ++tried_elsewhere_;
  assertion = culprit.broken.front().id;
  std::set<NodeIndex> nodes(culprit.nodes.begin(), culprit.nodes.end());
  if (is_there) nodes.insert(at->nodes.begin(), at->nodes.end());
  if (times == kMostTimes) {
    for (const Allocation& allocation : snapshot.allocations) nodes.insert(allocation.node);
  }
  KeptOffNodes& kept = is_there ? *at : *all.insert(at, {.job = culprit.job, .nodes = {}});
  kept.nodes.assign(nodes.begin(), nodes.end());
  return true;
}

bool HoldBack::hold_those_kept_off() {
  std::vector<KeptOffNodes>& all = round_.loaded.snapshot.kept_off;
  const auto starts = [&](const KeptOffNodes& each) {
    return std::ranges::count(round_.schedule.plan.placements, each.job, &Placement::job) > 0;
  };
  const std::size_t before = all.size();
  const std::vector<Job>& jobs = round_.loaded.snapshot.jobs;
  for (const KeptOffNodes& each : all) {
    const std::int64_t assertion = kept_off_[each.job].second;
    if (!starts(each) && !hold_surplus(*find_job(jobs, each.job), assertion)) hold(each.job, assertion, 0);
  }
  std::erase_if(all, [&](const KeptOffNodes& each) { return !starts(each); });
  return all.size() < before;
}

Status HoldBack::plan_again() {
  ScheduleOptions options;
  options.interrupted = interrupted_;
  do {
    BERTH_TRY(plan_loaded(runtime_, round_, options));
  } while (hold_those_kept_off());
  return {};
}

Result<std::optional<PlanWithout>> HoldBack::plan_without(const Culprit& culprit) {
  if (plans_ == kMostPlans) return std::optional<PlanWithout>();
  if (!first_) first_ = round_.schedule;
  const std::vector<Job>& jobs = round_.loaded.snapshot.jobs;
  const Job* const found = find_job(jobs, culprit.job);
  if (found == nullptr || find_hold(round_.loaded.snapshot.holds, culprit.job) != nullptr)
    return std::optional<PlanWithout>();  // holding it does not help
  const Job& job = *found;
  if (!keep_off(culprit)) {
    ++plans_;
    if (!hold_surplus(job, culprit.broken.front().id)) {
      hold(job.id, culprit.broken.front().id, 0);
      hold_others(culprit, job);
    }
  }
  BERTH_TRY(plan_again());
  return std::optional(PlanWithout{.plan = round_.schedule.plan, .record = record_if_wanted(settings_, round_)});
}

void HoldBack::hold_others(const Culprit& culprit, const Job& job) {
  if (plans_ > kSingly && plans_ <= kWithAlike) {
    const DemandKey demand = demand_in_queue(job);
    if (widened_.insert(demand).second)
      hold_untried(culprit,
                   [&](const Job& other) { return other.queue == job.queue && demand_in_queue(other) == demand; });
  } else if (plans_ > kWithAlike && plans_ <= kWithQueue) {
    if (widened_.insert({job.queue}).second)
      hold_untried(culprit, [&](const Job& other) { return other.queue == job.queue; });
  } else if (plans_ > kWithQueue && !holds_all_) {
    holds_all_ = true;
    hold_untried(culprit,
                 [&](const Job& other) { return std::ranges::find(culprit.before, other.id) == culprit.before.end(); });
  }
}

}  // namespace berth
