// Waiting jobs that may take back what others borrow: where somebody would borrow before them, he comes later.
//
// Without it a round gives idle room to a borrower, and then evicts another borrower for the owner who waits behind the
// first: work is lost, and nobody is better off but who came later. So in a pass that may evict, a job that would
// borrow from the owner of a waiting job is tried again when all owners have been (Pass, the second pass), and so are
// all borrowers behind it, for their order stays as it is.
//
// Costs: a look at all waiting jobs, once in a pass in which somebody borrows; after that, by kind of waiting job.
#pragma once

#include <vector>

#include "engine/model/demand_key.h"
#include "engine/policy/policy.h"
#include "engine/round/round_state.h"

namespace berth {

class OwnersWaiting {
 public:
  // `input`: what the order looks at; null = nobody waits. It must outlive this.
  OwnersWaiting(RoundState& state, const OrderInput* input, Seconds now) : state_(state), input_(input), now_(now) {}

  // The job would borrow from one of them, or from nobody but behind a borrower who comes later. `amounts`: that it is
  // to get.
  bool come_before(const Job& job, const Amounts& amounts);
  // The job comes later: so do the borrowers behind it.
  void note_later(const Job& job);

 private:
  // Jobs of one queue that ask for the same.
  struct Kind {
    std::int32_t queue = -1;
    Amounts demand;
    Seconds end;
    std::vector<std::int64_t> jobs;  // newest first, less those known to have started
  };
  // Who comes later.
  struct Later {
    std::int32_t queue = -1;
    std::uint32_t marks = 0;
    bool operator==(const Later&) const = default;
  };

  std::vector<Kind>& kinds();
  bool somebody_waits(Kind& kind) const;
  // The quotas that it would count against.
  std::uint32_t marks_of(std::int32_t queue, const Amounts& amounts);

  RoundState& state_;
  const OrderInput* input_;
  Seconds now_;
  bool is_known_ = false;
  std::vector<Kind> kinds_;
  std::vector<Later> later_;
};

}  // namespace berth
