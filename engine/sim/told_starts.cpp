#include "engine/sim/told_starts.h"

#include "engine/base/env.h"
#include "engine/round/forecast.h"

namespace berth {

bool ToldStarts::is_asked(std::int64_t job) const {
  if (sample_ <= 0) return false;
  Random random(seed_ ^ (static_cast<std::uint64_t>(job) << 20));
  return random.below(static_cast<std::uint64_t>(sample_)) == 0;
}

Status ToldStarts::tell(const Snapshot& snapshot, std::span<const std::int64_t> jobs) {
  BERTH_ASSIGN(const auto starts, forecast_starts(snapshot, jobs));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!starts[i]) {
      ++untold_;
      continue;
    }
    const ExpectedStart expected = calibration_.expect({*starts[i], *starts[i]}, snapshot.now);
    calibration_.tell(jobs[i], *starts[i], expected, snapshot.now);
    place_of_[jobs[i]] = told_.size();
    told_.push_back({.job = jobs[i], .made = snapshot.now, .forecast = *starts[i], .expected = expected});
  }
  return {};
}

void ToldStarts::start(std::int64_t job, Seconds now) {
  const auto place = place_of_.find(job);
  if (place == place_of_.end()) return;
  told_[place->second].start = now;
  calibration_.start(job, now);
  place_of_.erase(place);
}

}  // namespace berth
