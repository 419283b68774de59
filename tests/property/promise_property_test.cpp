// Nobody starves: streams of small jobs against large gangs, with durations that are over- and underestimated.
#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "tests/little_world.h"
#include "tests/property/world.h"

namespace berth::test {
namespace {

constexpr std::int64_t kSubmissions = 120;

struct Stream {
  std::string order;
  BackfillMode backfill;
  bool knows_nothing = false;  // about any duration
};

constexpr std::int64_t kBelieved = 200;  // of what has no time limit

// Limited to 10 to 600 s; in truth from a tenth of that on. A third has no limit, and runs up to five times as long.
std::int64_t submit_random(LittleWorld& world, Random& random, const Stream& stream) {
  const std::int64_t believed = 10 + static_cast<std::int64_t>(random.below(590));
  const bool is_limited = !stream.knows_nothing && random.below(3) > 0;
  const std::int64_t tenths = one_of<std::int64_t>(random, {1, 5, 8, 10, 10, 20, 50});
  const std::int64_t real =
      std::max<std::int64_t>(1, believed * (is_limited ? std::min<std::int64_t>(tenths, 10) : tenths) / 10);
  const bool is_gang = random.below(8) == 0;
  const std::string text =
      is_gang ? one_of<std::string>(random, {"gpus=4 tasks=4", "gpus=4 tasks=3 locality=rack", "gpus=8 tasks=2 cpu=60",
                                             "gpus=2 tasks=4 locality=node", "gpus=4 cpu=30 / gpus=0 cpu=40",
                                             "gpus=4 tasks=2 locality=link_group cpu=2"})
              : one_of<std::string>(random, {"gpus=1", "gpus=2", "gpus=0.5", "gpus=0.3 cpu=4", "gpus=0 cpu=20",
                                             "gpus=1 tasks=3 min=1", "gpus=4"});
  const std::string priority = stream.order == "priority" ? " class=" + std::to_string(random.below(2)) : "";
  const std::size_t first_group = text.find(" / ");
  const std::string with_class =
      text.substr(0, first_group) + priority + (first_group == std::string::npos ? "" : text.substr(first_group));
  return world.submit(with_class, is_limited ? Seconds(believed) : Seconds(0), Seconds(real));
}

// Watches the job that is blocked first: it starts by the end of what ran when it fell due, or of what its limit ended
// before that was believed to end, as late as that was.
class Watch {
 public:
  explicit Watch(bool can_pass) : can_pass_(can_pass) {}
  void look(const LittleWorld& world, const Plan& plan, std::int64_t first) {
    if (first != job_) {
      job_ = first;
      due_.reset();
      limit_.reset();
    }
    if (job_ == 0) return;
    const auto found = std::ranges::find(plan.reservations, job_, &Reservation::job);
    ASSERT_NE(found, plan.reservations.end()) << "job " << job_ << " has no reservation\n" << plan_to_text(plan);
    if (due_) {
      ASSERT_LE(found->expected, *due_) << "the time has moved later";
    }
    due_ = found->expected;
    const Seconds now = world.snapshot.now;
    if (*due_ <= now && !limit_) {
      limit_ = now;
      Seconds late(0);
      for (const auto& [id, end] : world.running()) {
        limit_ = std::max(*limit_, end);
        late = std::max(late, end - (*world.start_of(id) + Seconds(kBelieved)));
      }
      if (can_pass_) limit_ = *limit_ + std::max(late, Seconds(60));
    }
    if (limit_) {
      ASSERT_LT(now, *limit_) << "all that ran has ended, and job " << job_ << " has not started\n"
                              << plan_to_text(plan);
    }
  }

