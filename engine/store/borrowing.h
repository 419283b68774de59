// The borrow ledger: who uses whose idle quota since when, and how each queue stands.
//
// Written with every change of what queues use or own (Change::use_changed) and with every round, so that
// borrowing_records and standings always are those of the moment in meta 'borrowing_at'. A queue's own quota is what
// the queues below it do not have of its quota; what it uses above that has lenders, see borrowing_match.h. The
// accounts (account_records.h) follow it; databases without quotas have them alone.
#pragma once

#include <string>
#include <vector>

#include "engine/store/load_quotas.h"
#include "engine/store/sqlite.h"

namespace berth {

// Inside a write transaction.
Status refresh_borrowing(Database& db, Seconds now);
// The same as of every date on which a quota or loan began or ended since it was last done, before anything else
// changes: nobody had to be there at that moment. Part of Change::begin.
Status pass_dates(Database& db, Seconds now);
// The same in a transaction of its own before somebody reads, so that standings and accounts are split at each date
// though nothing has changed since. Who writes at this moment does it instead; then nothing is done.
Status pass_dates_to_read(Database& db, Seconds now);

// One queue and one governed resource; amounts of a queue are those of its branch. Milli-cores, MiB or milli-GPU.
struct Standing {
  std::int32_t queue = 0;     // index
  std::int32_t resource = 0;  // index
  std::int64_t quota = 0;     // loans counted
  QuotaTerms terms;
  std::int64_t allocated = 0;
  std::int64_t borrowed = 0;  // from outside the branch, by use; loans are not in it
  std::int64_t lent = 0;      // to outside the branch
  std::int64_t loaned_in = 0;
  std::int64_t loaned_out = 0;

  bool operator==(const Standing&) const = default;
};

// What does not sum up in the ledger as stored, everything worked out from scratch.
struct LedgerFlaw {
  std::string object;    // "queue search A100"
  std::string sentence;  // what is wrong, with numbers
};
Result<std::vector<LedgerFlaw>> check_borrowing(Database& db);

}  // namespace berth
