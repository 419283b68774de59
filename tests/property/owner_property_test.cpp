// An owner gets his quota back wherever the rules let him: every set of tasks that may be evicted for a gang is tried
// (owner_scene.h). If one makes room, the round finds one, too; and whom it evicts, it may, and nobody in vain.
//
// And who borrows what owners lend gets it in his turn, though others come all the time.
#include <gtest/gtest.h>

#include "tests/property/owner_scene.h"
#include "tests/seeds.h"

namespace berth::test {
namespace {

struct Shop {
  const char* cluster;
  const char* tree;  // the owner is q
};

constexpr Shop kShops[] = {
    {"2x4:A100", "d gpu=5 / q < d gpu=3 / sib < d gpu=2 / o gpu=3"},
    {"2x4:A100", "d gpu=4 / q < d / sib < d / o gpu=4"},
    {"1x8:A100", "q gpu=4 / o gpu=4"},
    {"2x4:A100", "q gpu=5 / o / z gpu=3"},
    {"2x4:A100", "c gpu=6 / d < c gpu=4 gpu.limit=5 / q < d gpu=2 / sib < d gpu=2 / e < c gpu=2 / o gpu=2"},
    {"2x4:A100",
     "c gpu=6 gpu.limit=7 / d < c gpu=4 / q < d gpu=3 / sib < d gpu=1 gpu.limit=3 / "
     "e < c gpu=2 gpu.borrow=1 / o gpu=2"},
    {"1x4:A100; 1x4:T4", "q A100=3 T4=2 / o A100=1 T4=2"},
    {"2x2:A100; 1x4:T4", "d A100=3 T4=3 / q < d A100=2 T4=2 T4.limit=2 / sib < d A100=1 T4=1 / o A100=1 T4=1"},
    {"1x4:A100; 1x4:T4", "q A100=2 T4=4 gpu.limit=5 / o A100=2"},
    {"2x4:A100", "d gpu=5 gpu.limit=6 / q < d gpu=3 gpu.limit=4 / sib < d gpu=2 gpu.borrow=2 / o gpu=3"},
    {"2x4:A100", "q gpu=4 gpu.limit=5 / o gpu=4 gpu.borrow=3"},
    {"1x4:A100 rack=a; 1x2:A100 rack=a; 1x4:A100 rack=b", "q gpu=5 / o / z gpu=5"},
    {"1x4:A100 rack=a; 1x4:T4 rack=a; 1x4:A100 rack=b", "q A100=5 T4=2 / o A100=3 T4=2"},
    {"1x4:A100; 1x4:T4", "d gpu=5 A100.limit=3 / q < d gpu=4 / sib < d gpu=1 / o gpu=3"},
    {"1x4:A100; 1x4:T4",
     "c A100=3 T4=3 / d < c A100=2 T4=2 / q < d A100=1 T4=2 / sib < d A100=1 / "
     "e < c A100=1 T4=1 / o A100=1 T4=1"},
    {"1x8:A100", "q gpu=4 gpu.lend=2 / o gpu=2 gpu.lend=0 / z gpu=2"},
    {"2x4:A100", "d gpu=5 gpu.lend=3 / q < d gpu=3 gpu.lend=1 / sib < d gpu=2 / o gpu=3 gpu.lend=2"},
};

struct Counts {
  std::size_t feasible = 0;
  std::size_t evicted = 0;
};

enum class Owner : std::uint8_t { kFirst, kSecond };

void look_at_an_owner(OwnerScene& scene, Owner which, Counts& counts) {
  const std::int64_t owner = scene.submit_owner();
  if (!scene.is_small()) return;
  const std::optional<VictimSet> possible = scene.find_room();
  const std::string before = scene.print();
  Company& company = scene.company;
  const Plan plan = scene.next_round();
  const std::optional<VictimSet> chosen = scene.set_of(plan.evictions);
  SCOPED_TRACE((which == Owner::kFirst ? "first owner, " : "second owner, ") + company.snapshot.order_policy +
               ", job " + std::to_string(owner) + "\n" + before + "possible:" + scene.print(possible.value_or(0)) +
               ", chosen:" + scene.print(chosen.value_or(0)));
  ASSERT_TRUE(chosen.has_value()) << "somebody is evicted who may not";
  for (const Eviction& eviction : plan.evictions) EXPECT_EQ(eviction.beneficiary, owner);
  // The first owner, if it is elastic, may grow before the second one starts.
  const auto is_its = [&](const Placement& placement) { return placement.job == owner; };
  const bool is_alone = which == Owner::kFirst || std::ranges::all_of(plan.placements, is_its);
  const bool is_one_step = company.runs(owner) && is_alone && !scene.has_graces() && !scene.has_lend_limits();
  // Near each other is dearer than apart.
  const bool asks_for_near = company.runs(owner) && !company.running_job(owner).job.groups[0].locality_required;
  EXPECT_TRUE(!is_one_step || asks_for_near || scene.is_minimal(*chosen)) << "somebody is evicted in vain";
  for (int rounds = 0; rounds < 5 && !company.runs(owner); ++rounds) (void)scene.next_round();
  EXPECT_TRUE(!possible || !is_alone || company.runs(owner)) << "it waits";
  counts.feasible += possible ? 1 : 0;
  counts.evicted += plan.evictions.size();
}

TEST(OwnerProperty, GetsItsQuotaBackWhereverTheRulesLetIt) {
  Counts first;
  Counts second;
  const Seeds seeds = wanted_seeds(2500);
  constexpr std::uint64_t kFound[] = {73763};  // each showed something once
  for (std::uint64_t i = 0; i < seeds.end - seeds.first + std::size(kFound); ++i) {
    const std::uint64_t seed = i < std::size(kFound) ? kFound[i] : seeds.first + i - std::size(kFound);
    const Shop& shop = kShops[seed % std::size(kShops)];
    OwnerScene scene(shop.cluster, shop.tree, seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shop.tree);
    look_at_an_owner(scene, Owner::kFirst, first);
    look_at_an_owner(scene, Owner::kSecond, second);
  }
  EXPECT_GT(first.feasible * 4, seeds.end - seeds.first);
  EXPECT_GT(first.evicted * 8, seeds.end - seeds.first);
  EXPECT_GT(second.feasible * 8, seeds.end - seeds.first);
}

TEST(OwnerProperty, ABorrowerKeepsItsPlaceUnderALendLimit) {
  const Seeds seeds = wanted_seeds(40, 40);
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Company company("10x8:A100", "v gpu=16 gpu.borrow=16 / ads gpu=16 gpu.lend=4 / oth gpu=8 / res gpu=23");
    company.snapshot.order_policy = "fifo";
    company.snapshot.rules.backfill = BackfillMode::kEasy;
    const auto submit = [&](const char* queue, const std::string& text, std::int64_t duration) {
      const std::int64_t id = company.submit(queue, text, duration);
      company.waiting_job(id).time_limit = Seconds(duration);
      return id;
    };
    const auto submit_some = [&](const char* queue, std::int64_t most) {
      constexpr std::int64_t kDurations[] = {1800, 3600, 7200, 21600};
      const std::int32_t index = company.departments.queue(queue);
      for (auto n = std::ranges::count(company.snapshot.jobs, index, &Job::queue); n < most; ++n)
        (void)submit(queue, "gpus=" + std::to_string(1 << random.below(3)), kDurations[random.below(4)]);
    };
    constexpr std::int64_t kComes = 7200;
    constexpr std::int64_t kBound = 20 * 3600;
    std::int64_t big = 0;
    std::int64_t now = 0;
    for (; now <= kComes + kBound && (big == 0 || !company.runs(big)); now += 300) {
      company.snapshot.now = Seconds(now);
      submit_some("v", big == 0 ? 4 : 5);
      submit_some("oth", 4);
      submit_some("res", 2);
      if (random.below(8) == 0) submit_some("ads", 2);
      if (now == kComes) big = submit("v", "gpus=8 tasks=4", 3600);
      (void)company.round(now);
    }
    EXPECT_TRUE(company.runs(big)) << "it waits after " << (now - kComes) / 3600 << " h";
  }
}

}  // namespace
}  // namespace berth::test
