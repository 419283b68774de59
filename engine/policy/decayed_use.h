// GPU time that is forgotten with time: use counts half after one half-life. fair_share remembers by it.
#pragma once

#include "engine/base/units.h"

namespace berth {

// What is left after that time of what counted 1.
double decay_over(Seconds time, Seconds half_life);

// milli-GPU-seconds that count at `now` of `gpu` used from `start` to `end` <= now: the integral of
// gpu * 2^-((now - t) / half_life).
double decayed_service(MilliGpu gpu, Seconds start, Seconds end, Seconds now, Seconds half_life);

}  // namespace berth
