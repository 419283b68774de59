#include "engine/store/borrowing_match.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/model/quota.h"

namespace berth {

namespace {

class BorrowMatcher {
 public:
  explicit BorrowMatcher(const QuotaBalance& balance)
      : parents_(balance.parents),
        over_(balance.over),
        idle_(balance.idle),
        may_leave_(balance.lend_limit),
        unowned_(balance.unowned) {}

  // As far as it still holds, the limits counted or not.
  void keep(const Borrowing& held, bool within_limits) {
    std::int64_t amount = std::min(held.amount, over_[static_cast<std::size_t>(held.borrower)]);
    if (held.lender < 0) {
      if (within_limits) amount = std::min(amount, unowned_);
      return lend(held.borrower, -1, amount);
    }
    amount = std::min(amount, idle_[static_cast<std::size_t>(held.lender)]);
    const std::vector<std::int32_t> left = branches_left(held.lender, held.borrower);
    for (const std::int32_t queue : left) {
      if (within_limits) amount = std::min(amount, may_leave_[static_cast<std::size_t>(queue)]);
    }
    if (amount <= 0) return;
    lend(held.borrower, held.lender, amount);
    for (const std::int32_t queue : left) leave(queue, amount);
  }

  // Borrowers and lenders meet at their lowest common ancestor, the deepest first.
  void meet(bool within_lend_limits);

  void use_unowned() {
    for (std::size_t b = 0; b < over_.size(); ++b) {
      lend(static_cast<std::int32_t>(b), -1, std::min(over_[b], unowned_));
    }
  }
  void leave_rest_to_nobody() {
    for (std::size_t b = 0; b < over_.size(); ++b) lend(static_cast<std::int32_t>(b), -1, over_[b]);
  }

  // What nobody lends though nobody's quota is used up, then what is lent beyond the lend limits; both best at 0.
  std::pair<std::int64_t, std::int64_t> beyond_limits() const {
    std::int64_t beyond = 0;
    for (const std::int64_t may_leave : may_leave_) beyond += std::max<std::int64_t>(0, -may_leave);
    return {std::max<std::int64_t>(0, -unowned_), beyond};
  }

  std::vector<Borrowing> pairs() const {
    std::vector<Borrowing> pairs;
    for (const auto& [pair, amount] : amounts_) pairs.push_back({pair.first, pair.second, amount});
    return pairs;
  }

 private:
  struct Offer {
    std::int32_t lender;
    std::int64_t amount;
  };
  // What is left below one queue.
  struct Meeting {
    std::vector<std::int32_t> borrowers;
    std::vector<Offer> offers;
  };

  void lend(std::int32_t borrower, std::int32_t lender, std::int64_t amount) {
    if (amount <= 0) return;
    amounts_[{borrower, lender}] += amount;
    over_[static_cast<std::size_t>(borrower)] -= amount;
    (lender < 0 ? unowned_ : idle_[static_cast<std::size_t>(lender)]) -= amount;
  }
  void leave(std::int32_t queue, std::int64_t amount) {
    std::int64_t& limit = may_leave_[static_cast<std::size_t>(queue)];
    if (limit < kNoLimit) limit -= amount;
  }
  std::int32_t parent(std::int32_t queue) const { return parents_[static_cast<std::size_t>(queue)]; }
  // The queues whose branch quota leaves on its way from lender to borrower.
  std::vector<std::int32_t> branches_left(std::int32_t lender, std::int32_t borrower) const {
    std::vector<std::int32_t> above_borrower;
    for (std::int32_t q = borrower; q >= 0; q = parent(q)) above_borrower.push_back(q);
    std::vector<std::int32_t> left;
    for (std::int32_t q = lender; q >= 0 && std::ranges::find(above_borrower, q) == above_borrower.end();
         q = parent(q)) {
      left.push_back(q);
    }
    return left;
  }
  void settle(Meeting& meeting);

  const std::vector<std::int32_t>& parents_;
  std::vector<std::int64_t> over_;
  std::vector<std::int64_t> idle_;
  std::vector<std::int64_t> may_leave_;  // the lend limit, less what leaves the branch already
  std::int64_t unowned_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> amounts_;
};

void BorrowMatcher::settle(Meeting& meeting) {
  auto offer = meeting.offers.begin();
  auto borrower = meeting.borrowers.begin();
  while (borrower != meeting.borrowers.end() && offer != meeting.offers.end()) {
    std::int64_t& over = over_[static_cast<std::size_t>(*borrower)];
    const std::int64_t amount = std::min(over, offer->amount);
    lend(*borrower, offer->lender, amount);
    for (const std::int32_t queue : branches_left(offer->lender, *borrower)) leave(queue, amount);
    offer->amount -= amount;
    if (over == 0) ++borrower;
    if (offer->amount == 0) ++offer;
  }
  meeting.borrowers.erase(meeting.borrowers.begin(), borrower);
  meeting.offers.erase(meeting.offers.begin(), offer);
}

void BorrowMatcher::meet(bool within_lend_limits) {
  const std::size_t queues = parents_.size();
  std::vector<std::pair<int, std::int32_t>> deepest_first;
  std::vector<Meeting> meetings(queues + 1);  // the last one: above all roots
  for (std::size_t i = 0; i < queues; ++i) {
    const auto q = static_cast<std::int32_t>(i);
    int depth = 0;
    for (std::int32_t up = parent(q); up >= 0; up = parent(up)) ++depth;
    deepest_first.emplace_back(-depth, q);
    if (over_[i] > 0) meetings[i].borrowers.push_back(q);
    if (idle_[i] > 0) meetings[i].offers.push_back({q, idle_[i]});
  }
  std::ranges::sort(deepest_first);
  for (const auto& [depth, q] : deepest_first) {
    Meeting& here = meetings[static_cast<std::size_t>(q)];
    settle(here);
    Meeting& above = meetings[parent(q) < 0 ? queues : static_cast<std::size_t>(parent(q))];
    above.borrowers.insert(above.borrowers.end(), here.borrowers.begin(), here.borrowers.end());
    std::int64_t may_leave = within_lend_limits ? may_leave_[static_cast<std::size_t>(q)] : kNoLimit;
    for (Offer offer : here.offers) {
      offer.amount = std::min(offer.amount, may_leave);
      if (offer.amount <= 0) break;
      if (may_leave < kNoLimit) may_leave -= offer.amount;
      above.offers.push_back(offer);
    }
  }
  settle(meetings.back());
}

BorrowMatcher match_from(const QuotaBalance& balance, std::span<const Borrowing> held, bool keep_within_limits) {
  BorrowMatcher matcher(balance);
  for (const Borrowing& pair : held) matcher.keep(pair, keep_within_limits);
  matcher.meet(true);
  matcher.use_unowned();
  matcher.meet(false);
  matcher.leave_rest_to_nobody();
  return matcher;
}

}  // namespace

std::vector<Borrowing> match_borrowing(const QuotaBalance& balance, std::span<const Borrowing> held) {
  const BorrowMatcher as_it_was = match_from(balance, held, false);
  if (as_it_was.beyond_limits() == std::pair<std::int64_t, std::int64_t>()) return as_it_was.pairs();
  const BorrowMatcher rearranged = match_from(balance, held, true);
  return (rearranged.beyond_limits() < as_it_was.beyond_limits() ? rearranged : as_it_was).pairs();
}

}  // namespace berth
