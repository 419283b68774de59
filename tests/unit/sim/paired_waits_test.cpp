#include "engine/sim/paired_waits.h"

#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "engine/sim/backtest_summary.h"

namespace berth::test {
namespace {

TEST(PairedWaits, CountsWhoStartsEarlier) {
  const PairedWaits pair =
      compare_waits({10.0, 20.0, std::nullopt, 30.0, 5.0, 7.0}, {40.0, 20.0, 1.0, 10.0, std::nullopt, 7.4}, 1);
  EXPECT_EQ(pair.jobs, 4);
  EXPECT_EQ(pair.earlier, 1);
  EXPECT_EQ(pair.later, 1);
  EXPECT_EQ(pair.same, 2);
  EXPECT_EQ(pair.only_here, 1);
  EXPECT_EQ(pair.only_there, 1);
  EXPECT_DOUBLE_EQ(pair.mean, (-30 + 0 + 20 - 0.4) / 4);
  EXPECT_LE(pair.mean_between.low, pair.mean);
  EXPECT_GE(pair.mean_between.high, pair.mean);
}

TEST(PairedWaits, NobodyInCommonIsNoDifference) {
  const PairedWaits pair = compare_waits({std::nullopt}, {1.0}, 1);
  EXPECT_EQ(pair.jobs, 0);
  EXPECT_EQ(pair.mean, 0);
}

TEST(PairedWaits, EqualInputGivesEqualNumbers) {
  const Waits a = {1.0, 2.0, 3.0, 9.0, 27.0};
  const Waits b = {2.0, 2.0, 8.0, 1.0, 30.0};
  EXPECT_EQ(compare_waits(a, b, 7), compare_waits(a, b, 7));
}

// Of a hundred months whose true mean is known the interval must cover it about 95 times - also where neighbours wait
// for the same jam.
TEST(PairedWaits, TheIntervalCoversTheTruthThoughNeighboursAgree) {
  Random random(11);
  int covered = 0;
  constexpr int kMonths = 200;
  for (int month = 0; month < kMonths; ++month) {
    Waits here;
    Waits there;
    double jam = 0;
    for (int job = 0; job < 2000; ++job) {
      if (job % 10 == 0) jam = 1000 * random.unit();  // true mean 500
      here.push_back(jam);
      there.push_back(0.0);
    }
    const PairedWaits pair = compare_waits(here, there, static_cast<std::uint64_t>(month));
    covered += pair.mean_between.low <= 500 && pair.mean_between.high >= 500 ? 1 : 0;
  }
  EXPECT_GE(covered, 176);
  EXPECT_LE(covered, 200);
}

TEST(BacktestSummary, CountsByQueueAndTellsHowAlikeTheyAreServed) {
  const std::vector<std::string> queues = {"a", "b", "none"};
  const std::vector<CountedJob> jobs = {{.name = "1", .queue = 0, .submit = Seconds(0), .duration = Seconds(100)},
                                        {.name = "2", .queue = 1, .submit = Seconds(10), .duration = Seconds(50)},
                                        {.name = "3", .queue = 1, .submit = Seconds(20), .duration = Seconds(50)}};
  const std::vector<JobResult> outcomes = {{.start = Seconds(0), .end = Seconds(100)},
                                           {.start = Seconds(60), .end = Seconds(110), .evictions = 2, .lost = 7},
                                           {}};
  const BacktestSummary summary = summarise(jobs, outcomes, queues);
  EXPECT_EQ(summary.all.jobs, 3);
  EXPECT_EQ(summary.all.started, 2);
  EXPECT_EQ(summary.all.wait_mean, 25);
  EXPECT_EQ(summary.all.completion_mean, 100);
  EXPECT_EQ(summary.all.worst_finish_ratio, 2);
  EXPECT_EQ(summary.all.satisfied_share, 0.75);
  ASSERT_EQ(summary.queues.size(), 2U);  // nobody in the third
  EXPECT_EQ(summary.queues[0].satisfied_share, 1);
  EXPECT_EQ(summary.queues[1].satisfied_share, 0.5);
  EXPECT_EQ(summary.queues[1].evictions, 2);
  EXPECT_NEAR(summary.fairness.value(), 1.5 * 1.5 / (2 * 1.25), 1e-12);

  const std::vector<BacktestSummary> seeds = {summary, summary};
  EXPECT_EQ(mean_of(seeds).all, summary.all);
  EXPECT_EQ(mean_of(seeds).fairness, summary.fairness);
}

}  // namespace
}  // namespace berth::test
