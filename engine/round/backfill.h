// What a job that may start but does not fit means for those behind it.
//
// greedy            nothing: whoever fits starts.
// none              nobody behind it starts; none_per_queue: nobody of its queue. A job that does not fit even when
//                   everything has ended, on nodes as they are now, holds nobody.
// easy              the first such job gets a reservation: the nodes and devices on which it will fit earliest when
//                   running jobs end as expected (expected_end_of), and the time. A job behind it may start if it ends
//                   by then as far as is known, or takes nothing of what is reserved.
// conservative      the same for the first `backfill_depth` such jobs, in order; none delays one before it.
//
// A reservation is kept from round to round, and is gone when its job starts or is no longer blocked; with easy, when
// it is no longer the first. The first one's time is a promise: it never moves later. Its nodes move only to where the
// job will start earlier. Once its time has come it is due: nothing starts on its nodes any more, and it moves only to
// nodes on which all that is in the way ran when it fell due. The others (conservative) are planned anew every round.
// Jobs that never fit get none, however much ends.
//
// Who is first. Orders that sort jobs by a key of each (QueueOrder::keyed) put a job before another by what it is: the
// reservation goes to a new first, and jobs before it in the order pass. Where ranks move with what queues use
// (fair_share, drf, wpai, scripts) a queue that has just given something back would pass every time. There one counts
// as first until it starts, and its reservation binds from the start of the pass once it is due; then the turn is that
// of the highest rank among the jobs that the pass finds waiting for room, unless one came before it by far more than
// reservation_ttl (24 times), which bounds how long ranks alone can keep a job waiting, or its queue uses nothing: such
// queues rank alike. Jobs of a higher class of its own queue that the order puts before it go first all the same,
// within that bound: it would be evicted for them. With none, the first closes the pass from its start. With
// conservative the others' reservations hold in one pass alone, and the first is promised the time at which it would
// start without them. Were they kept, ranks would choose another first in every round, and its time would lie behind
// all of theirs.
//
// The first job of a queue that its quota or a limit refuses (limit_holds.h) gets a reservation without tasks: later
// jobs of that queue, and of those below where the limit is, do not take what it waits for.
//   easy, conservative     they may end before it is expected to be admitted, or take what is spare beside it.
//   none, none_per_queue   none of them starts, but for owners to whom it gives way as below.
//   greedy                 they take what they can.
// A reservation of nodes holds room under limits in the same way. While a limit refuses the job for what has passed it
// alone, once it was due, or until no later than it falls due, the job keeps its nodes: else it would have the one or
// the other, never both.
//
// The reservation of a job that would borrow gives way to a job of another queue within its quota (give_way()), which
// gets one itself when it does not fit even so. Of two teams that both borrow it gives way where it exceeds a quota of
// a queue above both, and the other does not. It does so until it has been due for RoundRules::reservation_ttl: then
// that one waits, until all has ended that ran by then and the borrower has started, which may be reclaimed from as
// ever. Only as long as that is known: while something in its way runs on for reservation_ttl after it was to have
// ended, it gives way again. What it gives way with is for that job alone; for all others it holds on.
// Idle devices there are not for it, nor processors and memory that the first one will want of what is idle. What
// borrowers hold that run there is: it takes that back (Keep::kIdle), also behind a borrower that closes the pass.
// Owners so wait for no borrower's end, and what is in the first one's way becomes less each time, so that it starts.
// Where those whom it could evict come before the first one in the order and so would take what is idle, the owner
// takes that itself, and nobody is evicted in vain. So it does behind a closer that came, or was evicted, not
// reservation_ttl ago: else the closer would start for as long as nobody may evict it, and one owner at a time would
// have the room.
//
// A borrower that was evicted again steps back: for reservation_ttl more with each eviction but the first, at most 24
// times, it reserves and closes nothing. Else an owner who always has the next job would evict it as often as it comes,
// and the room that drains for it would be idle for longer than it runs.
//
// A reservation for a job whose victims are stopping (kEviction) holds its tasks against everybody, those before it in
// the order too, until it expires. Its victims hold what they have until they stop: nobody else counts on that before.
// Its job is looked at before all others; elsewhere it keeps off what those before it in the order have reserved.
//
// The promise: a job that stays first and fits when everything has ended starts at the latest in the round after
// everything that ran when its reservation fell due has ended, whatever arrives later; one that borrows, after what ran
// when it stopped giving way.
//   1. A reservation exists from the first round in which the job is blocked first: the search ends at the latest when
//      everything has ended. It falls due at the time T first named, or earlier, for the time never moves later.
//   2. Let S be what runs when it falls due. From then on only tasks of S are in its way: on its nodes nothing starts,
//      and when it moves, then to where the rest of S, ended, leaves room for it.
//   3. S does not grow, but by owners while it is late. A job within its quota that takes something back replaces
//      borrowers of S. It cannot be replaced in the same way, so this happens at most once for each of them. When all
//      of S and these jobs have ended, what is reserved is free, and the job is placed on exactly that if the placer
//      finds nothing better.
//   4. While something of S is late, a job may pass that its time limit ends by the time at which all of S is expected
//      to have ended now: now and as long again as that is late. So what passes delays the job by less than S does. Who
//      would stay for longer does not take back from those that pass. While nothing of S is late, as where an owner has
//      taken the room for longer, those may pass that are expected to end by then.
// Before T, whatever starts either leaves what is reserved free at T, or is believed to end by T; if it does not, it is
// in S. The same holds for those who take something back there: other evictions keep off reserved nodes. Who was
// evicted there waits again, and passes the job if it gives way to that one. Assumes that
// reserved nodes stay up and that the job is not altered. Where ranks move, reservations are served by age, and an
// older one is not bound by a younger: a job with a reservation waits for those older than it, each of them once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/policy/policy.h"
#include "engine/round/closed_nodes.h"
#include "engine/round/limit_holds.h"
#include "engine/round/round_state.h"
#include "engine/round/timeline.h"

