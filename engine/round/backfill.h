// What a job that may start but does not fit means for those behind it.
//
// greedy            nothing: whoever fits starts.
// none              nobody behind it starts; none_per_queue: nobody of its queue.
// easy              the first such job gets a reservation: the nodes and devices on which it will fit earliest when
//                   running jobs end as expected (expected_end_of), and the time. A job behind it may start if it ends
//                   by then as far as is known, or takes nothing of what is reserved.
// conservative      the same for the first `backfill_depth` such jobs, in order; none delays one before it.
//
// A reservation is kept from round to round, and is gone when its job starts or is no longer blocked; with easy, when
// it is no longer the first. The first one's time is a promise: it never moves later. Its nodes move only to where the
// job will start earlier. Once its time has come it is due: nothing starts on its nodes any more, and it moves only to
// nodes on which all that is in the way ran when it fell due. The others (conservative) are planned anew every round.
// Jobs refused by quota get none - quota is not room - nor do jobs that never fit, however much ends.
//
// The reservation of a job that would borrow gives way to a job within its quota (give_way()), which gets one itself
// when it does not fit even so.
//
// A reservation for a job whose victims are stopping (kEviction) holds its tasks against everybody, those before it in
// the order too, until it expires; the room of the victims counts as free for it from now on.
//
// The promise: a job within its quota that stays first and fits when everything has ended starts at the latest in the
// round after everything that ran when its reservation fell due has ended, whatever arrives later.
//   1. A reservation exists from the first round in which the job is blocked first: the search ends at the latest when
//      everything has ended. It falls due at the time T first named, or earlier, for the time never moves later.
//   2. Let S be what runs when it falls due. From then on only tasks of S are in its way: on its nodes nothing starts,
//      and when it moves, then to where the rest of S, ended, leaves room for it.
//   3. S does not grow. When all of S has ended, what is reserved is free, and the job is placed on exactly that if
//      the placer finds nothing better.
// Before T, whatever starts either leaves what is reserved free at T, or is believed to end by T; if it does not, it is
// in S. Evictions for others keep off reserved nodes. Assumes that reserved nodes stay up and that the job is not
// altered; for a job that borrows, that nobody within quota needs the room.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/round/round_state.h"
#include "engine/round/timeline.h"

namespace berth {

struct BackfillAttempt {
  JobOutcome outcome;            // in the ledger, not yet committed, when started
  std::int64_t would_delay = 0;  // it would fit, but delay the reservation of this job
};

class Backfill {
 public:
  // `kept`: reservations made by earlier rounds, of jobs that still wait. Cheap when none was made for an eviction.
  Backfill(RoundState& state, std::span<const Reservation> kept, Seconds now);

  // Places the job without delaying a reservation of another job. A job with a reservation of its own may use what is
  // reserved for it.
  BackfillAttempt place(const Job& job);
  // The job may start, but does not fit or would delay another. True when it got a reservation.
  // `borrows`: it would start beyond its quota.
  bool note_blocked(const Job& job, bool borrows);
  // For a job within its quota: drops the reservation of that job if it is one for backfill and the job would borrow.
  bool give_way(std::int64_t job);
  // The same for every one that has something on the nodes of these tasks.
  void give_way_to(std::span<const PlacedTask> placed);
  // A job placed has been started in the state.
  void note_started(const Job& job, std::span<const PlacedTask> placed);
  // Others have been evicted in the state.
  void note_evicted() { forget_timeline(); }

  // Nobody of this queue is to be tried any more, because of that job; 0 = go on.
  std::int64_t closed_by(std::int32_t queue) const;
  // Nobody at all is to be tried any more.
  bool closed() const { return closed_by_ != 0; }

  // Room made by evicting others that are still stopping.
  void hold(Reservation reservation);
  // Room is held for the job until its victims have stopped.
  bool holds_room_for(std::int64_t job) const;
  // Those jobs, in id order.
  std::vector<std::int64_t> holders() const;

  // When the job is expected to start; nothing = it has no reservation.
  std::optional<Seconds> expected_start(std::int64_t job) const;
  // What holds after this round, in job order.
  std::vector<Reservation> reservations() const;

  // Closes the nodes on which something is reserved for other jobs than this, while it lives; not what gives way to it.
  class Fence {
   public:
    Fence(Backfill& backfill, std::int64_t job, bool borrows);
    ~Fence();
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;

   private:
    Ledger& ledger_;
    std::vector<NodeIndex> closed_;
  };

 private:
  struct Held {
    Reservation reservation;
    Seconds start;     // when the job will start as far as is known; later than promised when something runs on
    Seconds duration;  // of the job
    bool is_due = false;
    bool borrows = false;

    bool gives_way() const { return borrows && reservation.kind == ReservationKind::kBackfill; }
  };
  struct Refusal {
    Seconds end;  // of the job that ended earliest among those refused
    std::int64_t would_delay = 0;
  };

  // A gang was found to start then at the earliest: one of the same kind that is no smaller and runs no shorter will
  // not start earlier.
  struct Booking {
    std::int32_t tasks = 0;  // of its first group
    Seconds duration;
    Seconds start;
  };

  Seconds end_of(const Job& job) const;
  Seconds end_of_told(const RunningJob& job) const;
  Timeline& timeline();
  void forget_timeline();
  void add_to_timeline(const Held& held);
  const Reservation* kept_for(const Job& job) const;
  std::int64_t delayed_by(std::span<const PlacedTask> placed, Seconds end, std::int64_t job);
  JobOutcome place_beside_reservations(const Job& job, Seconds end);
  // On exactly what is reserved for it, if that is free.
  bool place_as_reserved(const Job& job, Seconds end, JobOutcome& outcome);
  std::int64_t backfilled() const;  // reservations made because a job was blocked
  bool reserve(const Job& job, bool borrows);
  // Of gangs of which Bookings speak together.
  std::vector<Booking>& bookings_of(const Job& gang);

  RoundState& state_;
  Seconds now_;
  std::int64_t closed_by_ = 0;
  std::vector<std::int64_t> closed_queues_;  // by queue: the job that blocks it; empty = none
  std::vector<Reservation> kept_;            // of earlier rounds, for backfill: count when their job is blocked again
  std::vector<Held> held_;                   // those that count
  std::optional<Timeline> timeline_;         // made when first needed
  std::map<DemandKey, Refusal> refused_;     // jobs that would delay others, by what they ask for
  std::map<DemandKey, std::vector<Booking>> booked_;  // since room was last freed; by kind of gang
};

}  // namespace berth
