// What a simulation tells at submission of when a job will start, and what came of it: how good such answers are.
//
// Of a sample of the jobs (seeded: of all the starts would be forecast too often) that must wait, the start is forecast
// as EXPLAIN JOB does it, with the durations that are believed at that moment, and corrected as the errors of the
// forecasts before it suggest (policy/start_calibration.h). Nothing of it changes what is decided.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/policy/start_calibration.h"
#include "engine/sim/simulation.h"

namespace berth {

class ToldStarts {
 public:
  // Of one in `sample` jobs; 0 = of none.
  ToldStarts(std::int64_t sample, std::uint64_t seed) : sample_(sample), seed_(seed) {}

  bool is_asked(std::int64_t job) const;
  // The jobs wait in the snapshot.
  Status tell(const Snapshot& snapshot, std::span<const std::int64_t> jobs);
  // For the first time, now; a job of which nothing was told is ignored.
  void start(std::int64_t job, Seconds now);

  const std::vector<ToldStart>& all() const { return told_; }
  std::int64_t untold() const { return untold_; }

 private:
  std::int64_t sample_;
  std::uint64_t seed_;
  StartCalibration calibration_;
  std::vector<ToldStart> told_;
  std::unordered_map<std::int64_t, std::size_t> place_of_;
  std::int64_t untold_ = 0;
};

}  // namespace berth
