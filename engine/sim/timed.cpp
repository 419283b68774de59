#include "engine/sim/timed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <unordered_map>

#include "engine/policy/registry.h"
#include "engine/round/placer.h"
#include "engine/sim/empty_cluster.h"
#include "engine/sim/event_queue.h"
#include "engine/sim/job_times.h"
#include "engine/sim/trace_model.h"
#include "engine/sim/utilisation.h"
#include "engine/sim/waiting_jobs.h"

namespace berth {

namespace {

constexpr std::int64_t kMomentsBetweenLooks = 64;  // at the progress callback

Status check_timed_job(const TraceJob& job, Seconds previous_submit) {
  if (!job.duration) {
    return Status(Code::kInvalid, fmt::format("{}: job '{}' has no duration", job.place, job.name));
  }
  if (job.submit >= previous_submit) return {};
  return Status(Code::kInvalid,
                fmt::format("{}: job '{}' was submitted at {}, before the job above it ({})", job.place, job.name,
                            job.submit.value(), previous_submit.value()),
                "jobs must be sorted by submit time; WITH (sort = true) sorts them");
}

class TimedRun {
 public:
  TimedRun(const TimedInput& input, const TimedOptions& options, const QueueOrder& order, NodeScore& score,
           std::unique_ptr<JobReader> reader)
      : input_(input),
        options_(options),
        order_(order),
        reader_(std::move(reader)),
        modeller_(*input.cluster, input.queues, input.priority_classes),
        ledger_(*input.cluster),
        placer_(ledger_, score, {}, options.seed),
        possible_(*input.cluster),
        utilisation_(ledger_.gpu_capacity()) {}

  Result<SimulationResult> run(const std::string& policy) {
    BERTH_TRY(schedule_next_arrival());
    for (std::int64_t moment = 0; !events_.empty(); ++moment) {
      if (options_.control.stop()) return Status(Code::kInterrupted, "the simulation was interrupted");
      if (options_.control.progress && moment % kMomentsBetweenLooks == 0) {
        options_.control.progress(policy, arrived_, input_.job_count);
      }
      BERTH_TRY(take_events());
      const auto begin = std::chrono::steady_clock::now();
      BERTH_TRY(schedule_waiting());
      deciding_ += std::chrono::steady_clock::now() - begin;
      utilisation_.record(events_.now(), ledger_.gpu_used(), running_jobs_,
                          static_cast<std::int64_t>(waiting_.size()) - incomplete_);
      if (options_.check_invariants) {
        if (const auto broken = ledger_.violations(); !broken.empty()) {
          return Status(Code::kInternal, fmt::format("at {}: {}", events_.now().value(), broken.front()));
        }
      }
    }
    finish();
    if (options_.control.progress) options_.control.progress(policy, arrived_, input_.job_count);
    return std::move(result_);
  }

 private:
  // What is kept of a job that has arrived, until it ends.
  struct LiveJob {
    std::string name;
    Seconds submit;
    Seconds duration;
    Seconds end;
    std::size_t first_task = 0;  // row of its first task
    std::size_t task_count = 0;
    std::vector<std::size_t> first_of_group;  // counted from there
    std::vector<Holding> holdings;            // empty = not started
  };

  Status schedule_next_arrival() {
    next_ = TraceJob{};
    BERTH_ASSIGN(const bool found, reader_->next(next_));
    if (!found) return {};
    BERTH_TRY(check_timed_job(next_, previous_submit_));
    if (arrived_ == 0) first_submit_ = next_.submit;
    previous_submit_ = next_.submit;
    events_.schedule(next_.submit, EventKind::kArrival, arrived_ + 1);
    return {};
  }

  // Everything that happens in one second.
  Status take_events() {
    const std::optional<Seconds> moment = events_.next_time();
    while (events_.next_time() == moment) {
      const TimedEvent event = events_.take();
      if (event.kind == EventKind::kEnd) {
        BERTH_TRY(end_job(event.subject));
      } else {
        BERTH_TRY(admit(event.subject));
        BERTH_TRY(schedule_next_arrival());
      }
    }
    return {};
  }

