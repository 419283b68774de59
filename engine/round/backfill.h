// What a job that may start but does not fit means for those behind it.
//
// greedy            nothing: whoever fits starts.
// none              nobody behind it starts; none_per_queue: nobody of its queue.
// easy              the first such job gets a reservation: the nodes and devices on which it will fit earliest when
// running
//                   jobs end as expected (expected_end_of), and the time. A job behind it may start if it ends by then
//                   as far as is known, or takes nothing of what is reserved.
// conservative      the same for the first `backfill_depth` such jobs.
//
// A reservation keeps its nodes from round to round unless an earlier start is found elsewhere, and is gone when its
// job starts, ends, or is no longer blocked first. When its time has come and the nodes are still in use - something
// outran its prediction - nothing may be started on them any more. Hence the promise: from the moment it gets a
// reservation, a job waits at most until everything then running, or started before its reserved time on its nodes,
// has ended, whatever arrives later (proof in backfill.cpp, held by a property test).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/round/round_state.h"

namespace berth {

struct BackfillAttempt {
  JobOutcome outcome;            // in the ledger, not yet committed, when started
  std::int64_t would_delay = 0;  // it would fit, but delay the reservation of this job
};

class Backfill {
 public:
  // `kept`: reservations made by earlier rounds.
  Backfill(RoundState& state, std::span<const Reservation> kept, Seconds now);

  // Places the job without delaying a reservation of another job. A job with a reservation of its own may use what is
  // reserved for it.
  BackfillAttempt place(const Job& job);
  // The job may start, but does not fit.
  void note_blocked(const Job& job);
  // Nobody of this queue is to be tried any more, because of that job; 0 = go on.
  std::int64_t closed_by(std::int32_t queue) const;
  // Nobody at all is to be tried any more.
  bool closed() const { return closed_by_ != 0; }

  // When the job is expected to start; nothing = it has no reservation.
  std::optional<Seconds> expected_start(std::int64_t job) const;
  // What holds after this round, in job order.
  std::vector<Reservation> reservations() const;
  // Room made by evicting others that are still stopping.
  void hold(Reservation reservation);

 private:
  RoundState& state_;
  Seconds now_;
  std::int64_t closed_by_ = 0;
  std::vector<std::int64_t> closed_queues_;  // by queue: the job that blocks it; empty = none
  std::vector<Reservation> reservations_;
};

}  // namespace berth
