// What would start this job now: the smallest single changes, each proved by planning the round on a changed copy of
// the state.
//
// Candidates come from the reason why the job waits: more quota where it is short, or enough of it to take room back
// from those who borrow; another device model; fewer tasks at once, or fewer GPUs a task; a wider locality; a higher
// priority class, or an earlier place in the order; nodes that are not up; evicting the jobs that lose least. An answer
// is given only when the plan on the changed copy starts the job. Where jobs ahead of it would take what the change
// frees, the answer says that it has to go before them too (goes_first).
//
// Smallest: without any one of its jobs, nodes, models or quotas, or with one unit less of an amount, the plan does not
// start the job. Each was planned (round/smallest.h), since what fits is not monotone: jobs ahead are given more, too.
// Of quotas every smaller number of whole devices, cores or GiB was planned. Where that would take too many plans, the
// answer says so (may_be_smaller).
//
// A change is planned first with the job before all others, which costs the try of one job and rules out most; only
// then at its own place. A plan ends when the job has been tried (ScheduleOptions::until_job): a whole answer costs
// about nine rounds in the median, twenty at most (bench/what_if).
//
// An answer is about now. It does not say that the change is wise, nor what it does to others beyond the evictions
// named.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/snapshot.h"
#include "engine/round/forked_round.h"

namespace berth {

enum class ChangeKind : std::uint8_t {
  kQuota,     // `quotas` raised: quotas, limits, or what others lend
  kModel,     // `models` allowed too
  kLocality,  // the group is content with `locality`
  kTasks,     // the group starts with `count` tasks
  kGpus,      // the group asks for `count` GPUs a task
  kPriority,  // it is of `priority_class`
  kOrder,     // it goes before `jobs`, the last of those ahead of it
  kNodes,     // `nodes` up
  kEvict,     // `jobs` evicted, `lost` milli-GPU-seconds of work lost
};

enum class QuotaTerm : std::uint8_t { kQuota, kLimit, kLendLimit };

struct QuotaRise {
  std::int32_t queue = -1;     // index
  std::int32_t resource = -1;  // index into QuotaTable::resources
  QuotaTerm term = QuotaTerm::kQuota;
  std::int64_t amount = 0;  // how much more
};

struct WhatIf {
  ChangeKind kind = ChangeKind::kQuota;
  std::int32_t group = 0;
  std::vector<QuotaRise> quotas = {};
  std::int64_t count = 0;
  ModelSet models = 0;
  Locality locality = Locality::kAny;
  std::int32_t priority_class = -1;  // index
  std::vector<NodeIndex> nodes = {};
  std::vector<std::int64_t> jobs = {};
  std::int64_t lost = 0;
  bool goes_first = false;               // and it goes before all jobs ahead of it
  bool may_be_smaller = false;           // not all smaller ones were tried: there were too many
  std::vector<Eviction> evictions = {};  // what the round would then evict for the job
};

struct WhatIfAnswer {
  bool starts_anyway = false;
  Waiting waiting;              // why not, as things are
  std::vector<WhatIf> changes;  // in the order of ChangeKind
  std::int64_t ahead = 0;       // jobs in the order
  std::int64_t plans = 0;       // how many were made
};

// `workload_then`: null = the typical workload stays as it is. kNotFound when the job is not among
// snapshot.jobs; kInterrupted.
Result<WhatIfAnswer> what_would_start(const Snapshot& snapshot, std::int64_t job, WorkloadThen workload_then = {},
                                      const std::atomic<bool>* interrupted = nullptr);

}  // namespace berth
