// SIMULATE JOBS: submit times, durations, departures and a queue, event by event.
//
// At each moment at which something happens - all ends and all arrivals of one second together - waiting jobs are tried
// in the order policy's sequence and placed by round/placer, as one live schedule round would do. A job runs `duration`
// seconds from its start and then gives everything back; tasks beyond min_tasks that join later leave with it. A job is
// never preempted here.
//
// The ledger is kept between moments, and only jobs that may start are tried: see waiting_jobs.h for the rule and why
// the outcome equals that of trying all of them (a property test holds the two equal). Memory grows with the tasks
// reported and the jobs alive.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/sim/simulation.h"
#include "engine/sim/trace.h"

namespace berth {

struct TimedInput {
  const Cluster* cluster = nullptr;  // must outlive the input; starts empty
  std::vector<Queue> queues;         // those of a database; others are added as jobs name them
  std::vector<PriorityClass> priority_classes;
  // Opens the jobs anew, sorted by submit time; called once per policy.
  std::function<Result<std::unique_ptr<JobReader>>()> open_jobs;
  std::vector<WorkloadShape> workload;  // typical shapes of all tasks
  std::int64_t job_count = 0;
};

struct TimedOptions {
  std::uint64_t seed = 0;
  Seconds aging_interval{3600};  // see Snapshot
  bool keep_tasks = true;
  std::int32_t utilisation_points =
      1000;  // at most about so many, each the mean over a stretch of time; 0 = every change
#ifdef NDEBUG
  bool check_invariants = false;  // after every moment: no node or device over-allocated
#else
  bool check_invariants = true;
#endif
  SimulationControl control = {};
};

// Reads the jobs once: counts them, works out the workload, and refuses (naming the row) jobs that are not sorted by
// submit time or have no duration.
Result<TimedInput> timed_from(const Cluster& cluster, std::function<Result<std::unique_ptr<JobReader>>()> open_jobs,
                              std::vector<Queue> queues = {}, std::vector<PriorityClass> priority_classes = {});
// Stable, by submit time: for files that are not sorted.
void sort_by_submit(std::vector<TraceJob>& jobs);

// One policy; run_policies for several. kInterrupted when stopped. row.simulation is left for the caller to fill.
Result<SimulationResult> simulate_jobs(const TimedInput& input, const PolicyChoice& policy,
                                       const TimedOptions& options);

}  // namespace berth
