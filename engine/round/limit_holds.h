// Room under a limit for the job that the limit refuses: quota, borrow limit, limit and lend limit alike.
//
// Without it later, smaller jobs of the same queue would take what ends, and the job would wait for ever. A hold says
// when the job is admitted if what runs ends as expected. A job of the limited queue, or of one below it, that does not
// end by then may take only what is spare beside the job at that moment; jobs of other queues are not held up. At most
// one job holds room under each limit: the first refused there, or where ranks move one that goes before it by its age
// (Backfill::take_limit_over).
//
// The promise: the time of a hold never moves later; earlier when what it waited for is gone. Once it has come, what
// has started since is taken to stay for ever, so all that starts later fits beside the job, but what its time limit
// ends by the time that the job is expected to be admitted now; when what ran when it came has ended, and that, the
// limit admits the job. What owners lend is held against all who would borrow it, but not against the owners: such a
// hold begins anew when it is late by RoundRules::reservation_ttl, unless its job is within quota, or others borrow and
// are not late themselves.
//
// Where owners lend less than all, what a queue owns bounds it as a limit does: a job within quota holds room there and
// in what is lent. Others of its queue take what is spare of that or may be borrowed beside the job; jobs of other
// queues that borrow take only the latter.
//
// A hold of a job that borrows yields to jobs of other queues that are within their quota; see Backfill.
//
// A queue's own quota is held for its first job that waits for it: others of the queue use it, and once they have ended
// the job would be within all quotas and could be given room by taking back. Later jobs of that queue then take nothing
// back but what is spare beside the job, or who ends by their time limits when it is expected to have the quota. Else
// smaller ones would take the quota back past it for ever, and each evict somebody. Only while what is in its way ends
// in time: within time limits, or what is known of them and reservation_ttl. Where a borrower was evicted and comes
// before it again, or runs again, later jobs of its queue do not even start on that quota, unless something is reserved
// for the job by then (Binds::kStarts): he would give way to each of them, be evicted by it and come first again, for
// ever. Nor where others keep the job waiting for reservation_ttl longer, whom it could evict by then. Who ends by then
// as far as is known starts all the same, as EASY lets him pass - by time limits, while something is late. Not where
// ranks move: there age bounds that, and what a queue owns it has at once.
//
// Time: the running jobs twice for each hold. Nothing while no limit refuses anybody.
#pragma once

#include <functional>
#include <optional>

#include "engine/round/round_state.h"

namespace berth {

// What is held when it is made is held again at its end.
class HoldsRestored {
 public:
  explicit HoldsRestored(QuotaLedger& quotas) : quotas_(quotas), holds_(quotas.holds().begin(), quotas.holds().end()) {}
  HoldsRestored(const HoldsRestored&) = delete;
  HoldsRestored& operator=(const HoldsRestored&) = delete;
  ~HoldsRestored() {
    quotas_.clear_holds();
    for (const QuotaHold& hold : holds_) quotas_.hold(hold);
  }

 private:
  QuotaLedger& quotas_;
  std::vector<QuotaHold> holds_;
};

// What a job would have if some others were gone.
enum class Served : std::uint8_t {
  kNo,
  kByIdleRoom,
  kByEvictions,
  kByEvictingAgain,  // of somebody who was evicted before, and came back
};

class LimitHolds {
 public:
  // Nothing is held yet.
  LimitHolds(RoundState& state, Seconds now);

  // False: the job asks for more than its limits allow, even if all others end.
  bool may_admit(const Job& job) const;
  // When the job's limits admit it if what runs ends as expected; nothing = not even when all has ended.
  std::optional<Seconds> admitted_from(const Job& job) const;
  // When its limits do so, whatever room there is, if nothing ends but what has begun since and its time limit ends;
  // nothing = others must end, too.
  std::optional<Seconds> admitted_by_time_limits(const Job& job, Seconds since) const;
  // Room is held for the job.
  bool holds_for(std::int64_t job) const;
  // Another holds room under the limit that refuses the job.
  bool is_held(const Job& job, const QuotaVerdict& refusal) const { return holder_of(job, refusal) != 0; }
  std::int64_t holder_of(const Job& job, const QuotaVerdict& refusal) const;  // 0 = nobody
  // Holds room for the job under each limit on its path where nobody does.
  struct Terms {
    Seconds made_at;
    Seconds from;
    bool yields = false;
    std::span<const ReservedTask> tasks = {};  // what is reserved for it, as far as that is known
    std::optional<Seconds> start = {};         // when it is expected to start there
  };
  void hold(const Job& job, const Terms& terms);
  // Nobody else borrows what owners lend.
  void close_lent(const Job& job, Seconds made_at);
  // Others use quota of its queue, and it waits: the first to do so has it next, if it is served once those have ended.
  using ServedWithout = std::function<Served(std::span<const RunningJob* const> ended, Seconds then_at)>;
  enum class Binds : std::uint8_t {
    kTakingBack,  // of later jobs of its queue
    kStarts,      // any start of theirs
  };
  // `otherwise`: when it is expected to start if nobody is held back. `is_kept_waiting`: a borrower who was evicted
  // comes first again, or it has waited for reservation_ttl where ranks move with use.
  void hold_quota(const Job& job, bool is_kept_waiting, std::optional<Seconds> otherwise,
                  const ServedWithout& served_without);
  // Another waits for quota that this one would use.
  bool is_quota_held(const Job& job) const;
  // And it may not even start on it: the one that waits; 0 = it may.
  std::int64_t starts_behind(const Job& job) const;
  // Jobs of other queues that hold something on its path.
  std::vector<std::int64_t> holders_above(const Job& job) const;
  // When a job that holds something is expected to be admitted now.
  std::optional<Seconds> held_until(std::int64_t job) const;
  // A job has started, or gained tasks.
  void note_started(const Job& job, std::span<const PlacedTask> placed);

  // It wants more than its queue, or one above, owns.
  bool wants_to_borrow(const Job& job) const;

 private:
  Seconds end_of(const Job& job, Seconds start) const;
  // At which of the expected ends of running jobs that count its limits admit it.
  std::optional<Seconds> first_end(const Job& job, const std::function<bool(const RunningJob&)>& counts,
                                   const std::function<bool(const QuotaLedger&)>& has_room) const;
  // Who uses what once all has ended that does by then; late: all that ran then.
  QuotaLedger used_from(Seconds from) const;

  struct QuotaHeld {
    std::int32_t queue = -1;
    std::int64_t job = 0;  // 0 = nobody: the first is not served by that, or not in time
    Binds binds = Binds::kTakingBack;
    Seconds from;
    bool is_late = false;  // what is in its way runs longer than was known: only time limits count
    Amounts spare;
  };
  // Which running jobs of its queue must end so that its quotas have room for the job, and when the last does; none =
  // that is not in sight.
  std::vector<const RunningJob*> in_the_way_of(const Job& job, QuotaHeld& held) const;

  RoundState& state_;
  Seconds now_;
  std::vector<QuotaHeld> quota_held_;
};

}  // namespace berth
