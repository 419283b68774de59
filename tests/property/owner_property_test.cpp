// An owner gets his quota back wherever the rules let him: every set of jobs that may be evicted for a gang is tried,
// and if one makes room, the round finds one, too; and whom it evicts, it may. All tasks ask for one GPU, so room is a
// number by device model. Rules of time are off.
//
// And who borrows what owners lend gets it in his turn, though others come all the time.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "engine/base/env.h"
#include "tests/company.h"
#include "tests/seeds.h"

namespace berth::test {
namespace {

struct Scene {
  const char* cluster;
  const char* tree;  // the owner is q
};

constexpr Scene kScenes[] = {
    {"2x4:A100", "d gpu=5 / q < d gpu=3 / sib < d gpu=2 / o gpu=3"},
    {"2x4:A100", "d gpu=4 / q < d / sib < d / o gpu=4"},
    {"1x8:A100", "q gpu=4 / o gpu=4"},
    {"2x4:A100", "q gpu=5 / o / z gpu=3"},
    {"2x4:A100", "c gpu=6 / d < c gpu=4 / q < d gpu=2 / sib < d gpu=2 / e < c gpu=2 / o gpu=2"},
    {"1x4:A100; 1x4:T4", "q A100=3 T4=2 / o A100=1 T4=2"},
    {"2x2:A100; 1x4:T4", "d A100=3 T4=3 / q < d A100=2 T4=2 / sib < d A100=1 T4=1 / o A100=1 T4=1"},
    {"1x4:A100; 1x4:T4", "q A100=2 T4=4 / o A100=2"},
};
constexpr const char* kOrders[] = {"fifo", "priority", "las", "fair_share", "drf", "wpai"};
constexpr BackfillMode kModes[] = {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone};

// A running job that the rules may let go for the owner.
struct Candidate {
  std::int64_t job = 0;
  std::set<int> depths;  // of the owner's path: where it must be within its quota then
  std::vector<std::int64_t> by_model;
  std::int32_t queue = -1;
};

class OwnerScene {
 public:
  OwnerScene(const Scene& scene, std::uint64_t seed) : company(scene.cluster, scene.tree), random_(seed) {
    Snapshot& snapshot = company.snapshot;
    snapshot.order_policy = kOrders[random_.below(std::size(kOrders))];
    snapshot.rules.backfill = kModes[random_.below(std::size(kModes))];
    snapshot.rules.min_runtime = snapshot.rules.pending_delay = snapshot.rules.eviction_cooldown = Seconds(0);
    has_classes_ = random_.below(3) == 0;
    fill();
    for (std::int32_t q = company.departments.queue("q"); q >= 0; q = queue(q).parent) path_.insert(path_.begin(), q);
  }

