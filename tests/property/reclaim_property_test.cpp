// What reclaim promises, on departments whose jobs come at random: no ping-pong, nothing within quota is evicted for
// another queue, bounded loss, no eviction in vain, and owners get their quota back in bounded time.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/base/env.h"
#include "tests/company.h"
#include "tests/property/world.h"
#include "tests/seeds.h"

namespace berth::test {
namespace {

constexpr const char* kTrees[] = {
    "ads gpu=8 / search gpu=4 / maps",
    ("ads gpu=6 / ads1 < ads gpu=4 / ads2 < ads gpu=2 / search gpu=6 budget=4000000 / "
     "web < search gpu=3 / news < search"),
    "ads gpu=10 gpu.lend=6 / search gpu=2 gpu.borrow=8 / maps gpu=4 gpu.limit=9 weight=3",
};

std::string random_job_text(Random& random) {
  constexpr const char* kShapes[] = {"gpus=1",
                                     "gpus=0.5",
                                     "gpus=2",
                                     "gpus=4",
                                     "gpus=1 tasks=3",
                                     "gpus=2 tasks=2",
                                     "gpus=1 tasks=5 min=2",
                                     "gpus=1 tasks=4 min=1 cpu=4",
                                     "gpus=2 locality=link_group",
                                     "cpu=8"};
  std::string text = kShapes[random.below(std::size(kShapes))];
  if (random.below(2) == 0) text += random.below(3) == 0 ? " class=1" : " class=0";
  return text;
}

// Departments for which something happens every few minutes.
class BusyCompany : public Company {
 public:
  explicit BusyCompany(std::uint64_t seed) : Company("3x4:A100; 1x8:A100", kTrees[seed % 3]), random_(seed) {
    snapshot.rules.eviction_budget = random_.below(2) == 0 ? -1 : 6'000'000;
    snapshot.rules.min_runtime = Seconds(300);
    snapshot.rules.eviction_cooldown = Seconds(static_cast<std::int64_t>(random_.below(900)));
    snapshot.rules.backfill = random_.below(2) == 0 ? BackfillMode::kGreedy : BackfillMode::kEasy;
    if (seed % 4 == 3) snapshot.order_policy = "priority";
  }

  Plan next_round() {
    now_ += 20 + static_cast<std::int64_t>(random_.below(400));
    for (std::uint64_t i = random_.below(4); i > 0; --i) {
      const auto queue = random_.below(snapshot.queues.size());
      const bool is_leaf = std::ranges::none_of(
          snapshot.queues, [&](const Queue& other) { return other.parent == static_cast<std::int32_t>(queue); });
      if (!is_leaf) continue;
      snapshot.now = Seconds(now_);
      const auto duration = static_cast<std::int64_t>(600 + random_.below(9000));
      const std::int64_t id = submit(snapshot.queues[queue].name, random_job_text(random_), duration);
      EvictionTerms& terms = waiting_job(id).eviction;
      terms.preemptible = random_.below(8) > 0;
      if (random_.below(2) == 0) terms.checkpoint_interval = Seconds(static_cast<std::int64_t>(1 + random_.below(900)));
      if (random_.below(4) == 0) terms.checkpoint_grace = Seconds(static_cast<std::int64_t>(1 + random_.below(300)));
      terms.restart_cost = Seconds(static_cast<std::int64_t>(random_.below(60)));
    }
    return round(now_);
  }

  std::int64_t now() const { return now_; }

