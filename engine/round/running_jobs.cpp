#include "engine/round/running_jobs.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace berth {

RunningJob& RunningJobs::add(RunningJob job) {
  place_[job.job.id] = jobs_.size();
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
  }
  jobs_.pop_back();
  return removed;
}

const RunningJob* RunningJobs::find(std::int64_t id) const {
  const auto found = place_.find(id);
  return found == place_.end() ? nullptr : &jobs_[found->second];
}

RunningJob* RunningJobs::find(std::int64_t id) {
  const auto found = place_.find(id);
  return found == place_.end() ? nullptr : &jobs_[found->second];
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

Seconds expected_end_of(const RunningJob& job, const RoundRules& rules, Seconds now) {
  return job.stop_at >= now ? job.stop_at : untold_end_of(job, rules, now);
}

Seconds untold_end_of(const RunningJob& job, const RoundRules& rules, Seconds now) {
  constexpr Seconds kLeast(60);
  Seconds end = job.job.expected_end(job.start);
  if (end < job.start) end = job.start + rules.default_duration;
  if (end > now) return end;
  return now + std::max(kLeast, now - end);
}

std::int64_t lost_work(const RunningJob& job, MilliGpu milli, Seconds stop) {
  const EvictionTerms& terms = job.job.eviction;
  Seconds unsaved = std::max(Seconds(0), stop - job.start);
  if (terms.checkpoint_grace > Seconds(0)) {
    unsaved = Seconds(0);  // it writes a checkpoint when told to stop
  } else if (terms.checkpoint_interval > Seconds(0)) {
    unsaved = Seconds(unsaved.value() % terms.checkpoint_interval.value());
  }
  return (unsaved + terms.restart_cost).value() * milli.value();
}

}  // namespace berth
