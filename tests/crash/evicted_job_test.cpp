// Evictions of real processes on this machine.

#include "tests/crash/evicted_jobs.h"

namespace berth::test {
namespace {

TEST_F(EvictedJobs, RunAgainHoweverTheyEndAndAreDoneOnlyIfTheySaySo) {
  build("CREATE EXECUTOR here TYPE local WITH (node = 'n[1-6]', limits = none)");
  submit_guests();
  start_guests();
  take_back();
  expect_all_ran_again();
}

}  // namespace
}  // namespace berth::test
