#include "engine/round/running_jobs.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace berth {

void RunningJobs::touch(std::size_t place) {
  if (times_[place].is_stale) return;
  times_[place].is_stale = true;
  stale_.push_back(place);
}

void RunningJobs::index_task(std::int64_t id, NodeIndex node) {
  const auto n = static_cast<std::size_t>(node);
  if (n >= nodes_.size()) nodes_.resize(n + 1);
  nodes_[n].push_back(id);
}

void RunningJobs::forget_task(std::int64_t id, NodeIndex node) {
  std::vector<std::int64_t>& jobs = nodes_[static_cast<std::size_t>(node)];
  *std::ranges::find(jobs, id) = jobs.back();
  jobs.pop_back();
}

RunningJob& RunningJobs::add(RunningJob job) {
  place_[job.job.id] = jobs_.size();
  if (has_nodes_) {
    for (const RunningTask& task : job.tasks) index_task(job.job.id, task.holding.node);
  }
  stale_.push_back(times_.size());
  times_.emplace_back();
  return jobs_.emplace_back(std::move(job));
}

RunningJob RunningJobs::remove(std::int64_t id) {
  const auto found = place_.find(id);
  const std::size_t place = found->second;
  place_.erase(found);
  RunningJob removed = std::move(jobs_[place]);
  if (place + 1 < jobs_.size()) {
    jobs_[place] = std::move(jobs_.back());
    place_[jobs_[place].job.id] = place;
    times_[place] = times_.back();
    if (times_[place].is_stale) stale_.push_back(place);
  }
  jobs_.pop_back();
  times_.pop_back();
  if (has_nodes_) {
    for (const RunningTask& task : removed.tasks) forget_task(id, task.holding.node);
  }
  return removed;
}

void RunningJobs::add_task(RunningJob& job, const RunningTask& task) {
  touch(place_.at(job.job.id));
  if (has_nodes_) index_task(job.job.id, task.holding.node);
  job.tasks.push_back(task);
}

void RunningJobs::drop_task(RunningJob& job, std::size_t task) {
  touch(place_.at(job.job.id));
  const auto gone = job.tasks.begin() + static_cast<std::ptrdiff_t>(task);
  if (has_nodes_) forget_task(job.job.id, gone->holding.node);
  job.tasks.erase(gone);
}

const RunningJob* RunningJobs::find(std::int64_t id) const {
  const auto found = place_.find(id);
  return found == place_.end() ? nullptr : &jobs_[found->second];
}

RunningJob* RunningJobs::change(std::int64_t id) {
  const auto found = place_.find(id);
  if (found == place_.end()) return nullptr;
  touch(found->second);
  return &jobs_[found->second];
}

std::span<RunningJob> RunningJobs::change_all() {
  for (std::size_t place = 0; place < jobs_.size(); ++place) touch(place);
  return jobs_;
}

std::span<const RunTimes> RunningJobs::times() {
  for (const std::size_t place : stale_) {
    if (place >= jobs_.size() || !times_[place].is_stale) continue;
    const RunningJob& job = jobs_[place];
    times_[place] = {.start = job.start,
                     .planned_end = job.planned_end(),
                     .tasks = static_cast<std::uint32_t>(job.tasks.size()),
                     .is_told = job.is_told_to_stop(),
                     .is_stale = false};
  }
  stale_.clear();
  return times_;
}

std::span<const std::int64_t> RunningJobs::on_node(NodeIndex node) {
  if (!has_nodes_) {
    has_nodes_ = true;
    for (const RunningJob& job : jobs_) {
      for (const RunningTask& task : job.tasks) index_task(job.job.id, task.holding.node);
    }
  }
  const auto n = static_cast<std::size_t>(node);
  return n < nodes_.size() ? std::span<const std::int64_t>(nodes_[n]) : std::span<const std::int64_t>();
}

