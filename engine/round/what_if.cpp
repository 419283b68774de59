#include "engine/round/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <unordered_set>

#include "engine/round/forked_round.h"
#include "engine/round/schedule.h"
#include "engine/round/smallest.h"
#include "engine/round/what_if_victims.h"

namespace berth {

namespace {

constexpr int kMostQuotaRises = 4;  // one per resource that turns out short
constexpr int kMostQuestions = 24;  // rounds planned to find what is needless, in all
constexpr int kMostOfOne = 14;      // in one change
constexpr int kFewAmounts = 12;     // so many smaller amounts are all tried

// Amounts that people give are multiples of it.
std::int64_t whole_amount(const QuotaResource& resource) {
  switch (resource.kind) {
    case ResourceKind::kCpu: return 1000;
    case ResourceKind::kMemory: return 1024;
    case ResourceKind::kGpu: break;
  }
  return kWholeDevice.value();
}

bool is_about_quota(Reason reason) {
  return reason == Reason::kQuota || reason == Reason::kLimit || reason == Reason::kLenderKeeps;
}

class WhatIfSearch : private ForkedRound {
 public:
  using ForkedRound::ForkedRound;

  Result<WhatIfAnswer> run() {
    BERTH_TRY(search());
    answer_.plans += plans_;
    return std::move(answer_);
  }

