// Makes room for a job that does not fit, by evicting others: quota that is lent is taken back, and a higher priority
// class goes before a lower one of the same queue.
//
// Who may be evicted for job b (the beneficiary):
//   reclaim   a job v of another queue that runs on what it borrowed from b's (QuotaLedger::may_reclaim): once b runs
//             it is within its quota, and v does not count against the quota of its own - of an elastic v, if its gang
//             does but not what it has beyond, only that
//   priority  a job of the same queue with a strictly lower class; b counts against every quota that v counted against,
//             with the marks that lower classes of the queue give it when it starts (RoundState::start).
//             Not one that started while b waited because the order put it first, as by its age: b would end it as soon
//             as it may, and the next b again. One that was evicted before has its rest first: rests_until()
// and only if v is preemptible, is not stopping, has run for its minimum run time and, if evicted before, for the
// cool-down; started or grew in an earlier pass; by priority, never evicted b (EvictionTerms::evicted_for); and its
// queue has budget left for what v would lose. b's quota counts as far as it lasts until b's end. b must have waited
// for the pending delay, since it came or was evicted itself.
//
// A b that several device models suit takes back its queue's quota of any of them: it is tried as it is, and on the
// models of each quota with room alone. Where several ways make room, the one that costs least is taken.
//
// Victims are judged together: one eviction may be what allows the next. The first search looks at who may be evicted
// as things are, and adds victims where room is missing. Where that fails, a second search starts from the other end.
// For each set of queues on b's path it asks: if b were within the quotas of these, whom could it evict? All of them
// go, as far as budgets allow; does b fit then, and within these quotas? If so, each without whom it still fits is
// spared. So room is made wherever the rules allow it; sets of queues near b are tried first.
//
// Also where b is refused by quota - a limit, a borrow limit, what a lender keeps - it may be that evicting makes it
// admitted: a higher class takes the place of a lower one when their queue is at its limit.
//
// Evictions are decided only together with a complete placement of b's gang that its quota admits. The first search
// finds victims node by node, cheapest first (room_search.h, victims.h). Then, dearest first, each one without which b
// still fits is spared, in whole or in part. Last, the search spares each victim that is not in b's place if the quota
// lets b start beside it. So an owner may take idle room that borrowers have reserved without an eviction. What is
// freed is b's in the same step; when victims get a grace to write checkpoints, all stop when the last grace ends, and
// a reservation holds their room for b. Surplus tasks of elastic jobs end at once.
//
// Room that running jobs leave anyhow is on its way (room_to_come.h): b that it will do for waits for it.
//
// No ping-pong: a reclaiming b is marked (within quota) at the level at which v was not, marks last as long as a job
// runs, and what is marked is not evicted for another queue; by priority, classes strictly rise. So no job evicts one
// that evicted it, unless quotas have changed in between: then an owner comes back. Classes may change, too; there the
// list in EvictionTerms stands for the promise. Lost work per queue and hour is bounded by the budget: what this pass
// took counts at once. Surplus tasks that are left for last count when they go, with what they worked on until then.
//
// Costs: a job whose queue has nothing to reclaim is turned away after a look at each queue, one for whom all victims
// together would not suffice after two looks at each victim; a demand that failed is not searched for again in the pass
// until something was evicted. The first search looks at every node once and at some again; the second at every victim
// once for each set of queues, and places the job again and again only when it fits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/round/limit_holds.h"
#include "engine/round/room_search.h"
#include "engine/round/room_to_come.h"
#include "engine/round/round_state.h"
#include "engine/round/victims.h"

namespace berth {

struct TaskPlace;

struct RoomMade {
  std::vector<Eviction> evictions;         // none where an owner needs no more than idle room kept from borrowers
  JobOutcome outcome;                      // the beneficiary's placement; in the ledger when every victim stops now
  std::optional<Reservation> reservation;  // else: the room that will be held for it
};

// The job has waited long enough that others may be evicted for it, from that moment on.
Seconds evicts_from(const Job& job, const RoundRules& rules);
bool may_evict_others(const Job& job, const RoundRules& rules, Seconds now);

class Reclaim {
 public:
  // `order` of the pass and what it looks at; null = jobs go as they came.
  Reclaim(RoundState& state, Seconds now, const QueueOrder* order, const OrderInput* input);

