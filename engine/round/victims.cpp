#include "engine/round/victims.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace berth {

namespace {

Victim victim_of(const RoundState& state, const RunningJob& run, Seconds now) {
  const std::uint32_t all_marks = state.quotas().all_marks(run.job.queue);
  Victim victim{.job = run.job.id,
                .queue = run.job.queue,
                .class_value = state.class_value(run.job),
                .marks = run.quota_mark,
                .is_within_quota = (run.quota_mark & all_marks) == all_marks,
                .is_surplus_within_quota = ((run.quota_mark >> kMarkedDepths) & all_marks) == all_marks,
                .start = run.start,
                .lasts_until = state.lasts_until(run),
                .stop = now + run.job.eviction.checkpoint_grace + run.end_delay,
                .lost_seconds = 0,
                .policy_cost = 0,
                .tasks = {},
                .lost_by = {},
                .surplus = 0};
  victim.lost_seconds = lost_per_gpu(run, victim.stop);
  const std::vector<std::size_t> surplus = surplus_tasks(run);
  victim.surplus = surplus.size();
  for (const std::size_t task : surplus) victim.tasks.push_back(run.tasks[task]);
  for (std::size_t i = 0; i < run.tasks.size(); ++i) {
    if (std::ranges::find(surplus, i) == surplus.end()) victim.tasks.push_back(run.tasks[i]);
  }
  std::int64_t alone = 0;
  std::int64_t in_job = 0;
  for (const RunningTask& task : victim.tasks) {
    alone += lost_work(run, task, now + run.end_delay, Stops::kAlone);
    in_job += lost_work(run, task, victim.stop, Stops::kInJob);
    victim.lost_by.push_back(victim.lost_by.size() < victim.surplus ? alone : in_job);
  }
  return victim;
}

std::int64_t policy_cost_of(const RoundState& state, const Victim& victim, Seconds now) {
  const RunningJob& run = *state.running().find(victim.job);
  const std::int32_t queue = run.job.queue;
  return state.setup().victim_cost->cost(
      {.job = run.job,
       .queue = queue < 0 ? std::string_view()
                          : std::string_view(state.setup().queues[static_cast<std::size_t>(queue)].name),
       .priority = victim.class_value,
       .ran = now - run.start,
       .lost = victim.lost(victim.all()),
       .tasks = static_cast<std::int64_t>(run.tasks.size()),
       .held = run.gpu_held()});
}

}  // namespace

// An elastic job that gave up surplus tasks since has not started anew.
bool cools_down(const RunningJob& run) {
  return run.job.eviction.evictions > 0 && run.job.eviction.last_eviction <= run.start;
}

Seconds evictable_from(const RunningJob& run, const RoundRules& rules) {
  const EvictionTerms& terms = run.job.eviction;
  if (!terms.preemptible || run.is_told_to_stop() || run.is_told_to_end()) return kNever;
  const Seconds from = run.start + std::max(terms.min_runtime, Seconds(1));
  return cools_down(run) ? std::max(from, run.start + rules.eviction_cooldown) : from;
}

Seconds rests_until(const RunningJob& run, const RoundRules& rules) {
  return cools_down(run) ? run.start + rules.rest_after(run.job.eviction.evictions) : run.start;
}

VictimIndex::VictimIndex(const RoundState& state, Seconds now, EvictionTimes times) : now_(now) {
  for (const RunningJob& run : state.running().all()) {
    const Seconds from = evictable_from(run, state.rules());
    if (now >= from || (times == EvictionTimes::kIgnored && from < kNever))
      victims_.push_back(victim_of(state, run, now));
  }
  for (Victim& victim : victims_) {
    if (state.setup().victim_cost != nullptr) victim.policy_cost = policy_cost_of(state, victim, now);
  }
  std::ranges::sort(victims_, {}, [](const Victim& v) {
    return std::tuple(v.is_within_quota, v.class_value, v.policy_cost, v.lost_seconds, Seconds(0) - v.start, v.job);
  });
  for (std::size_t i = 0; i < victims_.size(); ++i) place_.emplace(victims_[i].job, i);
  // Counted by node, then filled in; a job with several tasks on a node is there once.
  first_on_node_.assign(state.ledger().node_count() + 1, 0);
  const auto for_each_node = [](const Victim& victim, const auto& visit) {
    std::vector<NodeIndex> nodes;
    for (const RunningTask& task : victim.tasks) nodes.push_back(task.holding.node);
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (const NodeIndex node : nodes) visit(static_cast<std::size_t>(node));
  };
  for (const Victim& victim : victims_) {
    for_each_node(victim, [&](std::size_t node) { ++first_on_node_[node + 1]; });
  }
  std::partial_sum(first_on_node_.begin(), first_on_node_.end(), first_on_node_.begin());
  on_node_.resize(first_on_node_.back());
  std::vector<std::size_t> next = first_on_node_;
  for (std::size_t i = 0; i < victims_.size(); ++i) {
    for_each_node(victims_[i], [&](std::size_t node) { on_node_[next[node]++] = static_cast<std::int32_t>(i); });
  }
}