namespace berth {

struct BackfillAttempt {
  JobOutcome outcome;            // in the ledger, not yet committed, when started
  std::int64_t would_delay = 0;  // it would fit, but delay the reservation of this job
};

// What earlier rounds reserved.
struct KeptReservations {
  std::span<const Reservation> reservations;  // of jobs that still wait
  std::span<const Job> jobs;                  // in id order; all that have one, perhaps others
  const QueueOrder* order = nullptr;          // of the pass; null: by a key, of which nothing is known
  const OrderInput* input = nullptr;          // what it looks at

  // Of jobs that wait, with what queues use.
  bool ranks_move() const { return order != nullptr && order->keyed() == nullptr; }
};

// A job that was evicted n times reserves and closes nothing where it borrows until n - 1 times reservation_ttl after
// its last eviction, at most 24 times.
Seconds steps_back_until(const Job& job, const RoundRules& rules);

class Backfill {
 public:
  // Cheap when nothing is kept.
  Backfill(RoundState& state, const KeptReservations& kept, Seconds now);

  // The pass looks at this job now. `is_last`: not again.
  void turn_to(const Job& job, bool is_last);

  // Places the job without delaying a reservation of another job. A job with a reservation of its own may use what is
  // reserved for it, unless it `is_part` of one.
  BackfillAttempt place(const Job& job, bool is_part = false);
  // The job may start, but does not fit or would delay another. True when it got a reservation.
  // `borrows`: it would start beyond its quota.
  bool note_blocked(const Job& job, bool borrows);
  // The job would start, but comes later: it keeps what it has, and closes nothing meanwhile.
  void note_later(const Job& job);
  // It has waited, with its reservation or as first in line, for so long that it gives way to nobody.
  bool withstands(const Job& job) const;
  // The job borrows, and does not start: see LimitHolds::hold_quota().
  void hold_quota(const Job& job, const LimitHolds::ServedWithout& served_without);
  // An earlier job of its queue waits for quota that this one would use: it takes nothing back on that.
  bool is_quota_held(const Job& job) const { return !holds_room_for(job.id) && limits_.is_quota_held(job); }
  // Nor does it start on that: who waits; 0 = it may.
  std::int64_t starts_behind(const Job& job) const { return holds_room_for(job.id) ? 0 : limits_.starts_behind(job); }
  // The job is not looked at, since another closes the pass. True: it is to be tried all the same.
  bool note_closed(const Job& job);
  // It asks for the same as the first, which is still to come and may fare better.
  bool is_like_first(const Job& job) const;
  // It would fit if all that runs ended, on nodes as they are now.
  bool fits_one_day(const Job& job);
  // Its quota or a limit refuses the job.
  void note_refused(const Job& job, const QuotaVerdict& refusal);
  // Who asks: `borrows` anywhere on its path. Against a queue elsewhere in the tree it may be an owner all the same:
  // there what counts is the quota of its queue below the lowest common ancestor of both, as for what it takes back.
  struct Asker {
    const Job& job;
    bool borrows;
    int within = 0;  // whatever models it is placed on, the quotas of so many queues of its path, from the root down
  };
  // The reservation of that one holds nothing until the next job's turn, if it gives way to the job; else those that
  // do: what they hold may be elsewhere.
  bool give_way(std::int64_t holder, const Asker& asker);
  // The same for every one that has something on the nodes of these tasks.
  void give_way_to(const Asker& asker, std::span<const PlacedTask> placed);
  // A job placed has been started in the state.
  void note_started(const Job& job, std::span<const PlacedTask> placed);
  // Others have been evicted in the state.
  void note_evicted() { forget_timeline(); }