 private:
  Status search() {
    BERTH_ASSIGN(answer_.starts_anyway, starts_at(kOwnPlace));
    answer_.waiting = planned_.waiting;
    if (answer_.starts_anyway) return {};
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
    return evictions();
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

  void raise_all(const std::vector<QuotaRise>& rises) {
    fork_.quotas = snapshot_.quotas;
    for (const QuotaRise& rise : rises) raise(rise);
  }

  Result<bool> starts_with(const std::vector<QuotaRise>& rises) {
    raise_all(rises);
    return starts();
  }

  // Adds what is needed of a change of quotas with which it starts, as has just been planned: no rise that may be left
  // out, no amount that may be lower.
  Status add_smallest(WhatIf change) {
    questions_.begin(kMostOfOne);
    Smallest found = Smallest::kProved;
    for (bool is_lower = true; is_lower && found == Smallest::kProved;) {
      BERTH_ASSIGN(found,
                   leave_out<QuotaRise>(change.quotas, questions_, [&](const auto& rises) { raise_all(rises); }));
      is_lower = false;
      for (std::size_t i = 0; found == Smallest::kProved && i < change.quotas.size(); ++i) {
        const std::int64_t before = change.quotas[i].amount;
        BERTH_ASSIGN(found, lower_rise(change.quotas, i, questions_));
        // What the others need may have changed with it.
        is_lower |= change.quotas[i].amount < before && change.quotas.size() > 1;
      }
    }
    change.may_be_smaller = found == Smallest::kNotProved;
    add(std::move(change));
    return {};
  }

  // More may start it where a little less does not and much less does: others are given less, too. So of whole amounts
  // all are tried, or if those are many, the demands of jobs.
  Result<Smallest> lower_rise(std::vector<QuotaRise>& rises, std::size_t at, Questions& questions) {
    Planned proof = planned_;
    const auto works = [&](std::int64_t amount) -> Result<bool> {
      std::vector<QuotaRise> lower = rises;
      lower[at].amount = amount;
      raise_all(lower);
      BERTH_ASSIGN(const bool started, starts_again(proof.goes_first));
      if (started) proof = planned_;
      return started;
    };
    std::int64_t& amount = rises[at].amount;
    const std::int64_t whole = whole_amount(snapshot_.quotas.resources[static_cast<std::size_t>(rises[at].resource)]);
    const bool are_few = amount / whole <= kFewAmounts;
    Smallest found = are_few ? Smallest::kProved : Smallest::kNotProved;
    std::int64_t too_little = 0;
    for (const std::int64_t less : are_few ? whole_amounts(whole, amount) : demands(rises[at].resource, amount)) {
      if (!questions.take()) {
        found = Smallest::kNotProved;
        break;
      }
      BERTH_ASSIGN(const bool enough, works(less));
      if (enough) amount = less;
      if (enough) break;
      too_little = less;
    }
    BERTH_ASSIGN(const Smallest by_a_unit, lower_amount(amount, too_little, whole, questions, works));
    planned_ = std::move(proof);
    return by_a_unit == Smallest::kProved ? found : by_a_unit;
  }

  static std::vector<std::int64_t> whole_amounts(std::int64_t whole, std::int64_t below) {
    std::vector<std::int64_t> amounts;
    for (std::int64_t amount = whole; amount < below; amount += whole) amounts.push_back(amount);
    return amounts;
  }

  // What single jobs of its queue ask for of it.
  std::vector<std::int64_t> demands(std::int32_t resource, std::int64_t below) {
    std::set<std::int64_t> amounts;
    const QuotaLedger ledger(snapshot_.cluster, snapshot_.queues, snapshot_.quotas, snapshot_.now);
    for (const Job& other : snapshot_.jobs) {
      if (other.queue != job().queue) continue;
      const std::int64_t demand = ledger.demand_to_start(other)[static_cast<std::size_t>(resource)];
      if (demand > 0 && demand < below) amounts.insert(demand);
    }
    return {amounts.begin(), amounts.end()};
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
    if (started) BERTH_TRY(add_smallest(std::move(change)));
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
    return add_smallest(std::move(change));
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
    WhatIf change = quota_for(demand, quotas);
    if (change.quotas.empty()) return {};
    BERTH_ASSIGN(bool started, starts_with(change.quotas));
    if (!started || !planned_.goes_first) return started ? add_smallest(std::move(change)) : Status();
    const Planned at_front = planned_;
    const std::unordered_set<std::int64_t> ahead(ahead_.begin(), ahead_.end());
    for (const Job& other : snapshot_.jobs) {
      if (other.queue != job().queue || !ahead.contains(other.id)) continue;
      const Amounts more = quotas.demand_to_start(other);
      for (std::size_t r = 0; r < quotas.resource_count(); ++r) demand[r] += more[r];
    }
    WhatIf for_all = quota_for(demand, quotas);
    BERTH_ASSIGN(started, starts_with(for_all.quotas));
    if (started && !planned_.goes_first) return add_smallest(std::move(for_all));
    planned_ = at_front;
    return add_smallest(std::move(change));
  }

  // The quotas of its queue and those above that lack something of `demand`.
  WhatIf quota_for(const Amounts& demand, const QuotaLedger& quotas) {
    WhatIf change{.kind = ChangeKind::kQuota};
    for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
      if (!quotas.has_quota_of(job().queue, r) || demand[r] == 0) continue;
      for (std::int32_t q = job().queue; q >= 0; q = snapshot_.queues[static_cast<std::size_t>(q)].parent) {
        const bool sums_children =
            q != job().queue && !snapshot_.quotas.terms[static_cast<std::size_t>(q)][r].has_quota;
        // What runs on borrowed quota already would be covered first.
        const std::int64_t lacks = quotas.counted(q, r) + demand[r] - quotas.quota(q, r);
        if (lacks <= 0 || sums_children || quotas.is_left_to_models(q, r, demand, job().queue)) continue;
        change.quotas.push_back({.queue = q, .resource = static_cast<std::int32_t>(r), .amount = lacks});
      }
    }
    return change;
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
      std::vector<ModelSet> models;
      for (ModelSet left = used; left != 0; left &= left - 1) models.push_back(left & -left);
      if (models.empty()) return {};
      const auto take = [&](const std::vector<ModelSet>& some) {
        group.shape.models = asked;
        for (const ModelSet model : some) group.shape.models |= model;
      };
      take(models);
      BERTH_ASSIGN(const bool with_used, starts());
      if (!with_used) return {};
      questions_.begin(kMostOfOne);
      BERTH_ASSIGN(const Smallest found, leave_out<ModelSet>(models, questions_, take));
      WhatIf change{.kind = ChangeKind::kModel, .group = index};
      for (const ModelSet model : models) change.models |= model;
      change.may_be_smaller = found == Smallest::kNotProved;
      add(std::move(change));
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
    const std::int32_t asked = below;
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
    // Others may make room for it that it could not make before them.
    for (bool is_more = place == kOwnPlace && most + 1 == below && below < asked; is_more && most + 1 < asked;) {
      set(most + 1);
      BERTH_ASSIGN(is_more, starts_at(place));
      most += is_more ? 1 : 0;
    }
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
    auto place = takers_[good];
    BERTH_ASSIGN(const bool proved, starts_at(place));
    if (!proved) return {};
    // Who comes later than owners takes nothing at his place, and may matter all the same.
    WhatIf change{.kind = ChangeKind::kOrder};
    questions_.begin(kMostOfOne);
    for (bool starts = true; starts && place + 1 < std::ssize(ahead_);) {
      change.may_be_smaller = !questions_.take();
      if (change.may_be_smaller) break;
      BERTH_ASSIGN(starts, starts_at(place + 1));
      place += starts ? 1 : 0;
    }
    change.jobs.assign(ahead_.begin() + place, ahead_.end());
    add(std::move(change));
    return {};
  }

