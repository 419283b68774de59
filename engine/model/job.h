// What is to run: jobs with task groups.
//
// A job belongs to one queue and has one or more task groups; a group is a number of equal tasks (one shape) that may
// have to lie close together. A job starts as a gang: every group places at least min_tasks of its tasks in the same
// round, or nothing of the job starts. Tasks beyond min_tasks may join later.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/shape.h"

namespace berth {

// How close the tasks of one group must (or should) lie: inside one link group of one node, on one node, in one rack.
// The link group is the smallest kind that could hold them all; where no listed one could, that is the node itself.
enum class Locality : std::uint8_t { kAny, kRack, kNode, kLinkGroup };
std::string_view locality_name(Locality locality);
Result<Locality> read_locality(std::string_view text);

enum class JobState : std::uint8_t { kPending, kHeld, kRunning, kFinished, kFailed, kCancelled };
std::string_view job_state_name(JobState state);
Result<JobState> read_job_state(std::string_view text);
bool job_may_change(JobState from, JobState to);

struct TaskGroup {
  TaskShape shape;
  std::int32_t count = 1;
  std::int32_t min_tasks = 1;  // 1..count; of the gang
  std::int32_t placed = 0;     // live allocations already held; its next tasks are numbered from here
  std::int32_t anchor = -1;    // node of its first live task, -1 = none: required locality keeps to that node or rack
  std::uint64_t anchor_devices =
      0;  // devices its live tasks hold there: required link-group locality keeps to their group
  Locality locality = Locality::kAny;
  bool locality_required = true;  // false = preferred: tried first, then widened level by level
};

// How long a job is expected to run, from its start. 0 = nothing known.
struct DurationEstimate {
  Seconds p50;
  Seconds p80;
  Seconds p90;
  bool is_given = false;       // p50 is somebody's answer even if it is 0 (or less: a noisy one)
  std::int32_t p50_milli = 0;  // thousandths of a second beyond p50: an order may tell estimates apart by them
  // p90 rests on too few runs, or has not held: it bounds no run that has a time limit (policy/duration_predictor.h).
  bool is_rough = false;
  // Of a forecast, which plays medians: the longest run that rounds reckon with; 0 = expected_end() says it.
  Seconds longest{0};

  bool operator==(const DurationEstimate&) const = default;
};

// What eviction means for a job.
struct EvictionTerms {
  bool preemptible = true;
  Seconds checkpoint_interval;            // 0 = no checkpoints: all work is lost
  Seconds checkpoint_grace;               // from the signal to the end
  Seconds restart_cost;                   // until it is back where it was
  Seconds min_runtime;                    // not evicted before it has run that long
  std::int32_t evictions = 0;             // so far
  Seconds last_eviction{-1};              // -1 = never
  Seconds evicts_from;                    // nobody is evicted for it before
  std::vector<std::int64_t> evicted_for;  // jobs that it made room for: by priority it never evicts one

  bool operator==(const EvictionTerms&) const = default;
};

struct Job {
  std::int64_t id = 0;
  std::int32_t queue = -1;           // index into Snapshot::queues
  std::int32_t priority_class = -1;  // index into Snapshot::priority_classes
  JobState state = JobState::kPending;
  Seconds submit;
  Seconds time_limit;  // 0 = none
  std::vector<TaskGroup> groups;
  DurationEstimate estimate;
  std::int64_t attained = 0;        // service of ended attempts, milli-GPU-seconds
  double gpu_utilisation_pct = -1;  // of the GPU that runs like it asked for; -1 = not known
  EvictionTerms eviction;
  std::vector<std::int64_t> after;  // jobs it depends on that have not finished

  // When a run that began at `start` ends at the latest, as far as is known: the time limit, or the p90 of the
  // estimate if that is less and not rough; -1 = nothing known.
  Seconds expected_end(Seconds start) const {
    const bool is_limited = time_limit > Seconds(0) && (estimate.is_rough || estimate.p90 >= time_limit);
    if (estimate.p90 > Seconds(0) && !is_limited) return start + estimate.p90;
    return time_limit > Seconds(0) ? start + time_limit : Seconds(-1);
  }

  // Who is earlier comes first, among equals. Evicted once it keeps its place; evicted again it comes anew: one that is
  // evicted as often as it starts would be first for ever.
  Seconds in_line_since() const { return eviction.evictions > 1 ? std::max(submit, eviction.last_eviction) : submit; }

  MilliGpu gpu_total() const {
    MilliGpu total;
    for (const TaskGroup& group : groups) total += group.shape.gpu_total() * group.count;
    return total;
  }
};

// The job without the tasks that may join later.
Job gang_of(const Job& job);

// All tasks of the gang are placed; it may still lack tasks beyond.
bool has_its_gang(const Job& job);
// It may run with fewer tasks than it has.
bool is_elastic(const Job& job);

// `jobs`: in id order. Null: none has that id.
const Job* find_job(std::span<const Job> jobs, std::int64_t id);

}  // namespace berth
