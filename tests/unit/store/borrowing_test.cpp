// Who uses whose idle quota: the matching, and the ledger in the tables.
#include "engine/store/borrowing.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "engine/model/quota.h"
#include "engine/store/borrowing_match.h"
#include "engine/store/load_quotas.h"
#include "engine/store/loan_records.h"
#include "engine/store/quota_records.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {

namespace {

QuotaBalance balance_of(std::vector<std::int32_t> parents) {
  QuotaBalance balance;
  balance.over.assign(parents.size(), 0);
  balance.idle.assign(parents.size(), 0);
  balance.lend_limit.assign(parents.size(), kNoLimit);
  balance.parents = std::move(parents);
  return balance;
}

using Pairs = std::vector<Borrowing>;

// 0 { 1 { 2, 3 }, 4 { 5 } }, 6
const std::vector<std::int32_t> kTree = {-1, 0, 1, 1, 0, 4, -1};

}  // namespace

TEST(MatchBorrowing, NearestFirst) {
  QuotaBalance balance = balance_of(kTree);
  balance.over[2] = 10;
  balance.idle[6] = 3;  // meets 2 above the roots
  balance.idle[5] = 3;  // at 0
  balance.idle[3] = 3;  // at 1
  EXPECT_EQ(match_borrowing(balance, {}), (Pairs{{2, -1, 1}, {2, 3, 3}, {2, 5, 3}, {2, 6, 3}}));
  balance.over[2] = 4;
  EXPECT_EQ(match_borrowing(balance, {}), (Pairs{{2, 3, 3}, {2, 5, 1}}));
}

TEST(MatchBorrowing, QuotaOfAParentIsNearest) {
  QuotaBalance balance = balance_of(kTree);
  balance.over[2] = 2;
  balance.idle[1] = 1;
  balance.idle[3] = 5;
  EXPECT_EQ(match_borrowing(balance, {}), (Pairs{{2, 1, 1}, {2, 3, 1}}));
}

TEST(MatchBorrowing, KeepsPairsThatHold) {
  QuotaBalance balance = balance_of(kTree);
  balance.over[2] = 4;
  balance.idle[3] = 4;
  balance.idle[6] = 3;
  const Pairs held = {{2, 6, 5}};
  EXPECT_EQ(match_borrowing(balance, held), (Pairs{{2, 3, 1}, {2, 6, 3}}));
  balance.idle[6] = 0;  // its owner uses it again
  EXPECT_EQ(match_borrowing(balance, held), (Pairs{{2, 3, 4}}));
}

TEST(MatchBorrowing, LendLimitsHoldUntilNothingElseIsLeft) {
  QuotaBalance balance = balance_of(kTree);
  balance.over[2] = 6;
  balance.idle[3] = 4;
  balance.lend_limit[3] = 1;
  balance.unowned = 2;
  // 1 within the limit, 2 that nobody owns, 3 beyond the limit.
  EXPECT_EQ(match_borrowing(balance, {}), (Pairs{{2, -1, 2}, {2, 3, 4}}));
  balance.over[2] = 3;
  EXPECT_EQ(match_borrowing(balance, {}), (Pairs{{2, -1, 2}, {2, 3, 1}}));
}

TEST(MatchBorrowing, LendLimitOfABranchIsForAllInIt) {
  QuotaBalance balance = balance_of(kTree);
  balance.over[6] = 4;
  balance.idle[2] = 3;
  balance.idle[3] = 3;
  balance.idle[5] = 3;
  balance.lend_limit[1] = 2;
  EXPECT_EQ(match_borrowing(balance, {}), (Pairs{{6, 2, 2}, {6, 5, 2}}));
  // Inside the branch it does not count.
  balance.over[6] = 0;
  balance.idle[2] = 0;
  balance.over[2] = 3;
  EXPECT_EQ(match_borrowing(balance, {}), (Pairs{{2, 3, 3}}));
}

