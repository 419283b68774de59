// Waiting jobs that may take back what others borrow: where somebody would borrow before them, he comes later.
//
// Without it a round gives idle room to a borrower, and then evicts another borrower for the owner who waits behind the
// first: work is lost, and nobody is better off but who came later. So in a pass that may evict, a job that would
// borrow from the owner of a waiting job is tried again when all owners have been (Pass, the next pass), and so are
// all borrowers behind it who own nothing that it borrows, for their order stays as it is.
//
// Costs: a look at all waiting jobs, once in a pass in which somebody borrows; then by kind of waiting job, for each
// queue that borrows, once after each start.
#pragma once

#include <map>
#include <unordered_set>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/policy/policy.h"
#include "engine/round/round_state.h"

namespace berth {

class OwnersWaiting {
 public:
  // `input`: what the order looks at; null = nobody waits. `among`: they alone count, each until it has been tried;
  // null = all that wait count as long as they do. Both must outlive this.
  OwnersWaiting(RoundState& state, const OrderInput* input, Seconds now,
                const std::unordered_set<std::int64_t>* among = nullptr)
      : state_(state), input_(input), now_(now), among_(among) {}

  // The job would borrow from one of them, or stands behind a borrower who comes later and from whom it may take
  // nothing back. `amounts`: that it is to get.
  bool come_before(const Job& job, const Amounts& amounts);
  // Nobody could come before anybody.
  bool is_empty() { return kinds().empty(); }
  // The job comes later, and so do the borrowers behind it. `amounts`: that it was to get.
  void note_later(const Job& job, const Amounts& amounts);
  void note_tried(std::int64_t job);

 private:
  // Jobs of one queue that ask for the same.
  struct Kind {
    std::int32_t queue = -1;
    Amounts demand;
    Seconds end;
    std::vector<std::int64_t> jobs;  // newest first, less those known to have started or been tried
  };
  // Who takes that much of the quotas of others.
  struct Borrower {
    std::int32_t queue = -1;
    std::uint32_t marks = 0;
    auto operator<=>(const Borrower&) const = default;
  };
  // At that print of usage.
  struct Answer {
    std::uint64_t print = 0;
    bool is_owned = false;
  };

  std::vector<Kind>& kinds();
  bool has_been(std::int64_t job) const;
  bool somebody_waits(Kind& kind) const;
  // Somebody who waits may take back from it; asked of thousands of jobs in a row that do not start.
  bool borrows_from_one_who_waits(const Borrower& borrower);
  // The quotas that it would count against, but those that hold it only by what they promise to others.
  std::uint32_t marks_of(std::int32_t queue, const Amounts& amounts);

  RoundState& state_;
  const OrderInput* input_;
  Seconds now_;
  const std::unordered_set<std::int64_t>* among_;
  std::unordered_set<std::int64_t> tried_;  // of those
  bool is_known_ = false;
  std::vector<Kind> kinds_;
  std::vector<Borrower> later_;  // who comes later
  std::map<Borrower, Answer> answers_;
};

}  // namespace berth
