#include "engine/policy/queue_outlook.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/policy/fair_shares.h"

namespace berth {

namespace {

class QueuePrognosis {
 public:
  QueuePrognosis(const Snapshot& snapshot, const Plan& plan, const QuotaLedger& after)
      : snapshot_(snapshot),
        after_(after),
        waiting_(snapshot.queues.size() + 1, after.none()),
        starves_since_(snapshot.queues.size(), std::vector<Seconds>(after.resource_count(), Seconds(-1))) {
    for (const Placement& placement : plan.placements) ++placed_now_[{placement.job, placement.group}];
    for (const Waiting& waiting : plan.waiting) {
      const Job* const job = find_job(snapshot.jobs, waiting.job);
      if (job == nullptr) continue;
      add_waiting(*job);
      if (waiting.reason != Reason::kDependency) note_starving(*job);
    }
  }

  std::vector<QueueOutlook> outlook() const {
    std::vector<QueueOutlook> outlook;
    for (std::size_t r = 0; r < after_.resource_count(); ++r) {
      if (!after_.is_governed(r)) continue;
      const OrderKnobs& knobs = snapshot_.order_knobs;
      const std::vector<std::int64_t> shares =
          fair_shares(snapshot_.queues, after_.capacity(r), claims_of(after_, r, waiting_, knobs.usage_half_life),
                      knobs.usage_weight);
      for (std::size_t q = 0; q < snapshot_.queues.size(); ++q) {
        outlook.push_back({snapshot_.queues[q].id, after_.resource(r).name, shares[q], starves_since_[q][r]});
      }
    }
    std::ranges::stable_sort(outlook, {}, &QueueOutlook::queue);
    return outlook;
  }

 private:
  void add_waiting(const Job& job) {
    Amounts& of_queue = job.queue < 0 ? waiting_.back() : waiting_[static_cast<std::size_t>(job.queue)];
    for (std::size_t g = 0; g < job.groups.size(); ++g) {
      const TaskGroup& group = job.groups[g];
      const auto placed = placed_now_.find({job.id, static_cast<std::int32_t>(g)});
      const std::int64_t placed_now = placed == placed_now_.end() ? 0 : placed->second;
      after_.add_wish(group.shape, group.count - group.placed - placed_now, of_queue);
    }
  }

  void note_starving(const Job& job) {
    if (job.queue < 0) return;
    note_within_quota(job, after_.demand_to_start(job));
    // Of no model's quota as long as it may take several: of which, only a start decides.
    for (ModelSet choices = after_.choices_of(job); choices != 0; choices &= choices - 1) {
      note_within_quota(job, after_.demand_to_start_on(job, choices & -choices));
    }
  }

  void note_within_quota(const Job& job, const Amounts& demand) {
    const Seconds end = job.expected_end(snapshot_.now);
    const QuotaVerdict verdict = after_.judge(job.queue, demand, end < Seconds(0) ? Seconds(kNoLimit) : end);
    if (!verdict.admitted() || verdict.borrows) return;
    for (std::int32_t q = job.queue; q >= 0; q = snapshot_.queues[static_cast<std::size_t>(q)].parent) {
      for (std::size_t r = 0; r < demand.size(); ++r) {
        Seconds& since = starves_since_[static_cast<std::size_t>(q)][r];
        if (demand[r] > 0 && after_.counts_for(job.queue, r) && (since < Seconds(0) || job.submit < since))
          since = job.submit;
      }
    }
  }

  const Snapshot& snapshot_;
  const QuotaLedger& after_;
  std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> placed_now_;  // tasks, by job and group
  std::vector<Amounts> waiting_;                                              // by queue, last: without one
  std::vector<std::vector<Seconds>> starves_since_;                           // by queue and resource
};

}  // namespace

std::vector<QueueOutlook> queue_outlook(const Snapshot& snapshot, const Plan& plan, const QuotaLedger& after) {
  if (!after.governs()) return {};
  return QueuePrognosis(snapshot, plan, after).outlook();
}

}  // namespace berth