 private:
  Random random_;
  std::int64_t now_ = 0;
};

// Every task that this round starts would start in it without any eviction, too. Unknown where somebody stops later.
bool evicts_in_vain(const Snapshot& snapshot, const Plan& plan) {
  if (std::ranges::all_of(plan.evictions, &Eviction::was_told_before) ||
      std::ranges::any_of(plan.evictions, [&](const Eviction& e) { return e.stop_at > snapshot.now; }))
    return false;
  const auto tasks_by_job = [](const Plan& of) {
    std::map<std::int64_t, std::size_t> tasks;
    for (const Placement& placement : of.placements) ++tasks[placement.job];
    return tasks;
  };
  Snapshot without = snapshot;
  without.rules.preemption = Preemption::kNone;
  without.rules.told_still_stop = true;
  const std::map<std::int64_t, std::size_t> then =
      tasks_by_job(must(plan_schedule_on(without, *must(planning_of(without)).state, {})).plan);
  return std::ranges::all_of(tasks_by_job(plan), [&](const auto& started) {
    const auto same = then.find(started.first);
    return same != then.end() && same->second >= started.second;
  });
}

// What is looked at in every round of a company, before the plan is carried out.
class Witness {
 public:
  explicit Witness(Company& company) : company_(company) {
    for (const auto& terms : company.snapshot.quotas.terms) {
      for (const QuotaTerms& each : terms) {
        has_limits_ =
            has_limits_ || each.limit != kNoLimit || each.borrow_limit != kNoLimit || each.lend_limit != kNoLimit;
      }
    }
    company.look = [this](const Plan& plan, const RoundState& state) {
      look_at_evictions(plan, state);
      look_at_budgets(plan);
      ASSERT_FALSE(evicts_in_vain(company_.snapshot, plan)) << plan_to_text(plan);
      usage_ = usage_of(state);
    };
  }

  // The state that a round left is the state that the next one reads.
  void look_at_what_is_left() const {
    const Planning again = must(planning_of(company_.snapshot));
    again.state->renew_marks();
    ASSERT_EQ(usage_of(*again.state), usage_);
  }

  std::size_t evictions = 0;
  std::size_t surplus_tasks = 0;       // evicted, their gang runs on
  mutable std::size_t late_tasks = 0;  // evicted, of those that joined after their job's start

 private:
  bool was_told_before(const Eviction& e) { return company_.running_job(e.job).stop_at >= Seconds(0); }

  void look_at_evictions(const Plan& plan, const RoundState& state) {
    for (const Eviction& e : plan.evictions) {
      if (was_told_before(e)) continue;
      SCOPED_TRACE("job " + std::to_string(e.job) + " for " + std::to_string(e.beneficiary));
      ++evictions;
      const RunningJob& victim = company_.running_job(e.job);
      const Job& beneficiary = company_.waiting_job(e.beneficiary);
      ASSERT_FALSE(seen_.contains({e.job, e.beneficiary})) << "the one evicted the other before";
      seen_.emplace(e.beneficiary, e.job);
      if (e.rule == EvictionRule::kReclaim) {
        const int fork = state.quotas().fork_depth(beneficiary.queue, victim.job.queue);
        ASSERT_GE(fork, 0);
        const std::uint32_t bit = 1u << (e.whole ? fork : fork + kMarkedDepths);
        ASSERT_TRUE((victim.quota_mark & bit) == 0 || gave_its_marks(plan, state, victim.job))
            << "it was within its quota";
      } else {
        ASSERT_EQ(victim.job.queue, beneficiary.queue);
        ASSERT_LT(state.class_value(victim.job), state.class_value(beneficiary));
      }
      look_at_beneficiary(plan, beneficiary);
      // Of its own department it may be quota that goes, so that it may take from others.
      const bool is_from_elsewhere = state.quotas().fork_depth(beneficiary.queue, victim.job.queue) == 0;
      if (!e.whole && !has_limits_ && is_from_elsewhere) look_at_places(plan, e);
      look_at_loss(e, victim);
    }
  }

  // A job of a higher class of its queue starts in this round.
  bool gave_its_marks(const Plan& plan, const RoundState& state, const Job& victim) const {
    return std::ranges::any_of(plan.placements, [&](const Placement& placement) {
      const Job* const job = find_job(company_.snapshot.jobs, placement.job);
      return job != nullptr && job->queue == victim.queue && state.class_value(*job) > state.class_value(victim);
    });
  }

  // Counted from the rows: each task that goes loses its own time since it came, or since the job's last checkpoint.
  void look_at_loss(const Eviction& e, const RunningJob& victim) const {
    const EvictionTerms& terms = victim.job.eviction;
    const std::int64_t stop = e.whole ? e.stop_at.value() : company_.snapshot.now.value();
    std::int64_t expected = 0;
    std::int64_t tasks = 0;
    for (const Allocation& a : company_.snapshot.allocations) {
      const auto names_it = [&](const TaskName& name) { return name.group == a.group && name.task == a.task; };
      if (a.job != e.job || (!e.whole && std::ranges::none_of(e.tasks, names_it))) continue;
      std::int64_t lost = stop - a.start.value();
      if (e.whole && terms.checkpoint_grace > Seconds(0)) {
        lost = 0;
      } else if (terms.checkpoint_interval > Seconds(0)) {
        lost = std::min(lost, (stop - victim.start.value()) % terms.checkpoint_interval.value());
      }
      expected += (lost + terms.restart_cost.value()) * a.gpu_milli.value() * __builtin_popcountll(a.devices);
      late_tasks += a.start > victim.start ? 1 : 0;
      ++tasks;
    }
    ASSERT_GT(tasks, 0);
    ASSERT_EQ(e.lost, expected);
  }

