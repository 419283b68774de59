// What benches share: the wall clock, and an end with a sentence when something fails.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "engine/base/status.h"

namespace berth::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// Of this process on its core, so that a busy machine does not count.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) give_up(result.status().message());
  return *std::move(result);
}
inline void must(const Status& status) {
  if (!status.ok()) give_up(status.message());
}

}  // namespace berth::bench
