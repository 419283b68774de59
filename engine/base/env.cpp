#include "engine/base/env.h"

#include <chrono>

namespace berth {

Seconds SystemEnv::now() const {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Seconds(std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count());
}

}  // namespace berth
