// Accounts of GPU time: names that change, days that are too old, clocks that jump, quotas that overlap.
#include "engine/store/account_records.h"

#include <gtest/gtest.h>

#include "engine/store/account_report.h"
#include "engine/store/journal.h"
#include "engine/store/loan_records.h"
#include "engine/store/quota_records.h"
#include "engine/store/settings.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {

namespace {

constexpr Seconds kDay = kAccountDay;

class Accounts : public StoreTest {
 protected:
  static Status set(Database& db, const std::string& queue, const std::string& resource, std::int64_t amount,
                    Seconds now) {
    const QuotaSetting setting[] = {{.resource = resource, .amount = amount}};
    return change(
        db, [&](Change& c) { return set_quota(c, queue, setting); }, now);
  }
  static std::map<std::string, std::int64_t> owned(Database& db, Seconds now) {
    const AccountReport report =
        must_have(read_accounts(db, {.from = Seconds(0), .to = now + kDay, .now = now, .queues = {}}));
    std::map<std::string, std::int64_t> owned;
    for (const AccountLine& line : report.lines) owned[line.queue] = line.sums.time.owned;
    return owned;
  }
  using Owned = std::map<std::string, std::int64_t>;
};

}  // namespace

TEST_F(Accounts, AQueueGoesOnWithTheAccountOfItsNewName) {
  Database db = open();
  fill(db);
  EXPECT_OK(set(db, "train", "A100", 2000, Seconds(1000)));
  EXPECT_OK(set(db, "serve", "A100", 1000, Seconds(1000)));
  EXPECT_OK(change(
      db, [](Change& c) { return drop_queue(c, "train"); }, Seconds(1010)));
  EXPECT_EQ(owned(db, Seconds(1020)), (Owned{{"serve", 20000}, {"train", 20000}}));
  EXPECT_OK(change(
      db, [](Change& c) { return alter_queue(c, "serve", {.name = "train"}); }, Seconds(1020)));
  EXPECT_EQ(owned(db, Seconds(1030)), (Owned{{"train", 50000}}));
  EXPECT_OK(set(db, "train", "A100", 0, Seconds(1040)));
  EXPECT_EQ(owned(db, Seconds(9999)), (Owned{{"train", 60000}}));
}

TEST_F(Accounts, OldDaysGo) {
  Database db = open();
  fill(db);
  EXPECT_OK(set(db, "train", "A100", 1000, Seconds(1000)));
  EXPECT_OK(change(
      db, [](Change& c) { return set_setting(c, "chargeback_retention", "2d"); }, 10 * kDay));
  EXPECT_OK(set(db, "train", "A100", 2000, 10 * kDay));
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM account_days")), 10);
  EXPECT_OK(prune_history(db, 10 * kDay + Seconds(5)));
  EXPECT_EQ(must_have(db.integer("SELECT min(day) FROM account_days")), (8 * kDay).value());
}

TEST_F(Accounts, AClockThatJumpsAheadIsNotWrittenForEver) {
  Database db = open();
  fill(db);
  EXPECT_OK(set(db, "train", "A100", 1000, Seconds(1000)));
  EXPECT_OK(set(db, "train", "A100", 2000, Seconds(4'000'000'000)));
  EXPECT_LE(must_have(db.integer("SELECT count(*) FROM account_days")), 1001);
  // Set right again, it goes on from there.
  EXPECT_OK(set(db, "train", "A100", 3000, Seconds(2000)));
  EXPECT_OK(set(db, "train", "A100", 1000, Seconds(2010)));
  EXPECT_EQ(must_have(db.integer("SELECT owned_today FROM account_rates")), 30000);
}

TEST_F(Accounts, WhatOverlapsIsOwnedOnce) {
  Database db = open();
  fill(db);
  EXPECT_OK(set(db, "train", "A100", 2000, Seconds(1000)));
  EXPECT_OK(set(db, "train", "gpu", 5000, Seconds(1000)));
  EXPECT_OK(set(db, "all", "gpu", 8000, Seconds(1000)));
  EXPECT_EQ(must_have(db.text("SELECT group_concat(queue || ' ' || device_model || ' ' || owned, ', ') FROM (SELECT * "
                              "FROM account_rates ORDER BY queue, device_model)")),
            "all gpu 3000, train A100 2000, train gpu 3000");
  EXPECT_EQ(owned(db, Seconds(1010)), (Owned{{"all", 30000}, {"train", 50000}}));
}

TEST_F(Accounts, ALoanCountsFromItsFirstToItsLastSecond) {
  Database db = open();
  fill(db);
  EXPECT_OK(set(db, "train", "A100", 4000, Seconds(1000)));
  EXPECT_OK(change(
      db,
      [](Change& c) {
        return add_loan(c, {.lender = "train",
                            .borrower = "serve",
                            .resource = "A100",
                            .amount = 1000,
                            .from = Seconds(2000),
                            .until = Seconds(2100)});
      },
      Seconds(1000)));
  // The next change is long after; what it says of that time holds for its own only.
  EXPECT_OK(set(db, "train", "A100", 0, Seconds(3000)));
  EXPECT_EQ(owned(db, Seconds(9000)), (Owned{{"serve", 100 * 1000}, {"train", 2000 * 4000 - 100 * 1000}}));
}

}  // namespace berth::test