  // Nothing = no room can be made, and nothing has changed. Else the victims that stop now have ended in `state`, those
  // with a grace are marked as stopping, and b's tasks are in the ledger, uncommitted, when it can start now. Only
  // nodes that accept tasks are looked at; `before_search` may close some, and is called only when there is reason to
  // look. `end`: of the job, see QuotaLedger::judge.
  struct Search {
    std::int64_t kind = 0;           // that one kind fails says nothing about another
    bool takes_of_own_queue = true;  // by priority
    bool takes_back = true;          // of others
    // Room was promised to it, and its victims have gone: it takes the surplus tasks that were left for last. Its quota
    // counts as when that was decided, whatever its queue has borrowed since.
    bool is_promised = false;
    // It is to be within all quotas of its path once the victims have gone, those of its own queue with them.
    bool as_owner = false;
    std::optional<VictimChoice::Cost> at_most = {};  // they cost no more
    std::vector<std::int64_t> spared = {};           // jobs that are not evicted for it
    std::vector<std::int64_t> left_in_time = {};     // whose reservations it may use: `before_search` keeps them open
    // Nobody is evicted when it says so of those who would be.
    std::function<bool(std::span<const RunningJob* const>)> declines = {};
  };
  // With `price`, which is set when room can be made, nothing is done.
  using Price = std::optional<VictimChoice::Cost>;
  std::optional<RoomMade> make_room(const Job& job, Seconds end, const std::function<void()>& before_search,
                                    const Search& search, Price* price = nullptr);
  // The victims of the job have gone: the surplus tasks that lie where it is to be, which were left for last. Others
  // may have become cheaper since, but they would have to be waited for. Minimum run time and cool-down were looked at
  // when that was decided. Nothing = that is not enough, or may not be done any more.
  std::optional<RoomMade> take_surplus_left(const Job& job, const Reservation& promise, Seconds end);
  // Whether there is room for the gang at `then_at`, when these have ended and everybody goes who may be evicted for it
  // by then, alone and within an hour's budget.
  Served served_without(const Job& gang, Seconds end, std::span<const RunningJob* const> ended, Seconds then_at);
  // Quotas, or classes of more than one value: without them nobody is ever evicted.
  bool has_a_cause() const;
  // The job has started or gained tasks in this pass: it is no victim any more.
  void settle(std::int64_t job);
  // Surplus tasks are taken for the job then, when those have gone who were told to stop for it. Until then their job
  // is nobody else's victim, and the budget of its queue pays for what they will have lost.
  void keep_for(std::int64_t job, Seconds then, std::span<const TaskPlace> surplus);

 private:
  // Who may be evicted for a job, and how far.
  struct Reaches {
    std::vector<VictimReach> of;  // by victim
    bool any = false;
  };

