// From a forecast of a job's start to a p50 and a p90 that hold as often as they say.
//
// A forecast plays the future forward with predicted durations (round/forecast.h). What it leaves out - jobs still to
// come, durations that turn out otherwise - makes it wrong in a way that depends on the cluster and the day, so its
// errors are learnt: the error of a forecast is (wait + 1 min) / (forecast wait + 1 min), and the p50 and p90 told for
// the next one are its wait times those quantiles of past errors. Forecasts near and far have errors of their own
// (a bucket each; one that knows too little asks all of them). Durations drawn at random would be the alternative; they
// tell nothing of jobs to come, which is most of the error.
//
// Three things keep it honest. Jobs that still wait count, as waiting at least so long, and so do those that were given
// up (Kaplan and Meier's estimate: else only the lucky ones would teach). Only the last kKept forecasts of a bucket
// count, so that it follows the cluster. And the quantile itself moves: up a little with every p90 that is passed, down
// a little with every one that holds, so that in the long run nine in ten hold however the errors drift (adaptive
// conformal inference of Gibbs and Candes, NeurIPS 2021); a p90 counts as passed at the moment it is.
//
// Pure and deterministic. Times must not go back.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "engine/base/units.h"

namespace berth {

// Moments. As expected until p50 in half of all cases, until p90 in nine of ten.
struct ExpectedStart {
  Seconds p50;
  Seconds p90;

  bool operator==(const ExpectedStart&) const = default;
};

// Enough starts are known to tell how wrong forecasts are.
bool is_measured_start(std::int64_t known_starts);

class StartCalibration {
 public:
  static constexpr std::size_t kKept = 256;   // forecasts of a bucket
  static constexpr std::size_t kFewest = 20;  // starts that must be known before errors are believed

  // What to tell for a job that a forecast made now lets start at `forecast.p50`, or at `forecast.p90` if durations are
  // long. As forecast while too little is known.
  ExpectedStart expect(const ExpectedStart& forecast, Seconds now);
  // Errors are believed: expect() does not look at forecast.p90.
  bool knows_enough() const { return known_starts() >= kFewest; }
  std::size_t known_starts() const;
  // It was told for that job, now. A job has one expectation at a time.
  void tell(std::int64_t job, Seconds forecast, const ExpectedStart& told, Seconds now);
  // The job started, now; one of which nothing was told is ignored.
  void start(std::int64_t job, Seconds now);
  // It waits no longer, now, and has not started: it was given up, or its user holds it.
  void drop(std::int64_t job, Seconds now);

 private:
  struct Told {
    std::int64_t job = 0;
    Seconds made;
    Seconds forecast_wait;
    ExpectedStart expected;
    Seconds started{-1};
    Seconds dropped{-1};
    bool is_counted50 = false;  // in the levels
    bool is_counted90 = false;
  };
  struct Bucket {
    std::deque<Told> told;
    std::size_t gone = 0;  // left the front
    double level50 = 0.5;  // quantiles that are asked for
    double level90 = 0.9;
    std::size_t starts = 0;  // among `told`
  };
  struct Place {
    std::size_t bucket;
    std::size_t index;  // counted from the first ever
  };

  static std::size_t bucket_of(Seconds wait);
  void count_overdue(Seconds now);
  void count(Bucket& bucket, Told& told, Seconds now);
  std::optional<double> error_quantile(const Bucket* bucket, double level, Seconds now) const;

  std::array<Bucket, 5> buckets_;
  std::unordered_map<std::int64_t, Place> place_of_;
};

}  // namespace berth
