// One pass over the waiting jobs at one moment: who starts, who is evicted for it, who waits and why.
//
// The one piece of deciding code that live rounds, plans, explanations and simulations share. Per job: does it depend
// on others; may its queue start it (QuotaLedger::judge); does it fit without delaying a reservation (Backfill); can
// room be made for it (Reclaim). Where quotas divide the device models, a job is placed on its queue's own before it
// borrows others. One that an assertion refused not long ago (RoundSetup::refused) starts if it fits, and means nothing
// for others while it waits. The caller brings first (promised()) the jobs for which victims were told to stop, and the
// one whose due reservation binds all others from the start: what it leaves is for them in their order. Then come
// all others in the order policy's sequence, each once.
//
// Evictions for a job may free more than it takes, and jobs tried before it were not there to take the rest
// (leaves_room()). A second pass at the same moment gives it to them: all that wait and are not promised room are tried
// again, as a round after this one would. Who borrows from an owner who waits starts in the second pass only, and so do
// elastic jobs that run and borrow for more tasks: an owner behind them in the order would take that back, from them or
// from others who have run for longer. For such a borrower others may be evicted then, who finds no idle room any more;
// for nobody else. What that leaves is for the next round.
//
// Who borrows from its team may own what it takes from other departments. So of those put off by one pass owners come
// before borrowers in the next, too, and a tree of n levels takes up to n + 1 passes.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/round/backfill.h"
#include "engine/round/demand_classes.h"
#include "engine/round/owners_waiting.h"
#include "engine/round/quota_placing.h"
#include "engine/round/reclaim.h"
#include "engine/round/round_state.h"

namespace berth {

struct PassOutcome {
  bool started = false;            // or gained tasks
  std::vector<PlacedTask> placed;  // the new ones
  Waiting waiting;  // why not, when not everything it needs was placed; kNone: ask the nodes (explain_shape)
  std::optional<QuotaVerdict> refusal;  // when a quota refuses it
  bool keeps_room = false;  // its failure says nothing about jobs that ask for the same (a reservation, a budget)
};

class Pass {
 public:
  Pass(RoundState& state, const KeptReservations& kept, Seconds now);
  // What a pass leaves to the next.
  struct Rest {
    std::optional<Reclaim> reclaim;          // with what it knows of victims
    std::unordered_set<std::int64_t> later;  // who was put off for owners
    int passes = 0;                          // of this moment so far
  };
  // The next one. `kept`: those of the one before.
  Pass(RoundState& state, const KeptReservations& kept, Seconds now, Rest rest);
  Rest take_rest() { return {std::exchange(reclaim_, std::nullopt), std::move(put_off_), passes_before_ + 1}; }

  // Jobs that are tried before the order is asked, in id order; of a later pass those that are not tried again.
  std::vector<std::int64_t> promised() const;
  bool holds_room_for(std::int64_t job) const { return backfill_.holds_room_for(job); }
  // `may_evict`: room may be made for it by evictions, as far as the rules say so. `levels`: see
  // JobSequence::levels_within_quota; above 0 nobody is evicted for it, and that it does not start means nothing for
  // others.
  PassOutcome try_job(const Job& job, bool may_evict = true, int levels = 0);
  // Evictions freed more than was taken, after somebody had been tried in vain, or somebody may borrow when owners have
  // been tried: another pass is due.
  bool leaves_room() const { return leaves_room_; }
  bool is_first() const { return passes_before_ == 0; }
  // It is tried in the next pass, when owners have been.
  bool is_put_off(std::int64_t job) const { return put_off_.contains(job); }
  // Somebody could be evicted for somebody.
  bool may_evict() const { return reclaim_ && reclaim_->has_a_cause(); }
  // Who may be evicted for the job now, as far as that is no matter of place.
  MayEvict may_evict_for(const Job& job) const;
  // Nobody behind is to be tried.
  bool closed() const { return backfill_.closed(); }

  const std::vector<Eviction>& evictions() const { return evictions_; }
  std::vector<Reservation> reservations() { return backfill_.reservations(); }
  // When a job with a reservation is expected to start; nothing = it has none.
  std::optional<Seconds> expected_start(std::int64_t job) const { return backfill_.expected_start(job); }

