#include "engine/round/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

#include "engine/round/room_search.h"
#include "engine/round/schedule.h"
#include "engine/round/victims.h"

namespace berth {

namespace {

constexpr int kMostQuotaRises = 4;  // one per resource that turns out short
constexpr int kMostRoomTries = 16;

bool is_about_quota(Reason reason) {
  return reason == Reason::kQuota || reason == Reason::kLimit || reason == Reason::kLenderKeeps;
}

class WhatIfSearch {
 public:
  WhatIfSearch(const Snapshot& snapshot, std::size_t job, const std::atomic<bool>* interrupted)
      : snapshot_(snapshot), fork_(snapshot), job_(job), interrupted_(interrupted) {}

  Result<WhatIfAnswer> run() {
    BERTH_ASSIGN(answer_.starts_anyway, starts());
    answer_.waiting = waiting_;
    if (answer_.starts_anyway) return std::move(answer_);
    BERTH_TRY(more_quota());
    BERTH_TRY(other_model());
    BERTH_TRY(wider_locality());
    BERTH_TRY(fewer_tasks());
    BERTH_TRY(fewer_gpus());
    BERTH_TRY(earlier_place());
    BERTH_TRY(more_nodes());
    BERTH_TRY(evictions());
    return std::move(answer_);
  }

 private:
  Job& job() { return fork_.jobs[job_]; }
  std::int64_t id() const { return snapshot_.jobs[job_].id; }

  // Plans the fork up to the job. Keeps what the plan says about it.
  Result<bool> starts() {
    ++answer_.plans;
    BERTH_ASSIGN(const ScheduleResult result,
                 plan_schedule(fork_, {.interrupted = interrupted_, .until_job = fork_.jobs[job_].id}));
    evicted_.clear();
    for (const Eviction& eviction : result.plan.evictions) {
      if (eviction.beneficiary == id()) evicted_.push_back(eviction);
    }
    placed_.clear();
    started_ahead_.clear();
    for (const Placement& placement : result.plan.placements) {
      if (placement.job == id()) {
        placed_.push_back(placement);
      } else if (started_ahead_.empty() || started_ahead_.back() != placement.job) {
        started_ahead_.push_back(placement.job);
      }
    }
    for (const Waiting& waiting : result.plan.waiting) {
      if (waiting.job == id()) waiting_ = waiting;
    }
    // Room that victims with a grace will leave is as good as a start.
    return !placed_.empty() || !evicted_.empty();
  }

  void add(WhatIf change) {
    change.evictions = evicted_;
    answer_.changes.push_back(std::move(change));
  }

  std::int32_t resource_index(std::string_view name) const {
    const auto& resources = snapshot_.quotas.resources;
    return static_cast<std::int32_t>(std::ranges::find(resources, name, &QuotaResource::name) - resources.begin());
  }

  void raise(const QuotaRise& rise) {
    QuotaTerms& terms =
        fork_.quotas.terms[static_cast<std::size_t>(rise.queue)][static_cast<std::size_t>(rise.resource)];
    if (rise.is_limit) {
      terms.limit += rise.amount;
    } else {
      terms.has_quota = true;
      terms.quota += rise.amount;
    }
  }

  Status more_quota() {
    if (snapshot_.quotas.resources.empty() || job().queue < 0) return {};
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

  // The quota that refused it, then the next one that does.
  Status quota_where_short() {
    WhatIf change{.kind = ChangeKind::kQuota};
    Waiting refused = answer_.waiting;
    for (int i = 0; i < kMostQuotaRises && is_about_quota(refused.reason); ++i) {
      const auto queue = std::ranges::find(snapshot_.queues, refused.queue, &Queue::id);
      QuotaRise rise{.queue = static_cast<std::int32_t>(queue - snapshot_.queues.begin()),
                     .resource = resource_index(refused.resource),
                     .is_limit = refused.reason == Reason::kLimit,
                     .amount = refused.short_by};
      if (refused.reason == Reason::kLenderKeeps) {
        BERTH_ASSIGN(rise.amount, above_own_quota(rise));
      }
      const auto same = std::ranges::find_if(change.quotas, [&](const QuotaRise& other) {
        return other.queue == rise.queue && other.resource == rise.resource && other.is_limit == rise.is_limit;
      });
      raise(rise);
      if (same != change.quotas.end()) {
        same->amount += rise.amount;
      } else {
        change.quotas.push_back(rise);
      }
      BERTH_ASSIGN(const bool started, starts());
      if (started) {
        add(std::move(change));
        return {};
      }
      refused = waiting_;
    }
    return {};
  }

  // As much as makes it part of its queue's quota, so that room is taken back for it.
  Status quota_to_reclaim() {
    if (snapshot_.rules.preemption != Preemption::kReclaim) return {};
    BERTH_ASSIGN(const Planning planning, planning_of(snapshot_));
    planning.state->renew_marks();
    const QuotaLedger& quotas = planning.state->quotas();
    if (!quotas.governs()) return {};
    const Amounts demand = quotas.demand_to_start(job());
    WhatIf change{.kind = ChangeKind::kQuota};
    for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
      if (!quotas.counts_for(job().queue, r) || demand[r] == 0) continue;
      for (std::int32_t q = job().queue; q >= 0; q = snapshot_.queues[static_cast<std::size_t>(q)].parent) {
        const bool sums_children =
            q != job().queue && !snapshot_.quotas.terms[static_cast<std::size_t>(q)][r].has_quota;
        const std::int64_t lacks = quotas.marked(q, r) + demand[r] - quotas.quota(q, r);
        if (lacks <= 0 || sums_children) continue;
        change.quotas.push_back({.queue = q, .resource = static_cast<std::int32_t>(r), .amount = lacks});
      }
    }
    if (change.quotas.empty()) return {};
    for (const QuotaRise& rise : change.quotas) raise(rise);
    BERTH_ASSIGN(const bool started, starts());
    if (started) add(std::move(change));
    return {};
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
      for (const Placement& placement : placed_) {
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
      for (auto level = static_cast<std::uint8_t>(asked); level-- > 1;) {
        group.locality = static_cast<Locality>(level);
        BERTH_ASSIGN(started, starts());
        if (!started) continue;
        enough = group.locality;
        break;
      }
      add({.kind = ChangeKind::kLocality, .group = index, .locality = enough});
      return {};
    });
  }

