// The orders that look at queues: fair_share, drf, wpai; and those that look at durations: sjf, las.
#include <gtest/gtest.h>

#include <set>

#include "engine/base/env.h"
#include "engine/policy/drf_order.h"
#include "engine/policy/fair_share_order.h"
#include "engine/policy/las_order.h"
#include "engine/policy/sjf_order.h"
#include "engine/policy/wpai_order.h"
#include "tests/departments.h"

namespace berth::test {
namespace {

using Ids = std::vector<std::int64_t>;

// 100 GPUs, departments, and jobs that wait in them.
struct Office {
  explicit Office(std::string_view departments_text)
      : cluster(cluster_from("10x10:A100")),
        departments(departments_from(cluster, departments_text)),
        ledger(cluster, departments.queues, departments.table, Seconds(0)) {}

  void wait(std::string_view queue, int count, std::string_view job = "gpus=1") {
    for (int i = 0; i < count; ++i) {
      jobs.push_back(job_from(job, static_cast<std::int64_t>(jobs.size() + 1), cluster));
      jobs.back().queue = queue.empty() ? -1 : departments.queue(queue);
    }
  }
  Amounts amounts(std::string_view job) { return ledger.demand_in_full(job_from(job, 0, cluster)); }
  void use(std::string_view queue, std::string_view job) {
    ledger.take(queue.empty() ? -1 : departments.queue(queue), amounts(job));
  }
  OrderInput input() const {
    return {.now = Seconds(6000),
            .jobs = jobs,
            .priority_classes = classes,
            .queues = departments.queues,
            .aging_interval = Seconds(0),
            .quotas = &ledger,
            .knobs = knobs};
  }
  Ids order(const QueueOrder& policy) const {
    const OrderInput in = input();
    Ids ids;
    for (const std::int32_t index : policy.order(in)) ids.push_back(jobs[static_cast<std::size_t>(index)].id);
    return ids;
  }
  // The queues of the jobs in the order in which they come when each starts at once.
  std::string queues_when_started(const QueueOrder& policy) {
    const OrderInput in = input();
    const std::unique_ptr<JobSequence> sequence = policy.begin(in);
    std::string names;
    while (const std::optional<std::int32_t> index = sequence->next()) {
      const Job& job = jobs[static_cast<std::size_t>(*index)];
      ledger.take(job.queue, ledger.demand_in_full(job));
      names += (names.empty() ? "" : " ") +
               (job.queue < 0 ? "-" : departments.queues[static_cast<std::size_t>(job.queue)].name);
    }
    return names;
  }