  // Where no limit is in the way, each task that goes leaves a node that the beneficiary is placed on.
  void look_at_places(const Plan& plan, const Eviction& e) {
    for (const Allocation& a : company_.snapshot.allocations) {
      if (a.job != e.job || std::ranges::find(e.tasks, TaskName{a.group, a.task}) == e.tasks.end()) continue;
      const auto is_there = [&](const Placement& p) { return p.job == e.beneficiary && p.node == a.node; };
      ASSERT_TRUE(std::ranges::any_of(plan.placements, is_there)) << "task " << a.task << " serves nobody";
      ++surplus_tasks;
    }
  }

  // It starts now, or room is held for it.
  static void look_at_beneficiary(const Plan& plan, const Job& job) {
    const bool is_held = std::ranges::any_of(plan.reservations, [&](const Reservation& r) {
      return r.job == job.id && r.kind == ReservationKind::kEviction;
    });
    std::int64_t needed = 0;
    for (const TaskGroup& group : job.groups) needed += group.min_tasks - group.placed;
    ASSERT_TRUE(is_held || std::ranges::count(plan.placements, job.id, &Placement::job) >= needed) << "in vain";
  }

  void look_at_budgets(const Plan& plan) {
    std::map<std::int32_t, std::int64_t> now_lost;
    for (const Eviction& e : plan.evictions) {
      if (!was_told_before(e)) now_lost[company_.running_job(e.job).job.queue] += e.lost;
    }
    for (const auto& [queue, lost] : now_lost) {
      const Queue& of = company_.snapshot.queues[static_cast<std::size_t>(queue)];
      const std::int64_t budget =
          of.eviction_budget >= 0 ? of.eviction_budget : company_.snapshot.rules.eviction_budget;
      ASSERT_TRUE(budget < 0 || of.lost_this_hour + lost <= budget) << of.name;
    }
  }

  // Amounts and marks of every queue, marks of every job, GPUs in use.
  static std::vector<std::int64_t> usage_of(const RoundState& state) {
    std::vector<std::int64_t> amounts = {state.ledger().gpu_used().value()};
    const QuotaLedger& quotas = state.quotas();
    for (std::int32_t q = -1; q < static_cast<std::int32_t>(quotas.queues().size()); ++q) {
      for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
        amounts.push_back(quotas.used(q, r));
        amounts.push_back(quotas.marked(q, r));
      }
    }
    std::map<std::int64_t, std::uint32_t> marks;
    for (const RunningJob& run : state.running().all()) marks[run.job.id] = run.quota_mark;
    for (const auto& [job, mark] : marks) amounts.insert(amounts.end(), {job, mark});
    return amounts;
  }

  Company& company_;
  bool has_limits_ = false;
  std::set<std::pair<std::int64_t, std::int64_t>> seen_;  // beneficiary and victim
  std::vector<std::int64_t> usage_;
};

TEST(ReclaimProperty, KeepsItsPromises) {
  std::size_t evictions = 0;
  std::size_t late_tasks = 0;
  std::size_t surplus_tasks = 0;
  std::vector<std::uint64_t> seeds = {119, 191};  // each showed something once
  for (std::uint64_t seed = 1; seed <= 48; ++seed) seeds.push_back(seed);
  for (const std::uint64_t seed : seeds) {
    if (HasFatalFailure()) break;
    BusyCompany company(seed);
    Witness witness(company);
    for (int round = 0; round < 70 && !HasFatalFailure(); ++round) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
      company.next_round();
      witness.look_at_what_is_left();
    }
    evictions += witness.evictions;
    late_tasks += witness.late_tasks;
    surplus_tasks += witness.surplus_tasks;
  }
  EXPECT_GT(evictions, 200u) << "else the test says nothing";
  EXPECT_GT(late_tasks, 10u) << "nor of tasks that join later";
  EXPECT_GT(surplus_tasks, 10u) << "nor of surplus tasks";
}

