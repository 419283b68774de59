// Departments on a real workload: what fair_share with reclaim promises, against fifo, on the first jobs of Philly.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/reference/philly_world.h"

namespace berth::test {
namespace {

constexpr std::size_t kJobs = 6000;  // bench/philly_table.cpp takes all

class PhillyPromise : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::ifstream(philly_folder() + "philly_jobs.csv.gz").good()) {
      GTEST_SKIP() << "no Philly trace: BERTH_SHARED names the folder with traces/philly";
    }
    Result<PhillyWorld> read = philly_world();
    ASSERT_TRUE(read.ok()) << read.status().message();
    world_ = *std::move(read);
    world_.jobs.resize(kJobs);
  }

  QueueResult run(const char* order, BackfillMode backfill, Preemption preemption) {
    TimedOptions options;
    options.keep_tasks = false;
    options.check_invariants = false;
    options.rules.backfill = backfill;
    options.rules.preemption = preemption;
    options.checkpoint_interval = Seconds(1800);
    options.restart_cost.above = Seconds(60);
    longest_denial_ = options.rules.min_runtime + options.round_interval;
    const Result<TimedInput> input = philly_input(world_, true);
    EXPECT_TRUE(input.ok()) << input.status().message();
    const Result<SimulationResult> result = simulate_jobs(*input, {order, "best_fit"}, options);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result->all_queues;
  }

  PhillyWorld world_;
  Seconds longest_denial_;
};

TEST_F(PhillyPromise, WhoIsWithinQuotaHardlyWaits) {
  const QueueResult fifo = run("fifo", BackfillMode::kEasy, Preemption::kNone);
  const QueueResult fair = run("fair_share", BackfillMode::kEasy, Preemption::kReclaim);
  EXPECT_EQ(fifo.started, static_cast<std::int64_t>(kJobs));
  EXPECT_EQ(fair.started, static_cast<std::int64_t>(kJobs));
  EXPECT_EQ(fair.entitled_jobs, fifo.entitled_jobs) << "the same jobs under every policy";
  EXPECT_GT(fair.entitled_jobs, 1000);
  EXPECT_LT(fair.entitled_wait_mean.value_or(1e9) * 10, fifo.entitled_wait_mean.value_or(0));
  EXPECT_LE(fair.longest_denied, longest_denial_);
  EXPECT_LT(fair.lost * 100, fair.delivered);
  EXPECT_GT(fair.evictions, 0);
}

}  // namespace
}  // namespace berth::test