  // The largest value in [1, below) with which the job starts; 0 = none. `first` is tried first.
  Result<std::int32_t> largest_that_starts(std::int32_t below, std::int32_t first,
                                           const std::function<void(std::int32_t)>& set) {
    std::int32_t good = 0;
    std::int32_t bad = below;
    for (std::int32_t next = std::clamp(first, 1, below - 1); good + 1 < bad; next = good + (bad - good) / 2) {
      set(next);
      BERTH_ASSIGN(const bool started, starts());
      (started ? good : bad) = next;
    }
    return good;
  }

  Status fewer_tasks() {
    return for_each_group([&](std::int32_t index, TaskGroup& group) -> Status {
      const std::int32_t needed = group.min_tasks - group.placed;
      if (needed <= 1) return {};
      const std::int32_t placed = group.placed;
      const std::int32_t fits = answer_.waiting.group == index ? answer_.waiting.fits : 0;
      BERTH_ASSIGN(const std::int32_t most,
                   largest_that_starts(needed, fits > 0 ? fits : needed / 2,
                                       [&](std::int32_t tasks) { group.min_tasks = placed + tasks; }));
      if (most > 0) add({.kind = ChangeKind::kTasks, .group = index, .count = placed + most});
      return {};
    });
  }

  Status fewer_gpus() {
    return for_each_group([&](std::int32_t index, TaskGroup& group) -> Status {
      if (group.shape.gpu_count <= 1) return {};
      BERTH_ASSIGN(const std::int32_t most,
                   largest_that_starts(group.shape.gpu_count, group.shape.gpu_count / 2,
                                       [&](std::int32_t gpus) { group.shape.gpu_count = gpus; }));
      if (most > 0) add({.kind = ChangeKind::kGpus, .group = index, .count = most});
      return {};
    });
  }

  // Which of the jobs that start ahead of it stand in its way: those that come last, as many as must.
  Status earlier_place() {
    BERTH_TRY(starts().status());
    const std::vector<std::int64_t> ahead = started_ahead_;
    if (ahead.empty()) return {};
    const auto keep = [&](std::size_t first_ones) {
      const std::set<std::int64_t> passed(ahead.begin() + static_cast<std::ptrdiff_t>(first_ones), ahead.end());
      fork_.jobs = snapshot_.jobs;
      // Held back, not removed: the place of the job in the snapshot stays.
      for (Job& other : fork_.jobs) other.waits_for_others = other.waits_for_others || passed.contains(other.id);
    };
    keep(0);
    BERTH_ASSIGN(bool started, starts());
    if (started) {
      std::size_t good = 0;
      std::size_t bad = ahead.size();
      while (good + 1 < bad) {
        const std::size_t next = good + (bad - good) / 2;
        keep(next);
        BERTH_ASSIGN(started, starts());
        (started ? good : bad) = next;
      }
      WhatIf change{.kind = ChangeKind::kOrder, .count = static_cast<std::int64_t>(ahead.size() - good)};
      change.jobs.assign(ahead.begin() + static_cast<std::ptrdiff_t>(good), ahead.end());
      evicted_.clear();
      add(std::move(change));
    }
    fork_.jobs = snapshot_.jobs;
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
      std::set<NodeIndex> used;
      for (const Placement& placement : placed_) {
        if (out.contains(placement.node)) used.insert(placement.node);
      }
      fork_.cluster.nodes = snapshot_.cluster.nodes;
      bring_up(used.empty() ? out : used);
      BERTH_ASSIGN(started, starts());
      if (started) add({.kind = ChangeKind::kNodes, .nodes = {used.begin(), used.end()}});
    }
    fork_.cluster.nodes = snapshot_.cluster.nodes;
    return {};
  }

