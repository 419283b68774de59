#include "engine/round/start_search.h"

#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "engine/policy/best_fit_score.h"
#include "engine/round/gang_room.h"
#include "tests/builders.h"

namespace berth {
namespace {

constexpr Seconds kNow{10};

struct World {
  explicit World(std::string_view nodes) : cluster(test::cluster_from(nodes)) {
    RoundSetup setup;
    setup.cluster = &cluster;
    setup.score = &score;
    state.emplace(setup);
  }
  // A job that ends at `end` on the best node.
  void run(std::string_view text, Seconds end, Seconds start = Seconds(0)) {
    const Job job = test::job_from(text, ++last_id, cluster);
    const JobOutcome outcome = state->placer().place_job(job);
    ASSERT_TRUE(outcome.started) << text;
    state->start(job, outcome.placed, start);
    for (const PlacedTask& task : outcome.placed) timeline.add_end({end, start, task.holding});
  }
  std::optional<StartFound> search(std::string_view text, const StartBounds& bounds = {},
                                   Seconds duration = Seconds(50)) {
    return earliest_start(*state, timeline, test::job_from(text, 1000, cluster), duration, bounds);
  }
  Seconds start_of(std::string_view text, const StartBounds& bounds = {}, Seconds duration = Seconds(50)) {
    const std::optional<StartFound> found = search(text, bounds, duration);
    return found ? found->time : kNever;
  }