  Status admit(std::int64_t id) {
    ++arrived_;
    BERTH_ASSIGN(Job job, modeller_.job_from(next_, id));
    LiveJob live;
    live.name = next_.name;
    live.submit = next_.submit;
    live.duration = *next_.duration;
    live.first_task = task_count_;
    for (const TaskGroup& group : job.groups) {
      live.first_of_group.push_back(live.task_count);
      live.task_count += static_cast<std::size_t>(group.count);
    }
    task_count_ += live.task_count;
    const std::optional<std::string> never = possible_.why_never(job);
    if (options_.keep_tasks) add_task_rows(job, never ? TaskOutcome::kInfeasible : TaskOutcome::kFailed);
    if (never) {
      note_infeasible(live.name, *never);
      return {};
    }
    live_.emplace(id, std::move(live));
    waiting_.add(std::move(job));
    return {};
  }

  void add_task_rows(const Job& job, TaskOutcome state) {
    for (std::size_t group = 0; group < job.groups.size(); ++group) {
      for (std::int32_t task = 0; task < job.groups[group].count; ++task) {
        TaskResult row;
        row.sequence = static_cast<std::int64_t>(result_.tasks.size());
        row.task = task_name(next_, group, task);
        row.state = state;
        row.submit = job.submit;
        result_.tasks.push_back(std::move(row));
      }
    }
  }

  void note_infeasible(const std::string& name, const std::string& why) {
    ++result_.row.infeasible_jobs;
    result_.infeasible.push_back(fmt::format("job '{}' can never start: {}", name, why));
  }

  Status schedule_waiting() {
    waiting_.begin_pass(ledger_, released_);
    released_.clear();
    for (;;) {
      const std::vector<Job> jobs = waiting_.worth_trying();
      if (jobs.empty()) return {};
      const std::vector<std::int32_t> order = order_.order({.now = events_.now(),
                                                            .seed = options_.seed,
                                                            .jobs = jobs,
                                                            .priority_classes = modeller_.priority_classes(),
                                                            .queues = modeller_.queues(),
                                                            .aging_interval = options_.aging_interval});
      if (!try_jobs(jobs, order)) return {};
    }
  }

  // True when one started that has others like it: the next of those is now worth trying, at its place in the order.
  bool try_jobs(const std::vector<Job>& jobs, const std::vector<std::int32_t>& order) {
    for (const std::int32_t index : order) {
      const Job& job = jobs[static_cast<std::size_t>(index)];
      ++result_.row.decisions;
      const JobOutcome outcome = placer_.place_job(job);
      if (!outcome.started) {
        waiting_.note_failed(job.id);
        continue;
      }
      ledger_.commit();
      waiting_.note_placed();
      const bool has_another = waiting_.has_another_like(job.id);
      take_places(waiting_.take(job.id), outcome.placed);
      if (has_another) return true;
    }
    return false;
  }

  void take_places(Job job, const std::vector<PlacedTask>& placed) {
    LiveJob& live = live_.at(job.id);
    const Seconds now = events_.now();
    if (live.holdings.empty()) {
      live.end = now + live.duration;
      events_.schedule(live.end, EventKind::kEnd, job.id);
      times_.add(live.submit, now, live.end);
      ++running_jobs_;
    } else {
      --incomplete_;
    }
    job.state = JobState::kRunning;
    for (const PlacedTask& task : placed) {
      TaskGroup& group = job.groups[static_cast<std::size_t>(task.group)];
      if (group.anchor < 0) group.anchor = task.holding.node;
      ++group.placed;
      live.holdings.push_back(task.holding);
      note_placed(live, task, now);
    }
    const bool is_complete = std::ranges::all_of(job.groups, [](const TaskGroup& g) { return g.placed == g.count; });
    if (is_complete) return;
    // The rest waits; it did not fit just now.
    const std::int64_t id = job.id;
    ++incomplete_;
    waiting_.add(std::move(job));
    waiting_.note_failed(id);
  }

  void note_placed(const LiveJob& live, const PlacedTask& task, Seconds now) {
    ++result_.row.placed;
    if (!options_.keep_tasks) return;
    const std::size_t row = live.first_task + live.first_of_group[static_cast<std::size_t>(task.group)] +
                            static_cast<std::size_t>(task.task);
    TaskResult& kept = result_.tasks[row];
    kept.state = TaskOutcome::kPlaced;
    kept.node = node_name(*input_.cluster, task.holding.node);
    kept.devices = task.holding.devices;
    kept.start = now;
    kept.end = live.end;
  }