  // What room is made for.
  struct Wanted {
    const Job& job;
    Job gang;
    const std::vector<TaskGroup>& groups;  // of the gang, on the models where room is looked for
    const Amounts& demand;                 // of these
    Seconds end;
    bool of_all = false;    // by the second search
    std::uint32_t own = 0;  // there: who may be evicted once it is within the quotas of its path at these depths
    bool as_owner = false;  // see Search
  };
  struct KeptSurplus {
    std::int64_t job = 0;   // for which it is kept
    std::int64_t lost = 0;  // milli-GPU-seconds, counted in lost_
  };
  void keep(std::int64_t victim, const KeptSurplus& surplus);
  std::optional<RoomMade> make_room_for(Wanted wanted, const std::function<void()>& before_search, const Search& search,
                                        Price* price);
  bool has_a_chance(const Wanted& wanted) const;
  std::vector<const RunningJob*> jobs_of(const VictimChoice& choice) const;
  const VictimIndex& index();
  // The order put the one that runs before the other, which waited when it started.
  bool was_put_first(const RunningJob& run, const Job& job) const;
  Reaches reaches_for(const VictimIndex& victims, const Job& job, const Amounts& demand, Seconds end) const;
  // If it were within the quotas at these depths.
  Reaches reaches_within(const Wanted& wanted) const;
  Reaches reaches_of(const Wanted& wanted, const Search& search) const;
  bool may_go_by_class(const Victim& victim, const Job& job) const;
  bool is_out_of_reach(const Victim& victim, const Job& job) const;
  // Of others, marked less than that at the fork.
  static VictimReach reach_beyond(const Victim& victim, int fork);
  // The marks that the job gets for `taken` once these have gone.
  std::uint32_t marks_without(const VictimChoice& choice, const Job& job, const Amounts& taken) const;
  bool could_suffice(const Amounts& demand, const Reaches& reaches) const;
  // What the victims within reach hold.
  void add_in_reach(const Reaches& reaches, Amounts& amounts) const;
  // To being admitted; another reason to refuse counts, too.
  static bool is_nearer(const QuotaVerdict& now, const QuotaVerdict& before);
  bool make_room_in_quota(const Wanted& wanted, const Reaches& reaches, VictimChoice& choice);
  std::optional<JobOutcome> search(const Wanted& wanted, const Reaches& reaches, VictimChoice& choice);
  std::optional<JobOutcome> search_among_all(const Wanted& wanted, const Reaches& reaches, VictimChoice& choice);
  void end_chosen(const VictimChoice& choice);
  // On the ledger, from which the victims have gone and which stays as it is. `own`: see place_within_quota.
  // place(): the first good one; fit(): by the rules.
  JobOutcome try_placing(const Wanted& wanted, QuotaLedger& quotas, std::uint32_t own);
  std::optional<JobOutcome> place(const Wanted& wanted, const std::function<bool(const JobOutcome&)>& is_good);
  std::optional<JobOutcome> fit(const Wanted& wanted, const VictimChoice& choice);
  std::optional<JobOutcome> fit_before_lower(const Wanted& wanted, const VictimChoice& choice,
                                             const std::function<bool(const JobOutcome&)>& is_good);
  void spare_unused(const Wanted& wanted, VictimChoice& choice, const JobOutcome& outcome);
  void spare_all(const Wanted& wanted, VictimChoice& choice, JobOutcome& outcome);
  enum class Spare : std::uint8_t { kGang, kAll };
  bool leave_out(std::span<const std::size_t> victims, Spare what, VictimChoice& choice,
                 const std::function<bool()>& is_good);
  void spare_some(const Wanted& wanted, std::span<const std::size_t> victims, Spare what, VictimChoice& choice,
                  JobOutcome& outcome);
  void spare_tasks(const Wanted& wanted, std::size_t victim, VictimChoice& choice, JobOutcome& outcome);
  void spare_out_of_place(const Wanted& wanted, const JobOutcome& outcome, VictimChoice& choice);
  // The job starts when the last victim stops: it has its rights until it has ended, and budgets pay for what is lost
  // until then.
  bool holds_until_then(const Wanted& wanted, const Amounts& taken, const VictimChoice& choice) const;
  bool has_its_right_then(const Wanted& wanted, const Amounts& taken, Seconds then, const VictimChoice& choice) const;
  bool keeps_the_rules(const Job& job, const Amounts& taken, Seconds end, const VictimChoice& choice) const;
  RoomMade carry_out(const Job& job, JobOutcome outcome, const Reaches& reaches, VictimChoice& choice);
  VictimChoiceReason why_chosen(const Victim& victim, const Reaches& reaches, const VictimChoice& choice) const;

  // Milli-GPU-seconds that the queue has lost this hour.
  std::int64_t& lost_of(std::int32_t queue) {
    return lost_[queue < 0 ? lost_.size() - 1 : static_cast<std::size_t>(queue)];
  }

  RoundState& state_;
  Seconds now_;
  const QueueOrder* order_;
  const OrderInput* input_;
  QuotaLedger::Beside beside_ = QuotaLedger::Beside::kUsed;
  std::vector<std::int64_t> lost_;     // milli-GPU-seconds this hour, by queue, last that of jobs without one
  std::vector<std::int64_t> settled_;  // started, grew or made room in this pass
  std::map<std::int64_t, KeptSurplus> kept_for_;  // by victim
  std::unique_ptr<VictimIndex> index_;
  std::set<DemandKey> failed_;  // since the last eviction
  RoomToCome room_to_come_;
};

}  // namespace berth
