// The wall clock far in the future. This program's clock_gettime is ours.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/env.h"
#include "engine/base/text.h"

namespace {

std::int64_t clock_offset = 0;  // seconds

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long code = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += clock_offset;
  return static_cast<int>(code);
}

namespace berth {
namespace {

TEST(FarClock, CountsOnInTheYear10000) {
  const Seconds today = SystemEnv().now();
  constexpr std::int64_t kYear10000 = 253402300800;
  clock_offset = kYear10000 - today.value();
  const Seconds then = SystemEnv().now();
  clock_offset = 0;
  EXPECT_GE(then.value(), kYear10000);
  EXPECT_LT(then.value(), kYear10000 + 3600);
  EXPECT_EQ(print_time(then).substr(0, 11), "10000-01-01");
}

}  // namespace
}  // namespace berth