  Cluster cluster;
  BestFitScore score;
  std::optional<RoundState> state;
  Timeline timeline{kNow};
  std::int64_t last_id = 0;
};

TEST(StartSearchTest, FindsTheFirstMomentWithRoomForAll) {
  World world("4x4:A100");
  for (const std::int64_t end : {400, 100, 300, 200}) world.run("gpus=4", Seconds(end));
  EXPECT_EQ(world.start_of("gpus=4"), Seconds(100));
  EXPECT_EQ(world.start_of("gpus=4 tasks=3"), Seconds(300));
  EXPECT_EQ(world.start_of("gpus=1 tasks=13"), Seconds(400));
  EXPECT_EQ(world.start_of("gpus=1 tasks=17"), kNever);
  EXPECT_EQ(world.start_of("gpus=5"), kNever);
  EXPECT_EQ(world.search("gpus=4")->placed[0].holding.node, 1);
}

TEST(StartSearchTest, KeepsWithinItsBounds) {
  World world("2x4:A100");
  world.run("gpus=4", Seconds(100), Seconds(5));
  world.run("gpus=4", Seconds(200), Seconds(3));
  EXPECT_EQ(world.start_of("gpus=4", {.before = Seconds(101)}), Seconds(100));
  EXPECT_EQ(world.start_of("gpus=4", {.before = Seconds(100)}), kNever);
  EXPECT_EQ(world.start_of("gpus=4", {.from = Seconds(99)}), Seconds(100));
  EXPECT_EQ(world.start_of("gpus=4", {.from = Seconds(100)}), Seconds(100));
  EXPECT_EQ(world.start_of("gpus=4", {.from = Seconds(150)}), Seconds(150));
  EXPECT_EQ(world.start_of("gpus=4", {.from = Seconds(150), .before = Seconds(150)}), kNever);
  EXPECT_EQ(world.start_of("gpus=4", {.started_by = Seconds(4)}), Seconds(200));
  EXPECT_EQ(world.start_of("gpus=4 tasks=2", {.started_by = Seconds(4)}), kNever);
}

TEST(StartSearchTest, LooksForRoomThatLasts) {
  World world("1x4:A100");
  world.run("gpus=4", Seconds(100));
  const Holding all{0, 0xF, kWholeDevice, MiB(81920), MilliCpu(1000), MiB(1024)};
  const std::vector<ReservedTask> reserved = {{0, 0, 1, all}};
  world.timeline.reserve(7, reserved, Seconds(150), Seconds(300));
  EXPECT_EQ(world.start_of("gpus=4", {}, Seconds(50)), Seconds(100));
  EXPECT_EQ(world.start_of("gpus=4", {}, Seconds(51)), Seconds(300));
  EXPECT_EQ(world.start_of("gpus=4", {.from = Seconds(100)}, Seconds(50)), Seconds(100));
  EXPECT_EQ(world.start_of("gpus=4", {.from = Seconds(101)}, Seconds(50)), Seconds(300));
}

// Groups that compete: each alone would fit earlier.
TEST(StartSearchTest, GroupsThatFitAloneWaitUntilTheyFitTogether) {
  World world("2x4:A100");
  world.run("gpus=4", Seconds(5000));
  for (std::int64_t i = 1; i <= 4; ++i) world.run("gpus=1", Seconds(100 * i));
  EXPECT_EQ(world.start_of("gpus=2 / gpus=2"), Seconds(400));
  EXPECT_EQ(world.start_of("gpus=1 / gpus=2"), Seconds(300));
  EXPECT_EQ(world.start_of("gpus=4 / gpus=1"), Seconds(5000));
}

// Against the plain way: end task after task, and try.
TEST(StartSearchTest, AgreesWithEndingOneAfterTheOther) {
  Random random(3);
  for (int trial = 0; trial < 40; ++trial) {
    World world("2x4:A100 rack=a links=[0 1][2 3]; 2x4:A100 rack=b links=[0 1][2 3]");
    for (int i = 0; i < 12; ++i) {
      const char* const texts[] = {"gpus=1", "gpus=2", "gpus=0.5", "gpus=0 cpu=9"};
      const Job job = test::job_from(texts[random.below(4)], ++world.last_id, world.cluster);
      const JobOutcome outcome = world.state->placer().place_job(job);
      if (!outcome.started) continue;
      world.state->start(job, outcome.placed, Seconds(0));
      for (const PlacedTask& task : outcome.placed) {
        world.timeline.add_end({Seconds(100 + static_cast<std::int64_t>(random.below(12))), Seconds(0), task.holding});
      }
    }
    for (const char* const text : {"gpus=4 tasks=2 locality=rack", "gpus=2 tasks=2 locality=node", "gpus=0.5 tasks=20",
                                   "gpus=1 tasks=2 locality=link_group", "gpus=3 cpu=20 / gpus=0 cpu=20 tasks=3"}) {
      const Job gang = test::job_from(text, 1000, world.cluster);
      Ledger ledger = world.state->ledger().twin();
      Placer placer(ledger, world.score);
      Seconds plain = kNever;
      std::vector<ExpectedEnd> ends;
      for (Timeline::Ends soonest(world.timeline, kNever); soonest.next() < kNever;) {
        const Seconds time = soonest.next();
        soonest.take([&](Seconds start, const Holding& holding) { ends.push_back({time, start, holding}); });
      }
      for (std::size_t i = 0; i < ends.size() && plain == kNever; ++i) {
        ASSERT_TRUE(ledger.release(ends[i].holding).ok());
        if (i + 1 < ends.size() && ends[i + 1].time == ends[i].time) continue;
        const Ledger::Checkpoint before = ledger.checkpoint();
        if (placer.place_job(gang).started) plain = ends[i].time;
        ledger.rollback(before);
      }
      EXPECT_EQ(world.start_of(text), plain) << text << ", trial " << trial;
      if (plain == kNever) continue;
      for (const Seconds from : {plain, plain + Seconds(1)}) {
        EXPECT_EQ(world.start_of(text, {.from = from}), from) << text << ", trial " << trial;
      }
    }
  }
}

TEST(GangRoomTest, CountsByWhatTheLocalityAllows) {
  Cluster cluster = test::cluster_from("2x4:A100 rack=a; 3x2:A100 rack=b");
  Ledger ledger(cluster);
  const BestFitScore policy;
  const auto suffices = [&](std::string_view text) {
    return GangRoom(ledger, test::job_from(text, 1, cluster), policy).may_suffice();
  };
  EXPECT_TRUE(suffices("gpus=2 tasks=7"));
  EXPECT_FALSE(suffices("gpus=2 tasks=8"));
  EXPECT_TRUE(suffices("gpus=2 tasks=4 locality=rack"));
  EXPECT_FALSE(suffices("gpus=2 tasks=5 locality=rack"));
  EXPECT_TRUE(suffices("gpus=2 tasks=5 locality=rack preferred=1"));
  EXPECT_TRUE(suffices("gpus=2 tasks=2 locality=node"));
  EXPECT_FALSE(suffices("gpus=2 tasks=3 locality=node"));

  GangRoom room(ledger, test::job_from("gpus=4 tasks=2", 1, cluster), policy);
  EXPECT_TRUE(room.may_suffice());
  ASSERT_TRUE(ledger.place({1, 1, kWholeDevice, MiB(0), MilliCpu(0), MiB(0)}).ok());
  room.recount(1);
  EXPECT_FALSE(room.may_suffice());
  ASSERT_TRUE(ledger.release({1, 1, kWholeDevice, MiB(0), MilliCpu(0), MiB(0)}).ok());
  room.recount(1);
  EXPECT_TRUE(room.may_suffice());
  ledger.set_accepts(0, false);
  room.recount(0);
  EXPECT_FALSE(room.may_suffice());
}

}  // namespace
}  // namespace berth
