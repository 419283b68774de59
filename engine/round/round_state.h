// The trial state of a round: nodes, quotas and running jobs, kept in step.
//
// A live round makes one from its Snapshot and throws it away; a simulation keeps one and lets jobs come and go. What
// starts and ends goes through here, so that the three never disagree.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/quota_ledger.h"
#include "engine/model/snapshot.h"
#include "engine/policy/feasibility.h"
#include "engine/policy/policy.h"
#include "engine/round/placer.h"
#include "engine/round/running_jobs.h"

namespace berth {

struct RoundSetup {
  const Cluster* cluster = nullptr;
  std::span<const Queue> queues;
  std::span<const PriorityClass> priority_classes;
  const QuotaTable* quotas = nullptr;
  NodeScore* score = nullptr;
  VictimCost* victim_cost = nullptr;  // of a policy; null = the work that is lost is all that it costs
  RoundRules rules;
  std::span<const AssertionHold> holds = {};          // nothing is started, evicted or held for these jobs
  std::span<const AssertionHold> surplus_holds = {};  // these get only the tasks they need
  std::span<const KeptOffNodes> kept_off = {};        // nodes that these jobs may not use; in job order
  std::span<const AssertionRefusal> refused = {};     // nothing is evicted or held for these; in job order
  std::uint64_t seed = 0;
  std::span<const std::int32_t> rank = {};  // see Candidates
  Seconds now;
};

class RoundState {
 public:
  // What `setup` points to must outlive it.
  explicit RoundState(const RoundSetup& setup);
  RoundState(const RoundState&) = delete;
  RoundState& operator=(const RoundState&) = delete;

  // A job that runs already: places its tasks and counts them. `job.quota_mark` is what it was promised; renew_marks()
  // keeps that as far as the quota covers it. kCorrupt when its tasks do not fit.
  Status add_running(RunningJob job);
  // A job whose tasks the placer has just put into the ledger starts, or gains tasks.
  void start(const Job& job, std::span<const PlacedTask> placed, Seconds now);
  // It ends or is evicted: gives everything back. It must run.
  Status end(std::int64_t id);
  // It gives back some tasks and runs on.
  Status shrink(std::int64_t id, std::span<const TaskName> tasks);
  // Marks what there is quota for again: gangs, then what elastic jobs have beyond, each oldest start first. Call
  // before marks are looked at, and before jobs start.
  void renew_marks();
  // Of marks that came with add_running() those that the quota covers beside each other; nobody gets others yet.
  void keep_marks();
  // Quota was freed since: renew_marks() may have something to do.
  bool may_renew_marks() const { return marks_are_stale_ && quotas_.governs(); }

  // What a running job counts for, what its gang does, and what it has beyond.
  struct Held {
    Amounts all;
    Amounts gang;
    Amounts surplus;
    bool has_surplus = false;
  };
  Held held_by(const RunningJob& job) const;
  Amounts held_by(std::span<const ReservedTask> tasks) const;
  Amounts held_by(std::span<const PlacedTask> tasks) const;
  bool is_on_an_up_node(const Holding& holding) const {
    return cluster().nodes[static_cast<std::size_t>(holding.node)].state == NodeState::kUp;
  }
  // When a running job ends, if nobody stops it that has not been told to.
  Seconds lasts_until(const RunningJob& run) const;
  // Of a task on a node that is not up, which gives its room to nobody; see QuotaLedger::add_capacity.
  void count_capacity(const Holding& holding, std::int64_t sign, Seconds until = Seconds(kNoLimit));
  // Who uses what without the running jobs of which `ends` is true.
  template <class Ends>
  QuotaLedger quotas_without(const Ends& ends) const {
    QuotaLedger quotas = quotas_;
    for (const RunningJob& run : running_.all()) {
      if (ends(run)) quotas.give_back(run.job.queue, held_by(run).all, lasts_until(run));
    }
    return quotas;
  }
  // What a waiting job will get once its victims have stopped: see QuotaLedger::pledge. It lasts until the job starts.
  struct Pledge : QuotaLedger::Pledge {
    Seconds gone_by{kNoLimit};  // see QuotaLedger::count_promise
  };
  // For the job of this reservation, if it is one of `jobs` (in id order) and quotas govern it. The `levels` of one
  // that it has count on.
  void pledge(const Reservation& promise, std::span<const Job> jobs);
  // Those that there are now: for each of these that room is made for by evictions.
  void renew_pledges(std::span<const Reservation> reservations, std::span<const Job> jobs);
  const Pledge* pledge_of(std::int64_t job) const;                            // null = it has none
  const std::map<std::int64_t, Pledge>& pledges() const { return pledges_; }  // by job
  void drop_pledge(std::int64_t job);
  void drop_pledges();
  void drop_pledges_but(std::span<const Reservation* const> kept);

