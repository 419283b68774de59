#include "engine/model/quota_ledger.h"

#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "tests/departments.h"

namespace berth::test {
namespace {

// Eight nodes of eight A100 and four of eight T4, and the departments of a test.
struct World {
  explicit World(std::string_view departments_text)
      : cluster(cluster_from("8x8:A100; 4x8:T4")), departments(departments_from(cluster, departments_text)) {}

  QuotaLedger ledger(std::int64_t now = 0) const {
    return {cluster, departments.queues, departments.table, Seconds(now)};
  }
  Amounts gpus(const QuotaLedger& ledger, std::int64_t count, std::string_view model = {}) const {
    TaskShape shape;
    if (!model.empty()) shape.cpu = MilliCpu(1000);
    for (std::size_t m = 0; m < cluster.models.size(); ++m) {
      if (cluster.models[m].name == model) shape.models = ModelSet{1} << m;
    }
    shape.gpu_count = 1;
    shape.gpu_milli = kWholeDevice;
    Amounts amounts = ledger.none();
    ledger.add_demand(shape, count, amounts);
    return amounts;
  }
  std::int32_t operator()(std::string_view queue) const { return departments.queue(queue); }

  Cluster cluster;
  Departments departments;
};

TEST(QuotaLedgerTest, NobodyIsRefusedWithoutQuotas) {
  const World world("a / b < a");
  const QuotaLedger ledger = world.ledger();
  EXPECT_FALSE(ledger.governs());
  EXPECT_TRUE(ledger.judge(world("b"), world.gpus(ledger, 1000)).admitted());
  ASSERT_EQ(ledger.resource_count(), 3u) << "CPU, memory and GPU are always counted";
  EXPECT_EQ(ledger.capacity(2), 96'000);
}

TEST(QuotaLedgerTest, UseOfAQueueCountsForAllAbove) {
  const World world("a gpu=10 / b < a / c < b / d");
  QuotaLedger ledger = world.ledger();
  ledger.take(world("c"), world.gpus(ledger, 3));
  ledger.take(-1, world.gpus(ledger, 2));
  EXPECT_EQ(ledger.used(world("c"), 0), 3000);
  EXPECT_EQ(ledger.used(world("a"), 0), 3000);
  EXPECT_EQ(ledger.used(world("d"), 0), 0);
  EXPECT_EQ(ledger.used(-1, 0), 2000);
  EXPECT_EQ(ledger.used_by_all(0), 5000);
  ledger.give_back(world("c"), world.gpus(ledger, 3));
  EXPECT_EQ(ledger.used(world("b"), 0), 0);
}

TEST(QuotaLedgerTest, EqualUseHasAnEqualPrint) {
  const World world("a gpu=10 / b < a gpu=4 / c < b gpu=2 / d");
  QuotaLedger ledger = world.ledger();
  const Amounts two = world.gpus(ledger, 2);
  const QuotaLedger::Leaving nobody;
  ledger.take(world("c"), two);
  const std::uint64_t all = ledger.usage_print();
  const std::uint64_t of_b = ledger.usage_print(world("b"));
  const std::uint64_t of_d = ledger.usage_print(world("d"));

  ledger.give_back(world("c"), two);
  ledger.take(world("b"), two);
  EXPECT_NE(ledger.usage_print(), all) << "the same in b, but not in c";
  EXPECT_NE(ledger.usage_print(world("b")), of_b);
  EXPECT_EQ(ledger.usage_print(world("d")), of_d);
  ledger.give_back(world("b"), two);
  ledger.take(world("c"), two);
  EXPECT_EQ(ledger.usage_print(), all);
  EXPECT_EQ(ledger.usage_print(world("b")), of_b);

  const QuotaLedger::Pledge pledge{.queue = world("d"), .amounts = two, .leaving = {}, .marked = {}, .levels = 1};
  ledger.pledge(pledge, 1);
  EXPECT_NE(ledger.usage_print(), all);
  ledger.count_promise(world("a"), two, nobody, 1);
  ledger.pledge(pledge, -1);
  EXPECT_NE(ledger.usage_print(), all);
  ledger.count_promise(world("a"), two, nobody, -1);
  EXPECT_EQ(ledger.usage_print(), all);
}

TEST(QuotaLedgerTest, APledgeKeepsFromMarksWhatOnlyMarkedVictimsLeave) {
  const World world("a gpu=4 / b");
  QuotaLedger ledger = world.ledger();
  const Amounts one = world.gpus(ledger, 1);
  const Amounts four = world.gpus(ledger, 4);
  const std::uint32_t bit = 1;
  for (const Amounts& amounts : {one, four}) ledger.take(world("a"), amounts);
  EXPECT_EQ(ledger.mark(world("a"), one), bit);
  EXPECT_EQ(ledger.mark(world("a"), four), 0u) << "beyond the quota";

  const QuotaLedger::Pledge pledge{.queue = world("a"),
                                   .amounts = four,
                                   .leaving = {{world("a"), world.gpus(ledger, 5)}},
                                   .marked = {{world("a"), one, bit}, {world("a"), four, 0}},
                                   .levels = bit};
  ledger.pledge(pledge, 1);
  EXPECT_EQ(ledger.mark(world("a"), one), 0u) << "three more are for the promise";
  ledger.pledge(pledge, -1);
  EXPECT_EQ(ledger.mark(world("a"), one), bit);
}

TEST(QuotaLedgerTest, AParentWithoutARowHasTheQuotasOfItsChildren) {
  const World world("a / b < a gpu=3 / c < a / d < c gpu=4 / e gpu=5 / f < e gpu=9");
  const QuotaLedger ledger = world.ledger();
  EXPECT_EQ(ledger.quota(world("a"), 0), 7000);
  EXPECT_EQ(ledger.quota(world("e"), 0), 5000);
}

TEST(QuotaLedgerTest, RefusesBeyondLimitAndBorrowLimitAnywhereOnThePath) {
  const World world("a gpu=8 gpu.limit=12 / b < a gpu=4 gpu.borrow=2");
  QuotaLedger ledger = world.ledger();
  EXPECT_FALSE(ledger.judge(world("b"), world.gpus(ledger, 4)).borrows);
  EXPECT_TRUE(ledger.judge(world("b"), world.gpus(ledger, 6)).borrows);
  QuotaVerdict verdict = ledger.judge(world("b"), world.gpus(ledger, 7));
  EXPECT_EQ(verdict.reason, Reason::kQuota);
  EXPECT_EQ(verdict.queue, world("b"));
  EXPECT_EQ(verdict.short_by, 1000);
  ledger.take(world("a"), world.gpus(ledger, 9));
  verdict = ledger.judge(world("b"), world.gpus(ledger, 4));
  EXPECT_EQ(verdict.reason, Reason::kLimit);
  EXPECT_EQ(verdict.queue, world("a"));
  EXPECT_EQ(verdict.short_by, 1000);
}

TEST(QuotaLedgerTest, AModelCountsForEveryResourceThatHasIt) {
  const World world("a A100=2 T4=4 gpu=5");
  QuotaLedger ledger = world.ledger();
  TaskShape either;
  either.gpu_count = 1;
  either.gpu_milli = kWholeDevice;
  TaskShape a100 = either;
  a100.models = 1;
  Amounts demand = ledger.none();
  ledger.add_demand(a100, 2, demand);
  ledger.add_demand(either, 1, demand);
  EXPECT_EQ(demand[0], 2000);
  EXPECT_EQ(demand[1], 0) << "not known before it is placed";
  EXPECT_EQ(demand[2], 3000);
  Amounts held = ledger.none();
  Holding holding;
  holding.node = 8;
  holding.devices = 0b11;
  holding.gpu_milli = kWholeDevice;
  ledger.add_holding(holding, held);
  EXPECT_EQ(held[0], 0);
  EXPECT_EQ(held[1], 2000);
  EXPECT_EQ(held[2], 2000);
}

// A limit of somebody else's, or a quota of one model, makes nobody a borrower who owns what covers it.
TEST(QuotaLedgerTest, WhatAQueueSaysNothingOfIsCoveredByItsOtherQuotas) {
  for (const char* text : {"nlp gpu=4 / web A100.limit=4", "nlp gpu=4 / web A100=4", "nlp gpu=4 A100.limit=8 / web",
                           "nlp gpu=4 cpu.limit=64 / web cpu=8"}) {
    SCOPED_TRACE(text);
    const World world(text);
    QuotaLedger ledger = world.ledger();
    const Amounts four = world.gpus(ledger, 4, "A100");
    const QuotaVerdict verdict = ledger.judge(world("nlp"), four);
    EXPECT_TRUE(verdict.admitted());
    EXPECT_FALSE(verdict.borrows);
    ledger.take(world("nlp"), four);
    const std::uint32_t marks = ledger.mark(world("nlp"), four);
    EXPECT_EQ(marks, ledger.all_marks(world("nlp")));
    EXPECT_FALSE(ledger.may_reclaim(world("web"), world.gpus(ledger, 1), world("nlp"), marks));
    EXPECT_TRUE(ledger.judge(world("nlp"), world.gpus(ledger, 1, "A100")).borrows);
  }
}

TEST(QuotaLedgerTest, QuotasOfModelsAreQuotasOfGpus) {
  const World world("nlp gpu=16 / vis / v1 < vis A100=8 T4=4 / v2 < vis A100=2");
  QuotaLedger ledger = world.ledger();
  const Amounts eight = world.gpus(ledger, 8, "A100");
  EXPECT_FALSE(ledger.judge(world("v1"), eight).borrows);
  ledger.take(world("v1"), eight);
  EXPECT_EQ(ledger.mark(world("v1"), eight), ledger.all_marks(world("v1")));
  EXPECT_TRUE(ledger.judge(world("v1"), world.gpus(ledger, 1, "A100")).borrows);
  EXPECT_FALSE(ledger.judge(world("v1"), world.gpus(ledger, 4, "T4")).borrows);
  EXPECT_FALSE(ledger.judge(world("v2"), world.gpus(ledger, 2, "A100")).borrows);
  EXPECT_FALSE(ledger.judge(world("nlp"), world.gpus(ledger, 16, "T4")).borrows);
}

// Nobody owns it, so nobody borrows it; the limit holds all the same.
TEST(QuotaLedgerTest, ALimitAloneMakesNoBorrowers) {
  const World world("a gpu.limit=4 / b");
  QuotaLedger ledger = world.ledger();
  EXPECT_FALSE(ledger.judge(world("a"), world.gpus(ledger, 4)).borrows);
  EXPECT_FALSE(ledger.judge(world("b"), world.gpus(ledger, 40)).borrows);
  EXPECT_EQ(ledger.judge(world("a"), world.gpus(ledger, 5)).reason, Reason::kLimit);
  EXPECT_FALSE(ledger.may_reclaim(world("a"), world.gpus(ledger, 1), world("b"), 0));
}

TEST(QuotaLedgerTest, WhatAnOwnerDoesNotLendStaysFree) {
  const World world("a gpu=40 gpu.lend=10 / b gpu=20 / c gpu=36");
  QuotaLedger ledger = world.ledger();
  // 96 GPUs, of which a keeps 30.
  EXPECT_TRUE(ledger.judge(world("b"), world.gpus(ledger, 66)).admitted());
  const QuotaVerdict verdict = ledger.judge(world("b"), world.gpus(ledger, 67));
  EXPECT_EQ(verdict.reason, Reason::kLenderKeeps);
  EXPECT_EQ(verdict.queue, world("b"));
  EXPECT_EQ(verdict.short_by, 1000);
  ledger.take(world("a"), world.gpus(ledger, 28));
  EXPECT_TRUE(ledger.judge(world("b"), world.gpus(ledger, 66)).admitted()) << "2 of what it keeps are idle";
  EXPECT_FALSE(ledger.judge(world("b"), world.gpus(ledger, 67)).admitted());
  EXPECT_TRUE(ledger.judge(world("a"), world.gpus(ledger, 12)).admitted());
  EXPECT_TRUE(ledger.judge(world("b"), world.gpus(ledger, 69)).admitted()) << "does not fit, but nobody's fault";
}

TEST(QuotaLedgerTest, PromisesOfAParentAndItsChildrenAreNotAdded) {
  const World world("a gpu=40 gpu.lend=10 / a1 < a gpu=25 gpu.lend=0 / a2 < a gpu=15 / b gpu=20");
  QuotaLedger ledger = world.ledger();
  // a keeps 30, a1 alone 25: together 30.
  EXPECT_TRUE(ledger.judge(world("b"), world.gpus(ledger, 66)).admitted());
  EXPECT_FALSE(ledger.judge(world("b"), world.gpus(ledger, 67)).admitted());
  // What a2 uses is use of a: 30 - 12 < 25, so a1's promise counts now.
  ledger.take(world("a2"), world.gpus(ledger, 12));
  EXPECT_TRUE(ledger.judge(world("b"), world.gpus(ledger, 59)).admitted());
  EXPECT_EQ(ledger.judge(world("b"), world.gpus(ledger, 60)).reason, Reason::kLenderKeeps);
  // a2 borrows: what a1 keeps stands against it, what a keeps does not.
  ledger.take(world("b"), world.gpus(ledger, 40));
  EXPECT_TRUE(ledger.judge(world("a2"), world.gpus(ledger, 19)).admitted());
  EXPECT_EQ(ledger.judge(world("a2"), world.gpus(ledger, 20)).reason, Reason::kLenderKeeps);
}

TEST(QuotaLedgerTest, ALoanMovesQuotaUpToTheCommonAncestor) {
  World world("corp / ads < corp / ads1 < ads gpu=10 / search < corp / web < search gpu=4");
  world.departments.loan("ads1", "web", "gpu", 6, 500);
  const QuotaLedger ledger = world.ledger(100);
  EXPECT_EQ(ledger.quota(world("ads1"), 0), 4000);
  EXPECT_EQ(ledger.quota(world("ads"), 0), 4000);
  EXPECT_EQ(ledger.quota(world("search"), 0), 10'000);
  EXPECT_EQ(ledger.quota(world("corp"), 0), 14'000);
  EXPECT_FALSE(ledger.judge(world("web"), world.gpus(ledger, 10), Seconds(500)).borrows);
  EXPECT_TRUE(ledger.judge(world("web"), world.gpus(ledger, 10), Seconds(501)).borrows) << "ends after the loan";
  EXPECT_TRUE(ledger.judge(world("web"), world.gpus(ledger, 10)).borrows) << "nobody knows when it ends";
  EXPECT_EQ(world.ledger(500).quota(world("web"), 0), 4000) << "the loan has ended";
}

// Its sister team holds its own 4 and the 6 of the loan: of the department's own nothing is left, but for this team.
TEST(QuotaLedgerTest, ALoanToATeamTakesNothingFromItsSisters) {
  World world("ads gpu=10 / search gpu=8 / web < search gpu=4 / maps < search gpu=4 / other");
  world.departments.loan("ads", "web", "gpu", 6, 500);
  QuotaLedger ledger = world.ledger(100);
  ledger.take(world("web"), world.gpus(ledger, 10));
  EXPECT_FALSE(ledger.judge(world("maps"), world.gpus(ledger, 4)).borrows) << "whenever it ends";
  EXPECT_TRUE(ledger.judge(world("maps"), world.gpus(ledger, 5)).borrows);
  EXPECT_TRUE(ledger.may_reclaim(world("maps"), world.gpus(ledger, 4), world("other"), 0, Seconds(kNoLimit)));
  EXPECT_TRUE(ledger.judge(world("web"), world.gpus(ledger, 1)).borrows);
}

TEST(QuotaLedgerTest, AJobThatOutlivesALoanIsHeldByTheBorrowLimitAtEveryLevel) {
  World world("ads gpu=10 / search gpu=4 gpu.borrow=0 / web < search gpu=4");
  world.departments.loan("ads", "web", "gpu", 6, 500);
  const QuotaLedger ledger = world.ledger(100);
  EXPECT_TRUE(ledger.judge(world("web"), world.gpus(ledger, 10), Seconds(400)).admitted());
  const QuotaVerdict verdict = ledger.judge(world("web"), world.gpus(ledger, 10), Seconds(600));
  EXPECT_EQ(verdict.reason, Reason::kQuota);
  EXPECT_EQ(verdict.queue, world("search"));
}

TEST(QuotaLedgerTest, LendingMoreThanThereIsLeavesNothing) {
  World world("a gpu=2 / b gpu=1");
  world.departments.loan("a", "b", "gpu", 5);
  EXPECT_EQ(world.ledger().quota(world("a"), 0), 0);
}

TEST(QuotaLedgerTest, MarksFillTheQuotaOfEachLevelAlone) {
  const World world("corp gpu=6 / ads < corp gpu=4 / search < corp gpu=2");
  QuotaLedger ledger = world.ledger();
  EXPECT_EQ(ledger.mark(world("ads"), world.gpus(ledger, 4)), 0b11u);
  EXPECT_EQ(ledger.mark(world("ads"), world.gpus(ledger, 1)), 0b01u) << "the root has room";
  EXPECT_EQ(ledger.mark(world("ads"), world.gpus(ledger, 2)), 0u);
  EXPECT_EQ(ledger.mark(world("search"), world.gpus(ledger, 2)), 0b10u);
  EXPECT_EQ(ledger.mark(-1, world.gpus(ledger, 1)), 0u);
  ledger.unmark(world("ads"), world.gpus(ledger, 4), 0b11);
  EXPECT_EQ(ledger.mark(world("ads"), world.gpus(ledger, 1), 0b01), 0b11u) << "keeps what it has";
  EXPECT_EQ(ledger.mark(world("ads"), world.gpus(ledger, 1), 0, 0b01), 0b01u) << "no more than wanted";
  EXPECT_EQ(ledger.marked(world("corp"), 0), 2000);
  EXPECT_EQ(ledger.marked(world("ads"), 0), 1000);
}

TEST(QuotaLedgerTest, ReclaimsBelowTheCommonAncestor) {
  const World world(
      "corp gpu=8 / ads < corp gpu=4 / ads1 < ads gpu=2 / ads2 < ads gpu=2 / search < corp gpu=4 / other");
  QuotaLedger ledger = world.ledger();
  const Amounts two = world.gpus(ledger, 2);
  EXPECT_EQ(ledger.fork_depth(world("ads1"), world("search")), 1);
  EXPECT_EQ(ledger.fork_depth(world("ads1"), world("ads2")), 2);
  EXPECT_EQ(ledger.fork_depth(world("ads1"), world("other")), 0);
  EXPECT_EQ(ledger.fork_depth(world("ads1"), -1), 0);
  EXPECT_EQ(ledger.fork_depth(world("ads1"), world("corp")), -1);
  EXPECT_TRUE(ledger.may_reclaim(world("ads1"), two, world("search"), 0b01));
  EXPECT_FALSE(ledger.may_reclaim(world("ads1"), two, world("search"), 0b11)) << "within the quota of search";
  EXPECT_TRUE(ledger.may_reclaim(world("ads1"), two, -1, 0));
  EXPECT_FALSE(ledger.may_reclaim(world("other"), two, world("search"), 0)) << "has no quota";
  EXPECT_FALSE(ledger.may_reclaim(world("ads1"), two, world("ads1"), 0));
  EXPECT_FALSE(ledger.may_reclaim(world("ads1"), ledger.none(), world("search"), 0)) << "asks for nothing";
  ledger.take(world("ads2"), world.gpus(ledger, 3));
  EXPECT_FALSE(ledger.may_reclaim(world("ads1"), two, world("search"), 0)) << "3 of 4 are in use within ads";
  EXPECT_TRUE(ledger.may_reclaim(world("ads1"), two, world("ads2"), 0b011)) << "not within its own quota";
  constexpr auto kMarked = QuotaLedger::Beside::kMarked;
  EXPECT_TRUE(ledger.may_reclaim(world("ads1"), two, world("search"), 0, {}, kMarked)) << "what was borrowed since";
  ledger.mark(world("ads2"), world.gpus(ledger, 3));
  EXPECT_FALSE(ledger.may_reclaim(world("ads1"), two, world("search"), 0, {}, kMarked));
}

// What the ledger keeps incrementally against the sums counted anew.
TEST(QuotaLedgerTest, PromisesAreThoseCountedFromScratch) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Cluster cluster = cluster_from("8x8:A100; 4x8:T4");
    Departments departments;
    departments.table.resources = {{.name = "gpu"}};
    for (std::int32_t q = 0; q < 9; ++q) {
      Queue queue;
      queue.id = q + 1;
      queue.parent = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(q) + 1)) - 1;
      departments.queues.push_back(queue);
      QuotaTerms terms;
      terms.has_quota = random.below(3) > 0;
      terms.quota = static_cast<std::int64_t>(random.below(20)) * 1000;
      if (random.below(2) > 0) terms.lend_limit = static_cast<std::int64_t>(random.below(10)) * 1000;
      departments.table.terms.push_back({terms});
    }
    QuotaLedger ledger(cluster, departments.queues, departments.table, Seconds(0));
    std::vector<std::pair<std::int32_t, Amounts>> taken;
    const auto promised = [&](const auto& self, std::int32_t queue) -> std::int64_t {
      std::int64_t below = 0;
      for (std::int32_t child = 0; child < 9; ++child) {
        if (departments.queues[static_cast<std::size_t>(child)].parent == queue) below += self(self, child);
      }
      if (queue < 0) return below;
      const std::int64_t lend = ledger.terms(queue, 0).lend_limit;
      const std::int64_t kept = lend >= kNoLimit ? 0 : ledger.quota(queue, 0) - lend - ledger.used(queue, 0);
      return std::max({std::int64_t{0}, kept, below});
    };
    for (int step = 0; step < 60; ++step) {
      if (!taken.empty() && random.below(3) == 0) {
        const std::size_t index = random.below(taken.size());
        ledger.give_back(taken[index].first, taken[index].second);
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(index));
      }
      Amounts amounts = ledger.none();
      amounts[0] = static_cast<std::int64_t>(1 + random.below(12)) * 1000;
      const auto queue = static_cast<std::int32_t>(random.below(9));
      const QuotaVerdict verdict = ledger.judge(queue, amounts);
      ledger.take(queue, amounts);
      const bool room_for_promises = ledger.used_by_all(0) + promised(promised, -1) <= ledger.capacity(0);
      if (verdict.reason == Reason::kLenderKeeps) {
        EXPECT_FALSE(room_for_promises);
        ledger.give_back(queue, amounts);
      } else if (verdict.borrows && ledger.used_by_all(0) <= ledger.capacity(0)) {
        EXPECT_TRUE(room_for_promises);
        taken.emplace_back(queue, amounts);
      } else {
        taken.emplace_back(queue, amounts);
      }
    }
  }
}

