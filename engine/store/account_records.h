// Accounts of GPU time as rows: what each queue owned, used, borrowed and lent, day by day (UTC).
//
// account_rates holds what is so since a moment, and the sums of that day; the first change of the next day brings all
// of them to account_days, split at midnight. So a change costs one write for what it changes, and quotas of the past
// stay what they were. Readers add the stretch that is still open. When the clock is set back, every row is closed at
// the last moment that was seen and begins anew: no two queues ever count different stretches of time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/store/account_rates.h"
#include "engine/store/change.h"

namespace berth {

inline constexpr Seconds kAccountDay{86400};

// Calls piece(day, seconds) for each day (its midnight) of a stretch of time.
template <class Piece>
Status for_days_of(Seconds from, Seconds until, Piece&& piece) {
  while (from < until) {
    const Seconds day(from.value() - from.value() % kAccountDay.value());
    const Seconds end = std::min(until, day + kAccountDay);
    BERTH_TRY(piece(day, end - from));
    from = end;
  }
  return {};
}

// Part of refresh_borrowing (borrowing.h): what is so from now on. Inside a write transaction.
Status keep_accounts(Database& db, Seconds now, const QuotaUse& use, const QueueUseRows& held,
                     std::span<const Lending> ledger);

// "account of queue ads A100": those that are not what they were worked out to be with the same.
Result<std::vector<std::string>> find_accounts_that_differ(Database& db, const QuotaUse& use, const QueueUseRows& held,
                                                           std::span<const Lending> ledger);

// A queue has another name: so has its account. One that a dropped queue of that name left is continued.
Status rename_account(Database& db, const std::string& name, const std::string& new_name);

// The mean use of its devices that is known of a group of an ended run was `before` and is `after` (milli-GPU).
Status account_run_use(Change& change, std::int64_t run, std::int64_t group, std::optional<std::int64_t> before,
                       std::optional<std::int64_t> after);

// An eviction was carried out, or is about to be; its victim still holds what it will lose.
Status account_eviction(Change& change, std::int64_t eviction);

// Deletes days before `day`, as far back as they go. Rows deleted.
Result<std::int64_t> prune_accounts(Database& db, Seconds day);

}  // namespace berth
