// Where nothing comes and nothing ends, rounds come to rest: nobody is told to stop again and again for the same job,
// nothing is evicted in turns, and no owner of a single GPU waits beside somebody who borrows what is his.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/base/env.h"
#include "tests/company.h"
#include "tests/seeds.h"

namespace berth::test {
namespace {

constexpr std::int64_t kEvery = 60;
constexpr int kBusyRounds = 40;
constexpr int kQuietRounds = 130;  // reservations of an hour expire, and what they held up follows
constexpr int kRestRounds = 25;
constexpr int kMostTold = 3;  // for the same job: others come in between

struct World {
  const char* cluster;
  const char* tree;
};
constexpr World kWorlds[] = {
    {"3x4:A100", "own gpu=8 / guest gpu.limit=6 / other gpu=4"},
    {"2x8:A100", "dep gpu=12 gpu.limit=13 / a < dep gpu=8 / b < dep gpu=4 gpu.limit=6 / guest gpu.limit=7"},
    {"2x4:A100; 2x4:T4", "own A100=8 / other T4=6 T4.lend=4 / guest gpu.limit=9"},
    {"2x4:A100; 1x8:A100", "ads gpu=10 gpu.lend=7 / search gpu=4 gpu.borrow=6 / maps gpu=2 gpu.limit=9"},
    {"1x8:A100", "one gpu.limit=8 / two gpu=4"},
    {"2x8:A100", "one gpu.limit=6 / two gpu.limit=9"},
};
constexpr const char* kShapes[] = {
    "gpus=5",
    "gpus=1 tasks=3 min=1",
    "gpus=1",
    "gpus=2",
    "gpus=4",
    "gpus=1 tasks=3",
    "gpus=2 tasks=2",
    "gpus=1 tasks=5 min=2",
    "gpus=1 tasks=4 min=1",
    "gpus=2 tasks=3 min=1",
    "gpus=3",
    "gpus=1",
};
constexpr const char* kOrders[] = {"fair_share", "priority", "drf", "fifo", "wpai", "las"};
constexpr BackfillMode kModes[] = {BackfillMode::kEasy, BackfillMode::kGreedy, BackfillMode::kNone,
                                   BackfillMode::kConservative, BackfillMode::kNonePerQueue};

class Story {
 public:
  explicit Story(std::uint64_t seed)
      : random_(seed), world_(kWorlds[random_.below(std::size(kWorlds))]), company_(world_.cluster, world_.tree) {
    Snapshot& snapshot = company_.snapshot;
    snapshot.order_policy = kOrders[random_.below(std::size(kOrders))];
    snapshot.rules.backfill = kModes[random_.below(std::size(kModes))];
    snapshot.rules.min_runtime = Seconds(300);
    snapshot.rules.eviction_cooldown = Seconds(300);
    company_.look = [this](const Plan& plan, const RoundState& state) { look_at(plan, state); };
  }

  void tell() {
    for (int round = 0; round < kBusyRounds; ++round) {
      for (std::uint64_t i = random_.below(3); i > 0; --i) submit(600 + static_cast<std::int64_t>(random_.below(6000)));
      if (random_.below(6) == 0) change_quota();
      company_.round(now_ += kEvery);
    }
    for (int i = 0; i < 4; ++i) submit(kForEver);
    company_.last_for_ever();
    told_.clear();
    for (int round = 0; round < kQuietRounds && !testing::Test::HasFatalFailure(); ++round) {
      is_quiet_ = round > 0;
      is_resting_ = round >= kQuietRounds - kRestRounds;
      company_.round(now_ += kEvery);
    }
  }
  std::string name() const {
    return fmt::format("{}: {}, {}, {}", world_.cluster, world_.tree, company_.snapshot.order_policy,
                       backfill_mode_name(company_.snapshot.rules.backfill));
  }
  std::size_t evictions = 0;

 private:
  static constexpr std::int64_t kForEver = 1'000'000'000;

  void submit(std::int64_t duration) {
    Snapshot& snapshot = company_.snapshot;
    const auto queue = random_.below(snapshot.queues.size());
    const auto lies_below = [&](const Queue& other) { return other.parent == static_cast<std::int32_t>(queue); };
    if (std::ranges::any_of(snapshot.queues, lies_below)) return;
    snapshot.now = Seconds(now_);
    std::string text = kShapes[random_.below(std::size(kShapes))];
    if (random_.below(3) == 0) text += random_.below(2) == 0 ? " class=1" : " class=0";
    EvictionTerms& terms = company_.waiting_job(company_.submit(snapshot.queues[queue].name, text, duration)).eviction;
    if (random_.below(3) == 0) terms.checkpoint_grace = Seconds(static_cast<std::int64_t>(60 + random_.below(1200)));
    if (random_.below(2) == 0) terms.checkpoint_interval = Seconds(600);
  }

  void change_quota() {
    std::vector<QuotaTerms*> owned;
    for (std::vector<QuotaTerms>& of_queue : company_.snapshot.quotas.terms) {
      for (QuotaTerms& terms : of_queue) {
        if (terms.quota > 0) owned.push_back(&terms);
      }
    }
    if (!owned.empty())
      owned[random_.below(owned.size())]->quota = static_cast<std::int64_t>(1 + random_.below(8)) * 1000;
  }

