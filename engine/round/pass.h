// One pass over the waiting jobs at one moment: who starts, who is evicted for it, who waits and why.
//
// The one piece of deciding code that live rounds, plans, explanations and simulations share. Per job: does it depend
// on others; may its queue start it (QuotaLedger::judge); does it fit without delaying a reservation (Backfill); can
// room be made for it (Reclaim). The caller brings the jobs in the order policy's sequence.
#pragma once

#include <vector>

#include "engine/round/backfill.h"
#include "engine/round/reclaim.h"
#include "engine/round/round_state.h"

namespace berth {

struct PassOutcome {
  bool started = false;            // or gained tasks
  std::vector<PlacedTask> placed;  // the new ones
  Waiting waiting;          // why not, when not everything it needs was placed; kNone: ask the nodes (explain_shape)
  bool keeps_room = false;  // its failure says nothing about jobs that ask for the same (a reservation, a budget)
};

class Pass {
 public:
  Pass(RoundState& state, std::span<const Reservation> kept, Seconds now);

  PassOutcome try_job(const Job& job);
  // Nobody behind is to be tried.
  bool closed() const { return backfill_.closed(); }

  const std::vector<Eviction>& evictions() const { return evictions_; }
  std::vector<Reservation> reservations() const { return backfill_.reservations(); }

 private:
  PassOutcome wait(const Job& job, Reason reason) const;
  PassOutcome refuse(const Job& job, const QuotaVerdict& verdict) const;
  // Places it, keeping to device models whose quota has room.
  BackfillAttempt place_within_quota(const Job& job, QuotaVerdict& verdict);
  std::int64_t queue_id(std::int32_t queue) const;

  RoundState& state_;
  Seconds now_;
  Backfill backfill_;
  Reclaim reclaim_;
  std::vector<Eviction> evictions_;
};

}  // namespace berth