  // The job is not to be tried any more, because of that one; 0 = go on, as for all that room was made for.
  std::int64_t closed_by(const Job& job) const;
  // Nobody at all is to be tried any more.
  bool closed() const {
    return closed_by_ != 0 && !is_closer_to_come_ && !is_first_new_ && !is_passed_by_class_ && !may_take_back() &&
           promises().empty();
  }

  // Room made for the job by evicting others that are still stopping.
  void hold(Reservation reservation, const Job& job);
  // Room is held for the job until its victims have stopped.
  const Reservation* promise_to(std::int64_t job) const;  // null = there is none
  bool holds_room_for(std::int64_t job) const;
  // Somebody who makes room for the job is still to stop.
  bool has_victims_left(std::int64_t job) const;
  // Of this pass so far.
  bool has_reservation(std::int64_t job) const;
  // Those that room is held for, in id order.
  std::vector<std::int64_t> holders() const;

  // When the job is expected to start; nothing = it has no reservation.
  std::optional<Seconds> expected_start(std::int64_t job) const;
  // What holds after this round, in job order.
  std::vector<Reservation> reservations();

  // While it lives, evictions for the job keep off what is reserved for others and does not give way to it, unless the
  // job leaves it in time (left_in_time_by()). Where room is promised (kEviction), they leave idle what the promise
  // will need at its time. Where it is reserved otherwise, kNodes: they keep off the nodes. kIdle: where borrowers of
  // other queues have reserved, they keep only off idle devices, and off the processors and memory that will be wanted
  // there. So the job gets no more devices than it takes back.
  enum class Keep : std::uint8_t { kNodes, kIdle };
  class Fence {
   public:
    // `may_take_idle`: behind one that closes the pass, the job gets what is idle, too.
    Fence(Backfill& backfill, const Asker& asker, Keep keep = Keep::kNodes, bool may_take_idle = false);
    ~Fence();
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;

   private:
    // All idle devices, and of what else is idle no more than that.
    void take_idle(NodeIndex node, MilliCpu cpu, MiB memory);
    void take(std::span<const Holding> idle);

    Ledger& ledger_;
    ClosedNodes closed_;
    std::vector<Holding> taken_;
  };
  // A borrower closes the pass: the job, of a queue, may still take back what others hold. Not where its use would
  // count against a limit of the borrower, or of one that closes its queue: they wait for such use to end.
  bool may_take_back(const Job& job) const;
  // Where that is so, and the closer has not waited for reservation_ttl: what is idle is theirs, too.
  bool closer_gives_way() const;
  // Where that is so: the job would be tried before the one that closes the pass, and so takes what is idle.
  bool comes_before_closer(const Job& job) const;
  // Some borrower keeps room from the one that asks, also of his own queue.
  bool is_kept_for_borrowers(const Asker& asker) const;
  // The job comes before all of them, and so takes what is idle there.
  bool comes_before_borrowers(const Job& job, const Asker& asker) const;
  // The job whose due reservation binds all others, or that closes the pass, from its start, and gives way to nobody.
  std::optional<std::int64_t> bound() const;
  // Rows of jobs that room is held for until their victims have stopped.
  std::vector<const Reservation*> promises() const;
  // Who has passed such borrowers by his time limit, on what is reserved for them. The job would stay there for longer:
  // it takes nothing back from them.
  std::vector<std::int64_t> passers_of(const Asker& asker) const;
  // Some borrower of another queue keeps room from the job that it does not give way to.
  bool is_withstood(const Asker& asker) const;
  // What borrowers have reserved holds nothing for this job's turn.
  void set_borrowers_aside(const Asker& asker);
  // What was set aside holds again, from when what came in its way leaves; so it does at the next job's turn.
  void hold_again();
  // The jobs whose reservations the job leaves in time: it has ended when they start, though its victims get the
  // longest grace. So it may take something back there, as it may start on what is idle there.
  std::vector<std::int64_t> left_in_time_by(const Job& job) const;
  // Evictions for it keep off a reservation that a shorter job would leave in time.
  bool would_matter_if_shorter(const Asker& asker) const;
  // The one that closes the pass borrows from the job.
  bool is_closed_by_guest_of(const Asker& asker) const;