  Cluster cluster;
  Departments departments;
  QuotaLedger ledger;
  std::vector<Job> jobs;
  std::vector<PriorityClass> classes;
  OrderKnobs knobs;
};

TEST(FairShareOrderTest, BelowQuotaBeforeAbove) {
  Office office("a gpu=2 / b gpu=40 band=5");
  office.use("a", "gpus=1 tasks=3");
  office.use("b", "gpus=1 tasks=39");
  office.wait("a", 2);
  office.wait("b", 3);
  EXPECT_EQ(office.queues_when_started(FairShareOrder()), "b b b a a") << "then the higher band";
  Office other("a gpu=2 / b gpu=40 band=5");
  other.use("b", "gpus=1 tasks=40");
  other.wait("b", 2);
  other.wait("a", 3);
  EXPECT_EQ(other.queues_when_started(FairShareOrder()), "a a b b a");
}

TEST(FairShareOrderTest, BalancesDepartmentsWithoutQuotasByWeight) {
  Office office("a weight=2 / b");
  office.wait("a", 90);
  office.wait("b", 90);
  EXPECT_EQ(office.queues_when_started(FairShareOrder()).substr(0, 17), "a b a a b a a b a");
}

TEST(FairShareOrderTest, TheRankIsThatOfTheQueueNotOfItsNextJob) {
  Office office("a gpu=10 / b gpu=10");
  office.wait("a", 1, "gpus=8 tasks=4");
  office.wait("a", 1, "gpus=1");
  office.wait("b", 1, "gpus=1");
  office.use("b", "gpus=1");
  EXPECT_EQ(office.order(FairShareOrder()), (Ids{1, 2, 3}));
  office.jobs.erase(office.jobs.begin());
  EXPECT_EQ(office.order(FairShareOrder()), (Ids{2, 3}));
}

TEST(FairShareOrderTest, AtEveryLevelOfTheTree) {
  Office office("a gpu=20 / a1 < a gpu=10 / a2 < a gpu=10 / b gpu=20");
  office.use("a1", "gpus=1 tasks=4");
  office.use("b", "gpus=1 tasks=5");
  office.wait("a1", 2);
  office.wait("a2", 2);
  office.wait("b", 2);
  EXPECT_EQ(office.queues_when_started(FairShareOrder()), "a2 a2 b a1 b a1") << "a 4, b 5; a2 before a1";
}

TEST(FairShareOrderTest, InsideAQueueByClassEvictionsSubmitAndId) {
  Office office("a");
  office.classes = {{.id = 1, .name = "low", .value = 1}, {.id = 2, .name = "high", .value = 5}};
  office.wait("a", 1, "gpus=1 class=0 submit=5");
  office.wait("a", 1, "gpus=1 class=1 submit=9");
  office.wait("a", 1, "gpus=1 class=0 submit=9");
  office.wait("a", 1, "gpus=1 class=0 submit=5");
  office.jobs[2].eviction.evictions = 1;
  EXPECT_EQ(office.order(FairShareOrder()), (Ids{2, 3, 1, 4}));
}

TEST(FairShareOrderTest, PastUseShrinksTheShare) {
  Office office("a used=20000000000 / b");  // milli-GPU-seconds; the whole would be 10^5 x 604800 / ln 2
  office.wait("a", 100);
  office.wait("b", 100);
  office.use("a", "gpus=1 tasks=4");
  office.use("b", "gpus=1 tasks=5");
  EXPECT_EQ(office.queues_when_started(FairShareOrder()).substr(0, 1), "a");
  office.knobs.usage_weight = 1;
  Office same("a used=20000000000 / b");
  same.knobs.usage_weight = 1;
  same.wait("a", 100);
  same.wait("b", 100);
  same.use("a", "gpus=1 tasks=4");
  same.use("b", "gpus=1 tasks=5");
  EXPECT_EQ(same.queues_when_started(FairShareOrder()).substr(0, 1), "b");
}

TEST(FairShareOrderTest, JobsWithoutAQueueAreOneMoreRoot) {
  Office office("a gpu=4");
  office.wait("", 2);
  office.wait("a", 5);
  EXPECT_EQ(office.queues_when_started(FairShareOrder()), "a a a a - - a");
}

TEST(FairShareOrderTest, WithoutALedgerNobodyUsesAnything) {
  Office office("a / b");
  office.wait("b", 2);
  office.wait("a", 2);
  OrderInput input = office.input();
  input.quotas = nullptr;
  EXPECT_EQ(FairShareOrder().order(input), (std::vector<std::int32_t>{2, 3, 0, 1}));
  EXPECT_EQ(DrfOrder().order(input), (std::vector<std::int32_t>{2, 3, 0, 1}));
  EXPECT_EQ(WpaiOrder().order(input), (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(DrfOrderTest, TheSmallestDominantShareFirst) {
  Office office("a / b weight=2");  // 100 GPUs, 800 cores
  office.wait("a", 4, "gpus=1 cpu=1");
  office.wait("b", 4, "cpu=16");
  // a 1 % of the GPUs a job, b 2 % of the CPU at weight 2: equal shares, a has the lower id.
  EXPECT_EQ(office.queues_when_started(DrfOrder()), "a b a b a b a b");
}

TEST(DrfOrderTest, ComplementaryChildrenDoNotStarveTheirParent) {
  // a1 uses CPU only, a2 GPU only: unscaled, a would look as greedy as the larger of them in both.
  Office office("a / a1 < a / a2 < a / b");
  office.use("a1", "cpu=400");
  office.use("a2", "gpus=1 cpu=0 tasks=10");
  office.use("b", "gpus=1 cpu=0 tasks=20");
  office.wait("a2", 1);
  office.wait("a1", 1, "cpu=1");
  office.wait("b", 1);
  // a1 at 50 % is scaled to a2's 10 %, so a stands at 10 %, b at 20 %.
  EXPECT_EQ(office.order(DrfOrder()), (Ids{1, 2, 3}));
  office.jobs.erase(office.jobs.begin());
  EXPECT_EQ(office.order(DrfOrder()), (Ids{3, 2})) << "nothing waits in a2: a1 counts as it is";
}

TEST(WpaiOrderTest, OwnQuotaBeforeBorrowedWhateverTheWait) {
  Office office("a gpu=2 / b gpu=50");
  office.use("a", "gpus=1 tasks=2");
  office.wait("a", 1, "gpus=1 submit=-9999999");
  office.wait("b", 2, "gpus=1 submit=5999");
  office.wait("a", 1, "gpus=1 submit=0");
  EXPECT_EQ(office.order(WpaiOrder()), (Ids{2, 3, 1, 4}));
}

TEST(WpaiOrderTest, FollowsTheUsage) {
  Office office("a gpu=2 / b gpu=1");
  office.wait("a", 4, "gpus=1 submit=0");
  office.wait("b", 2, "gpus=1 submit=600");
  EXPECT_EQ(office.queues_when_started(WpaiOrder()), "a a b a a b");
}

TEST(WpaiOrderTest, PartlyCoveredInBetweenAndLowUseLast) {
  Office office("a gpu=2 / b");
  office.wait("b", 1, "gpus=1 submit=0");
  office.wait("a", 1, "gpus=1 tasks=4 submit=5000");
  office.wait("a", 1, "gpus=1 submit=5990");
  office.wait("a", 1, "gpus=1 submit=5980");
  office.jobs[3].gpu_utilisation_pct = 10;
  EXPECT_EQ(office.order(WpaiOrder()), (Ids{3, 4, 2, 1}));
  office.knobs.wpai_low_use_penalty = 0;
  EXPECT_EQ(office.order(WpaiOrder()), (Ids{4, 3, 2, 1}));
}

TEST(SjfOrderTest, PredictedMedianElseTimeLimitElseLast) {
  Office office("a");
  office.wait("a", 5);
  office.jobs[1].time_limit = Seconds(50);
  office.jobs[2].estimate.p50 = Seconds(40);
  office.jobs[2].time_limit = Seconds(10);
  office.jobs[3].estimate.p50 = Seconds(60);
  EXPECT_EQ(office.order(SjfOrder()), (Ids{3, 2, 4, 1, 5}));
  EXPECT_TRUE(SjfOrder().is_fixed());
}

TEST(LasOrderTest, ByLevelThenFirstCome) {
  Office office("a");
  office.knobs.las_thresholds = {3'250'000, 7'200'000};
  office.wait("a", 1, "gpus=4 submit=9");
  office.wait("a", 1, "gpus=1 submit=5");
  office.wait("a", 1, "gpus=1 submit=7");
  office.wait("a", 1, "gpus=1 submit=1");
  office.jobs[0].attained = 3'249'999;
  office.jobs[1].attained = 3'250'000;
  office.jobs[3].attained = 7'200'000;
  EXPECT_EQ(office.order(LasOrder()), (Ids{3, 1, 2, 4}));
  office.knobs.las_by_gpu = false;  // 812 s, 3,250 s, 0, 7,200 s
  office.knobs.las_thresholds = {800'000, 4'000'000};
  EXPECT_EQ(office.order(LasOrder()), (Ids{3, 2, 1, 4}));
}

// Every order names every job once, also while usage changes under it.
TEST(QueueOrdersTest, EachJobOnceWhateverHappensMeanwhile) {
  const FairShareOrder fair_share;
  const DrfOrder drf;
  const WpaiOrder wpai;
  for (const QueueOrder* policy : {static_cast<const QueueOrder*>(&fair_share), static_cast<const QueueOrder*>(&drf),
                                   static_cast<const QueueOrder*>(&wpai)}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Random random(seed);
      Office office("a gpu=20 / a1 < a gpu=10 / a2 < a gpu=10 weight=3 / b gpu=20 cpu=30 / b1 < b / c weight=0");
      for (int i = 0; i < 60; ++i) {
        constexpr const char* kQueues[] = {"a1", "a2", "b1", "b", "c", ""};
        office.wait(kQueues[random.below(6)], 1, random.below(2) == 0 ? "gpus=1" : "gpus=4 tasks=2 cpu=8");
      }
      const OrderInput input = office.input();
      const std::unique_ptr<JobSequence> sequence = policy->begin(input);
      std::set<std::int32_t> seen;
      std::vector<std::pair<std::int32_t, Amounts>> taken;
      while (const std::optional<std::int32_t> index = sequence->next()) {
        ASSERT_TRUE(seen.insert(*index).second) << "seed " << seed;
        const Job& job = office.jobs[static_cast<std::size_t>(*index)];
        if (random.below(2) == 0) {
          taken.emplace_back(job.queue, office.ledger.demand_in_full(job));
          office.ledger.take(taken.back().first, taken.back().second);
        } else if (!taken.empty()) {
          office.ledger.give_back(taken.back().first, taken.back().second);
          taken.pop_back();
        }
      }
      EXPECT_EQ(seen.size(), office.jobs.size());
    }
  }
}

}  // namespace
}  // namespace berth::test