  Status more_nodes() {
    const std::function<void(const std::vector<NodeIndex>&)> bring_up = [&](const std::vector<NodeIndex>& nodes) {
      fork_.cluster.nodes = snapshot_.cluster.nodes;
      for (const NodeIndex node : nodes) fork_.cluster.nodes[static_cast<std::size_t>(node)].state = NodeState::kUp;
    };
    std::vector<NodeIndex> nodes;
    for (std::size_t n = 0; n < snapshot_.cluster.nodes.size(); ++n) {
      if (snapshot_.cluster.nodes[n].state != NodeState::kUp) nodes.push_back(static_cast<NodeIndex>(n));
    }
    if (nodes.empty()) return {};
    bring_up(nodes);
    BERTH_ASSIGN(bool started, starts());
    if (started) {
      // Those it would run on, unless it is others that make room for it there.
      std::set<NodeIndex> used;
      for (const Placement& placement : planned_.placed) {
        if (std::ranges::binary_search(nodes, placement.node)) used.insert(placement.node);
      }
      Planned with_all = std::move(planned_);
      bring_up({used.begin(), used.end()});
      BERTH_ASSIGN(started, starts());
      if (started) {
        nodes.assign(used.begin(), used.end());
      } else {
        planned_ = std::move(with_all);
      }
      questions_.begin(kMostOfOne);
      BERTH_ASSIGN(const Smallest found, leave_out<NodeIndex>(nodes, questions_, bring_up));
      add({.kind = ChangeKind::kNodes, .nodes = nodes, .may_be_smaller = found == Smallest::kNotProved});
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
    BERTH_ASSIGN(std::vector<ProposedVictim> victims,
                 is_about_quota(why.reason) ? victims_for_quota(snapshot_, why)
                                            : victims_for_room(snapshot_, job(), blocker(), interrupted_));
    ++answer_.plans;
    if (victims.empty()) return {};
    std::vector<std::size_t> growing;  // elastic ones that have tasks left to place: who is gone does not grow
    for (const ProposedVictim& victim : victims) {
      if (const Job* const entry = find_job(snapshot_.jobs, victim.job); entry != nullptr)
        growing.push_back(static_cast<std::size_t>(entry - snapshot_.jobs.data()));
    }
    const auto evict = [&](const std::vector<ProposedVictim>& some) {
      std::set<std::int64_t> gone;
      for (const ProposedVictim& victim : some) gone.insert(victim.job);
      end_only(gone);
      for (const std::size_t index : growing) {
        fork_.jobs[index] = snapshot_.jobs[index];
        if (!gone.contains(snapshot_.jobs[index].id)) continue;
        for (TaskGroup& group : fork_.jobs[index].groups) group.count = group.min_tasks = group.placed;
      }
    };
    evict(victims);
    BERTH_ASSIGN(const bool started, starts());
    if (started) {
      std::ranges::stable_sort(victims, std::greater<>(), &ProposedVictim::lost);  // the dearest are left out first
      questions_.begin(kMostOfOne);
      BERTH_ASSIGN(const Smallest found, leave_out<ProposedVictim>(victims, questions_, evict));
      WhatIf change{.kind = ChangeKind::kEvict, .may_be_smaller = found == Smallest::kNotProved};
      for (const ProposedVictim& victim : victims) {
        change.jobs.push_back(victim.job);
        change.lost += victim.lost;
      }
      std::ranges::sort(change.jobs);
      add(std::move(change));
    }
    evict({});
    return {};
  }

  WhatIfAnswer answer_;
  Questions questions_{kMostQuestions};
  std::vector<std::int64_t> takers_;  // as things are
};

}  // namespace

Result<WhatIfAnswer> what_would_start(const Snapshot& snapshot, std::int64_t job, WorkloadThen workload_then,
                                      const std::atomic<bool>* interrupted) {
  const auto found = std::ranges::find(snapshot.jobs, job, &Job::id);
  if (found == snapshot.jobs.end()) return Status(Code::kNotFound, fmt::format("job {} does not wait", job));
  const auto index = static_cast<std::size_t>(found - snapshot.jobs.begin());
  return WhatIfSearch(snapshot, index, std::move(workload_then), interrupted).run();
}

}  // namespace berth