// With single GPUs packing cannot block, so quota alone decides: a queue that has work and unused quota waits at most
// until the youngest borrower may be evicted and the delay has passed, and for the next round.
TEST(ReclaimProperty, QuotaComesBackInBoundedTime) {
  constexpr const char* kOwners[] = {
      "ads gpu=8 / search gpu=8 / maps gpu=4",
      "ads gpu=12 / ads1 < ads gpu=7 / ads2 < ads gpu=5 / search gpu=8 / web < search gpu=5 / news < search gpu=3"};
  std::size_t evictions = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Company company("5x4:A100", kOwners[seed % 2]);
    const std::int64_t every = 60;
    company.snapshot.rules.min_runtime = Seconds(600);
    company.snapshot.rules.eviction_cooldown = Seconds(600);
    const std::int64_t bound = 600 + company.snapshot.rules.pending_delay.value() + every;
    std::map<std::int32_t, std::int64_t> since;  // queues that wait below their quota
    company.look = [&](const Plan&, const RoundState& state) {
      const std::int64_t now = company.snapshot.now.value();
      std::set<std::int32_t> waiting;
      for (const Job& job : company.snapshot.jobs) {
        if (state.running().find(job.id) == nullptr) waiting.insert(job.queue);
      }
      for (std::int32_t q = 0; q < static_cast<std::int32_t>(company.snapshot.queues.size()); ++q) {
        if (waiting.contains(q) && state.quotas().used(q, 0) + 1000 <= state.quotas().quota(q, 0)) {
          const std::int64_t first = since.try_emplace(q, now).first->second;
          ASSERT_LE(now - first, bound) << "queue " << company.snapshot.queues[static_cast<std::size_t>(q)].name;
        } else {
          since.erase(q);
        }
      }
    };
    for (std::int64_t now = 0; now < 150 * every && !HasFatalFailure(); now += every) {
      company.snapshot.now = Seconds(now);
      // Bursts of one department after the other.
      const auto busy = static_cast<std::size_t>(now / 3000) % company.snapshot.queues.size();
      const std::string queue = company.snapshot.queues[busy].name;
      const bool is_leaf = std::ranges::none_of(
          company.snapshot.queues, [&](const Queue& other) { return other.parent == static_cast<std::int32_t>(busy); });
      for (std::uint64_t i = random.below(4); is_leaf && i > 0; --i) {
        company.submit(queue, "gpus=1", static_cast<std::int64_t>(1000 + random.below(20'000)));
      }
      evictions += company.round(now).evictions.size();
    }
  }
  EXPECT_GT(evictions, 50u) << "else the test says nothing";
}

// The same of two models, of which a job may leave the choice to us, beside limits and what is not lent of the other.
TEST(ReclaimProperty, QuotaOfAModelComesBackInBoundedTime) {
  constexpr const char* kOwners[] = {
      "ads A100=8 T4.limit=1 / search T4=4 A100=4 A100.limit=6 / maps",
      ("ads A100=8 / ads1 < ads A100=4 T4.limit=1 / ads2 < ads A100=4 / search T4=5 T4.lend=2 A100=4 / "
       "maps A100.limit=9"),
      "ads A100=6 T4.borrow=0 T4=2 / search A100=6 A100.lend=4 / maps T4=4 A100.limit=0"};
  constexpr const char* kModels[] = {"", "", " models=A100", " models=T4", " models=A100|T4"};
  std::size_t evictions = 0;
  const Seeds seeds = wanted_seeds(24);
  for (std::uint64_t seed = seeds.first; seed < seeds.end && !HasFatalFailure(); ++seed) {
    Random random(seed);
    Company company("3x4:A100; 2x4:T4", kOwners[seed % 3]);
    const std::int64_t every = 60;
    company.snapshot.order_policy = one_of(random, {"priority", "fifo", "fair_share", "drf", "wpai", "las"});
    company.snapshot.rules.backfill =
        one_of(random, {BackfillMode::kGreedy, BackfillMode::kEasy, BackfillMode::kConservative});
    company.snapshot.rules.min_runtime = Seconds(600);
    company.snapshot.rules.eviction_cooldown = Seconds(600);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + company.snapshot.order_policy + ", " +
                 std::string(backfill_mode_name(company.snapshot.rules.backfill)));
    const std::int64_t bound = 600 + company.snapshot.rules.pending_delay.value() + every;
    std::map<std::pair<std::int32_t, std::size_t>, std::int64_t> since;  // that a queue waits with quota left
    company.look = [&](const Plan& plan, const RoundState& state) {
      ASSERT_FALSE(evicts_in_vain(company.snapshot, plan)) << plan_to_text(plan);
      const std::int64_t now = company.snapshot.now.value();
      const QuotaLedger& quotas = state.quotas();
      for (std::int32_t q = 0; q < static_cast<std::int32_t>(company.snapshot.queues.size()); ++q) {
        for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
          const auto waits_for_it = [&](const Job& job) {
            const ModelSet models = job.groups.front().shape.models;
            return job.queue == q && state.running().find(job.id) == nullptr &&
                   (models == 0 || (models & quotas.resource(r).models) != 0);
          };
          if (quotas.used(q, r) + 1000 > quotas.quota(q, r) ||
              std::ranges::none_of(company.snapshot.jobs, waits_for_it)) {
            since.erase({q, r});
            continue;
          }
          const std::int64_t first = since.try_emplace({q, r}, now).first->second;
          ASSERT_LE(now - first, bound) << "queue " << company.snapshot.queues[static_cast<std::size_t>(q)].name
                                        << ", resource " << r << "\n"
                                        << plan_to_text(plan);
        }
      }
    };
    for (std::int64_t now = 0; now < 150 * every && !HasFatalFailure(); now += every) {
      company.snapshot.now = Seconds(now);
      const auto busy = static_cast<std::size_t>(now / 3000) % company.snapshot.queues.size();
      const bool is_leaf = std::ranges::none_of(
          company.snapshot.queues, [&](const Queue& other) { return other.parent == static_cast<std::int32_t>(busy); });
      for (std::uint64_t i = random.below(4); is_leaf && i > 0; --i) {
        company.submit(company.snapshot.queues[busy].name, std::string("gpus=1") + kModels[random.below(5)],
                       static_cast<std::int64_t>(1000 + random.below(20'000)));
      }
      evictions += company.round(now).evictions.size();
    }
  }
  EXPECT_GT(evictions, 2 * (seeds.end - seeds.first)) << "else the test says nothing";
}

// Small jobs use the quota that a large job of their queue waits for, and a guest is first in the order. The guest
// gives way to each small job, is evicted, and is first again. Where nothing keeps the quota for the large job, it
// waits for ever in some of these worlds.
TEST(ReclaimProperty, SmallJobsOfItsQueueDoNotPassAnOwner) {
  struct World {
    const char* cluster;
    const char* owners;
    std::vector<const char*> small;  // of `a`
    const char* large;
    const char* guest;  // of `g`
  };
  const World worlds[] = {
      {"1x4:A100", "g / a gpu=2 / c gpu=2", {"gpus=0.3"}, "gpus=2", "gpus=2"},
      {"1x4:A100", "g / a gpu=2 / c gpu=2", {"gpus=1"}, "gpus=2", "gpus=2"},
      {"1x8:A100", "p gpu=5 gpu.limit=5 / g < p gpu=1 / a < p gpu=4", {"gpus=0.3"}, "gpus=4", "gpus=1 tasks=2"},
      {"2x8:A100", "p gpu=5 gpu.limit=5 / g < p gpu=1 / a < p gpu=4", {"gpus=1"}, "gpus=4", "gpus=1 tasks=2"},
      {"1x8:A100",
       "p gpu=5 gpu.limit=5 / g < p gpu=1 / a < p gpu=4",
       {"gpus=1", "gpus=1 tasks=3 min=1"},
       "gpus=4",
       "gpus=1 tasks=2"}};
  for (const World& world : worlds) {
    for (const char* const order : {"fifo", "priority", "las"}) {
      for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative}) {
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
          SCOPED_TRACE("seed " + std::to_string(seed) + ", " + order + ", " + std::string(backfill_mode_name(mode)) +
                       ", " + world.owners + ", " + world.small.back());
          Random random(seed);
          Company company(world.cluster, world.owners);
          company.snapshot.order_policy = order;
          company.snapshot.rules.backfill = mode;
          company.snapshot.rules.min_runtime = Seconds(600);
          const auto submit = [&](const char* queue, const char* text, std::int64_t limit) {
            const std::int64_t least = limit / 3;
            const std::int64_t id = company.submit(
                queue, text,
                least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(limit - least))));
            company.waiting_job(id).time_limit = Seconds(limit);
            return id;
          };
          const auto keep_waiting = [&](const char* queue, std::size_t count, const auto& text, std::int64_t limit) {
            const std::int32_t index = company.departments.queue(queue);
            const auto waits = [&](const Job& job) { return job.queue == index && !company.runs(job.id); };
            while (static_cast<std::size_t>(std::ranges::count_if(company.snapshot.jobs, waits)) < count)
              submit(queue, text(), limit);
          };
          for (int guest = 0; guest < 2; ++guest) submit("g", world.guest, 100'000);
          std::int64_t large = 0;
          for (std::int64_t now = 0; now < 1200 + 21600 && !(large != 0 && company.runs(large)); now += 120) {
            company.snapshot.now = Seconds(now);
            if (now == 1200) large = submit("a", world.large, 3600);
            const std::size_t of_large = now >= 1200 ? 1 : 0;
            keep_waiting(
                "a", 3 + of_large, [&] { return world.small[random.below(world.small.size())]; }, 1800);
            if (std::string(world.owners).ends_with("c gpu=2"))
              keep_waiting(
                  "c", 3, [] { return "gpus=1"; }, 1800);
            company.round(now);
          }
          ASSERT_TRUE(company.runs(large)) << "others of its queue pass it";
        }
      }
    }
  }
}