 private:
  struct Held {
    Reservation reservation;
    Seconds start;     // when the job will start as far as is known; later than promised when something runs on
    Seconds duration;  // of the job
    bool is_due = false;
    Timeline::PassBy passes = Timeline::PassBy::kExpectedEnd;  // which end of other jobs counts
    bool borrows = false;
    bool gives_way = false;   // to jobs of other queues within their quota
    bool came_back = false;   // its job was evicted before
    std::int32_t queue = -1;  // of the job
  };
  // Made by an earlier round, for backfill.
  struct Kept {
    Reservation reservation;
    const Job* job = nullptr;  // null where ranks do not move
    bool is_settled = false;   // its job was looked at in this pass
  };
  // While it lives, a promised job that looks elsewhere is bound by the reservations of those before it in the order,
  // which the pass has not looked at yet; where ranks move, by that of the first.
  class RowsBefore {
   public:
    RowsBefore(Backfill& backfill, const Job& job);
    ~RowsBefore();
    RowsBefore(const RowsBefore&) = delete;
    RowsBefore& operator=(const RowsBefore&) = delete;

   private:
    Backfill& backfill_;
    std::vector<std::int64_t> bound_;
  };
  struct Refusal {
    Timeline::TaskEnd end;  // of the last that was refused
    std::int64_t would_delay = 0;
  };

  bool withstands(const Held& held, const Asker& asker) const;
  template <class Frees>
  Holding wanted_of_idle(Holding wanted, NodeIndex node, const Frees& frees) const;
  Holding wanted_by(const Held& held, NodeIndex node) const;
  Holding wanted_by_closer(NodeIndex node) const;
  std::optional<std::vector<Holding>> kept_for_promises(NodeIndex node, const Job& job) const;
  bool keeps_for_borrower(const Held& held, const Asker& asker) const;
  bool comes_before(const Job& job, const Job& other) const;

  using Age = std::pair<Seconds, std::int64_t>;  // since when it is in line, and id
  static Age age_of(const Job& job) { return {job.in_line_since(), job.id}; }
  struct Waiter {
    Job job;
    bool borrows = false;
  };

  struct Behind {
    Job job;
    QuotaVerdict refusal;
  };

  // Nobody of some queues is tried behind it.
  struct QueueCloser {
    std::int64_t job = 0;  // 0 = there is none
    std::int32_t queue = -1;
    Amounts demand;
    Seconds end;
    bool withstands = false;
  };

  // A gang was found to start then at the earliest: one of the same kind that is no smaller and runs no shorter will
  // not start earlier.
  struct Booking {
    std::int32_t tasks = 0;  // of its first group
    Seconds duration;
    Seconds start;
  };

