// Two policies on the same jobs, job by job: who starts earlier, and by how much - with how sure that is.
//
// The confidence intervals are those of a paired bootstrap: the differences are drawn anew, with replacement, and the
// mean and the median of each draw are noted; 95 of 100 lie in the interval. Jobs that were submitted one after the
// other wait for the same reasons, so they are drawn in blocks of neighbours (as many as the square root of the number
// of jobs): single jobs would make a month of one long jam look like thousands of witnesses. Seeded: equal input gives
// equal numbers. What no resampling can tell is how another month would differ.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace berth {

struct Interval {
  double low = 0;
  double high = 0;

  bool operator==(const Interval&) const = default;
};

struct PairedWaits {
  std::string policy;
  std::string baseline;
  std::int64_t jobs = 0;  // started under both
  std::int64_t earlier = 0;
  std::int64_t later = 0;
  std::int64_t same = 0;
  std::int64_t only_here = 0;  // started under `policy` alone
  std::int64_t only_there = 0;
  double mean = 0;  // seconds that a job waits longer than under the baseline; below 0: less long
  Interval mean_between;
  double median = 0;
  Interval median_between;

  bool operator==(const PairedWaits&) const = default;
};

// Seconds each job waited, in order of submission, of several seeds the mean; nothing = it did not start.
using Waits = std::vector<std::optional<double>>;

inline constexpr int kResamples = 1000;
// Of equally many jobs.
PairedWaits compare_waits(const Waits& policy, const Waits& baseline, std::uint64_t seed);

}  // namespace berth