 private:
  bool can_pass_;
  std::int64_t job_ = 0;
  std::optional<Seconds> due_;
  std::optional<Seconds> limit_;  // when all that ran when it fell due has ended
};

// The first in the order of those that wait with their whole gang.
std::int64_t first_blocked(const LittleWorld& world, const Plan& plan) {
  for (const Waiting& waiting : plan.waiting) {
    if (!world.end_of(waiting.job)) return waiting.job;
  }
  return 0;
}

void keep_the_promise(const Stream& stream, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + stream.order + ", " +
               std::string(backfill_mode_name(stream.backfill)));
  Random random(seed);
  LittleWorld world("3x4:A100 rack=a links=[0 1][2 3]; 1x8:A100 rack=b; 1x8:A100 rack=b; 1x0 rack=b");
  world.snapshot.order_policy = stream.order;
  world.snapshot.rules.backfill = stream.backfill;
  world.snapshot.rules.backfill_depth = 10;
  world.snapshot.rules.preemption = Preemption::kNone;
  world.snapshot.rules.default_duration = Seconds(kBelieved);
  world.snapshot.priority_classes = {{.id = 1, .name = "high", .value = 1}, {.id = 2, .name = "low", .value = 0}};
  Watch watch(!stream.knows_nothing);
  std::int64_t submitted = 0;
  Seconds now(0);
  while (submitted < kSubmissions || !world.snapshot.jobs.empty()) {
    for (std::uint64_t i = random.below(4); i > 0 && submitted < kSubmissions; --i, ++submitted) {
      submit_random(world, random, stream);
    }
    const Plan plan = world.round(now);
    watch.look(world, plan, first_blocked(world, plan));
    if (testing::Test::HasFatalFailure()) return;
    const Seconds step(1 + static_cast<std::int64_t>(random.below(60)));
    now += step;
    if (submitted == kSubmissions && world.next_end()) now = std::max(now, *world.next_end());
    ASSERT_LT(now, Seconds(1'000'000)) << "somebody never starts\n" << plan_to_text(plan);
  }
}

TEST(PromiseTest, TheFirstStartsWhenAllThatRanHasEnded) {
  for (const char* order : {"fifo", "priority"}) {
    for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative}) {
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        keep_the_promise({order, mode}, seed);
        keep_the_promise({order, mode, true}, 100 + seed);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A gang for the whole cluster, and small jobs that keep coming, two ever running.
Seconds start_against_a_stream(BackfillMode mode) {
  LittleWorld world("2x4:A100");
  world.snapshot.rules.backfill = mode;
  world.submit("gpus=2", Seconds(100));
  world.round(Seconds(0));
  const std::int64_t gang = world.submit("gpus=4 tasks=2", Seconds(100));
  for (Seconds now(0); now < Seconds(20000); now += Seconds(50)) {
    world.submit("gpus=2", Seconds(100));
    world.round(now);
    if (const std::optional<Seconds> start = world.start_of(gang)) return *start;
  }
  return kForever;
}

TEST(PromiseTest, GreedyStarvesAGang) {
  EXPECT_EQ(start_against_a_stream(BackfillMode::kGreedy), kForever);
  EXPECT_EQ(start_against_a_stream(BackfillMode::kEasy), Seconds(100));
  EXPECT_EQ(start_against_a_stream(BackfillMode::kConservative), Seconds(100));
}

// Backfill never moves the reservation of the first: with durations as believed, it starts when first announced, or
// earlier.
TEST(PromiseTest, TrueDurationsKeepTheFirstAnnouncement) {
  for (const BackfillMode mode : {BackfillMode::kEasy, BackfillMode::kConservative}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(seed);
      LittleWorld world("4x4:A100 links=[0 1][2 3]");
      world.snapshot.rules.backfill = mode;
      std::map<std::int64_t, Seconds> announced;
      for (Seconds now(0); now < Seconds(1000) || !world.snapshot.jobs.empty(); now += Seconds(10)) {
        ASSERT_LT(now, Seconds(100000)) << "somebody never starts";
        if (now < Seconds(1000) && random.below(2) == 0) {
          world.submit(one_of<std::string>(random, {"gpus=1", "gpus=2", "gpus=0.5", "gpus=4 tasks=3", "gpus=4"}),
                       Seconds(10 * static_cast<std::int64_t>(1 + random.below(40))));
        }
        const Plan plan = world.round(now);
        for (const Reservation& r : plan.reservations) {
          if (r.job == first_blocked(world, plan)) announced.emplace(r.job, r.expected);
        }
      }
      for (const auto& [job, time] : announced) {
        ASSERT_TRUE(world.start_of(job));
        EXPECT_LE(*world.start_of(job), time) << "job " << job;
      }
    }
  }
}

}  // namespace
}  // namespace berth::test
