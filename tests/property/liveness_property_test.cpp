// Every job that could ever run starts: endless streams of small jobs against large ones, in every order in whose
// nature it is, with every backfill mode that holds something back, by queue, limit and device model.
//
// Every stream keeps a few jobs waiting: as soon as one starts another comes, for ever. Beside them every queue has
// one large job waiting. Durations are over- and underestimated. What starts late is named with the bound.
#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "tests/departments.h"
#include "tests/little_world.h"
#include "tests/property/world.h"
#include "tests/seeds.h"

namespace berth::test {
namespace {

constexpr std::int64_t kLongest = 300;  // seconds that a job runs
constexpr std::int64_t kPatience = 600;
constexpr std::size_t kSmallWaiting = 3;  // of each stream

// Jobs that come for ever.
struct Stream {
  std::string queue;  // empty = none
  std::vector<std::string> small;
  std::vector<std::string> large;  // one of them waits at any time
};

struct Scene {
  std::string name;
  std::string cluster;
  std::string departments;
  std::vector<Stream> streams;
};

std::vector<Scene> scenes() {
  const std::vector<std::string> small = {"gpus=1", "gpus=2", "gpus=0.5", "gpus=1 tasks=3 min=1"};
  const std::vector<std::string> few = {"gpus=1", "gpus=2"};
  const std::string two_nodes = "2x8:A100";
  return {
      {"own queue", two_nodes, "", {{"", small, {"gpus=8", "gpus=8 tasks=2", "gpus=4 tasks=3"}}}},
      {"other queue", two_nodes, "q / z", {{"q", small, {}}, {"z", {}, {"gpus=8", "gpus=8 tasks=2"}}}},
      {"two queues with large jobs",
       two_nodes,
       "q / z",
       {{"q", small, {"gpus=8", "gpus=4 tasks=2"}}, {"z", small, {"gpus=8 tasks=2"}}}},
      {"within its quota", two_nodes, "q gpu=8 / z gpu=8", {{"q", small, {}}, {"z", {}, {"gpus=8"}}}},
      {"beyond its quota", two_nodes, "q gpu=4 / z gpu=4", {{"q", few, {}}, {"z", {}, {"gpus=8", "gpus=4 tasks=3"}}}},
      {"at its quota", two_nodes, "q gpu=8 gpu.borrow=0 / z gpu=8", {{"q", few, {"gpus=8", "gpus=6"}}, {"z", few, {}}}},
      {"at its borrow limit",
       two_nodes,
       "q gpu=4 gpu.borrow=4 / z gpu=4",
       {{"q", few, {"gpus=8", "gpus=7"}}, {"z", few, {}}}},
      {"at its limit", two_nodes, "q gpu.limit=8 / z", {{"q", few, {"gpus=8", "gpus=5"}}, {"z", few, {"gpus=8"}}}},
      {"at what is not lent",
       two_nodes,
       "q gpu=4 / z gpu=8 gpu.lend=2",
       {{"q", few, {"gpus=8", "gpus=6"}}, {"z", {}, {}}}},
      {"at what is not lent, others borrow",
       two_nodes,
       "q gpu=4 / y / z gpu=8 gpu.lend=2",
       {{"q", few, {"gpus=8", "gpus=6"}}, {"y", few, {}}, {"z", {}, {}}}},
      {"at a limit above",
       two_nodes,
       "p gpu.limit=8 / a < p / b < p gpu.limit=6",
       {{"a", few, {"gpus=8"}}, {"b", few, {"gpus=6"}}}},
      {"mixed models",
       "1x8:A100; 1x8:T4",
       "q A100=8 / z T4=8",
       {{"q", few, {"gpus=8 models=A100", "gpus=8"}}, {"z", few, {"gpus=8 models=T4", "gpus=4 tasks=2 models=T4"}}}},
      {"another owns a part of a model",
       "1x4:A100; 1x4:T4",
       "p A100=2 / q / z",
       {{"q", few, {}}, {"z", {}, {"gpus=4 tasks=2", "gpus=2 tasks=4"}}}},
      {"at a limit of one model",
       "2x4:A100; 1x4:T4",
       "q / z A100.limit=4",
       {{"q", few, {}}, {"z", few, {"gpus=4 tasks=2", "gpus=2 tasks=4"}}}},
  };
}

class LiveWorld {
 public:
  LiveWorld(const Scene& scene, const std::string& order, BackfillMode backfill, Preemption preemption,
            std::uint64_t seed)
      : scene_(scene), random_(seed), world_(scene.cluster) {
    departments_ = departments_from(world_.snapshot.cluster, scene.departments.empty() ? "all" : scene.departments);
    Snapshot& snapshot = world_.snapshot;
    snapshot.queues = departments_.queues;
    snapshot.quotas = departments_.table;
    snapshot.order_policy = order;
    snapshot.rules.backfill = backfill;
    snapshot.rules.backfill_depth = 5;
    snapshot.rules.preemption = preemption;
    snapshot.rules.reservation_ttl = Seconds(kPatience);
    snapshot.rules.default_duration = Seconds(kLongest);
    snapshot.priority_classes = {{.id = 1, .name = "high", .value = 1}, {.id = 2, .name = "low", .value = 0}};
    snapshot.aging_interval = Seconds(900);
    has_classes_ = order == "priority";
  }