  // Marks of a job that holds that; see QuotaLedger::mark and RunningJob::quota_mark.
  std::uint32_t mark(std::int32_t queue, const Held& held, std::uint32_t already = 0, std::uint32_t wanted = ~0u);
  void unmark(std::int32_t queue, const Held& held, std::uint32_t marks) { count_marks(queue, held, marks, -1); }
  void count_marks(std::int32_t queue, const Held& held, std::uint32_t marks, std::int64_t sign) {
    count_marks(quotas_, queue, held, marks, sign);
  }
  // In a ledger of the caller's.
  static void count_marks(QuotaLedger& quotas, std::int32_t queue, const Held& held, std::uint32_t marks,
                          std::int64_t sign);
  // Running jobs of the job's queue with marks, of lower classes; those that could not be evicted as guests keep them.
  std::vector<const RunningJob*> marked_below(const Job& job) const;
  // The marks that a gang of the job would get now, if it took those amounts: a job that starts takes the marks of
  // running jobs of lower classes of its queue where it would have none.
  std::uint32_t marks_before_lower(const Job& job, const Amounts& amounts);

  // On some node of the kind, were it empty: the shape fits, and the policy lets it.
  bool may_ever_run(const NodeKind& kind, const TaskShape& shape) const {
    return is_feasible_when_empty(kind, shape) && setup_.score->allows(kind, shape);
  }
  // It may start when it fits, but has no claim: nobody makes room for it, or waits for it.
  bool is_refused(std::int64_t job, Seconds now) const {
    const AssertionRefusal* const refusal = find_refusal(setup_.refused, job);
    return refusal != nullptr && refusal->counts(now, rules());
  }
  // Of the job's priority class; 0 without one.
  std::int64_t class_value(const Job& job) const;

  const Cluster& cluster() const { return *setup_.cluster; }
  const RoundSetup& setup() const { return setup_; }
  const RoundRules& rules() const { return setup_.rules; }
  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  QuotaLedger& quotas() { return quotas_; }
  const QuotaLedger& quotas() const { return quotas_; }
  Placer& placer() { return placer_; }
  RunningJobs& running() { return running_; }
  const RunningJobs& running() const { return running_; }

 private:
  // It is within the quota of some queue below one in whose quota it has no place: guests may have it.
  bool stands_behind_guests(std::int32_t queue, std::uint32_t marks) const;
  // Behind guests, or other models use the marks of all GPUs that go with its queue's quotas of models.
  bool stands_behind_others(const RunningJob& run) const;
  void note_class(const Job& job);
  // Besides `marks`, those that such jobs have: of the lowest class first, of the newest first. All its marks.
  std::uint32_t take_marks_of_lower(const Job& job, const Held& held, std::uint32_t marks);
  // `are_claims`: all anew, of what they are. `only_kept`: none that a job had not.
  void give_marks(bool are_claims, bool only_kept = false);
  static void find_anchor(RunningJob& job, std::int32_t group);

  RoundSetup setup_;
  Ledger ledger_;
  QuotaLedger quotas_;
  RunningJobs running_;
  Placer placer_;
  std::map<std::int64_t, Pledge> pledges_;             // by job
  std::map<std::int32_t, std::int64_t> lowest_class_;  // of jobs that ran here, by queue
  bool marks_are_stale_ = false;                       // quota was freed since they were last renewed
  bool marks_are_claims_ = false;  // some came with add_running(): more may be promised than there is quota
};

}  // namespace berth
