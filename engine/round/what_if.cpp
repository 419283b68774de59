#include "engine/round/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <unordered_set>

#include "engine/round/schedule.h"
#include "engine/round/what_if_victims.h"

namespace berth {

namespace {

constexpr int kMostQuotaRises = 4;  // one per resource that turns out short

bool is_about_quota(Reason reason) {
  return reason == Reason::kQuota || reason == Reason::kLimit || reason == Reason::kLenderKeeps;
}

class WhatIfSearch {
 public:
  WhatIfSearch(const Snapshot& snapshot, std::size_t job, const std::atomic<bool>* interrupted)
      : snapshot_(snapshot), fork_(snapshot), job_(job), interrupted_(interrupted) {}

  Result<WhatIfAnswer> run() {
    BERTH_ASSIGN(answer_.starts_anyway, starts_at(kOwnPlace));
    answer_.waiting = planned_.waiting;
    if (answer_.starts_anyway) return std::move(answer_);
    ahead_ = std::move(planned_.ahead);
    takers_ = std::move(planned_.takers);
    answer_.ahead = static_cast<std::int64_t>(ahead_.size());
    if (!ahead_.empty()) {
      BERTH_ASSIGN(order_is_enough_, starts_at(0));
    }
    BERTH_TRY(more_quota());
    BERTH_TRY(other_model());
    BERTH_TRY(wider_locality());
    BERTH_TRY(fewer_tasks());
    BERTH_TRY(fewer_gpus());
    BERTH_TRY(higher_class());
    BERTH_TRY(earlier_place());
    BERTH_TRY(more_nodes());
    BERTH_TRY(evictions());
    return std::move(answer_);
  }

 private:
  static constexpr std::optional<std::int64_t> kOwnPlace = std::nullopt;

  // What a plan of the fork says about the job.
  struct Planned {
    Waiting waiting;
    std::vector<Placement> placed;
    std::vector<Eviction> evicted;  // for it
    std::vector<std::int64_t> ahead;
    std::vector<std::int64_t> takers;  // places in `ahead` of those that take something from it
    bool goes_first = false;
  };

  Job& job() { return fork_.jobs[job_]; }
  std::int64_t id() const { return snapshot_.jobs[job_].id; }

  // Plans the fork up to the job, tried after so many others.
  Result<bool> starts_at(std::optional<std::int64_t> place) {
    ++answer_.plans;
    BERTH_ASSIGN(ScheduleResult result,
                 plan_schedule(fork_, {.interrupted = interrupted_, .until_job = id(), .place = place}));
    planned_ = {};
    for (const Eviction& eviction : result.plan.evictions) {
      if (eviction.beneficiary == id()) planned_.evicted.push_back(eviction);
    }
    for (const Placement& placement : result.plan.placements) {
      if (placement.job == id()) planned_.placed.push_back(placement);
    }
    for (const Waiting& waiting : result.plan.waiting) {
      if (waiting.job == id()) planned_.waiting = waiting;
    }
    std::erase(result.order, id());
    planned_.ahead = std::move(result.order);
    note_takers(result.plan);
    // Room that victims with a grace will leave is as good as a start.
    return !planned_.placed.empty() || !planned_.evicted.empty();
  }

  // Jobs that start, have others evicted, get a reservation, or close the way.
  void note_takers(const Plan& plan) {
    std::unordered_set<std::int64_t> takers = {planned_.waiting.behind_job};
    for (const Placement& placement : plan.placements) takers.insert(placement.job);
    for (const Eviction& eviction : plan.evictions) takers.insert(eviction.beneficiary);
    for (const Reservation& reservation : plan.reservations) takers.insert(reservation.job);
    for (std::size_t place = 0; place < planned_.ahead.size(); ++place) {
      if (takers.contains(planned_.ahead[place])) planned_.takers.push_back(static_cast<std::int64_t>(place));
    }
  }

