// What the two kinds of simulation share: how policies are named, how a run is watched and stopped, and what it yields.
//
// A simulation runs one policy after the other on the same input. When it is interrupted, the policies already complete
// are kept. Equal input and seed give equal results, but for the measured ones (decisions_per_second, peak_memory_mib).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/model/cluster.h"
#include "engine/policy/start_calibration.h"

namespace berth {

struct PolicyChoice {
  std::string order;  // empty where no order is needed (arrivals)
  std::string score;

  std::string name() const { return order.empty() ? score : order + " + " + score; }
};

// Policies that are not built in, by what they can be.
struct ScriptNames {
  std::vector<std::string> orders;
  std::vector<std::string> scores;
};

// "fgd": a score, for arrivals.
Result<PolicyChoice> read_score_choice(std::string_view text, const ScriptNames& scripts = {});
// "fifo + berth", or one of the two: the order is then fifo, the score berth. A script that is both is both unless the
// other is named. For timed jobs.
Result<PolicyChoice> read_policy_choice(std::string_view text, const ScriptNames& scripts = {});

struct SimulationControl {
  const std::atomic<bool>* interrupted = nullptr;
  // Called now and then: which policy, events done, events in all (0 = not known).
  std::function<void(std::string_view policy, std::int64_t done, std::int64_t total)> progress;

  bool stop() const { return interrupted != nullptr && interrupted->load(std::memory_order_relaxed); }
};

// One row per policy: the columns of the result table. Nothing = does not apply to this kind, or was not reached.
struct SimulationRow {
  std::string simulation;
  std::string policy;
  std::int64_t tasks = 0;
  std::int64_t placed = 0;                     // arrivals: placed on arrival; timed: started
  std::int64_t failed = 0;                     // arrivals: dropped; timed: never started
  std::int64_t infeasible_jobs = 0;            // timed: of these, jobs that do not even fit the empty cluster
  std::optional<double> allocated_pct_at_100;  // of all devices, when as much as 100 % of them has been asked for
  std::optional<double> allocated_pct_at_130;
  std::optional<double> fragmented_pct;   // of all devices, at the end
  std::optional<double> utilisation_pct;  // timed: device time used / device time there was, first submit to last end
  std::optional<double> wait_mean;        // seconds from submit to start, over jobs
  std::optional<std::int64_t> wait_p50;
  std::optional<std::int64_t> wait_p90;
  std::optional<std::int64_t> wait_p99;
  std::optional<double> completion_mean;  // seconds from submit to end, over jobs
  std::optional<std::int64_t> makespan;   // seconds from the first submit to the last end
  std::int64_t decisions = 0;             // arrivals: tasks tried; timed: jobs tried
  double decisions_per_second = 0;        // time inside decisions only
  double peak_memory_mib = 0;             // of the process so far
  // Timed: starts, ends and arrivals, and the processor time that all of the run took, reading included.
  std::int64_t events = 0;
  double run_seconds = 0;
};

// Timed: what became of the jobs of one queue, or of all.
struct QueueResult {
  std::string queue;  // empty = jobs without a queue
  std::int64_t jobs = 0;
  std::int64_t started = 0;
  std::optional<double> wait_mean;  // seconds from submit to the first start
  std::optional<std::int64_t> wait_p50;
  std::optional<std::int64_t> wait_p90;
  std::optional<std::int64_t> wait_p99;
  std::optional<std::int64_t> wait_most;
  std::optional<double> completion_mean;     // seconds from submit to the end
  std::optional<double> worst_finish_ratio;  // the highest (end - submit) / duration
  std::int64_t evictions = 0;
  std::int64_t lost = 0;       // milli-GPU-seconds of work done again, and of restarts
  std::int64_t delivered = 0;  // milli-GPU-seconds that jobs held
  // Where queues have quotas:
  std::int64_t starts_within_quota = 0;  // afterwards no amount the queue used was above its quota
  std::int64_t starts_borrowing = 0;
  std::int64_t entitled_jobs = 0;  // with its quota for itself the queue had started them on arrival (own_quota.h)
  std::optional<double> entitled_wait_mean;  // of those
  Seconds longest_denied;  // that a job waited which would have kept its queue within its quota: the longest stretch