  // `duration`: of the job.
  void hold(Reservation reservation, Seconds duration);
  Seconds end_of(const Job& job) const;
  Seconds end_of_told(const RunningJob& job) const;
  // By its time limit; kNever = it has none.
  Seconds certain_end_of(const Job& job) const;
  Timeline& timeline();
  void forget_timeline();
  void add_to_timeline(const Held& held);
  void begin_with_kept();
  // Room was made for it behind a job that closes the pass, or beside a reservation that is due, which does not give
  // way to it: what is idle there is not for it.
  bool waits_for_its_victims(const Job& job) const;
  // The reservation does not give way to the job that asks. is_due_before(): it is due as well.
  bool binds(const Kept& kept, const Asker& asker) const;
  bool is_due_before(const Kept& kept, const Asker& asker) const;
  Asker asker_of_promise(const Job& job) const;
  // When the reserved room is free. Guests whom the job may evict delay that no longer than to the promised time.
  Seconds free_from(const Reservation& row, const Job& job, bool borrows, Seconds duration);
  // Mode none, or none_per_queue: all that wait before the job borrow what it may take back, and give way to it.
  bool is_first_among_owners(const Asker& asker) const;
  // The nodes of reservations of others that are due.
  void close_due_nodes(const Job& job, ClosedNodes& closed) const;
  // `admitted`: when its limits admit it. False = what is reserved is not room for the job.
  bool bind(const Reservation& row, const Job& job, bool borrows, Seconds admitted);
  // A limit refuses the job until then, for what passes it or until it falls due: it keeps its turn and the nodes that
  // are reserved for it, or gets some once it is due.
  std::optional<Seconds> keeps_its_nodes(const Job& job, const Reservation& row, const QuotaVerdict& refusal) const;
  void close(const Job& job, bool borrows);
  // It was evicted again, and closes and reserves nothing for a while.
  bool steps_back(const Job& job, bool borrows) const;
  bool may_take_back() const;
  void close_branch(const Job& job, std::int32_t branch);
  bool gives_way_to(const QueueCloser& closer, const Job& job) const;
  void close_limit(const Job& job, const QuotaVerdict& refusal, Seconds made_at);
  bool gives_way(bool borrows, const Reservation& row) const;
  // Something on its nodes runs on for reservation_ttl after it was to have ended: nobody knows for how long.
  bool waits_for_late(const Reservation& row) const;
  // The same for a job that has no nodes: it fits only when such jobs have ended.
  bool waits_for_late(const Job& job) const;
  bool is_late(const RunningJob& run) const;
  // One that is first in line, where it borrows and such a mode has no reservation to tell.
  bool gives_way_as_first(const Job& job) const;
  // One of its department is late so, or of its queue where that is all.
  bool shares_limits_with_late(const Job& job) const;
  // The job asks for more than its limits allow, or it has held room in vain that owners do not lend.
  bool is_over(const Job& job, const Reservation& row, const QuotaVerdict& refusal) const;
  const Reservation* find_row(std::int64_t job) const;
  const Reservation* row_of(const Job& job) const { return find_row(job.id); }
  const Reservation* kept_for(const Job& job) const;
  // Nobody is first, or a job that this pass made first and that came later; that one is none any more.
  bool takes_turn(const Job& job);
  void note_waiter(const Job& job, bool borrows);
  // The first starts, or does not wait for room any more: the turn is the next one's.
  void end_turn();
  // It came before the one whose rank is the highest, and its age counts: so long before, or its queue uses nothing.
  bool goes_by_age(const Job& job, const Age& ranked) const;
  // Of one queue: the job is of a higher class, and comes before that one in the order.
  bool goes_by_class(const Job& job, const Job& first) const;
  bool higher_class_waits(const Job& first) const;
  bool is_passed_by_class(const Job& first) const;  // also by surplus tasks of one that runs
  bool uses_nothing(std::int32_t queue) const;
  void drop_waiter(std::int64_t job);
  // Another job holds room under the limit that refuses this one. When that job starts, the limit is held for the first
  // of those that it refused, or for an older one that goes before it. Jobs that the pass tries later come after them.
  void note_behind(const Job& job, const QuotaVerdict& refusal);
  // This pass gave the limit to `holder`, and the job goes before that by its age.
  bool goes_before_holder(const Job& job, std::int64_t holder);
  // Where that is so, the holder has the limit no more.
  bool take_limit_over(const Job& job, std::int64_t holder);
  // The same for a job of a queue that the holder closes. True: no limit refuses the job itself, it needs its turn
  // alone.
  bool take_queues_over(const Job& job);
  void pass_limit_on(const Job& started);
  void make_first(const Job& job, bool is_new);
  bool close_behind(const Job& job, bool borrows);
  void keep_room_under_limits(const Job& job, const Reservation& row);
  // What the next round is to know of it. Where ranks move, a job without the turn keeps no nodes: the next round plans
  // it anew. It keeps the place under limits that it had before.
  Reservation for_next_round(const Reservation& held) const;
  // With conservative: the first is promised the time at which it would start if nobody else had anything reserved.
  void promise_alone();
  void set_first(const Job& job) {
    first_ = job.id;
    first_job_ = job;
  }
  // Where keeps_its_nodes() says so, and it has the turn.
  bool keep_nodes(const Job& job, const Reservation& row, const QuotaVerdict& refusal);
  // Its reservation stays without the tasks.
  void keep_row(const Job& job, Reservation row);
  void drop_held(std::int64_t job);
  // Now, or again when this turn is over.
  bool is_held(std::int64_t job) const;
  bool is_owner_against(const Asker& asker, std::int32_t queue) const;
  // A borrower of another queue, who was evicted before, has something reserved or holds a limit of the job.
  bool is_behind_evicted(const Job& job) const;
  bool gives_way_to(const Held& held, const Asker& asker) const;
  // Calls visit(run) once for each job that runs on reserved devices.
  template <class Visit>
  void for_each_in_the_way(const Reservation& row, const Visit& visit) const;
  // Jobs pass a due reservation by their time limit if something in its way is late, else by their expected end.
  Timeline::PassBy passes_by(const Reservation& row) const;
  bool leaves_in_time(const Held& held, const Job& job) const;
  // Of those that may be evicted in this pass.
  Seconds longest_grace() const;
  // Of another queue, and it borrows from that of the job.
  bool is_guest_of(const Held& held, const Job& job) const;
  // From others than the queues above both, and the job does not: of two teams of one department.
  bool borrows_above(const Held& held, const Job& job) const;
  template <class Which>
  bool set_aside(const Which& which);
  std::int64_t delayed_by(std::span<const PlacedTask> placed, Timeline::TaskEnd end, std::int64_t job);
  JobOutcome place_beside_reservations(const Job& job, Timeline::TaskEnd end);
  // On exactly what is reserved for it, if that is free.
  bool place_as_reserved(const Job& job, Timeline::TaskEnd end, JobOutcome& outcome);
  std::int64_t backfilled() const;  // reservations made because a job was blocked
  // `admitted`: when its limits admit it at the earliest.
  bool reserve(const Job& job, bool borrows, bool is_first, Seconds admitted);
  // Of gangs of which Bookings speak together.
  std::vector<Booking>& bookings_of(const Job& gang);