// A guest that needs the whole cluster is evicted by an owner who always has the next job, as often as it starts. Who
// comes after it starts all the same, also of its own queue.
TEST(ReclaimProperty, WhoIsEvictedAgainLetsOthersBefore) {
  for (const char* const order : {"priority", "fifo", "las", "fair_share", "drf", "wpai"}) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone}) {
      for (const char* const queue_of_second : {"second", "first"}) {
        SCOPED_TRACE(std::string(order) + ", " + std::string(backfill_mode_name(mode)) + ", " + queue_of_second);
        Company company("1x8:A100", "owner gpu=1 / first / second / other");
        company.snapshot.order_policy = order;
        company.snapshot.rules.backfill = mode;
        const auto submit = [&](const char* queue, const char* text, std::int64_t duration) {
          const std::int64_t id = company.submit(queue, text, duration);
          company.waiting_job(id).time_limit = Seconds(duration);
          return id;
        };
        std::int64_t of_owner = 0;
        std::int64_t second = 0;
        std::int64_t small = 0;
        for (std::int64_t now = 0; now < 24 * 3600 && (second == 0 || !company.runs(second)); now += 300) {
          company.snapshot.now = Seconds(now);
          if (of_owner == 0 || company.runs(of_owner)) of_owner = submit("owner", "gpus=1", 3600);
          if (now == 0) submit("first", "gpus=8", 7200);
          if (now == 600) second = submit(queue_of_second, "gpus=8", 300);
          if (now >= 600 && (small == 0 || company.runs(small))) small = submit("other", "gpus=1", 600);
          company.round(now);
        }
        EXPECT_TRUE(company.runs(second));
      }
    }
  }
}

