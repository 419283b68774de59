// What a month of jobs comes to, counted the same way whether it was simulated or recorded: waits, completion,
// fairness, evictions and lost work, of each queue and of all.
//
// The satisfied share of a queue is the time its ended jobs had to run over the time they were there (submit to end):
// 1 = nobody waited. Fairness is Jain's index over the satisfied shares of the queues, (sum x)^2 / (n sum x^2): 1 = all
// queues are served alike, 1/n = one of them alone is. The finish ratio of a job is (end - submit) / run time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/sim/simulation.h"

namespace berth {

// A job whose fate counts.
struct CountedJob {
  std::string name;
  std::int32_t queue = -1;  // index; -1 = none
  Seconds submit;
  Seconds duration;  // to run, undisturbed
};

// Of one queue or of all. Numbers of several seeds are their mean.
struct BacktestCounts {
  std::string queue;  // empty = all, or jobs without a queue
  double jobs = 0;
  double started = 0;
  double ended = 0;
  std::optional<double> wait_mean;  // seconds from submit to the first start, of those that started
  std::optional<double> wait_p50;
  std::optional<double> wait_p90;
  std::optional<double> wait_p99;
  std::optional<double> completion_mean;  // seconds from submit to the end, of those that ended
  std::optional<double> satisfied_share;
  std::optional<double> worst_finish_ratio;
  double evictions = 0;
  double lost = 0;       // milli-GPU-seconds
  double delivered = 0;  // milli-GPU-seconds

  bool operator==(const BacktestCounts&) const = default;
};

struct BacktestSummary {
  BacktestCounts all;
  std::vector<BacktestCounts> queues;  // those that have jobs, in queue order
  std::optional<double> fairness;      // nothing = no queue has jobs that ended
};

// `outcomes` are those of `jobs`, one by one.
BacktestSummary summarise(std::span<const CountedJob> jobs, std::span<const JobResult> outcomes,
                          std::span<const std::string> queues);
// Number by number; a number that some lack is the mean of the others. At least one, all of the same jobs.
BacktestSummary mean_of(std::span<const BacktestSummary> summaries);

}  // namespace berth