// Sums are exact and nobody lends what is not idle, whatever the tree, the limits and the pairs before.
TEST(MatchBorrowing, AlwaysSumsUp) {
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t bound) { return static_cast<std::int64_t>(random() % bound); };
    const auto queues = static_cast<std::size_t>(1 + below(12));
    std::vector<std::int32_t> parents;
    for (std::size_t q = 0; q < queues; ++q) {
      parents.push_back(static_cast<std::int32_t>(below(static_cast<std::uint32_t>(q) + 1)) - 1);
    }
    Pairs held;
    for (int step = 0; step < 4; ++step) {
      QuotaBalance balance = balance_of(parents);
      for (std::size_t q = 0; q < queues; ++q) {
        (below(2) == 0 ? balance.over : balance.idle)[q] = below(8);
        if (below(3) == 0) balance.lend_limit[q] = below(6);
      }
      balance.unowned = below(10);
      const Pairs pairs = match_borrowing(balance, held);
      std::vector<std::int64_t> borrowed(queues, 0);
      std::vector<std::int64_t> lent(queues, 0);
      std::int64_t from_others = 0;
      for (const Borrowing& pair : pairs) {
        ASSERT_GT(pair.amount, 0);
        borrowed[static_cast<std::size_t>(pair.borrower)] += pair.amount;
        if (pair.lender < 0) continue;
        lent[static_cast<std::size_t>(pair.lender)] += pair.amount;
        from_others += pair.amount;
      }
      ASSERT_EQ(borrowed, balance.over) << "seed " << seed;
      for (std::size_t q = 0; q < queues; ++q) ASSERT_LE(lent[q], balance.idle[q]) << "seed " << seed;
      const std::int64_t over = std::reduce(balance.over.begin(), balance.over.end());
      const std::int64_t idle = std::reduce(balance.idle.begin(), balance.idle.end());
      // Nobody is left alone while something is idle.
      ASSERT_GE(from_others + balance.unowned, std::min(over, idle + balance.unowned)) << "seed " << seed;
      // It settles while nothing changes.
      held = pairs;
      for (int again = 0; again < 3; ++again) held = match_borrowing(balance, held);
      ASSERT_EQ(match_borrowing(balance, held), held) << "seed " << seed;
    }
  }
}

class BorrowingTest : public StoreTest {
 protected:
  static void set(Database& db, const std::string& queue, QuotaColumn column, const std::string& resource,
                  std::int64_t amount, const QuotaPeriod& period = {}) {
    EXPECT_OK(change(db, [&](Change& c) {
      return set_quota(c, queue, std::vector<QuotaSetting>{{column, resource, amount, {}}}, period);
    }));
  }
  static std::string flaws(Database& db) {
    std::string text;
    for (const LedgerFlaw& flaw : must_have(check_borrowing(db))) text += flaw.object + ": " + flaw.sentence + "\n";
    return text;
  }
};

TEST_F(BorrowingTest, NothingIsWrittenWithoutQuotas) {
  Database db = open();
  fill(db);
  run_job(db, "j", 3, "a1");
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM meta WHERE key = 'borrowing_at'")), 0);
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM standings")), 0);
  EXPECT_EQ(flaws(db), "");
  EXPECT_TRUE(load(db).snapshot.quotas.resources.empty());
}

TEST_F(BorrowingTest, FollowsUse) {
  Database db = open();
  fill(db);
  set(db, "train", QuotaColumn::kQuota, "A100", 2000);
  set(db, "serve", QuotaColumn::kQuota, "A100", 4000);
  run_job(db, "j", 5, "a1");
  EXPECT_EQ(must_have(db.text("SELECT group_concat(borrower || ' ' || coalesce(lender, '-') || ' ' || amount || ' ' || "
                              "since) FROM borrowing")),
            "train serve 3000 2000");
  expect_healthy(db);
}