  // At its own place, or else before all others - but where that alone starts it, a change that needs it is none.
  Result<bool> starts() {
    if (ahead_.empty() || order_is_enough_) return starts_at(kOwnPlace);
    BERTH_ASSIGN(const bool at_front, starts_at(0));
    if (!at_front) return false;
    Planned front = std::move(planned_);
    BERTH_ASSIGN(const bool at_own_place, starts_at(kOwnPlace));
    if (!at_own_place) {
      planned_ = std::move(front);
      planned_.goes_first = true;
    }
    return true;
  }

  void add(WhatIf change) {
    change.evictions = planned_.evicted;
    change.goes_first = planned_.goes_first;
    answer_.changes.push_back(std::move(change));
  }

  std::int32_t resource_index(std::string_view name) const {
    const auto& resources = snapshot_.quotas.resources;
    return static_cast<std::int32_t>(std::ranges::find(resources, name, &QuotaResource::name) - resources.begin());
  }

  void raise(const QuotaRise& rise) {
    QuotaTerms& terms =
        fork_.quotas.terms[static_cast<std::size_t>(rise.queue)][static_cast<std::size_t>(rise.resource)];
    switch (rise.term) {
      case QuotaTerm::kLimit: terms.limit += rise.amount; break;
      case QuotaTerm::kLendLimit: terms.lend_limit += rise.amount; break;
      case QuotaTerm::kQuota:
        terms.has_quota = true;
        terms.quota += rise.amount;
        break;
    }
  }

  Result<bool> starts_with(const std::vector<QuotaRise>& rises) {
    fork_.quotas = snapshot_.quotas;
    for (const QuotaRise& rise : rises) raise(rise);
    return starts();
  }

  Status more_quota() {
    if (snapshot_.quotas.resources.empty() || job().queue < 0) return {};
    if (answer_.waiting.reason == Reason::kLenderKeeps) BERTH_TRY(others_lend_more());
    BERTH_TRY(is_about_quota(answer_.waiting.reason) ? quota_where_short() : quota_to_reclaim());
    fork_.quotas = snapshot_.quotas;
    return {};
  }

  // What others keep stands against whoever borrows: only all of it within quota helps.
  Result<std::int64_t> above_own_quota(const QuotaRise& rise) {
    BERTH_ASSIGN(const Planning planning, planning_of(fork_));
    const QuotaLedger& quotas = planning.state->quotas();
    const auto r = static_cast<std::size_t>(rise.resource);
    return std::max(rise.amount,
                    quotas.used(rise.queue, r) + quotas.demand_to_start(job())[r] - quotas.quota(rise.queue, r));
  }

  // Those that keep most idle lend what it lacks.
  Status others_lend_more() {
    fork_.quotas = snapshot_.quotas;
    BERTH_ASSIGN(const Planning planning, planning_of(snapshot_));
    const QuotaLedger& quotas = planning.state->quotas();
    const std::int32_t resource = resource_index(answer_.waiting.resource);
    std::vector<std::pair<std::int64_t, std::int32_t>> keepers;
    for (std::size_t q = 0; q < snapshot_.queues.size(); ++q) {
      const auto queue = static_cast<std::int32_t>(q);
      const std::int64_t idle = quotas.kept_idle(queue, static_cast<std::size_t>(resource));
      if (idle > 0) keepers.emplace_back(-idle, queue);
    }
    std::ranges::sort(keepers);
    WhatIf change{.kind = ChangeKind::kQuota};
    std::int64_t lacks = answer_.waiting.short_by;
    for (const auto& [idle, queue] : keepers) {
      if (lacks <= 0) break;
      const std::int64_t more = std::min(lacks, -idle);
      change.quotas.push_back({.queue = queue, .resource = resource, .term = QuotaTerm::kLendLimit, .amount = more});
      lacks -= more;
    }
    if (lacks > 0) return {};
    BERTH_ASSIGN(const bool started, starts_with(change.quotas));
    if (started) add(std::move(change));
    fork_.quotas = snapshot_.quotas;
    return {};
  }

