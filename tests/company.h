// Departments and their jobs, going from round to round: jobs come, run, are evicted, wait again and end.
//
//   Company company("4x8:A100", "ads gpu=16 / search gpu=16");
//   const std::int64_t job = company.submit("ads", "gpus=8", 3600);
//   const Plan plan = company.round(600);
//
// Clusters and jobs as in builders.h, departments as in departments.h. A plan is carried out as the tables would:
// victims that end now wait again with all their work before them, those told to stop run on until then, marks are
// kept, lost work of the last hour is counted. An hour is from `now - 3600` on, exclusive.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/round/schedule.h"
#include "tests/departments.h"

namespace berth::test {

struct Lost {
  std::int64_t time = 0;
  std::int32_t queue = -1;
  std::int64_t amount = 0;
};

class Company {
 public:
  Company(std::string_view cluster, std::string_view departments_text) {
    snapshot.cluster = cluster_from(cluster);
    departments = departments_from(snapshot.cluster, departments_text);
    snapshot.queues = departments.queues;
    snapshot.quotas = departments.table;
    snapshot.order_policy = "fair_share";
    snapshot.score_policy = "best_fit";
    snapshot.rules.backfill = BackfillMode::kGreedy;
    snapshot.priority_classes = {{.id = 1, .name = "low", .value = 0}, {.id = 2, .name = "high", .value = 10}};
    snapshot.now = Seconds(0);
  }

  // `duration`: seconds, known to nobody.
  std::int64_t submit(std::string_view queue, std::string_view text, std::int64_t duration = 1'000'000) {
    const std::int64_t id = ++last_id_;
    Job job = job_from(text, id, snapshot.cluster);
    job.queue = queue.empty() ? -1 : departments.queue(queue);
    job.submit = snapshot.now;
    job.eviction.min_runtime = snapshot.rules.min_runtime;
    duration_[id] = duration;
    snapshot.jobs.push_back(std::move(job));
    return id;
  }
  // One that waits.
  void cancel(std::int64_t id) {
    std::erase_if(snapshot.jobs, [&](const Job& job) { return job.id == id; });
    std::erase_if(snapshot.reservations, [&](const Reservation& row) { return row.job == id; });
  }
  std::int32_t queue_of(std::int64_t id) { return runs(id) ? running_job(id).job.queue : waiting_job(id).queue; }
  Job& waiting_job(std::int64_t id) { return *std::ranges::find(snapshot.jobs, id, &Job::id); }
  RunningJob& running_job(std::int64_t id) { return *find_running(id); }
  // It ends by itself before the next round.
  void finish(std::int64_t id) { duration_[id] = 0; }
  // From now on nothing ends by itself.
  void last_for_ever() {
    for (auto& [job, duration] : duration_) duration = 1'000'000'000;
  }
  bool runs(std::int64_t id) { return find_running(id) != snapshot.running.end(); }
  std::size_t tasks_of(std::int64_t id) const {
    return static_cast<std::size_t>(std::ranges::count(snapshot.allocations, id, &Allocation::job));
  }

  // When the next running job ends by itself.
  std::optional<Seconds> next_end() const {
    std::optional<Seconds> next;
    for (const RunningJob& run : snapshot.running) {
      const Seconds end = run.start + Seconds(duration_.at(run.job.id));
      next = next ? std::min(*next, end) : end;
    }
    return next;
  }

  // One round at `now`, seconds; what ends until then has ended before it.
  Plan round(std::int64_t now) {
    end_until(now);
    snapshot.now = Seconds(now);
    ++snapshot.version;
    for (std::size_t q = 0; q < snapshot.queues.size(); ++q) {
      snapshot.queues[q].lost_this_hour = lost_since(now - 3600, static_cast<std::int32_t>(q));
    }
    const Planning planning = must(planning_of(snapshot));
    Plan plan = must(plan_schedule_on(snapshot, *planning.state, {.check_invariants = true})).plan;
    if (look) look(plan, *planning.state);
    carry_out(plan);
    return plan;
  }

  std::int64_t lost_since(std::int64_t time, std::int32_t queue) const {
    std::int64_t sum = 0;
    for (const Lost& one : lost) {
      if (one.time > time && one.queue == queue) sum += one.amount;
    }
    return sum;
  }

