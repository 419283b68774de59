#include "engine/policy/decayed_use.h"

#include <algorithm>
#include <cmath>

namespace berth {

double decay_over(Seconds time, Seconds half_life) {
  return std::exp2(-static_cast<double>(std::max(Seconds(0), time).value()) / static_cast<double>(half_life.value()));
}

double decayed_service(MilliGpu gpu, Seconds start, Seconds end, Seconds now, Seconds half_life) {
  if (end <= start) return 0;
  constexpr double kLn2 = 0.693147180559945309417;
  const double rate = kLn2 / static_cast<double>(half_life.value());
  return static_cast<double>(gpu.value()) / rate *
         (decay_over(now - end, half_life) - decay_over(now - start, half_life));
}

}  // namespace berth