  // A queue without a quota of its own has the sum of those below it: there it is to be raised.
  std::int32_t where_to_raise(std::int32_t refusing, std::int32_t resource) {
    const auto has_own = [&](std::int32_t queue) {
      return snapshot_.quotas.terms[static_cast<std::size_t>(queue)][static_cast<std::size_t>(resource)].has_quota;
    };
    std::int32_t found = job().queue;
    for (std::int32_t q = job().queue; q >= 0; q = snapshot_.queues[static_cast<std::size_t>(q)].parent) {
      if (has_own(q)) found = q;
      if (q == refusing) break;
    }
    return found;
  }

  // The quota that refused it, then the next one that does; in the end without those that are not needed.
  Status quota_where_short() {
    WhatIf change{.kind = ChangeKind::kQuota};
    Waiting refused = answer_.waiting;
    bool started = false;
    for (int i = 0; i < kMostQuotaRises && !started && is_about_quota(refused.reason); ++i) {
      const auto queue = std::ranges::find(snapshot_.queues, refused.queue, &Queue::id);
      QuotaRise rise{.queue = static_cast<std::int32_t>(queue - snapshot_.queues.begin()),
                     .resource = resource_index(refused.resource),
                     .term = refused.reason == Reason::kLimit ? QuotaTerm::kLimit : QuotaTerm::kQuota,
                     .amount = refused.short_by};
      if (refused.reason == Reason::kLenderKeeps) {
        BERTH_ASSIGN(rise.amount, above_own_quota(rise));
      }
      if (rise.term == QuotaTerm::kQuota) rise.queue = where_to_raise(rise.queue, rise.resource);
      const auto same = std::ranges::find_if(change.quotas, [&](const QuotaRise& other) {
        return other.queue == rise.queue && other.resource == rise.resource && other.term == rise.term;
      });
      if (same != change.quotas.end()) {
        same->amount += rise.amount;
      } else {
        change.quotas.push_back(rise);
      }
      BERTH_ASSIGN(started, starts_with(change.quotas));
      refused = planned_.waiting;
    }
    if (!started) return {};
    const bool may_do_with_less = change.quotas.size() > 1;
    for (std::size_t i = 0; change.quotas.size() > 1 && i < change.quotas.size();) {
      std::vector<QuotaRise> fewer = change.quotas;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      BERTH_ASSIGN(const bool enough, starts_with(fewer));
      if (enough) {
        change.quotas = std::move(fewer);
      } else {
        ++i;
      }
    }
    if (may_do_with_less) {
      BERTH_ASSIGN(started, starts_with(change.quotas));
    }
    if (started) add(std::move(change));
    return {};
  }

  // As much as makes it part of its queue's quota, so that room is taken back for it; if that goes to jobs of its queue
  // ahead of it, as much as covers those too.
  Status quota_to_reclaim() {
    if (snapshot_.rules.preemption != Preemption::kReclaim) return {};
    BERTH_ASSIGN(const Planning planning, planning_of(snapshot_));
    planning.state->renew_marks();
    const QuotaLedger& quotas = planning.state->quotas();
    if (!quotas.governs()) return {};
    Amounts demand = quotas.demand_to_start(job());
    BERTH_ASSIGN(bool started, starts_with_quota_for(demand, quotas));
    if (!started || !planned_.goes_first) return {};
    const WhatIf first = answer_.changes.back();
    const std::unordered_set<std::int64_t> ahead(ahead_.begin(), ahead_.end());
    for (const Job& other : snapshot_.jobs) {
      if (other.queue != job().queue || !ahead.contains(other.id)) continue;
      const Amounts more = quotas.demand_to_start(other);
      for (std::size_t r = 0; r < quotas.resource_count(); ++r) demand[r] += more[r];
    }
    answer_.changes.pop_back();
    fork_.quotas = snapshot_.quotas;
    BERTH_ASSIGN(started, starts_with_quota_for(demand, quotas));
    if (started && !planned_.goes_first) return {};
    if (started) answer_.changes.pop_back();
    answer_.changes.push_back(first);
    return {};
  }

