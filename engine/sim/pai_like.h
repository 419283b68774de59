// A generator of workloads like that of Alibaba's PAI cluster, and of the cluster itself: for examples, tests,
// prediction, right-sizing and sharing, where the real trace is not at hand.
//
// Every figure it aims at is published ("MLaaS in the Wild", NSDI'22, and the machine table of its trace); they stand
// as constants with their names at the top of pai_like.cpp, assumptions of ours apart from them. Method: recurrence
// groups first. A group has an owner, a number of runs, a gang size, a request, the typical duration and use of its
// runs; what is continuous is spread evenly over the instances of all groups in a shuffled order (systematic sampling),
// what is discrete goes to the value furthest below its share that still fits the cluster - so that the figures hold
// for every seed in spite of groups and users of very different size. Runs of a group differ by log-normal noise.
//
// Memory grows with the groups and 24 bytes a job; job() makes one record at a time. Equal options give equal records
// on every machine. The cluster and the jobs of equal options belong together: every gang fits the empty cluster twice.
//
// Not modelled: failed runs, waits (a job has no start), weekdays, interference between tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sim/portable_math.h"
#include "engine/sim/trace.h"

namespace berth {

struct PaiLikeOptions {
  std::uint64_t seed = 1;
  std::int64_t jobs = 100000;
  std::int64_t gpus = 0;  // of the cluster; 0 = as many for these jobs as the published cluster had for its own
  std::int64_t days = 60;
};
// kInvalid naming the option that is out of range, and the range.
Status check_pai_like(const PaiLikeOptions& options);

// How many GPUs the cluster has: as many as asked for, or in proportion to the jobs.
std::int64_t pai_like_gpus(const PaiLikeOptions& options);

// The published machines, scaled to the GPUs wanted: "misc-0001", in racks of 16.
std::vector<TraceNode> pai_like_nodes(const PaiLikeOptions& options);

// What was made; shares in percent. Of instances (tasks of jobs) unless said otherwise.
struct PaiLikeSummary {
  std::int64_t jobs = 0;
  std::int64_t instances = 0;
  std::int64_t users = 0;
  std::int64_t groups = 0;  // of recurrence
  std::int64_t cluster_gpus = 0;
  double recurring_jobs = 0;  // jobs whose group runs five times or more
  double gang_instances = 0;
  double top_user_instances = 0;  // of the 5 % of users with the most
  double mean_gpus = 0;           // asked for at a time, if nothing waits
  double mean_whole_gpus = 0;     // the same with every fraction rounded up to a device
};

class PaiLikeTrace {
 public:
  explicit PaiLikeTrace(const PaiLikeOptions& options);  // options that check_pai_like accepts

  std::int64_t jobs() const { return static_cast<std::int64_t>(runs_.size()); }
  // 0, 1, ... in order of submission.
  TraceJob job(std::int64_t index) const;
  PaiLikeSummary summary() const;

 private:
  struct Group {
    std::int64_t runs = 0;
    std::int64_t gang = 1;
    std::int32_t user = 0;
    double duration = 0;  // seconds, the median run's
    double peak = 1;      // CPU peak over mean
    TraceTaskGroup task;  // with the typical run's use, not yet held to the limits
    std::int64_t instances() const { return runs * gang; }
  };
  struct Run {
    std::int64_t submit = 0;
    std::int32_t group = 0;
    std::int32_t number = 0;  // within the group
  };
  class Planner;

  PaiLikeOptions options_;
  NormalQuantiles quantiles_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> queue_of_user_;
  std::vector<Run> runs_;
};

// All of them, in memory.
std::vector<TraceJob> pai_like_jobs(const PaiLikeOptions& options);

}  // namespace berth