  RoundState& state_;
  Seconds now_;
  std::span<const Job> jobs_;  // see KeptReservations
  const QueueOrder* order_;
  const OrderInput* input_;
  bool ranks_move_;
  LimitHolds limits_;
  std::int64_t closed_by_ = 0;
  bool is_closer_to_come_ = false;   // it is still to be tried
  bool is_passed_by_class_ = false;  // somebody may pass it all the same
  bool does_closer_borrow_ = false;
  std::optional<Job> closer_;
  std::vector<QueueCloser> closed_queues_;                   // by queue; empty = none
  std::int64_t first_ = 0;                                   // where ranks move: see above; 0 = none
  bool is_first_new_ = false;                                // this pass made it first
  Job first_job_;                                            // the last first
  std::optional<Waiter> oldest_;                             // where ranks move: of the jobs that wait behind the first
  std::optional<Waiter> highest_;                            // of them in rank
  std::vector<std::pair<std::int64_t, Age>> new_at_limits_;  // where ranks move: whom this pass gave a limit
  std::vector<Behind> behind_;                               // in the order of the pass; see note_behind()
  std::set<std::int64_t> holders_back_;                  // that hold limits in this pass, and borrow after an eviction
  std::map<DemandKey, bool> fits_one_day_;               // by queue and what they ask for
  std::vector<Kept> kept_;                               // oldest first; count when their job is blocked again
  std::vector<Reservation> unbound_;                     // hold no nodes in this pass, and stay
  std::vector<Held> held_;                               // those that count
  std::vector<Held> set_aside_;                          // for the job whose turn it is
  std::optional<Timeline> timeline_;                     // made when first needed
  mutable std::optional<Seconds> longest_grace_;         // when asked for
  mutable std::map<std::int64_t, bool> waits_for_late_;  // by job; since the pass began
  std::map<DemandKey, Refusal> refused_;                 // jobs that would delay others, by what they ask for
  std::map<DemandKey, std::vector<Booking>> booked_;     // since room was last freed; by kind of gang
};

}  // namespace berth