  // Raises the quotas of its queue and those above that lack something of `demand`, and adds that change if it helps.
  Result<bool> starts_with_quota_for(const Amounts& demand, const QuotaLedger& quotas) {
    WhatIf change{.kind = ChangeKind::kQuota};
    for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
      if (!quotas.counts_for(job().queue, r) || demand[r] == 0) continue;
      for (std::int32_t q = job().queue; q >= 0; q = snapshot_.queues[static_cast<std::size_t>(q)].parent) {
        const bool sums_children =
            q != job().queue && !snapshot_.quotas.terms[static_cast<std::size_t>(q)][r].has_quota;
        // What runs on borrowed quota already would be covered first.
        const std::int64_t lacks = quotas.counted(q, r) + demand[r] - quotas.quota(q, r);
        if (lacks <= 0 || sums_children) continue;
        change.quotas.push_back({.queue = q, .resource = static_cast<std::int32_t>(r), .amount = lacks});
      }
    }
    if (change.quotas.empty()) return false;
    for (const QuotaRise& rise : change.quotas) raise(rise);
    BERTH_ASSIGN(const bool started, starts());
    if (started) add(std::move(change));
    return started;
  }

  // Runs `try_group` on every group and puts the job back as it was after each.
  Status for_each_group(const std::function<Status(std::int32_t, TaskGroup&)>& try_group) {
    const Job original = job();
    for (std::size_t g = 0; g < original.groups.size(); ++g) {
      const Status tried = try_group(static_cast<std::int32_t>(g), job().groups[g]);
      job() = original;
      BERTH_TRY(tried);
    }
    return {};
  }

  Status other_model() {
    return for_each_group([&](std::int32_t index, TaskGroup& group) -> Status {
      const ModelSet asked = group.shape.models;
      if (asked == 0) return {};
      group.shape.models = 0;
      BERTH_ASSIGN(const bool with_any, starts());
      if (!with_any) return {};
      ModelSet used = 0;
      for (const Placement& placement : planned_.placed) {
        const std::int32_t model = snapshot_.cluster.kind_of(static_cast<std::size_t>(placement.node)).model;
        if (placement.group == index && model >= 0) used |= ModelSet{1} << model;
      }
      used &= ~asked;
      // One model more, if one is enough.
      ModelSet enough = used;
      for (ModelSet left = used; left != 0 && std::popcount(used) > 1; left &= left - 1) {
        group.shape.models = asked | (left & -left);
        BERTH_ASSIGN(const bool with_one, starts());
        if (!with_one) continue;
        enough = left & -left;
        break;
      }
      if (enough == 0) return {};
      group.shape.models = asked | enough;
      BERTH_ASSIGN(const bool proved, starts());
      if (proved) add({.kind = ChangeKind::kModel, .group = index, .models = enough});
      return {};
    });
  }

  Status wider_locality() {
    return for_each_group([&](std::int32_t index, TaskGroup& group) -> Status {
      const Locality asked = group.locality;
      if (asked == Locality::kAny || !group.locality_required) return {};
      group.locality = Locality::kAny;
      BERTH_ASSIGN(bool started, starts());
      if (!started) return {};
      // The narrowest that will do.
      Locality enough = Locality::kAny;
      Planned proof = planned_;
      for (auto level = static_cast<std::uint8_t>(asked); level-- > 1;) {
        group.locality = static_cast<Locality>(level);
        BERTH_ASSIGN(started, starts());
        if (!started) continue;
        enough = group.locality;
        proof = planned_;
        break;
      }
      planned_ = std::move(proof);
      add({.kind = ChangeKind::kLocality, .group = index, .locality = enough});
      return {};
    });
  }

