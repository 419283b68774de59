// Submitting jobs and moving them through their states.
//
// A job that is refused leaves nothing behind, so an import may go on after a bad row. What can never run is refused
// with kInfeasible and the best there is ("wants 200GiB of device memory; the largest device, H100, has 80GiB"), unless
// allow_infeasible. Ending a running job frees what it holds and writes the attempt to `runs`.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/job.h"
#include "engine/store/change.h"
#include "engine/store/job_terms.h"
#include "engine/store/run_records.h"

namespace berth {

struct TaskGroupRequest {
  std::string name = {};  // empty = "main" for the first, else "group<index>"
  std::int64_t count = 1;
  std::optional<std::int64_t> min_tasks = {};  // default: all of them
  MilliCpu cpu = {};
  MiB memory = {};
  std::int64_t gpu_count = 0;            // devices a task
  MilliGpu gpu_milli = kWholeDevice;     // of each; read only when gpu_count > 0
  MiB gpu_memory = {};                   // of each; 0 = in proportion
  std::vector<std::string> models = {};  // allowed device models; empty = any
  std::string pool = {};                 // empty = any
  Locality locality = Locality::kAny;
  bool locality_required = true;
};

struct JobRequest {
  std::string name = {};  // empty = "job-<id>"
  std::string queue = {};
  std::string priority_class = {};          // empty = none
  std::string user = {};                    // empty = the actor
  std::string tag = {};                     // of the recurrence group: what comes again has the same; empty = none
  std::optional<Seconds> submit_time = {};  // default: now; an import may say when it really was
  Seconds time_limit = {};                  // 0 = none
  JobTerms terms = {};
  JobCommand command = {};
  bool held = false;
  bool allow_infeasible = false;
  std::vector<TaskGroupRequest> groups = {};
};

// Turns "1.5 GPUs a task" into a shape or says why not: above 1 only whole devices, below 1 a fraction of one.
Status set_gpus(TaskGroupRequest& group, MilliGpu amount);

// Submits many jobs in one Change: reads queues, models, pools and node kinds once. Nodes and queues must not change
// meanwhile within the same Change.
class Submitter {
 public:
  static Result<Submitter> make(Change& change);
  Submitter(Submitter&&) noexcept;
  ~Submitter();
  // The job's id. No event: call finish().
  Result<std::int64_t> submit(const JobRequest& request);
  // One event for all that were submitted: the job's name, or how many.
  Status finish();

 private:
  struct Impl;
  explicit Submitter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The id.
Result<std::int64_t> submit_job(Change& change, const JobRequest& request);

// By id (find_job). kConflict when the present state does not allow it, naming both. A job that an executor runs is
// told to stop, and cancelled once it has.
Status cancel_job(Change& change, std::int64_t job);
Status hold_job(Change& change, std::int64_t job);     // pending -> held
Status release_job(Change& change, std::int64_t job);  // held -> pending; kConflict while a stray of it runs
// Nothing = no class. A job that has ended keeps its own.
Status set_job_priority(Change& change, std::int64_t job, std::optional<std::string_view> priority_class);
// A running job ended by itself: kFinished or kFailed. `detail` goes to runs. kConflict for one that an executor runs:
// it says so itself.
Status end_job(Change& change, std::int64_t job, JobState state, const std::string& detail = {});

// What the end of a run at its executor means for its job: it ends too, or waits again - after an eviction, and after
// a failure or a loss as often as its retries allow. kInternal for a state that is no end.
Status conclude_run(Change& change, const LiveRun& run, RunState ended, const std::string& detail);

// Its live run is over for this database, whatever has become of it elsewhere: it counts as lost, but not against the
// job, which waits again - or is cancelled, where it was told to be.
Status forget_run(Change& change, std::int64_t job, const std::string& detail);

}  // namespace berth