TEST(QuotaLedgerTest, ABorrowLimitHoldsWhereNobodyHasAQuota) {
  const World world("a gpu.borrow=2 / b");
  QuotaLedger ledger = world.ledger();
  EXPECT_TRUE(ledger.judge(world("a"), world.gpus(ledger, 2)).admitted());
  EXPECT_EQ(ledger.judge(world("a"), world.gpus(ledger, 3)).reason, Reason::kQuota);
  EXPECT_TRUE(ledger.judge(world("b"), world.gpus(ledger, 30)).admitted());
}

TEST(QuotaLedgerTest, APromiseOfWhatNobodyOwnsCountsForLimitsAlone) {
  const World world("a A100.limit=10 / b < a");
  QuotaLedger ledger = world.ledger();
  const Amounts two = world.gpus(ledger, 2, "A100");
  const auto r = static_cast<std::size_t>(std::ranges::find(two, 2000) - two.begin());
  ASSERT_LT(r, two.size());
  ledger.count_promise(world("b"), two, {}, 1);
  EXPECT_EQ(ledger.used(world("a"), r), 2000);
  EXPECT_EQ(ledger.counted(world("a"), r), 0);
  EXPECT_FALSE(ledger.judge(world("b"), world.gpus(ledger, 9, "A100")).admitted());
  ledger.count_promise(world("b"), two, {}, -1);
  EXPECT_EQ(ledger.used(world("a"), r), 0);
  EXPECT_EQ(ledger.counted(world("a"), r), 0);
}

TEST(QuotaLedgerTest, APromiseTakesOfWhatIsSpareBesideLoansBeyondWhatLeaves) {
  const World world("a gpu=4 / b gpu=4 / c");
  QuotaLedger ledger = world.ledger();
  ledger.keep_from(0, Seconds(100), 2000);
  const Amounts two = world.gpus(ledger, 2);
  EXPECT_TRUE(ledger.judge(world("c"), two).admitted());
  ledger.count_promise(world("b"), two, {}, 1);
  EXPECT_FALSE(ledger.judge(world("c"), world.gpus(ledger, 1)).admitted());
  ledger.count_promise(world("b"), two, {}, -1);
  ledger.count_promise(world("b"), two, {{world("c"), two}}, 1);
  EXPECT_TRUE(ledger.judge(world("c"), two).admitted()) << "what c's job leaves is what it will take";
}

}  // namespace
}  // namespace berth::test