// The guest needs the whole cluster and runs for longer than min_runtime, so it never ends. The more often it comes,
// the longer it lets others run.
TEST(ReclaimProperty, WhoIsEvictedAgainStepsBack) {
  for (const char* const order : {"fair_share", "drf", "fifo"}) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kNone}) {
      SCOPED_TRACE(std::string(order) + ", " + std::string(backfill_mode_name(mode)));
      Company company("1x8:A100", "owner gpu=3 / other gpu=3 / guest");
      company.snapshot.order_policy = order;
      company.snapshot.rules.backfill = mode;
      const auto submit = [&](const char* queue, const char* text, std::int64_t duration) {
        const std::int64_t id = company.submit(queue, text, duration);
        company.waiting_job(id).time_limit = Seconds(2 * duration);
        return id;
      };
      std::int64_t guest = 0;
      std::int64_t evictions = 0;
      std::map<std::int64_t, std::int64_t> waits;  // jobs of the owner, since when
      for (std::int64_t now = 0; now < 100 * 3600 && !HasFatalFailure(); now += 240) {
        company.snapshot.now = Seconds(now);
        if (now % 720 == 0) submit("other", "gpus=1", 3600);
        if (now % 1440 == 240) waits.emplace(submit("owner", "gpus=1", 3600), now);
        if (now == 7200) guest = submit("guest", "gpus=8", 1800);
        evictions += std::ranges::count(company.round(now).evictions, guest, &Eviction::job);
        std::erase_if(waits, [&](const auto& wait) { return company.runs(wait.first); });
        ASSERT_TRUE(waits.empty() || now - waits.begin()->second <= 4 * 3600) << "the owner waits at " << now;
      }
      EXPECT_LE(evictions, 16);
    }
  }
}

