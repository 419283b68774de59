// Makes room for a job that may start but does not fit, by evicting others: quota that is lent is taken back, and a
// higher priority class goes before a lower one of the same queue.
//
// Who may be evicted for job b (beneficiary), in this order of rules:
//   reclaim   a job v of another queue that runs on what it borrowed from b's (QuotaLedger::may_reclaim): after b
//   starts
//             it is within its quota, and v does not count against the quota of its own
//   priority  a job of the same queue with a strictly lower class, if b exceeds no quota that v did not
// and only if v is preemptible, has run for its minimum run time and, if evicted before, for the cool-down; is not in
// b's past (v was never evicted for... b never evicts a job that evicted it: EvictionTerms::evicted_for); and its queue
// has budget left for what v would lose. b must have waited for the pending delay.
//
// Evictions are decided only together with a complete placement of b. Candidates are taken cheapest first (lost work
// per GPU freed, then newest start, then id; the surplus of elastic jobs before whole gangs), until b fits; then,
// dearest first, each one without which b still fits is spared. What is freed is b's in the same step; when victims get
// a grace to write checkpoints, a reservation holds it for b.
//
// No ping-pong: a reclaiming b ends up marked (within quota), and marked jobs are not evicted for another queue; by
// priority classes strictly rise. So no job evicts one that evicted it; the list in EvictionTerms makes that hold also
// when quotas change in between. Lost work per queue and hour is bounded by the budget.
#pragma once

#include <optional>
#include <vector>

#include "engine/round/backfill.h"
#include "engine/round/round_state.h"

namespace berth {

struct RoomMade {
  std::vector<Eviction> evictions;
  JobOutcome outcome;                      // the beneficiary's placement; in the ledger when every victim stops now
  std::optional<Reservation> reservation;  // else: the room that will be held for it
};

class Reclaim {
 public:
  Reclaim(RoundState& state, Seconds now);

  // Nothing = no room can be made, and nothing has changed. Else the victims that stop now have ended in `state`, those
  // with a grace are marked as stopping, and b's tasks are in the ledger, uncommitted, when it can start now.
  std::optional<RoomMade> make_room(const Job& job);

 private:
  RoundState& state_;
  Seconds now_;
  std::vector<std::int64_t> lost_;  // milli-GPU-seconds, by queue, this hour
};

}  // namespace berth