  // Each job that waits now waits for those that are there, each of which may have to wait until all that runs has
  // ended, and runs itself; and each may give way for a while.
  Seconds bound() const {
    std::int64_t jobs = 0;
    for (const Stream& stream : scene_.streams)
      jobs += static_cast<std::int64_t>(stream.large.empty() ? 0 : 1) + kSmallWaiting;
    return Seconds(jobs * (2 * kLongest + kPatience) + (has_classes_ ? 900 * 2 : 0));
  }

  void run(Seconds until) {
    for (Seconds now(0); now < until;) {
      refill();
      const Plan plan = world_.round(now);
      for (const Eviction& eviction : plan.evictions) waiting_[eviction.job] = now;
      for (const auto& [job, submit] : waiting_) {
        if (world_.start_of(job)) continue;
        ASSERT_LT(now, submit + bound()) << late(job, plan);
      }
      std::erase_if(waiting_, [&](const auto& entry) { return world_.start_of(entry.first).has_value(); });
      const Seconds step(1 + static_cast<std::int64_t>(random_.below(40)));
      now = world_.next_end() && random_.below(2) == 0 ? std::max(now + Seconds(1), *world_.next_end()) : now + step;
    }
  }

 private:
  std::string late(std::int64_t job, const Plan& plan) {
    std::string text =
        "job " + std::to_string(job) + " has not started within " + std::to_string(bound().value()) + " s\n";
    return text + plan_to_text(plan);
  }

  void refill() {
    for (std::size_t s = 0; s < scene_.streams.size(); ++s) {
      const Stream& stream = scene_.streams[s];
      const auto waits = [&](bool large) {
        return static_cast<std::size_t>(std::ranges::count_if(kinds_, [&](const auto& kind) {
          return kind.second == std::pair(s, large) && waiting_.contains(kind.first);
        }));
      };
      while (!stream.small.empty() && waits(false) < kSmallWaiting) submit(s, stream.small, false);
      if (!stream.large.empty() && waits(true) == 0) submit(s, stream.large, true);
    }
    std::erase_if(kinds_, [&](const auto& kind) { return !waiting_.contains(kind.first); });
  }

  void submit(std::size_t s, const std::vector<std::string>& texts, bool large) {
    const std::int64_t believed = 10 + static_cast<std::int64_t>(random_.below(kLongest - 10));
    const std::int64_t real = std::clamp<std::int64_t>(
        believed * one_of<std::int64_t>(random_, {2, 8, 10, 10, 10, 20, 50}) / 10, 1, kLongest);
    std::string text = texts[random_.below(texts.size())];
    if (has_classes_) text += " class=" + std::to_string(random_.below(2));
    const std::int64_t id = world_.submit(text, Seconds(random_.below(6) == 0 ? 0 : believed), Seconds(real));
    Job& job = world_.snapshot.jobs.back();
    if (!scene_.streams[s].queue.empty()) job.queue = departments_.queue(scene_.streams[s].queue);
    waiting_.emplace(id, world_.snapshot.now);
    kinds_.emplace(id, std::pair(s, large));
  }

  const Scene& scene_;
  Random random_;
  LittleWorld world_;
  Departments departments_;
  bool has_classes_ = false;
  std::map<std::int64_t, Seconds> waiting_;  // since when
  std::map<std::int64_t, std::pair<std::size_t, bool>> kinds_;
};

class LivenessTest : public testing::TestWithParam<const char*> {};

TEST_P(LivenessTest, EveryJobStarts) {
  const std::string order = GetParam();
  const Seeds seeds = wanted_seeds(1, 10);
  for (const Scene& scene : scenes()) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone}) {
      for (const Preemption preemption : {Preemption::kNone, Preemption::kReclaim}) {
        for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
          SCOPED_TRACE("seed " + std::to_string(seed) + ", " + order + ", " + std::string(backfill_mode_name(mode)) +
                       (preemption == Preemption::kNone ? ", " : ", reclaim, ") + scene.name);
          LiveWorld world(scene, order, mode, preemption, seed);
          world.run(Seconds(2 * world.bound().value()));
          if (HasFatalFailure()) break;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, LivenessTest, testing::Values("fifo", "priority", "las", "fair_share", "drf", "wpai"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace berth::test
