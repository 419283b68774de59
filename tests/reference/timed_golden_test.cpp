// SIMULATE JOBS against the published runs of the PAI, Tiresias and Helios simulators, job by job.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/reference/peer_runs.h"

namespace berth::test {
namespace {

class TimedGolden : public testing::TestWithParam<PeerRun> {};

TEST_P(TimedGolden, SameStartAndEndForEveryJob) {
  const PeerRun& run = GetParam();
  if (!std::ifstream(peer_folder() + "/golden/timed/" + run.golden + ".csv.gz").good()) {
    GTEST_SKIP() << "no " << run.golden << ": BERTH_SHARED names the folder with golden/timed";
  }
  const Result<PeerComparison> compared = compare_with_peer(run);
  ASSERT_TRUE(compared.ok()) << compared.status().message();
  EXPECT_GT(compared->jobs, 0);
  EXPECT_EQ(compared->other_times, 0) << compared->first;
  EXPECT_EQ(compared->other_nodes, 0) << compared->first;
  EXPECT_EQ(compared->other_evictions, 0) << compared->first;
}

std::string name_of(const testing::TestParamInfo<PeerRun>& instance) {
  std::string name = instance.param.golden;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Peers, TimedGolden, testing::ValuesIn(peer_runs()), name_of);

}  // namespace
}  // namespace berth::test
