#include "engine/sim/past_use.h"

#include <algorithm>

#include "engine/policy/decayed_use.h"

namespace berth {

PastUse::PastUse(std::size_t queues, Seconds half_life, Seconds begin)
    : half_life_(half_life), uses_(queues, Use{.held = {}, .at = begin}) {}

void PastUse::add_past(std::size_t queue, MilliGpu gpu, Seconds start, Seconds end) {
  Use& use = uses_[queue];
  use.used += decayed_service(gpu, start, std::min(end, use.at), use.at, half_life_);
}

double PastUse::used_by(const Use& use, Seconds now) const {
  return use.used * decay_over(now - use.at, half_life_) + decayed_service(use.held, use.at, now, now, half_life_);
}

void PastUse::hold(std::int32_t queue, std::int64_t more, Seconds now) {
  if (queue < 0) return;
  Use& use = uses_[static_cast<std::size_t>(queue)];
  use.used = used_by(use, now);
  use.at = now;
  use.held += MilliGpu(more);
}

void PastUse::write_to(std::vector<Queue>& queues, Seconds now) const {
  for (std::size_t q = 0; q < queues.size(); ++q) queues[q].decayed_usage = used_by(uses_[q], now);
}

}  // namespace berth