std::vector<std::int64_t> RunningJobs::jobs_on(NodeIndex node) {
  const std::span<const std::int64_t> there = on_node(node);
  std::vector<std::int64_t> jobs(there.begin(), there.end());
  std::ranges::sort(jobs);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

std::vector<std::size_t> surplus_tasks(const RunningJob& job) {
  std::vector<std::size_t> surplus;
  if (job.end_delay > Seconds(0)) return surplus;
  if (std::ranges::all_of(job.job.groups, [](const TaskGroup& group) { return group.min_tasks == group.count; })) {
    return surplus;
  }
  for (std::size_t g = 0; g < job.job.groups.size(); ++g) {
    const std::size_t first = surplus.size();
    for (std::size_t i = 0; i < job.tasks.size(); ++i) {
      if (job.tasks[i].group == static_cast<std::int32_t>(g)) surplus.push_back(i);
    }
    const auto of_group = surplus.begin() + static_cast<std::ptrdiff_t>(first);
    std::ranges::sort(of_group, surplus.end(), std::greater<>(), [&](std::size_t i) { return job.tasks[i].task; });
    const std::size_t gang = std::min(surplus.size() - first, static_cast<std::size_t>(job.job.groups[g].min_tasks));
    surplus.resize(surplus.size() - gang);
  }
  return surplus;
}

bool lies_on(const Holding& held, std::span<const ReservedTask> tasks) {
  return std::ranges::any_of(tasks, [&](const ReservedTask& task) {
    return task.holding.node == held.node && (task.holding.devices & held.devices) != 0;
  });
}

Seconds expected_end_of(const RunningJob& job, const RoundRules& rules, Seconds now) {
  return job.stop_at >= now ? job.stop_at : untold_end_of(job, rules, now);
}

Seconds untold_end_of(const RunningJob& job, const RoundRules& rules, Seconds now) {
  return untold_end_of(RunTimes{.start = job.start, .planned_end = job.planned_end()}, rules, now);
}

Seconds believed_end_of(const RunTimes& times, const RoundRules& rules) {
  return times.planned_end < times.start ? times.start + rules.default_duration : times.planned_end;
}

Seconds untold_end_of(const RunTimes& times, const RoundRules& rules, Seconds now) {
  constexpr Seconds kLeast(60);
  const Seconds end = believed_end_of(times, rules);
  if (end > now) return end;
  return now + std::max(kLeast, now - end);
}

Seconds lost_time(const RunningJob& job, const RunningTask& task, Seconds stop, Stops how) {
  const EvictionTerms& terms = job.job.eviction;
  Seconds unsaved = std::max(Seconds(0), stop - job.start);
  if (how == Stops::kInJob && terms.checkpoint_grace > Seconds(0)) {
    unsaved = Seconds(0);
  } else if (terms.checkpoint_interval > Seconds(0)) {
    unsaved = Seconds(unsaved.value() % terms.checkpoint_interval.value());
  }
  return std::min(unsaved, std::max(Seconds(0), stop - task.start)) + terms.restart_cost;
}

std::int64_t lost_work(const RunningJob& job, const RunningTask& task, Seconds stop, Stops how) {
  return lost_time(job, task, stop, how).value() * task.gpu_held().value();
}

std::int64_t lost_work(const RunningJob& job, Seconds stop) {
  std::int64_t lost = 0;
  for (const RunningTask& task : job.tasks) lost += lost_work(job, task, stop, Stops::kInJob);
  return lost;
}

std::int64_t lost_per_gpu(const RunningJob& job, Seconds stop) {
  if (const std::int64_t held = job.gpu_held().value(); held > 0) return lost_work(job, stop) / held;
  if (job.tasks.empty()) return 0;
  std::int64_t lost = 0;
  for (const RunningTask& task : job.tasks) lost += lost_time(job, task, stop, Stops::kInJob).value();
  return lost / static_cast<std::int64_t>(job.tasks.size());
}

}  // namespace berth