  void look_at(const Plan& plan, const RoundState& state) {
    for (const Eviction& eviction : plan.evictions) {
      const bool runs_on = std::ranges::find(plan.reprieves, eviction.job) != plan.reprieves.end();
      if (company_.running_job(eviction.job).is_told_to_stop() && !runs_on) continue;
      ++evictions;
      const std::pair pair(eviction.job, eviction.beneficiary);
      ASSERT_LE(++told_[pair], kMostTold)
          << "job " << eviction.job << " is told again and again for " << eviction.beneficiary;
    }
    for (const Reservation& each : plan.reservations) {
      const RunningJob* const run = state.running().find(each.job);
      ASSERT_TRUE(run == nullptr || !has_its_gang(run->job)) << "room is held for job " << each.job << ", which runs";
    }
    if (is_quiet_) look_at_what_ended(plan);
    if (!is_resting_) return;
    ASSERT_TRUE(plan.evictions.empty()) << "job " << plan.evictions.front().job << " for "
                                        << plan.evictions.front().beneficiary;
    ASSERT_TRUE(plan.reprieves.empty()) << plan.reprieves.front();
    ASSERT_TRUE(plan.placements.empty()) << plan.placements.front().job;
    for (const Waiting& waiting : plan.waiting) {
      if (waiting.reason == Reason::kBlocked || is_behind_its_own(waiting, plan)) continue;
      if (!is_quota_kept(waiting, plan, state)) look_at_owner(waiting, state);
    }
  }

  // A job of one GPU that takes what is left of the quotas on its path, while a job of one GPU elsewhere may be taken
  // back from.
  // For whom somebody ends now starts now, or waits for others that are still stopping.
  void look_at_what_ended(const Plan& plan) {
    for (const Eviction& eviction : plan.evictions) {
      const std::int64_t job = eviction.beneficiary;
      if (eviction.stop_at > company_.snapshot.now || eviction.rule == EvictionRule::kLoan) continue;
      const auto makes_room = [&](const RunningJob& run) {
        return run.makes_room_for_a_job() && run.stops_for == job && run.stop_at > company_.snapshot.now;
      };
      const auto is_told = [&](const Eviction& each) {
        return each.beneficiary == job && each.stop_at > company_.snapshot.now;
      };
      ASSERT_TRUE(std::ranges::count(plan.placements, job, &Placement::job) > 0 ||
                  std::ranges::any_of(company_.snapshot.running, makes_room) ||
                  std::ranges::any_of(plan.evictions, is_told))
          << "job " << eviction.job << " ends for " << job << ", which does not start";
    }
  }

  // A job of its own queue has a reservation, which it may not delay.
  bool is_behind_its_own(const Waiting& waiting, const Plan& plan) {
    return std::ranges::any_of(plan.reservations, [&](const Reservation& each) {
      return each.job != waiting.job && company_.waiting_job(each.job).queue == company_.waiting_job(waiting.job).queue;
    });
  }
  // A larger job of its queue that waits longer would be an owner without what runs there: the quota is that one's
  // next.
  bool is_quota_kept(const Waiting& waiting, const Plan& plan, const RoundState& state) {
    const Job& job = company_.waiting_job(waiting.job);
    const QuotaLedger& quotas = state.quotas();
    return std::ranges::any_of(plan.waiting, [&](const Waiting& each) {
      const Job& other = company_.waiting_job(each.job);
      if (other.queue != job.queue || other.id >= job.id) return false;
      const Amounts demand = quotas.demand_to_start(other);
      const QuotaVerdict verdict = quotas.judge(other.queue, demand);
      const bool is_owner = verdict.admitted() ? !verdict.borrows : verdict.is_owner;
      if (is_owner) return false;
      for (std::size_t r = 0; r < demand.size(); ++r) {
        if (quotas.counts_for(other.queue, r) && demand[r] > quotas.quota(other.queue, r)) return false;
      }
      return true;
    });
  }
  void look_at_owner(const Waiting& waiting, const RoundState& state) {
    const Job& job = company_.waiting_job(waiting.job);
    const TaskGroup& group = job.groups.front();
    if (group.count != 1 || group.shape.gpu_count != 1 || state.quotas().choices_of(job) != 0) return;
    const Amounts demand = state.quotas().demand_to_start(job);
    if (!state.quotas().judge(job.queue, demand).admitted()) return;
    for (const RunningJob& run : state.running().all()) {
      const bool is_plain = run.tasks.size() == 1 && run.job.groups.front().shape.gpu_count == 1;
      if (!is_plain || run.is_told_to_stop()) continue;
      ASSERT_FALSE(state.quotas().may_reclaim(job.queue, demand, run.job.queue, run.quota_mark))
          << "job " << job.id << " waits (" << reason_name(waiting.reason) << "), and job " << run.job.id << " borrows";
    }
  }

  Random random_;
  World world_;
  Company company_;
  std::int64_t now_ = 0;
  bool is_quiet_ = false;
  bool is_resting_ = false;
  std::map<std::pair<std::int64_t, std::int64_t>, int> told_;  // by victim and beneficiary
};

TEST(RestProperty, RoundsComeToRestWhereNothingHappens) {
  const Seeds seeds = wanted_seeds(60);
  std::size_t evictions = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end && !HasFailure(); ++seed) {
    Story story(seed);
    SCOPED_TRACE(fmt::format("BERTH_SEED={}: {}", seed, story.name()));
    story.tell();
    evictions += story.evictions;
  }
  EXPECT_GT(evictions, seeds.end - seeds.first) << "else the test says nothing";
}

}  // namespace
}  // namespace berth::test
