// A small world that goes from round to round: jobs with a believed and a true duration come, run and end.
//
//   LittleWorld world("2x8:A100");
//   const std::int64_t job = world.submit("gpus=8", Seconds(600), Seconds(900));
//   const Plan plan = world.round(Seconds(0));
//
// Jobs are described as in builders.h. believed 0 = nothing known; real 0 = as believed. Rounds must not go back in
// time; what ends until a round has ended before it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "engine/round/schedule.h"
#include "tests/builders.h"

namespace berth::test {

inline constexpr Seconds kForever{1'000'000'000'000};

class LittleWorld {
 public:
  explicit LittleWorld(std::string_view cluster) {
    snapshot.cluster = cluster_from(cluster);
    snapshot.order_policy = "fifo";
    snapshot.score_policy = "best_fit";
    snapshot.now = Seconds(0);
  }

  std::int64_t submit(std::string_view text, Seconds believed = {}, Seconds real = {}) {
    const std::int64_t id = ++last_id_;
    Job job = job_from(text, id, snapshot.cluster);
    job.submit = snapshot.now;
    job.time_limit = believed;
    real_[id] = real > Seconds(0) ? real : believed;
    snapshot.jobs.push_back(std::move(job));
    return id;
  }

  void cancel(std::int64_t id) {
    std::erase_if(snapshot.jobs, [&](const Job& job) { return job.id == id; });
    end(id);
  }

  Plan round(Seconds now) {
    while (const std::optional<Seconds> next = next_end()) {
      if (*next > now) break;
      const auto first = std::ranges::min_element(ends_, {}, [](const auto& entry) { return entry.second; });
      end(first->first);
    }
    snapshot.now = now;
    ++snapshot.version;
    Plan plan = must(plan_schedule(snapshot, {.check_invariants = true})).plan;
    carry_out(plan);
    return plan;
  }

  // When the next running job ends in truth.
  std::optional<Seconds> next_end() const {
    std::optional<Seconds> next;
    for (const auto& [id, time] : ends_) next = next ? std::min(*next, time) : time;
    return next;
  }
  std::optional<Seconds> end_of(std::int64_t id) const {
    const auto found = ends_.find(id);
    return found == ends_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Seconds> start_of(std::int64_t id) const {
    const auto found = starts_.find(id);
    return found == starts_.end() ? std::nullopt : std::optional(found->second);
  }
  // Node of its first task while it runs; -1 = it does not.
  NodeIndex node_of(std::int64_t id) const {
    const auto found = std::ranges::find(snapshot.allocations, id, &Allocation::job);
    return found == snapshot.allocations.end() ? -1 : found->node;
  }
  const std::map<std::int64_t, Seconds>& running() const { return ends_; }

  Snapshot snapshot;

 private:
  void end(std::int64_t id) {
    std::erase_if(snapshot.running, [&](const RunningJob& job) { return job.job.id == id; });
    std::erase_if(snapshot.allocations, [&](const Allocation& a) { return a.job == id; });
    std::erase_if(snapshot.jobs, [&](const Job& job) { return job.id == id; });
    ends_.erase(id);
  }

  // It waits again, from its beginning.
  void evict(std::int64_t id) {
    Job job = std::ranges::find(snapshot.running, id, [](const RunningJob& run) { return run.job.id; })->job;
    ++job.eviction.evictions;
    job.eviction.last_eviction = snapshot.now;
    end(id);
    for (TaskGroup& group : job.groups) {
      group.placed = 0;
      group.anchor = -1;
    }
    snapshot.jobs.insert(std::ranges::upper_bound(snapshot.jobs, id, {}, &Job::id), std::move(job));
    starts_.erase(id);
  }

  void carry_out(const Plan& plan) {
    for (const Eviction& eviction : plan.evictions) evict(eviction.job);
    for (const Placement& p : plan.placements) {
      const auto job = std::ranges::find(snapshot.jobs, p.job, &Job::id);
      if (!ends_.contains(p.job)) {
        starts_[p.job] = snapshot.now;
        ends_[p.job] = snapshot.now + (real_[p.job] > Seconds(0) ? real_[p.job] : kForever);
        RunningJob& run = snapshot.running.emplace_back();
        run.job = *job;
        run.start = snapshot.now;
      }
      TaskGroup& group = job->groups[static_cast<std::size_t>(p.group)];
      ++group.placed;
      if (group.anchor < 0) group.anchor = p.node;
      snapshot.allocations.push_back(
          {p.job, p.group, p.task, p.node, p.devices, p.gpu_milli, p.gpu_memory, p.cpu, p.memory});
    }
    for (RunningJob& run : snapshot.running) {
      const auto job = std::ranges::find(snapshot.jobs, run.job.id, &Job::id);
      if (job != snapshot.jobs.end()) run.job.groups = job->groups;
    }
    std::erase_if(snapshot.jobs, [](const Job& job) {
      return std::ranges::all_of(job.groups, [](const TaskGroup& g) { return g.placed == g.count; });
    });
    std::ranges::sort(snapshot.running, {}, [](const RunningJob& run) { return run.job.id; });
    snapshot.reservations = plan.reservations;
  }

  std::map<std::int64_t, Seconds> real_;
  std::map<std::int64_t, Seconds> starts_;
  std::map<std::int64_t, Seconds> ends_;  // of what runs
  std::int64_t last_id_ = 0;
};

}  // namespace berth::test