  bool operator==(const QueueResult&) const = default;
};

struct CurvePoint {
  std::int32_t arrived_pct = 0;
  double allocated_pct = 0;
  std::optional<double> fragmented_pct;

  bool operator==(const CurvePoint&) const = default;
};

struct UtilisationPoint {
  Seconds time;  // holds from here to the next point
  MilliGpu used;
  double allocated_pct = 0;  // used, of all devices
  std::int64_t running_jobs = 0;
  std::int64_t waiting_jobs = 0;

  bool has_state_of(const UtilisationPoint& other) const {
    return used == other.used && running_jobs == other.running_jobs && waiting_jobs == other.waiting_jobs;
  }
  bool operator==(const UtilisationPoint&) const = default;
};

// What became of one task.
enum class TaskOutcome : std::uint8_t { kPlaced, kFailed, kInfeasible };
std::string_view task_outcome_name(TaskOutcome outcome);
Result<TaskOutcome> read_task_outcome(std::string_view text);

struct TaskResult {
  std::int64_t sequence = 0;  // 0, 1, ... in arrival order
  std::string task;           // "job", "job[2]", "job.group[2]"
  std::string node;           // empty unless placed
  DeviceMask devices = 0;
  TaskOutcome state = TaskOutcome::kFailed;
  std::optional<Seconds> submit;
  std::optional<Seconds> start;
  std::optional<Seconds> end;
  MilliGpu gpu;                // timed: that it asked for
  std::int32_t evictions = 0;  // timed: of its job

  bool operator==(const TaskResult&) const = default;
};

// Timed: what became of one job.
struct JobResult {
  Seconds start{-1};  // the first one; -1 = never
  Seconds end{-1};    // -1 = it did not end
  std::int32_t evictions = 0;
  std::int64_t lost = 0;       // milli-GPU-seconds of work done again, and of restarts
  std::int64_t delivered = 0;  // milli-GPU-seconds that it held

  bool operator==(const JobResult&) const = default;
};

// Timed: what was told of a job that had to wait, at its submission.
struct ToldStart {
  std::int64_t job = 0;  // the how manieth that arrived, from 1
  Seconds made;
  Seconds forecast;  // before it was corrected by earlier errors
  ExpectedStart expected;
  Seconds start{-1};  // what came; -1 = it never started

  bool operator==(const ToldStart&) const = default;
};

struct SimulationResult {
  SimulationRow row;
  std::vector<CurvePoint> curves;             // arrivals
  std::vector<UtilisationPoint> utilisation;  // timed
  std::vector<TaskResult> tasks;
  std::vector<std::string> infeasible;      // timed: a sentence per job that can never start, for the first of them
  std::vector<QueueResult> queues;          // timed: one a queue that had jobs, in queue order
  QueueResult all_queues;                   // timed: of all jobs together
  std::vector<ToldStart> told_starts = {};  // timed: where starts were to be told, as the next two
  std::int64_t started_at_once = 0;         // jobs looked at that did not have to wait
  std::int64_t untold_starts = 0;           // of which no start was in sight
  std::vector<JobResult> jobs = {};         // timed: in order of arrival, where it was asked for
};

struct SimulationSet {
  std::vector<SimulationResult> complete;  // in the order asked for
  bool interrupted = false;
  std::vector<std::string> skipped = {};         // a sentence per job left out, where that was asked for
  std::vector<std::string> unknown_queues = {};  // named by jobs, and not in the database whose quotas hold
};

// Runs `one` for each policy; keeps what is complete when one is interrupted.
Result<SimulationSet> run_policies(const std::vector<PolicyChoice>& policies,
                                   const std::function<Result<SimulationResult>(const PolicyChoice&)>& one);

// Value at the `per_mille` quantile of `sorted`: the smallest one with at least that share of values at or below it
// (nearest rank).
std::optional<std::int64_t> percentile(const std::vector<std::int64_t>& sorted, int per_mille);

// Most memory this process has held, MiB.
double peak_memory_mib();

}  // namespace berth
