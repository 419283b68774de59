// Device use over simulated time: every change, thinned out for people, and where there are very many of them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sim/simulation.h"

namespace berth {

class UtilisationLog {
 public:
  explicit UtilisationLog(MilliGpu capacity) : capacity_(capacity) {}

  // The state from `time` on; times must not go back. The last one said of a moment counts.
  void record(Seconds time, MilliGpu used, std::int64_t running_jobs, std::int64_t waiting_jobs);
  // At most about `most` points, each the mean over a stretch of equal length; 0 = every change.
  std::vector<UtilisationPoint> points(std::int32_t most) const;
  // Device time used in percent of device time there was between the first and the last record.
  std::optional<double> mean_pct() const;
  // The same between two moments; before the first record nothing was used, after the last it stays as it was.
  std::optional<double> mean_pct(Seconds begin, Seconds end) const;

 private:
  double percent(double used) const;
  UtilisationPoint mean_between(Seconds begin, Seconds end, std::size_t& at) const;

  MilliGpu capacity_;
  std::vector<UtilisationPoint> changes_;
};

}  // namespace berth
