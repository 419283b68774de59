// Whose idle quota a queue uses when it uses more than its own: the matching behind the borrow ledger, of one resource.
//
// Method, in this order, until everything used above a quota has a lender:
//   1. pairs that exist already are kept as far as they still hold; those beyond a limit give way only when that puts
//      less beyond limits, so that nothing changes when nothing has changed,
//   2. the nearest idle quota: walking up the tree, borrowers meet the lenders below the same queue first, so a pair
//      never has a lender further away than another that was left; lend limits hold for all that leaves a branch,
//   3. capacity that is nobody's quota,
//   4. idle quota beyond the lend limits, the nearest first,
//   5. nothing (quotas promise more than there is, or nodes are down): nobody lends it.
// Ties by queue index. Linear in queues times the depth of the tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth {

// By queue index.
struct QuotaBalance {
  std::vector<std::int32_t> parents;     // -1 = a root
  std::vector<std::int64_t> over;        // what it uses itself above its own quota
  std::vector<std::int64_t> idle;        // what it does not use of its own quota; 0 where over is not
  std::vector<std::int64_t> lend_limit;  // of its branch; kNoLimit = none
  std::int64_t unowned = 0;              // capacity that is nobody's quota
};

struct Borrowing {
  std::int32_t borrower = 0;
  std::int32_t lender = -1;  // -1 = nobody's quota
  std::int64_t amount = 0;

  bool operator==(const Borrowing&) const = default;
};

// By borrower, then lender; amounts above 0 that add up to `over` for each borrower, and to at most `idle` for each
// lender. `held`: the pairs so far, the oldest first.
std::vector<Borrowing> match_borrowing(const QuotaBalance& balance, std::span<const Borrowing> held);

}  // namespace berth