// Single GPUs of two models: any idle one of a model would do for an owner of it. No order lets a job borrow one while
// he waits, whatever its class, and whether or not it names a model or could be evicted.
TEST(ReclaimProperty, NobodyBorrowsBeforeAnOwnerWhoWaits) {
  constexpr const char* kOwners[] = {"ads A100=12 / search T4=6 / maps", "ads A100=7 T4=3 / search A100=5 / maps T4=3",
                                     "ads A100=8 / search A100=8 T4=8 / maps"};
  constexpr const char* kModels[] = {"", " models=A100", " models=T4", " models=A100|T4"};
  constexpr const char* kRanks[] = {"", " class=0", " class=1"};
  std::size_t waits = 0;
  const Seeds seeds = wanted_seeds(48);
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    Random random(seed);
    Company company("4x4:A100; 2x4:T4", kOwners[seed % 3]);
    company.snapshot.order_policy = one_of(random, {"priority", "fifo", "fair_share", "drf", "wpai", "las"});
    company.snapshot.rules.backfill = one_of(random, {BackfillMode::kGreedy, BackfillMode::kEasy});
    company.snapshot.rules.min_runtime = Seconds(600);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + company.snapshot.order_policy);
    company.look = [&](const Plan& plan, const RoundState& state) {
      const QuotaLedger& quotas = state.quotas();
      const auto has_left = [&](std::int32_t queue, std::size_t r) {
        return quotas.marked(queue, r) + 1000 <= quotas.quota(queue, r);
      };
      for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
        const ModelSet model = quotas.resource(r).models;
        const auto waits_for_its_own = [&](const Job& job) {
          return state.running().find(job.id) == nullptr && job.groups.front().shape.models == model &&
                 job.groups.front().shape.gpu_count > 0 && has_left(job.queue, r);
        };
        if (std::ranges::none_of(company.snapshot.jobs, waits_for_its_own)) continue;
        ++waits;
        for (const Placement& placed : plan.placements) {
          const RunningJob* const run = state.running().find(placed.job);
          if (run == nullptr || (run->quota_mark & 1) != 0 || run->tasks.empty()) continue;
          if (std::ranges::find(plan.evictions, placed.job, &Eviction::beneficiary) != plan.evictions.end()) continue;
          const NodeKind& kind =
              company.snapshot.cluster.kind_of(static_cast<std::size_t>(run->tasks.front().holding.node));
          const bool is_of_it = (ModelSet{1} << kind.model & model) != 0;
          ASSERT_FALSE(is_of_it) << "job " << placed.job << " borrows\n" << plan_to_text(plan);
        }
      }
    };
    for (std::int64_t now = 0; now < 60 * 60 && !HasFatalFailure(); now += 60) {
      company.snapshot.now = Seconds(now);
      for (std::uint64_t i = random.below(5); i > 0; --i) {
        const std::string& queue = company.snapshot.queues[random.below(company.snapshot.queues.size())].name;
        const std::string text = std::string("gpus=1") + kModels[random.below(4)] + kRanks[random.below(3)];
        const std::int64_t id = company.submit(queue, text, static_cast<std::int64_t>(60 + random.below(1200)));
        company.waiting_job(id).eviction.preemptible = random.below(3) == 0;
      }
      company.round(now);
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(waits, seeds.end - seeds.first) << "else the test says nothing";
}

}  // namespace
}  // namespace berth::test
