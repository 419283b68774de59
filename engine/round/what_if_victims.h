// Which running jobs would have to end for a job to start, whatever the rules say about who may be evicted for whom.
//
// An admin who asks may break rules that rounds keep: minimum run times, budgets, whose quota it is. What stays is that
// the jobs are preemptible. A choice is a proposal, in id order; empty = no choice would do. what_if.h proves it by
// planning, and leaves out who is not needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/snapshot.h"

namespace berth {

struct ProposedVictim {
  std::int64_t job = 0;
  std::int64_t lost = 0;  // milli-GPU-seconds of work
};

// Those whose end lets `job` fit after all that start ahead of it, chosen as reclaim chooses (room_search.h).
// `blocker`, null = nobody: a waiting job that it may not pass or delay; then they fit side by side.
Result<std::vector<ProposedVictim>> victims_for_room(const Snapshot& snapshot, const Job& job,
                                                     const Job* blocker = nullptr,
                                                     const std::atomic<bool>* interrupted = nullptr);

// Those of the queue that refuses a job (Waiting::queue), or below that queue, which together use as much of what is
// short as the job lacks: those that lose least first, without those that turn out not to be needed.
Result<std::vector<ProposedVictim>> victims_for_quota(const Snapshot& snapshot, const Waiting& refused);

}  // namespace berth
