// Loans: quota that one queue gives to another until a date.
//
// A loan holds from its start until just before its end, or until it is returned. Lender and borrower lie in different
// branches of the queue tree, and at every moment of the loan the lender owns what it lends, its other loans counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/store/change.h"

namespace berth {

struct LoanRequest {
  std::string lender = {};
  std::string borrower = {};
  std::string resource = {};          // "cpu", "memory", "gpu", a device model or a family
  std::int64_t amount = 0;            // milli-cores, MiB or milli-GPU; above 0
  std::optional<Seconds> from = {};   // nullopt = now
  std::optional<Seconds> until = {};  // nullopt = until returned
  Seconds return_grace = {};          // how long before the end the borrower is asked to make room
};
// The id. kNotFound for names, kInvalid for amounts and dates, kConflict when the lender does not own that much.
Result<std::int64_t> add_loan(Change& change, const LoanRequest& request);

// Ends it now (a loan that has not begun never holds); the resource it was of. kConflict when it is over already.
Result<std::string> return_loan(Change& change, std::int64_t loan);

// Marks those whose time is up; part of every change of use, see Change::commit.
Status end_loans(Change& change);

// kConflict when an open loan has both ends in one branch: a queue that moves must not bring that about.
Status check_loans_apart(Database& db, Seconds now);

}  // namespace berth