 private:
  void count_promises(const KeptReservations& kept);
  PassOutcome decide(const Job& job, bool may_evict, int levels);
  // The job, or without its surplus where an assertion refuses that.
  const Job& wanted_of(const Job& job);
  struct Placing {
    QuotaPlacing result;
    std::int64_t would_delay = 0;
  };
  // Who asks for a place, of those whose reservations may give way to it (Backfill::Asker).
  enum class Claim : std::uint8_t {
    kOwner,     // it borrows nowhere
    kBorrower,  // somewhere on its path
    kUnknown,   // that depends on where it is placed: none gives way to it
  };
  // Within the quotas of `levels` queues of its path.
  Placing place(const Job& job, Seconds end, int levels, Claim claim);
  // On the models of its queues before others, as far as `levels` lets it. Not started: the last try.
  Placing place_own_first(const Job& job, Seconds end, int levels, bool borrows);
  PassOutcome wait(const Job& job, Reason reason) const;
  PassOutcome refuse(const Job& job, const QuotaVerdict& verdict);
  PassOutcome start(const Job& job, std::vector<PlacedTask> placed);
  bool waits_for_victims(const Job& job) const;
  // It has quota left, and others would have to end where somebody else has a reservation: one that asks for the same
  // and ends sooner may fare better.
  bool would_take_back_if_shorter(const Job& job) const;
  // How a job asks for the room of others.
  struct Asking {
    Backfill::Asker asker;
    Seconds end = {};
    bool as_owner = false;        // see Reclaim::Search
    Reclaim::Price at_most = {};  // see there
    bool may_take_idle = false;   // see Backfill::Fence
    bool minds_return = false;    // nobody goes who would come back to what is idle
    bool comes_back = false;      // somebody would have
  };
  // One that borrows now may be an owner once lower classes of its queue have gone: what borrowers keep is open to it.
  struct Ways {
    const Job& job;  // what starts; the askers may ask for fewer models
    Asking asking;
    Asking as_owner;
    bool is_closed = false;  // a job before it closes the pass
    std::optional<RoomMade> room = {};
    bool is_owner_then = false;  // of the room: it was made as for an owner
  };
  // As the job asks, or else as an owner where that is no dearer than its price (Asking::at_most).
  void make_either(Ways& ways);
  void price_as_owner(Ways& ways);
  // Fills in `room`, if any can be made. An outcome: it took what is idle instead.
  std::optional<PassOutcome> look_for_room(Ways& ways);
  // Nothing = none, or with `price`, which is set then, it could be made.
  std::optional<RoomMade> make_room(Asking& asking, Reclaim::Price* price = nullptr);
  bool could_make_room(Asking& asking);
  // Nothing = no room could be made.
  std::optional<PassOutcome> evict_for(const Job& job, Backfill::Asker asker, Seconds end);
  std::optional<PassOutcome> take_back(const Job& job);
  bool would_come_back(std::span<const RunningJob* const> victims, const Asking& asking) const;
  // Instead of evicting somebody.
  std::optional<PassOutcome> take_idle(const Job& job, const Backfill::Asker& asker, Seconds end);
  void add_surplus(const Job& job, PassOutcome& outcome);
  // It runs, and would borrow for what it has to gain.
  bool grows_later(const Job& job);
  // The owners of what it would borrow are tried before it is.
  bool gives_way_to_owners(const Job& job);
  // It is tried again in the next pass.
  PassOutcome put_off(const Job& job, const Amounts& borrowed);
  // It would start now, but borrow from an owner who waits: what it would get. One that may choose between models
  // borrows what it would be placed on.
  std::optional<Amounts> starts_later(const Job& job, Seconds end, bool borrows);
  // What it has beyond its gang would.
  bool surplus_comes_later(const Job& job, Seconds end, bool borrows);
  bool minds_owners(const Job& job) const;
  // In a later pass only of who was put off.
  bool may_evict_in_this(const Job& job) const { return reclaim_ && (is_first() || later_.contains(job.id)); }
  // After so many passes owners among those who were put off still come before others who were.
  bool minds_later(int passes) const;
  // What it would be placed on now; nothing = it would neither start nor grow.
  std::optional<Amounts> would_use(const Job& job, Seconds end, bool borrows);
  // While it lives, quotas and limits are used as they will be when all have started for whom others are told to stop,
  // but for this job, and at least as now: they were admitted then, and what they were admitted to is not for others.
  class BesidePromised {
   public:
    BesidePromised(Pass& pass, std::int64_t job);
    BesidePromised(const BesidePromised&) = delete;
    BesidePromised& operator=(const BesidePromised&) = delete;
    ~BesidePromised();
    // One of them; 0 = there is none.
    std::int64_t first() const { return first_; }

   private:
    QuotaLedger& quotas_;
    std::vector<RoundState::Pledge> counted_;  // with one of its own, of those that are older
    std::int64_t first_ = 0;
  };
  // Its waiting means something for others; not of what an assertion refused not long ago, or keeps off nodes.
  bool has_claim(const Job& job) const {
    return !state_.is_refused(job.id, now_) && find_kept_off(state_.setup().kept_off, job.id) == nullptr;
  }
  // It waits; what that means for those behind.
  PassOutcome block(const Job& job, PassOutcome outcome, bool borrows);
  void note_refused(const Job& job, const QuotaVerdict& verdict);
  // The job is not within quota now.
  void hold_quota(const Job& job);
  std::int64_t queue_id(std::int32_t queue) const;

  RoundState& state_;
  Seconds now_;
  int passes_before_ = 0;  // at this moment
  Backfill backfill_;
  std::optional<Reclaim> reclaim_;          // where jobs may be evicted
  std::unordered_set<std::int64_t> later_;  // put off by the pass before
  OwnersWaiting owners_;
  std::unordered_set<std::int64_t> put_off_;  // by this one: borrows from an owner who waits
  std::vector<Eviction> evictions_;
  std::unordered_map<std::int64_t, Job> needed_only_;  // see wanted_of()
  bool somebody_waits_ = false;
  bool leaves_room_ = false;
};

}  // namespace berth