void VictimIndex::put_back(std::size_t index, std::size_t from, std::size_t level) {
  Victim& victim = victims_[index];
  const std::int64_t lost = victim.lost(from + 1) - victim.lost(from);
  const auto at = [](auto& all, std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
  std::rotate(at(victim.tasks, from), at(victim.tasks, from + 1), at(victim.tasks, level));
  for (std::size_t i = from; i + 1 < level; ++i) victim.lost_by[i] = victim.lost_by[i + 1] - lost;
}

void VictimIndex::retire(std::int64_t job) {
  if (const auto place = place_.find(job); place != place_.end()) victims_[place->second].is_retired = true;
}

std::span<const std::int32_t> VictimIndex::on_node(NodeIndex node) const {
  const auto n = static_cast<std::size_t>(node);
  return std::span(on_node_).subspan(first_on_node_[n], first_on_node_[n + 1] - first_on_node_[n]);
}

Amounts VictimIndex::amounts(const RoundState& state, std::size_t index, std::size_t from, std::size_t to) const {
  Amounts amounts = state.quotas().none();
  for (std::size_t i = from; i < to; ++i) state.quotas().add_holding(victims_[index].tasks[i].holding, amounts);
  return amounts;
}

VictimChoice::VictimChoice(RoundState& state, const VictimIndex& index, std::span<const std::int64_t> lost)
    : state_(state), index_(index), lost_(lost), levels_(index.size(), 0), to_lose_(lost.size(), 0) {}

std::size_t VictimChoice::row(std::int32_t queue) const {
  return queue < 0 ? lost_.size() - 1 : static_cast<std::size_t>(queue);
}

std::int64_t eviction_budget_of(const RoundState& state, std::int32_t queue) {
  const std::int64_t own = queue < 0 ? -1 : state.setup().queues[static_cast<std::size_t>(queue)].eviction_budget;
  return own >= 0 ? own : state.rules().eviction_budget;
}

bool VictimChoice::is_within_budget(std::size_t victim, std::int64_t more) const {
  const std::int32_t queue = index_[victim].queue;
  const std::int64_t budget = eviction_budget_of(state_, queue);
  return budget < 0 || lost_[row(queue)] + to_lose_[row(queue)] + more <= budget;
}

bool VictimChoice::raise(std::size_t victim, std::size_t level) {
  const Victim& v = index_[victim];
  if (!is_within_budget(victim, v.lost(level) - v.lost(levels_[victim]))) return false;
  if (levels_[victim] == 0) chosen_.push_back(victim);
  set(victim, level);
  return true;
}

void VictimChoice::lower(std::size_t victim, std::size_t level) {
  set(victim, level);
  if (level == 0) std::erase(chosen_, victim);
}

void VictimChoice::set(std::size_t victim, std::size_t level) {
  const Victim& v = index_[victim];
  const std::size_t before = levels_[victim];
  to_lose_[row(v.queue)] += v.lost(level) - v.lost(before);
  if (level > before) {
    state_.quotas().give_back(v.queue, index_.amounts(state_, victim, before, level), v.lasts_until);
  } else {
    state_.quotas().take(v.queue, index_.amounts(state_, victim, level, before), v.lasts_until);
  }
  for (std::size_t task = std::min(before, level); task < std::max(before, level); ++task)
    state_.count_capacity(v.tasks[task].holding, level > before ? -1 : 1, v.lasts_until);
  levels_[victim] = level;
}

Seconds VictimChoice::last_stop() const {
  Seconds last = index_.now();
  for (const std::size_t v : chosen_) {
    if (level(v) == index_[v].all()) last = std::max(last, index_[v].stop);
  }
  return last;
}

std::int64_t VictimChoice::lost_at(std::size_t v, Seconds stop) const {
  const Victim& victim = index_[v];
  const bool is_whole = level(v) == victim.all();
  if (stop <= (is_whole ? victim.stop : index_.now())) return victim.lost(level(v));
  const RunningJob& run = *state_.running().find(victim.job);
  if (is_whole) return lost_work(run, stop);
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < level(v); ++i) lost += lost_work(run, victim.tasks[i], stop, Stops::kAlone);
  return lost;
}

std::int64_t VictimChoice::lost_then() const {
  const Seconds last = last_stop();
  std::int64_t lost = 0;
  for (const std::size_t v : chosen_) {
    const std::int64_t now = index_[v].lost(level(v));
    const std::int64_t then = lost_at(v, last);
    lost += is_within_budget(v, then - now) ? then : now;
  }
  return lost;
}

bool VictimChoice::pays_for_surplus_then() const {
  const Seconds last = last_stop();
  return std::ranges::all_of(chosen_, [&](std::size_t v) {
    return level(v) == index_[v].all() || is_within_budget(v, lost_at(v, last) - index_[v].lost(level(v)));
  });
}

void VictimChoice::clear() {
  for (const std::size_t victim : chosen_) set(victim, 0);
  chosen_.clear();
}

void VictimChoice::restore(const std::vector<std::size_t>& levels) {
  for (std::size_t victim = 0; victim < levels.size(); ++victim) {
    if (levels_[victim] == levels[victim]) continue;
    if (levels_[victim] == 0) chosen_.push_back(victim);
    lower(victim, levels[victim]);
  }
}

VictimChoice::Cost VictimChoice::cost() const {
  Cost cost;
  for (const std::size_t v : chosen_) {
    const Victim& victim = index_[v];
    cost.highest_class = std::max(cost.highest_class, victim.class_value);
    cost.loses_quota = cost.loses_quota || victim.loses_quota(level(v));
    cost.lost += victim.policy_cost;
  }
  cost.lost += lost_then();
  return cost;
}

}  // namespace berth