  // Adds the change with the largest count between `above` and `below` with which the job starts. `first` is tried
  // first.
  Status largest_that_starts(WhatIf change, std::int32_t above, std::int32_t below, std::int32_t first,
                             const std::function<void(std::int32_t)>& set) {
    const auto largest = [&](std::optional<std::int64_t> place, std::int32_t bad,
                             std::int32_t next) -> Result<std::int32_t> {
      std::int32_t good = above;
      for (next = std::clamp(next, above + 1, bad - 1); good + 1 < bad; next = good + (bad - good) / 2) {
        set(next);
        BERTH_ASSIGN(const bool started, starts_at(place));
        (started ? good : bad) = next;
      }
      return good;
    };
    std::optional<std::int64_t> place = kOwnPlace;
    if (!ahead_.empty() && !order_is_enough_) {
      BERTH_ASSIGN(const std::int32_t at_front, largest(0, below, first));
      if (at_front == above) return {};
      first = at_front;
      below = at_front + 1;
    }
    BERTH_ASSIGN(std::int32_t most, largest(kOwnPlace, below, first));
    if (most == above && !ahead_.empty() && !order_is_enough_) {
      most = below - 1;
      place = 0;
    }
    if (most == above) return {};
    set(most);
    BERTH_ASSIGN(const bool proved, starts_at(place));
    if (!proved) return {};
    planned_.goes_first = place != kOwnPlace;
    change.count = most;
    add(std::move(change));
    return {};
  }

  Status fewer_tasks() {
    return for_each_group([&](std::int32_t index, TaskGroup& group) -> Status {
      const std::int32_t needed = group.min_tasks - group.placed;
      if (needed <= 1) return {};
      const std::int32_t fits = answer_.waiting.group == index ? answer_.waiting.fits : 0;
      return largest_that_starts({.kind = ChangeKind::kTasks, .group = index}, group.placed, group.min_tasks,
                                 group.placed + (fits > 0 ? fits : needed / 2),
                                 [&group](std::int32_t tasks) { group.min_tasks = tasks; });
    });
  }

  Status fewer_gpus() {
    return for_each_group([&](std::int32_t index, TaskGroup& group) -> Status {
      const std::int32_t asked = group.shape.gpu_count;
      if (asked <= 1) return {};
      return largest_that_starts({.kind = ChangeKind::kGpus, .group = index}, 0, asked, asked / 2,
                                 [&group](std::int32_t gpus) { group.shape.gpu_count = gpus; });
    });
  }

  // The lowest class with which it starts. A class also says who may be evicted for it.
  Status higher_class() {
    const auto& all = snapshot_.priority_classes;
    const std::int32_t own = job().priority_class;
    const std::int64_t value = own < 0 ? 0 : all[static_cast<std::size_t>(own)].value;
    std::vector<std::pair<std::int64_t, std::int32_t>> higher;
    for (std::size_t c = 0; c < all.size(); ++c) {
      if (all[c].value > value) higher.emplace_back(all[c].value, static_cast<std::int32_t>(c));
    }
    if (higher.empty()) return {};
    std::ranges::sort(higher);
    const auto starts_with = [&](std::size_t rank) {
      job().priority_class = higher[rank].second;
      return starts_at(kOwnPlace);
    };
    std::size_t enough = higher.size() - 1;
    BERTH_ASSIGN(const bool at_all, starts_with(enough));
    for (std::size_t bad = 0; at_all && bad < enough;) {
      const std::size_t next = bad + (enough - bad) / 2;
      BERTH_ASSIGN(const bool started, starts_with(next));
      if (started) {
        enough = next;
      } else {
        bad = next + 1;
      }
    }
    if (at_all) {
      BERTH_ASSIGN(const bool proved, starts_with(enough));
      if (proved) add({.kind = ChangeKind::kPriority, .priority_class = higher[enough].second});
    }
    job().priority_class = own;
    return {};
  }

  // The latest place at which it starts: right before one of those that take something from it.
  Status earlier_place() {
    if (!order_is_enough_ || takers_.empty()) return {};
    std::size_t good = 0;
    for (std::size_t bad = takers_.size(); good + 1 < bad;) {
      const std::size_t next = good + (bad - good) / 2;
      BERTH_ASSIGN(const bool started, starts_at(takers_[next]));
      (started ? good : bad) = next;
    }
    BERTH_ASSIGN(const bool proved, starts_at(takers_[good]));
    if (!proved) return {};
    WhatIf change{.kind = ChangeKind::kOrder};
    change.jobs.assign(ahead_.begin() + takers_[good], ahead_.end());
    add(std::move(change));
    return {};
  }