  // Submits what its quotas can take, and says what would make room for it.
  std::int64_t submit_owner() {
    std::int64_t most = 0;
    for (const std::int32_t q : path_) {
      std::int64_t owned = 0;
      for (std::size_t r = 0; r < table().resources.size(); ++r) owned += terms(q, r).quota / 1000;
      if (owned > 0) most = most == 0 ? owned : std::min(most, owned);
    }
    tasks_ = 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most)));
    class_value_ = has_classes_ && random_.below(3) > 0 ? 10 : 0;
    const std::string text = "gpus=1 tasks=" + std::to_string(tasks_) + (class_value_ > 0 ? " class=1" : " class=0");
    take_stock();
    return company.submit("q", text);
  }

  // Some set of candidates makes room, within their rules.
  bool is_feasible() const {
    for (std::uint32_t set = 0; set < 1u << candidates_.size(); ++set) {
      if (makes_room(set)) return true;
    }
    return false;
  }
  bool is_small() const { return candidates_.size() <= 11; }
  std::int64_t now() const { return now_; }
  bool may_evict(std::int64_t job) const {
    return std::ranges::find(candidates_, job, &Candidate::job) != candidates_.end();
  }

  Company company;

 private:
  const Queue& queue(std::int32_t q) const { return company.snapshot.queues[static_cast<std::size_t>(q)]; }
  const QuotaTable& table() const { return company.snapshot.quotas; }
  const QuotaTerms& terms(std::int32_t q, std::size_t r) const { return table().terms[static_cast<std::size_t>(q)][r]; }
  bool lies_in(std::int32_t q, std::int32_t above) const {
    for (; q >= 0; q = queue(q).parent) {
      if (q == above) return true;
    }
    return false;
  }

  // Others, and the owner a little, take what there is; then some end.
  void fill() {
    std::vector<std::string> leaves;
    for (std::size_t q = 0; q < company.snapshot.queues.size(); ++q) {
      const auto is_child = [&](const Queue& other) { return other.parent == static_cast<std::int32_t>(q); };
      if (std::ranges::none_of(company.snapshot.queues, is_child)) leaves.push_back(company.snapshot.queues[q].name);
    }
    for (int i = 0; i < 12; ++i) {
      std::string text = random_.below(3) == 0 ? "gpus=1 tasks=2" : "gpus=1";
      if (has_classes_ && random_.below(3) == 0) text += " class=1";
      const std::string& name = leaves[random_.below(leaves.size())];
      if (name == "q" && random_.below(2) == 0) continue;
      company.submit(name, text);
      if (random_.below(2) == 0) company.round(now_ += 60);
    }
    company.round(now_ += 60);
    const std::vector<Job> waiting = company.snapshot.jobs;
    for (const Job& job : waiting) company.cancel(job.id);
    company.round(now_ += 60);
    for (std::uint64_t i = random_.below(3); i > 0 && !company.snapshot.running.empty(); --i)
      company.finish(company.snapshot.running[random_.below(company.snapshot.running.size())].job.id);
    company.round(now_ += 60);
  }

  void take_stock() {
    const Cluster& cluster = company.snapshot.cluster;
    idle_.assign(cluster.models.size(), 0);
    used_.assign(company.snapshot.queues.size(), idle_);
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
      const NodeKind& kind = cluster.kind_of(n);
      idle_[static_cast<std::size_t>(kind.model)] += kind.device_count;
    }
    std::map<std::int64_t, std::vector<std::int64_t>> held;
    for (const Allocation& a : company.snapshot.allocations) {
      const auto model = static_cast<std::size_t>(cluster.kind_of(static_cast<std::size_t>(a.node)).model);
      std::vector<std::int64_t>& its = held.try_emplace(a.job, idle_.size(), 0).first->second;
      ++its[model];
      --idle_[model];
      for (std::int32_t q = company.queue_of(a.job); q >= 0; q = queue(q).parent)
        ++used_[static_cast<std::size_t>(q)][model];
    }
    const std::vector<PriorityClass>& classes = company.snapshot.priority_classes;
    for (const RunningJob& run : company.snapshot.running) {
      Candidate candidate{.job = run.job.id, .depths = {}, .by_model = held[run.job.id], .queue = run.job.queue};
      if (run.job.queue == path_.back()) {
        const std::int32_t its_class = run.job.priority_class;
        if ((its_class < 0 ? 0 : classes[static_cast<std::size_t>(its_class)].value) >= class_value_) continue;
        for (int depth = 0; depth < static_cast<int>(path_.size()); ++depth) {
          if ((run.quota_mark >> depth & 1) != 0) candidate.depths.insert(depth);
        }
      } else {
        int fork = 0;
        while (lies_in(run.job.queue, path_[static_cast<std::size_t>(fork)])) ++fork;
        if ((run.quota_mark >> fork & 1) != 0) continue;
        candidate.depths.insert(fork);
      }
      candidates_.push_back(std::move(candidate));
    }
  }

  bool makes_room(std::uint32_t set) const {
    std::vector<std::int64_t> room = idle_;
    std::vector<std::vector<std::int64_t>> used = used_;
    std::set<int> depths;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      const Candidate& candidate = candidates_[i];
      depths.insert(candidate.depths.begin(), candidate.depths.end());
      for (std::size_t m = 0; m < room.size(); ++m) {
        room[m] += candidate.by_model[m];
        for (std::int32_t q = candidate.queue; q >= 0; q = queue(q).parent)
          used[static_cast<std::size_t>(q)][m] -= candidate.by_model[m];
      }
    }
    for (std::int64_t first = 0; first <= tasks_; ++first) {
      std::vector<std::int64_t> placed(room.size(), 0);
      placed[0] = first;
      if (placed.size() > 1) placed[1] = tasks_ - first;
      if (placed.size() == 1 && first < tasks_) continue;
      if (!std::ranges::equal(placed, room, std::ranges::less_equal())) continue;
      if (std::ranges::all_of(depths, [&](int depth) { return is_within(depth, placed, used); })) return true;
    }
    return false;
  }

  bool is_within(int depth, const std::vector<std::int64_t>& placed,
                 const std::vector<std::vector<std::int64_t>>& used) const {
    const std::int32_t q = path_[static_cast<std::size_t>(depth)];
    bool owns_some = false;
    for (std::size_t r = 0; r < table().resources.size(); ++r) {
      std::int64_t use = 0;
      std::int64_t more = 0;
      for (std::size_t m = 0; m < placed.size(); ++m) {
        const ModelSet models = table().resources[r].models;
        if (models != 0 && (models >> m & 1) == 0) continue;
        use += used[static_cast<std::size_t>(q)][m];
        more += placed[m];
      }
      if (more == 0) continue;
      if ((use + more) * 1000 > terms(q, r).quota) return false;
      owns_some = owns_some || terms(q, r).has_quota;
    }
    return owns_some;
  }

  Random random_;
  std::int64_t now_ = 0;
  bool has_classes_ = false;
  std::int64_t tasks_ = 0;
  std::int64_t class_value_ = 0;
  std::vector<std::int32_t> path_;               // of q, from the root down
  std::vector<std::int64_t> idle_;               // by model
  std::vector<std::vector<std::int64_t>> used_;  // by queue and model
  std::vector<Candidate> candidates_;
};

TEST(OwnerProperty, GetsItsQuotaBackWhereverTheRulesLetIt) {
  std::size_t feasible = 0;
  std::size_t evicted = 0;
  const Seeds seeds = wanted_seeds(160);
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    const Scene& scene = kScenes[seed % std::size(kScenes)];
    OwnerScene world(scene, seed);
    const std::int64_t owner = world.submit_owner();
    if (!world.is_small()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + scene.tree + ", " + world.company.snapshot.order_policy);
    const bool is_feasible = world.is_feasible();
    const Plan plan = world.company.round(world.now() + 60);
    for (const Eviction& eviction : plan.evictions) {
      EXPECT_EQ(eviction.beneficiary, owner);
      EXPECT_TRUE(world.may_evict(eviction.job)) << "job " << eviction.job;
    }
    EXPECT_TRUE(!is_feasible || world.company.runs(owner)) << "job " << owner << " waits";
    feasible += is_feasible ? 1 : 0;
    evicted += plan.evictions.size();
  }
  EXPECT_GT(feasible * 3, seeds.end - seeds.first);
  EXPECT_GT(evicted * 4, seeds.end - seeds.first);
}

TEST(OwnerProperty, ABorrowerKeepsItsPlaceUnderALendLimit) {
  const Seeds seeds = wanted_seeds(40);
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