  // Called in each round before the plan is carried out: `snapshot` is as before it, the state as after.
  std::function<void(const Plan& plan, const RoundState& state)> look;
  Snapshot snapshot;
  Departments departments;
  std::vector<Lost> lost;

 private:
  std::vector<RunningJob>::iterator find_running(std::int64_t id) {
    return std::ranges::find(snapshot.running, id, [](const RunningJob& run) { return run.job.id; });
  }

  void end_until(std::int64_t now) {
    std::vector<std::int64_t> ended;
    for (const RunningJob& run : snapshot.running) {
      if (run.start.value() + duration_[run.job.id] <= now) ended.push_back(run.job.id);
    }
    for (const std::int64_t id : ended) {
      forget_running(id);
      std::erase_if(snapshot.jobs, [&](const Job& job) { return job.id == id; });
    }
  }

  void forget_running(std::int64_t id) {
    std::erase_if(snapshot.running, [&](const RunningJob& run) { return run.job.id == id; });
    std::erase_if(snapshot.allocations, [&](const Allocation& a) { return a.job == id; });
  }

  void evict(const Eviction& eviction) {
    RunningJob& run = *find_running(eviction.job);
    if (run.stop_at < Seconds(0)) {
      lost.push_back({snapshot.now.value(), run.job.queue, eviction.lost});
      ++run.job.eviction.evictions;
      if (eviction.rule != EvictionRule::kLoan) run.job.eviction.evicted_for.push_back(eviction.beneficiary);
    }
    if (eviction.stop_at > snapshot.now) {
      run.stop_at = eviction.stop_at;
      run.stops_for = eviction.beneficiary;
      run.stop_rule = eviction.rule;
      return;
    }
    run.job.eviction.last_eviction = snapshot.now;
    Job job = run.job;
    if (!eviction.whole) {
      for (const TaskName& task : eviction.tasks) {
        std::erase_if(snapshot.allocations, [&](const Allocation& a) {
          return a.job == eviction.job && a.group == task.group && a.task == task.task;
        });
        --run.job.groups[static_cast<std::size_t>(task.group)].placed;
      }
      job = run.job;
    } else {
      job.state = JobState::kPending;
      for (TaskGroup& group : job.groups) {
        group.placed = 0;
        group.anchor = -1;
        group.anchor_devices = 0;
      }
      forget_running(eviction.job);
    }
    std::erase_if(snapshot.jobs, [&](const Job& other) { return other.id == job.id; });
    snapshot.jobs.push_back(std::move(job));
  }

  void carry_out(const Plan& plan) {
    for (const std::int64_t id : plan.reprieves) {
      RunningJob& run = running_job(id);
      if (run.makes_room_for_a_job()) std::erase(run.job.eviction.evicted_for, run.stops_for);
      run.run_on();
      --run.job.eviction.evictions;
    }
    for (const Eviction& eviction : plan.evictions) evict(eviction);
    for (const Placement& p : plan.placements) {
      Job& job = waiting_job(p.job);
      if (find_running(p.job) == snapshot.running.end()) {
        RunningJob& run = snapshot.running.emplace_back();
        run.job = job;
        run.job.state = JobState::kRunning;
        run.start = snapshot.now;
      }
      TaskGroup& group = job.groups[static_cast<std::size_t>(p.group)];
      ++group.placed;
      if (group.anchor < 0) group.anchor = p.node;
      job.state = JobState::kRunning;
      snapshot.allocations.push_back(
          {p.job, p.group, p.task, p.node, p.devices, p.gpu_milli, p.gpu_memory, p.cpu, p.memory, snapshot.now});
      find_running(p.job)->job.groups = job.groups;
    }
    std::erase_if(snapshot.jobs, [](const Job& job) {
      return std::ranges::all_of(job.groups, [](const TaskGroup& g) { return g.placed == g.count; });
    });
    for (const QuotaMark& mark : plan.marks) find_running(mark.job)->quota_mark = mark.mark;
    std::ranges::sort(snapshot.running, {}, [](const RunningJob& run) { return run.job.id; });
    std::ranges::sort(snapshot.jobs, {}, &Job::id);
    snapshot.reservations = plan.reservations;
  }

  std::map<std::int64_t, std::int64_t> duration_;
  std::int64_t last_id_ = 0;
};

}  // namespace berth::test