  Status more_nodes() {
    const auto bring_up = [&](const std::set<NodeIndex>& nodes) {
      for (const NodeIndex node : nodes) fork_.cluster.nodes[static_cast<std::size_t>(node)].state = NodeState::kUp;
    };
    std::set<NodeIndex> out;
    for (std::size_t n = 0; n < snapshot_.cluster.nodes.size(); ++n) {
      if (snapshot_.cluster.nodes[n].state != NodeState::kUp) out.insert(static_cast<NodeIndex>(n));
    }
    if (out.empty()) return {};
    bring_up(out);
    BERTH_ASSIGN(bool started, starts());
    if (started) {
      // Those it would run on, unless it is others that make room for it there.
      std::set<NodeIndex> used;
      for (const Placement& placement : planned_.placed) {
        if (out.contains(placement.node)) used.insert(placement.node);
      }
      Planned with_all = std::move(planned_);
      fork_.cluster.nodes = snapshot_.cluster.nodes;
      bring_up(used);
      BERTH_ASSIGN(started, starts());
      if (!started) {
        planned_ = std::move(with_all);
        used = std::move(out);
      }
      add({.kind = ChangeKind::kNodes, .nodes = {used.begin(), used.end()}});
    }
    fork_.cluster.nodes = snapshot_.cluster.nodes;
    return {};
  }

  // The job that it may not pass or delay; null = it would have room to do so.
  const Job* blocker() const {
    const Waiting& why = answer_.waiting;
    if (why.reason != Reason::kBlocked && why.reason != Reason::kReserved) return nullptr;
    const auto found = std::ranges::find(snapshot_.jobs, why.behind_job, &Job::id);
    return found == snapshot_.jobs.end() ? nullptr : &*found;
  }

  Status evictions() {
    const Waiting& why = answer_.waiting;
    BERTH_ASSIGN(const ChosenVictims victims, is_about_quota(why.reason)
                                                  ? victims_for_quota(snapshot_, why)
                                                  : victims_for_room(snapshot_, job(), blocker(), interrupted_));
    ++answer_.plans;
    if (victims.jobs.empty()) return {};
    const std::set<std::int64_t> gone(victims.jobs.begin(), victims.jobs.end());
    std::erase_if(fork_.allocations, [&](const Allocation& a) { return gone.contains(a.job); });
    std::erase_if(fork_.running, [&](const RunningJob& run) { return gone.contains(run.job.id); });
    BERTH_ASSIGN(const bool started, starts());
    if (started) add({.kind = ChangeKind::kEvict, .jobs = victims.jobs, .lost = victims.lost});
    fork_.allocations = snapshot_.allocations;
    fork_.running = snapshot_.running;
    return {};
  }

  const Snapshot& snapshot_;
  Snapshot fork_;
  std::size_t job_;
  const std::atomic<bool>* interrupted_;
  WhatIfAnswer answer_;
  Planned planned_;                  // the last plan
  std::vector<std::int64_t> ahead_;  // as things are
  std::vector<std::int64_t> takers_;
  bool order_is_enough_ = false;  // before all others it starts, with nothing else changed
};

}  // namespace

Result<WhatIfAnswer> what_would_start(const Snapshot& snapshot, std::int64_t job,
                                      const std::atomic<bool>* interrupted) {
  const auto found = std::ranges::find(snapshot.jobs, job, &Job::id);
  if (found == snapshot.jobs.end()) return Status(Code::kNotFound, fmt::format("job {} does not wait", job));
  return WhatIfSearch(snapshot, static_cast<std::size_t>(found - snapshot.jobs.begin()), interrupted).run();
}

}  // namespace berth
