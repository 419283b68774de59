#include "engine/base/env.h"

#include <ctime>

namespace berth {

Seconds SystemEnv::now() const {
  // The standard library's clock counts nanoseconds, which end in the year 2262.
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return Seconds(now.tv_sec);
}

}  // namespace berth
