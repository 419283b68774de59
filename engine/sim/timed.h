// SIMULATE JOBS: submit times, durations, departures, queues, quotas and evictions, event by event.
//
// At each moment at which something happens - all ends and all arrivals of one second together - waiting jobs are tried
// in the order policy's sequence, as one live schedule round would do and by the same code (round/pass.h). A job runs
// for its duration and then gives everything back; tasks beyond min_tasks that join later leave with it. One that is
// evicted waits again, with the work that it had not saved still to do and the cost of a restart on top.
//
// Nodes, quotas and running jobs are kept between moments, and where that changes nothing only jobs that may start are
// tried (waiting_buckets.h; a property test holds the two equal). Memory grows with the jobs that wait and run, and
// with the tasks reported where keep_tasks asks for them, not with the trace.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/policy/duration_predictor.h"
#include "engine/sim/pooled_floor.h"
#include "engine/sim/replan.h"
#include "engine/sim/simulation.h"
#include "engine/sim/trace.h"

namespace berth {

// A run that finished before the simulation begins. Where a history reaches beyond the first arrival it is moved back
// as a whole: nobody learns from the future.
struct HistoryRun {
  DurationFeatures features;
  Seconds duration;
  Seconds end;
};
// Those of a trace's jobs that finished and say how long they ran; by end.
Result<std::vector<HistoryRun>> history_from(JobReader& reader);

// A job that is there already when the simulation begins.
struct ResumedJob {
  std::size_t job = 0;  // its place in the input
  Seconds start{-1};    // of the attempt that runs; -1 = it waits
  Seconds left;         // to run at that start, or from now on
  Seconds first_start{-1};
};

// A job that was accepted and waited, and had not started by then.
struct AcceptedJob {
  std::size_t job = 0;  // its place in the input
  Seconds until;        // it waits so long though it can never start here
  bool leaves = false;  // and then leaves, waiting or running: it was cancelled, or failed, before it ever ran
};

// GPUs that jobs of a queue held before the simulation begins.
struct PastUseStretch {
  std::string queue;
  MilliGpu gpu;
  Seconds start;
  Seconds end;
};

struct TimedInput {
  const Cluster* cluster = nullptr;  // must outlive the input; starts empty
  std::vector<Queue> queues;         // those of a database, then those that jobs name
  std::vector<PriorityClass> priority_classes;
  QuotaTable quotas;  // of the first queues; those beyond have no quota. Loans hold until the end
  // Opens the jobs anew, sorted by submit time; called once per policy.
  std::function<Result<std::unique_ptr<JobReader>>()> open_jobs;
  std::vector<HistoryRun> history = {};  // what predicted durations rest on besides the jobs that end
  std::vector<WorkloadShape> workload;   // typical shapes of all tasks
  std::int64_t job_count = 0;
  // What some job of the file has, for options that name it:
  std::set<std::string, std::less<>> estimates = {};
  std::set<std::string, std::less<>> models_texts = {};  // "V100|A100" as written
  bool has_time_limits = false;
  // Jobs submitted before this moment are there when it begins: those of `resumed` (in order of `job`) with what is
  // left of them, running ones on whichever nodes they fit. Nothing = it begins, empty, with the first submission.
  std::optional<Seconds> begin = {};
  std::vector<ResumedJob> resumed = {};
  std::vector<PastUseStretch> used = {};   // where past use counts
  std::vector<AcceptedJob> accepted = {};  // in order of `job`
};

// What the scheduler believes about durations.
enum class DurationSource : std::uint8_t {
  kOracle,     // the truth
  kPredicted,  // what the jobs that ended so far teach (policy/duration_predictor.h)
  kLimit,      // the job's time limit alone
  kEstimate,   // an estimate of the file, by name
};

// Added to the work of a job each time it is evicted, by the GPUs of the job.
struct RestartCost {
  std::vector<std::pair<MilliGpu, Seconds>> up_to;  // ascending: the first that is not less than the job's
  Seconds above;                                    // of larger jobs

  Seconds of(MilliGpu gpus) const {
    for (const auto& [most, cost] : up_to) {
      if (gpus <= most) return cost;
    }
    return above;
  }
};

// "60s": of every job; "7s to 1, 30s to 8, 60s": of jobs of up to 1 GPU, of up to 8, of larger ones.
Result<RestartCost> read_restart_cost(std::string_view text);

struct TimedOptions {
  std::uint64_t seed = 0;
  Seconds aging_interval{3600};  // see Snapshot
  RoundRules rules{.backfill = BackfillMode::kGreedy, .preemption = Preemption::kNone};
  OrderKnobs order_knobs = {};
  PredictorKnobs predictor = {};
  DurationSource durations = DurationSource::kOracle;
  std::string estimate = {};                       // name of the file's estimate, of kEstimate
  bool pooled_devices = false;                     // a node's GPUs are one amount, see pooled_floor.h
  NodeChoice node_choice = NodeChoice::kFirstFit;  // of pooled devices; the score policy plays no part there
  // Device models that bind the jobs that name them; jobs that name others may run anywhere. Nothing = all do.
  std::optional<std::vector<std::string>> binding_models = std::nullopt;
  Seconds checkpoint_interval{0};        // of jobs that do not say: work saved so often outlives an eviction; 0 = never
  RestartCost restart_cost = {};         // of jobs that do not say
  Seconds completion_lag{0};             // a job is seen to have ended so much later than it has run its time
  std::int64_t arrivals_per_minute = 0;  // > 0: the i-th job (from 0) arrives at second floor(i / this) * 60
  ReplanTies replan_ties = ReplanTies::kKeep;  // preemption = replan: who goes first of equals, see replan.h
  Seconds round_interval{60};                  // of evictions: while jobs wait, there is a moment at least so often
  bool regular_rounds = false;  // whether or not anything may be evicted: what rounds expect of durations goes stale
  bool order_moments = true;    // a moment also when the order of those that wait changes by itself; no live round is
  bool try_all = false;         // every waiting job at every moment, as a live round does
  bool keep_tasks = true;
  bool keep_jobs = false;
  // Of one in so many jobs that must wait the expected start is told at submission, see told_starts.h; 0 = of none.
  std::int64_t expectation_sample = 0;
  std::optional<std::pair<Seconds, Seconds>> measured = {};  // utilisation is that of this stretch; nothing = of all
  std::int32_t utilisation_points =
      1000;  // at most about so many, each the mean over a stretch of time; 0 = every change
#ifdef NDEBUG
  bool check_invariants = false;  // after every moment: no node or device over-allocated
#else
  bool check_invariants = true;
#endif
  ScriptPolicies scripts = {};  // that policies may name
  SimulationControl control = {};
};

// Reads the jobs once: counts them, works out the workload, and refuses (naming the row) jobs that are not sorted by
// submit time or have no duration.
Result<TimedInput> timed_from(const Cluster& cluster, std::function<Result<std::unique_ptr<JobReader>>()> open_jobs,
                              std::vector<Queue> queues = {}, std::vector<PriorityClass> priority_classes = {});
// Stable, by submit time: for files that are not sorted.
void sort_by_submit(std::vector<TraceJob>& jobs);

// Refuses options that name what neither the file nor the cluster has: "option 'estimate': ...".
Status check_named(const TimedInput& input, const TimedOptions& options);

// One policy; run_policies for several. kInterrupted when stopped, kInvalid for options that do not go together.
// row.simulation is left for the caller to fill.
Result<SimulationResult> simulate_jobs(const TimedInput& input, const PolicyChoice& policy,
                                       const TimedOptions& options);

}  // namespace berth
