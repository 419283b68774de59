// The accounts of GPU time as people want them: sums over days, prices, credits.
//
// Price and credit are reckoned when asked for, by the prices of that moment: a queue pays for what it borrows and for
// what loans give it, used or not; a lender is credited its share (setting lender_share) of what is paid for its quota.
// What is nobody's quota is paid for and credited to nobody.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/account_rates.h"

namespace berth {

// Milli-GPU-seconds, but for money.
struct AccountSums {
  AccountRates time;
  std::int64_t use_known = 0;  // held by runs whose utilisation was recorded
  std::int64_t unused = 0;     // of use_known: held and not utilised
  std::int64_t lost = 0;       // to evictions
  double price = 0;
  double credit = 0;

  std::int64_t used() const { return time.used_own + time.borrowed; }
  std::int64_t idle() const { return time.owned - time.used_own - time.lent; }
  void add(const AccountSums& other);
  bool operator==(const AccountSums&) const = default;
};

// What one queue lost to evictions for another.
struct AccountLoss {
  std::string queue;
  std::string beneficiary;
  std::string rule;
  std::int64_t evictions = 0;
  std::int64_t lost = 0;  // milli-GPU-seconds
};

enum class AccountParts { kTogether, kApart };

struct AccountQuery {
  Seconds from;  // midnights, UTC
  Seconds to;
  Seconds now;                      // until when what is so now counts
  std::vector<std::string> queues;  // empty = all
  AccountParts days = AccountParts::kTogether;
  AccountParts models = AccountParts::kTogether;
};

struct AccountLine {
  Seconds day;  // of kApart
  std::string queue;
  std::string device_model;  // of kApart
  AccountSums sums;
};

struct AccountReport {
  std::vector<AccountLine> lines;  // by day, queue, model
  AccountSums all;
  std::vector<AccountLoss> losses;                     // the greatest first
  std::optional<Seconds> begin;                        // when the accounts begin; none = they have not
  double usual_price = 0;                              // of a GPU-hour
  std::vector<std::pair<std::string, double>> prices;  // of models that have their own
  std::int64_t lender_share = 0;                       // percent
};

Result<AccountReport> read_accounts(Database& db, const AccountQuery& query);

}  // namespace berth