  Status evictions() {
    if (is_about_quota(answer_.waiting.reason)) return {};
    BERTH_ASSIGN(const std::vector<std::int64_t> victims, cheapest_victims());
    if (victims.empty()) return {};
    const std::set<std::int64_t> gone(victims.begin(), victims.end());
    std::erase_if(fork_.allocations, [&](const Allocation& a) { return gone.contains(a.job); });
    std::erase_if(fork_.running, [&](const RunningJob& run) { return gone.contains(run.job.id); });
    BERTH_ASSIGN(const bool started, starts());
    if (started) {
      WhatIf change{.kind = ChangeKind::kEvict, .jobs = victims};
      for (const std::int64_t victim : victims) change.lost += lost_by(victim);
      add(std::move(change));
    }
    fork_.allocations = snapshot_.allocations;
    fork_.running = snapshot_.running;
    return {};
  }

  std::int64_t lost_by(std::int64_t victim) const {
    const auto found = std::ranges::find(snapshot_.running, victim, [](const RunningJob& run) { return run.job.id; });
    std::int64_t milli = 0;
    for (const Allocation& a : snapshot_.allocations) {
      if (a.job == victim) milli += a.gpu_milli.value() * std::popcount(a.devices);
    }
    return lost_work(*found, MilliGpu(milli), snapshot_.now);
  }

  // Preemptible jobs whose end lets the job fit after all that start ahead of it, whatever the rules say about who may
  // be evicted for whom: chosen as reclaim chooses (room_search.h).
  Result<std::vector<std::int64_t>> cheapest_victims() {
    const Snapshot relaxed = without_eviction_rules();
    BERTH_ASSIGN(const Planning planning, planning_of(relaxed));
    RoundState& state = *planning.state;
    BERTH_TRY(plan_schedule_on(relaxed, state, {.interrupted = interrupted_, .until_job = id()}).status());
    ++answer_.plans;
    const VictimIndex index(state, relaxed.now);
    const std::vector<VictimReach> reach(index.size(), VictimReach::kAll);
    const std::vector<std::int64_t> lost(relaxed.queues.size() + 1, 0);
    VictimChoice choice(state, index, lost);
    RoomSearch search(state, index, reach, choice, relaxed.now);
    for (const TaskGroup& group : job().groups) {
      if (!search.make_room(group)) return std::vector<std::int64_t>{};
    }
    for (int tries = 0; tries < kMostRoomTries; ++tries) {
      const Ledger::Checkpoint mark = state.ledger().checkpoint();
      for (const std::size_t victim : choice.chosen()) {
        for (const RunningTask& task : index[victim].tasks) (void)state.ledger().release(task.holding);
      }
      const JobOutcome outcome = state.placer().place_job(job());
      state.ledger().rollback(mark);
      if (outcome.started) break;
      if (!search.make_one_more(job().groups[static_cast<std::size_t>(outcome.group)])) break;
    }
    std::vector<std::int64_t> victims;
    for (const std::size_t victim : choice.chosen()) victims.push_back(index[victim].job);
    return victims;
  }

  Snapshot without_eviction_rules() const {
    Snapshot relaxed = snapshot_;
    relaxed.rules.preemption = Preemption::kNone;
    relaxed.rules.min_runtime = Seconds(0);
    relaxed.rules.eviction_cooldown = Seconds(0);
    relaxed.rules.eviction_budget = -1;
    for (Queue& queue : relaxed.queues) queue.eviction_budget = -1;
    for (RunningJob& run : relaxed.running) run.job.eviction.min_runtime = Seconds(0);
    return relaxed;
  }

  const Snapshot& snapshot_;
  Snapshot fork_;
  std::size_t job_;
  const std::atomic<bool>* interrupted_;
  WhatIfAnswer answer_;
  // Of the last plan.
  Waiting waiting_;
  std::vector<Placement> placed_;
  std::vector<Eviction> evicted_;
  std::vector<std::int64_t> started_ahead_;
};

}  // namespace

Result<WhatIfAnswer> what_would_start(const Snapshot& snapshot, std::int64_t job,
                                      const std::atomic<bool>* interrupted) {
  const auto found = std::ranges::find(snapshot.jobs, job, &Job::id);
  if (found == snapshot.jobs.end()) return Status(Code::kNotFound, fmt::format("job {} does not wait", job));
  return WhatIfSearch(snapshot, static_cast<std::size_t>(found - snapshot.jobs.begin()), interrupted).run();
}

}  // namespace berth
