// Evictions of jobs on Slurm, through the whole of Berth.

#include "tests/crash/evicted_jobs.h"
#include "tests/slurm/slurm_cluster.h"

namespace berth::test {
namespace {

TEST_F(EvictedJobs, OnSlurm) {
  SlurmCluster cluster(SLURM_CLUSTER);
  if (const std::string lacking = cluster.start({"6", "4", "0"}); !lacking.empty()) GTEST_SKIP() << lacking;
  patience_ = std::chrono::seconds(80);
  build("CREATE EXECUTOR hpc TYPE slurm WITH (timeout = 5s, poll_interval = 0s)");
  submit_guests();
  start_guests();
  take_back();
  expect_all_ran_again();
  EXPECT_TRUE(eventually([] { return shell("squeue -h").empty(); })) << shell("squeue");
}

}  // namespace
}  // namespace berth::test