  Status end_job(std::int64_t id) {
    const auto ended = live_.find(id);
    for (const Holding& holding : ended->second.holdings) {
      BERTH_TRY(ledger_.release(holding));
      released_.push_back(holding.node);
    }
    ledger_.commit();
    if (waiting_.has(id)) {
      waiting_.take(id);
      --incomplete_;
    }
    live_.erase(ended);
    --running_jobs_;
    return {};
  }

  void finish() {
    // Nothing runs any more, and still these did not fit.
    for (const Job& job : waiting_.all()) {
      const LiveJob& live = live_.at(job.id);
      note_infeasible(live.name, "its task groups do not fit the empty cluster together");
      if (!options_.keep_tasks) continue;
      for (std::size_t task = 0; task < live.task_count; ++task) {
        result_.tasks[live.first_task + task].state = TaskOutcome::kInfeasible;
      }
    }
    SimulationRow& row = result_.row;
    row.tasks = static_cast<std::int64_t>(task_count_);
    row.failed = row.tasks - row.placed;
    times_.report(first_submit_, row);
    row.utilisation_pct = utilisation_.mean_pct();
    result_.utilisation = utilisation_.points(options_.utilisation_points);
    const double seconds = std::chrono::duration<double>(deciding_).count();
    row.decisions_per_second = seconds > 0 ? static_cast<double>(row.decisions) / seconds : 0;
    row.peak_memory_mib = peak_memory_mib();
  }

  const TimedInput& input_;
  const TimedOptions& options_;
  const QueueOrder& order_;
  std::unique_ptr<JobReader> reader_;
  JobModeller modeller_;
  Ledger ledger_;
  Placer placer_;
  EmptyCluster possible_;
  EventQueue events_;
  WaitingJobs waiting_;
  std::vector<NodeIndex> released_;                 // where, since the last pass
  std::unordered_map<std::int64_t, LiveJob> live_;  // by job id
  TraceJob next_;                                   // the one whose arrival is scheduled
  Seconds previous_submit_{std::numeric_limits<std::int64_t>::min()};
  Seconds first_submit_;
  std::int64_t arrived_ = 0;
  std::size_t task_count_ = 0;
  std::int64_t running_jobs_ = 0;
  std::int64_t incomplete_ = 0;  // running jobs that also wait, for their missing tasks
  JobTimes times_;
  UtilisationLog utilisation_;
  std::chrono::steady_clock::duration deciding_{};
  SimulationResult result_;
};

}  // namespace

void sort_by_submit(std::vector<TraceJob>& jobs) { std::ranges::stable_sort(jobs, {}, &TraceJob::submit); }

Result<TimedInput> timed_from(const Cluster& cluster, std::function<Result<std::unique_ptr<JobReader>>()> open_jobs,
                              std::vector<Queue> queues, std::vector<PriorityClass> priority_classes) {
  TimedInput input;
  input.cluster = &cluster;
  input.queues = std::move(queues);
  input.priority_classes = std::move(priority_classes);
  input.open_jobs = std::move(open_jobs);
  BERTH_ASSIGN(const std::unique_ptr<JobReader> reader, input.open_jobs());
  JobModeller modeller(cluster, input.queues, input.priority_classes);
  WorkloadCounter counter;
  Seconds previous_submit(std::numeric_limits<std::int64_t>::min());
  for (TraceJob job;; ++input.job_count) {
    BERTH_ASSIGN(const bool found, reader->next(job));
    if (!found) break;
    BERTH_TRY(check_timed_job(job, previous_submit));
    BERTH_TRY(modeller.job_from(job, 1).status());
    BERTH_TRY(counter.add(modeller, job));
    previous_submit = job.submit;
  }
  if (input.job_count == 0) return Status(Code::kInvalid, "no jobs: the trace is empty");
  input.workload = counter.typical();
  return input;
}

Result<SimulationResult> simulate_jobs(const TimedInput& input, const PolicyChoice& policy,
                                       const TimedOptions& options) {
  BERTH_ASSIGN(const std::unique_ptr<QueueOrder> order, make_order(policy.order));
  BERTH_ASSIGN(const std::unique_ptr<NodeScore> score,
               make_score(policy.score, {.cluster = input.cluster, .workload = input.workload, .seed = options.seed}));
  BERTH_ASSIGN(std::unique_ptr<JobReader> reader, input.open_jobs());
  TimedRun run(input, options, *order, *score, std::move(reader));
  return run.run(policy.name());
}

}  // namespace berth
