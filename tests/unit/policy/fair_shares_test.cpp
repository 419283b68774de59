#include "engine/policy/fair_shares.h"

#include <gtest/gtest.h>

#include <numeric>

#include "engine/base/env.h"
#include "tests/departments.h"

namespace berth::test {
namespace {

using Shares = std::vector<std::int64_t>;

ShareClaim claim(std::int64_t quota, std::int64_t request, double weight = 1, std::int32_t band = 0,
                 std::int64_t limit = kNoLimit) {
  return {.quota = quota, .request = request, .limit = limit, .weight = weight, .priority_band = band, .usage = 0};
}

TEST(FairSharesTest, QuotaFirstThenTheSurplusByWeight) {
  EXPECT_EQ(divide_fairly(100, std::vector{claim(30, 90), claim(10, 90, 3)}), (Shares{45, 55}));
  EXPECT_EQ(divide_fairly(100, std::vector{claim(30, 20), claim(10, 90)}), (Shares{20, 80})) << "asks for less";
  EXPECT_EQ(divide_fairly(100, std::vector{claim(0, 50, 1, 0, 15), claim(0, 90)}), (Shares{15, 85})) << "limit";
  EXPECT_EQ(divide_fairly(100, std::vector{claim(0, 10), claim(0, 20)}), (Shares{10, 20})) << "all get all they ask";
  EXPECT_EQ(divide_fairly(100, std::vector{claim(0, 90, 0), claim(20, 90, 0)}), (Shares{0, 20})) << "no weight";
  EXPECT_EQ(divide_fairly(0, std::vector{claim(0, 90)}), (Shares{0}));
  EXPECT_EQ(divide_fairly(5, std::vector<ShareClaim>{}), Shares{});
}

TEST(FairSharesTest, HigherBandsTakeTheSurplusFirst) {
  EXPECT_EQ(divide_fairly(100, std::vector{claim(10, 90), claim(0, 40, 1, 2), claim(0, 90, 1, 1)}),
            (Shares{10, 40, 50}));
}

TEST(FairSharesTest, WhatRoundingLeavesGoesToTheLargestRemainder) {
  EXPECT_EQ(divide_fairly(10, std::vector{claim(0, 90), claim(0, 90), claim(0, 90)}), (Shares{4, 3, 3}));
  EXPECT_EQ(divide_fairly(10, std::vector{claim(0, 90, 1), claim(0, 90, 5)}), (Shares{2, 8})) << "1.67 and 8.33";
}

TEST(FairSharesTest, QuotasThatExceedTheWholeAreCutInProportion) {
  EXPECT_EQ(divide_fairly(30, std::vector{claim(40, 90), claim(20, 90)}), (Shares{20, 10}));
  EXPECT_EQ(divide_fairly(31, std::vector{claim(40, 90), claim(20, 90)}), (Shares{21, 10}));
}

TEST(FairSharesTest, PastUseCountsAgainstAQueue) {
  std::vector<ShareClaim> claims{claim(0, 900), claim(0, 900)};
  claims[0].usage = 0.75;
  claims[1].usage = 0.25;
  // W = 1/2 each; k = 1: w = 1/2 + (1/2 - 3/4) = 1/4 and 3/4.
  EXPECT_EQ(divide_fairly(100, claims, 1.0), (Shares{25, 75}));
  EXPECT_EQ(divide_fairly(100, claims, 4.0), (Shares{0, 100})) << "never below 0";
}

TEST(FairSharesTest, ChildrenDivideTheShareOfTheirParent) {
  const Cluster cluster = cluster_from("10x10");
  const Departments departments = departments_from(
      cluster, "a gpu=20 weight=3 / a1 < a gpu=10 / a2 < a gpu=10 / b gpu=20 / b1 < b gpu=15 / b2 < b weight=2");
  const QuotaLedger ledger(cluster, departments.queues, departments.table, Seconds(0));
  std::vector<Amounts> waiting(7, ledger.none());
  for (const char* queue : {"a1", "a2", "b1", "b2"}) {
    waiting[static_cast<std::size_t>(departments.queue(queue))][0] = 90'000;
  }
  const Shares shares = fair_shares(departments.queues, 100'000, claims_of(ledger, 0, waiting, Seconds(3600)));
  // 60 of surplus, 3 : 1; inside b 15 + 20 of surplus 1 : 2.
  EXPECT_EQ(shares, (Shares{65'000, 32'500, 32'500, 35'000, 21'667, 13'333, 0}));
}

// Two that divide a tenth of the cluster divide it as two that divide all of it.
TEST(FairSharesTest, PastUseOfANestedQueueIsMeasuredAgainstItsFamily) {
  const Cluster cluster = cluster_from("10x10");
  const auto shares_of = [&](std::string_view text, double usage_weight) {
    const Departments departments = departments_from(cluster, text);
    const QuotaLedger ledger(cluster, departments.queues, departments.table, Seconds(0));
    std::vector<Amounts> waiting(departments.queues.size() + 1, ledger.none());
    for (const Queue& queue : departments.queues) {
      if (queue.name != "a") waiting[static_cast<std::size_t>(departments.queue(queue.name))][0] = 900'000;
    }
    return fair_shares(departments.queues, 100'000, claims_of(ledger, 0, waiting, Seconds(3600)), usage_weight);
  };
  // All GPUs for ever have decayed to 100,000 x 3600 / ln 2 = 519,370,200.
  EXPECT_EQ(shares_of("a1 used=389527650 / a2 used=129842550", 1), (Shares{25'000, 75'000, 0}));
  const Shares nested =
      shares_of("a weight=1 / a1 < a used=38952765 / a2 < a used=12984255 / b weight=9 used=467433180", 1);
  EXPECT_EQ(nested[0], 10'000);
  EXPECT_NEAR(static_cast<double>(nested[1]), 2'500, 1);
  EXPECT_NEAR(static_cast<double>(nested[2]), 7'500, 1);
  // A family that used more than it is due still divides all that it gets.
  const Shares greedy = shares_of("a weight=1 / a1 < a used=300000000 / a2 < a used=100000000 / b weight=9", 0.1);
  EXPECT_EQ(greedy[1] + greedy[2], greedy[0]);
  EXPECT_GT(greedy[2], greedy[1]);
}

TEST(FairSharesTest, ClaimsAreOfEachQueueAlone) {
  const Cluster cluster = cluster_from("10x10");
  Departments departments = departments_from(cluster, "a gpu=20 gpu.weight=7 / a1 < a / b gpu.limit=5 used=1000000");
  QuotaLedger ledger(cluster, departments.queues, departments.table, Seconds(0));
  Amounts used = ledger.none();
  used[0] = 6000;
  ledger.take(departments.queue("a1"), used);
  std::vector<Amounts> waiting(4, ledger.none());
  waiting[0][0] = 1000;
  waiting[3][0] = 2000;
  const std::vector<ShareClaim> claims = claims_of(ledger, 0, waiting, Seconds(3600));
  EXPECT_EQ(claims[0].request, 1000);
  EXPECT_EQ(claims[0].weight, 7);
  EXPECT_EQ(claims[1].request, 6000);
  EXPECT_EQ(claims[2].limit, 5000);
  EXPECT_EQ(claims[3].request, 2000);
  EXPECT_NEAR(claims[2].usage, 1e6 / (100'000 * 3600 / 0.6931), 1e-6);
}

TEST(FairSharesTest, NothingIsLostAndNobodyGetsMoreThanItWants) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<ShareClaim> claims;
    std::int64_t wanted = 0;
    for (std::uint64_t i = random.below(12); i > 0; --i) {
      claims.push_back(claim(static_cast<std::int64_t>(random.below(3000)),
                             static_cast<std::int64_t>(random.below(9000)), 1.0 + static_cast<double>(random.below(5)),
                             static_cast<std::int32_t>(random.below(3)),
                             random.below(3) == 0 ? static_cast<std::int64_t>(random.below(5000)) : kNoLimit));
      wanted += std::min(claims.back().request, claims.back().limit);
    }
    const auto total = static_cast<std::int64_t>(random.below(30'000));
    const Shares shares = divide_fairly(total, claims);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}), std::min(total, wanted));
    for (std::size_t i = 0; i < claims.size(); ++i) {
      EXPECT_GE(shares[i], 0);
      EXPECT_LE(shares[i], std::min(claims[i].request, claims[i].limit));
    }
  }
}

}  // namespace
}  // namespace berth::test
