// Waits and completions of jobs, and their summary, in memory that does not grow with their number.
//
// Means are exact. So are percentiles as long as no more than 8,192 different values came; from then on they are exact
// up to 4,095 s and told up to one part in 1,024 too low beyond.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/base/units.h"
#include "engine/sim/simulation.h"

namespace berth {

class DurationCounts {
 public:
  // Not negative.
  void add(std::int64_t seconds, std::int64_t times = 1);
  void add(const DurationCounts& other);
  std::int64_t count() const { return count_; }
  std::optional<double> mean() const;
  std::optional<std::int64_t> most() const { return count_ == 0 ? std::nullopt : std::optional(most_); }
  // Nearest rank, as percentile() of simulation.h.
  std::optional<std::int64_t> percentile(int per_mille) const;

 private:
  void cut();
  // Calls visit(value, how often).
  template <class Visit>
  void for_each(Visit visit) const;

  // Of values that are exact as they are, and of all once there were many: by place_of(value) in job_times.cpp.
  std::vector<std::int64_t> by_place_;
  std::unordered_map<std::int64_t, std::int64_t> exact_;  // of the others, by value
  bool is_exact_ = true;
  std::int64_t count_ = 0;
  std::int64_t sum_ = 0;
  std::int64_t most_ = 0;
};

// Of one queue, or of all.
class JobTimes {
 public:
  void note_arrival() { ++result_.jobs; }
  void note_start(Seconds wait, bool is_entitled);
  void note_end(Seconds completion, Seconds duration);
  void note_eviction(std::int64_t lost);
  void note_delivered(std::int64_t milli_seconds) { result_.delivered += milli_seconds; }
  void note_quota(bool within) { ++(within ? result_.starts_within_quota : result_.starts_borrowing); }
  void note_denied(Seconds stretch) { result_.longest_denied = std::max(result_.longest_denied, stretch); }

  // As if what was noted there had been noted here.
  void add(const JobTimes& other);
  QueueResult result(std::string queue) const;

 private:
  QueueResult result_;
  DurationCounts waits_;
  std::int64_t completions_ = 0;
  std::int64_t completion_sum_ = 0;
  std::int64_t entitled_wait_ = 0;
};

}  // namespace berth
