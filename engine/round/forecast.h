// When a waiting job will start, if everything lasts as long as expected.
//
// Time is played forward on a copy of the state: running jobs end as expected (estimate, time limit, or the default
// duration), and after each few ends a pass (round/pass.h) is made over the jobs ahead of this one and the job itself,
// in the order in which the policy puts them by then. Twice: with every duration at its median, and at its 90th
// percentile, where the two differ. Where it may evict others, passes are made also once it has waited long enough for
// that, and once those that run have run long enough. Jobs ahead of it evict, too, and so do owners behind a borrower.
// What is left out makes it an estimate: jobs that will be submitted, other jobs behind it, and victims that come back.
//
// The near future is played end by end, the far one in steps that grow with what has ended so far and with the time
// until there: an answer is about as exact as it is near, and its cost grows with the logarithm of the ends before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/snapshot.h"

namespace berth {

inline constexpr std::size_t kForecastFineness = 8;  // a step: one end more for every so many before it

struct Forecast {
  std::optional<Seconds> p50;  // start; nothing = not even when all that runs has ended
  std::optional<Seconds> p90;
  std::vector<Eviction> evictions = {};  // of others for the job, until p50
  std::int64_t guesses = 0;              // running jobs and jobs ahead about whose duration nothing is known
};

// kNotFound when the job is not among snapshot.jobs; kInterrupted.
Result<Forecast> forecast_start(const Snapshot& snapshot, std::int64_t job,
                                const std::atomic<bool>* interrupted = nullptr);

// The starts of several jobs in one play, in their order; nothing = not in sight. `most_looks` > 0: ends once passes
// have looked at jobs so often, and what has not started by then is not in sight. kNotFound, kInterrupted as above.
enum class ForecastDurations : std::uint8_t { kMedian, kLong };  // the p50 of each job, or the p90
Result<std::vector<std::optional<Seconds>>> forecast_starts(const Snapshot& snapshot,
                                                            std::span<const std::int64_t> jobs,
                                                            ForecastDurations durations = ForecastDurations::kMedian,
                                                            std::int64_t most_looks = 0,
                                                            const std::atomic<bool>* interrupted = nullptr);

}  // namespace berth