TEST_F(BorrowingTest, CheckFindsWhatDoesNotSumUp) {
  Database db = open();
  fill(db);
  set(db, "train", QuotaColumn::kQuota, "A100", 2000);
  set(db, "serve", QuotaColumn::kQuota, "A100", 4000);
  run_job(db, "j", 5, "a1");
  EXPECT_OK(db.execute("UPDATE borrowing_records SET amount = 5000"));
  EXPECT_EQ(flaws(db),
            "queue train A100: it uses 3 above its own quota, the ledger says 5\n"
            "queue serve A100: it lends 5, idle of its own quota is 4\n"
            "queue train A100: its row of standings is out of date\n"
            "queue serve A100: its row of standings is out of date\n");
  EXPECT_OK(db.execute("PRAGMA foreign_keys = off; UPDATE borrowing_records SET amount = 3000, borrower_id = 99"));
  EXPECT_NE(flaws(db), "") << "a borrower that is not there";
  EXPECT_OK(
      db.execute("UPDATE borrowing_records SET amount = 3000; DELETE FROM standings WHERE resource = 'A100'; "
                 "DELETE FROM quotas; DELETE FROM borrowing_records"));
  EXPECT_EQ(flaws(db),
            "account of queue train A100: it is not what the queue has and uses\n"
            "account of queue serve A100: it is not what the queue has and uses\n");
}

TEST_F(BorrowingTest, TermsAreThoseOfTheMoment) {
  Database db = open();
  fill(db);
  const auto terms_at = [&](std::int64_t moment) {
    const QuotaState state = must_have(load_quotas(db, Seconds(moment)));
    return state.quotas.resources.empty() ? QuotaTerms() : state.quotas.terms[1][0];
  };
  set(db, "train", QuotaColumn::kQuota, "A100", 2000);
  set(db, "train", QuotaColumn::kLimit, "A100", 9000);
  set(db, "train", QuotaColumn::kQuota, "A100", 3000, {.from = Seconds(5000), .to = Seconds(9000)});
  set(db, "train", QuotaColumn::kQuota, "A100", 4000, {.from = Seconds(6000), .to = Seconds(7000)});
  set(db, "train", QuotaColumn::kQuota, "A100", 1000, {.from = {}, .to = Seconds(3000)});
  EXPECT_EQ(terms_at(2999).quota, 1000);
  EXPECT_EQ(terms_at(3000).quota, 2000);
  EXPECT_EQ(terms_at(5000).quota, 3000);
  EXPECT_EQ(terms_at(6999).quota, 4000);
  EXPECT_EQ(terms_at(7000).quota, 3000);
  EXPECT_EQ(terms_at(9000).quota, 2000);
  EXPECT_EQ(terms_at(6000).limit, 9000);
  EXPECT_EQ(terms_at(6000).borrow_limit, kNoLimit);
}

TEST_F(BorrowingTest, ResourcesAreInOneOrderAndFamiliesHaveTheirModels) {
  Database db = open();
  fill(db);
  EXPECT_OK(change(db, [](Change& c) { return alter_device_model(c, "T4", {.family = "Small"}); }));
  for (const char* resource : {"T4", "gpu", "A100", "Small", "memory", "cpu"}) {
    set(db, "train", QuotaColumn::kQuota, resource, 1);
  }
  std::string text;
  for (const QuotaResource& resource : load(db).snapshot.quotas.resources) {
    text += resource.name + ":" + std::to_string(resource.models) + " ";
  }
  EXPECT_EQ(text, "cpu:0 memory:0 gpu:0 A100:1 Small:2 T4:2 ");
}

TEST_F(BorrowingTest, LoansMoveQuotaWhileTheyHold) {
  Database db = open();
  fill(db);
  set(db, "train", QuotaColumn::kQuota, "A100", 6000);
  EXPECT_OK(change(db, [](Change& c) {
    return add_loan(c, {.lender = "train",
                        .borrower = "serve",
                        .resource = "A100",
                        .amount = 4000,
                        .from = Seconds(1500),
                        .until = Seconds(3000)});
  }));
  const auto loans_at = [&](std::int64_t moment) {
    return must_have(load_quotas(db, Seconds(moment))).quotas.loans.size();
  };
  EXPECT_EQ(loans_at(1499), 0u);
  EXPECT_EQ(loans_at(1500), 1u);
  EXPECT_EQ(loans_at(2999), 1u);
  EXPECT_EQ(loans_at(3000), 0u);
  EXPECT_OK(change(
      db,
      [](Change& c) -> Status {
        c.use_changed();
        return {};
      },
      Seconds(2000)));
  EXPECT_EQ(must_have(db.text("SELECT group_concat(queue || ' ' || quota) FROM queue_standing")),
            "all 6000,train 2000,serve 4000");
  expect_healthy(db);
}

}  // namespace berth::test
