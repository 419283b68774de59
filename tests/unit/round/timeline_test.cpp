#include "engine/round/timeline.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/builders.h"

namespace berth {
namespace {

Holding devices_of(NodeIndex node, DeviceMask devices, std::int64_t cpu = 1000) {
  return {node, devices, kWholeDevice, MiB(81920), MilliCpu(cpu), MiB(1024)};
}

std::vector<ReservedTask> task_on(const Holding& holding) { return {{0, 0, holding.node + 1, holding}}; }

std::vector<std::int64_t> end_times(const Timeline& timeline, Seconds before) {
  std::vector<std::int64_t> times;
  for (Timeline::Ends ends(timeline, before); ends.next() < kNever;) {
    times.push_back(ends.next().value());
    ends.take([](Seconds, const Holding&) {});
  }
  return times;
}

// Node 0 has 4 devices and 32 cores: 0 and 1 are in use until 100, 2 until 200.
class TimelineTest : public testing::Test {
 protected:
  TimelineTest() {
    run(devices_of(0, 0b0011, 8000), Seconds(100));
    run(devices_of(0, 0b0100, 8000), Seconds(200));
  }
  void run(const Holding& holding, Seconds end) {
    EXPECT_TRUE(ledger.place(holding).ok());
    timeline.add_end({end, Seconds(0), holding});
  }
  std::int64_t delayed_by(const Holding& holding, Seconds end, std::int64_t except = 0, Seconds certain = kNever) {
    EXPECT_TRUE(ledger.place(holding).ok());
    const std::int64_t job = timeline.delays(ledger, holding, {end, certain}, except);
    EXPECT_TRUE(ledger.release(holding).ok());
    return job;
  }

  Cluster cluster = test::cluster_from("2x4:A100");
  Ledger ledger{cluster};
  Timeline timeline{Seconds(10)};
};

TEST_F(TimelineTest, SaysWhenThereIsRoom) {
  const Seconds duration(50);
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b1000)), duration, 0), Seconds(10));
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b1010)), duration, 0), Seconds(100));
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b1111)), duration, 0), Seconds(200));
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b1000, 20000)), duration, 0), Seconds(100));
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b1000, 33000)), duration, 0), kNever);
}

TEST_F(TimelineTest, RoomMustLast) {
  timeline.reserve(7, task_on(devices_of(0, 0b0011)), Seconds(120), Seconds(180));
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b0001)), Seconds(20), 0), Seconds(100));
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b0001)), Seconds(21), 0), Seconds(180));
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b0001)), Seconds(21), 7), Seconds(100)) << "its own";
}

TEST_F(TimelineTest, WhoTakesWhatIsReservedDelays) {
  timeline.reserve(7, task_on(devices_of(0, 0b1001, 24000)), Seconds(100), Seconds(300));
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000, 0), Seconds(100)), 0) << "gone by then";
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000, 0), Seconds(101)), 7);
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000, 0), Seconds(101), 7), 0) << "its own";
  EXPECT_EQ(delayed_by(devices_of(0, 0, 1000), Seconds(150)), 7) << "8 cores in use until 200, 24 reserved";
  EXPECT_EQ(delayed_by(devices_of(1, 0b1111, 32000), kNever), 0) << "another node";
}

TEST_F(TimelineTest, AClosedNodeTakesNobodyElseWhoMightStay) {
  timeline.reserve(7, task_on(devices_of(0, 0b1001)), Seconds(10), Seconds(300));
  timeline.close(7, task_on(devices_of(0, 0b1001)), Seconds(100), Timeline::PassBy::kCertainEnd);
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000), Seconds(11)), 7);
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000), Seconds(11), 7), 0);
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000), Seconds(11), 0, Seconds(101)), 7) << "its limit ends it too late";
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000), Seconds(11), 0, Seconds(100)), 0);
  std::vector<Holding> shade;
  timeline.append_shade(ledger, 0, Seconds(10), {Seconds(11), Seconds(100)}, kNoneEnded, 0, shade);
  EXPECT_TRUE(shade.empty());
  timeline.append_shade(ledger, 0, Seconds(10), {Seconds(11)}, kNoneEnded, 0, shade);
  EXPECT_FALSE(shade.empty());
  timeline.close(7, task_on(devices_of(0, 0b1001)), Seconds(100), Timeline::PassBy::kExpectedEnd);
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000), Seconds(100)), 0);
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000), Seconds(101)), 7);
}

// With the shade taken away, what is left is free for the whole stretch.
TEST_F(TimelineTest, TheShadeIsWhatMustBeLeftAlone) {
  timeline.reserve(7, task_on(devices_of(0, 0b1001, 20000)), Seconds(150), Seconds(300));
  std::vector<Holding> shade;
  timeline.append_shade(ledger, 0, Seconds(10), {Seconds(150)}, kNoneEnded, 0, shade);
  EXPECT_TRUE(shade.empty());
  timeline.append_shade(ledger, 0, Seconds(10), {Seconds(151)}, kNoneEnded, 0, shade);
  ASSERT_EQ(shade.size(), 2U) << "8 of the 20 cores are free anyway at 100, and device 0";
  EXPECT_EQ(shade[0].cpu, MilliCpu(12000));
  EXPECT_EQ(shade[1].devices, DeviceMask{0b1000});
  EXPECT_EQ(shade[1].gpu_milli, kWholeDevice);
  shade.clear();
  timeline.append_shade(ledger, 0, Seconds(10), {kNever}, kNoneEnded, 7, shade);
  EXPECT_TRUE(shade.empty());
}

TEST_F(TimelineTest, KnowsWhatStartsAfterTheReservation) {
  timeline.reserve(7, task_on(devices_of(0, 0b1111)), Seconds(200), Seconds(300));
  run(devices_of(0, 0b1000), Seconds(150));
  EXPECT_EQ(delayed_by(devices_of(0, 0, 1000), Seconds(200)), 0);
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b1000)), Seconds(50), 0), Seconds(150));
  EXPECT_EQ(end_times(timeline, kNever), (std::vector<std::int64_t>{100, 150, 200}));
  EXPECT_EQ(end_times(timeline, Seconds(150)), (std::vector<std::int64_t>{100}));
}

// Jobs that run are looked at where they are; whoever joins or grows later is told of.
TEST(TimelineOfRunningJobsTest, KnowsThemAsTheyWere) {
  const Cluster cluster = test::cluster_from("2x4:A100");
  Ledger ledger(cluster);
  const auto run = [&](RunningJobs& jobs, std::int64_t id, NodeIndex node, DeviceMask devices, std::int64_t limit) {
    RunningJob job;
    job.job.id = id;
    job.job.time_limit = Seconds(limit);
    job.tasks.push_back({0, 0, devices_of(node, devices)});
    EXPECT_TRUE(ledger.place(job.tasks.back().holding).ok());
    jobs.add(std::move(job));
  };
  RunningJobs jobs;
  run(jobs, 5, 0, 0b0001, 300);
  run(jobs, 6, 0, 0b0010, 200);
  run(jobs, 7, 1, 0b0001, 100);
  run(jobs, 8, 0, 0b0100, 0);
  std::vector<RunEnd> ends;
  for (const RunTimes& times : jobs.times()) ends.push_back({untold_end_of(times, {}, Seconds(10)), times.tasks});
  EXPECT_EQ(ends[0].time, Seconds(300));
  EXPECT_EQ(ends[3].time, RoundRules{}.default_duration);
  Timeline timeline(Seconds(10));
  timeline.look_at(jobs, std::move(ends));

  const Holding more = devices_of(0, 0b1000);
  jobs.add_task(*jobs.change(6), {0, 1, more});
  EXPECT_TRUE(ledger.place(more).ok());
  timeline.add_end({Seconds(250), Seconds(0), more});
  run(jobs, 9, 1, 0b0010, 400);
  timeline.add_end({Seconds(400), Seconds(0), devices_of(1, 0b0010)});
  EXPECT_EQ(end_times(timeline, Seconds(1000)), (std::vector<std::int64_t>{100, 200, 250, 300, 400}));
  const auto free_from = [&](NodeIndex node, DeviceMask devices) {
    return timeline.free_from(ledger, task_on(devices_of(node, devices)), Seconds(50), 0);
  };
  EXPECT_EQ(free_from(0, 0b0001), Seconds(300));
  EXPECT_EQ(free_from(0, 0b0010), Seconds(200));
  EXPECT_EQ(free_from(0, 0b1010), Seconds(250)) << "what it grew by stays until then";
  EXPECT_EQ(free_from(1, 0b0001), Seconds(100));
  EXPECT_EQ(free_from(1, 0b0011), Seconds(400));
}

TEST(RunningJobsTest, KnowsWhoIsOnANodeAndUntilWhen) {
  RunningJobs jobs;
  const auto run = [&](std::int64_t id, NodeIndex node) {
    RunningJob job;
    job.job.id = id;
    job.job.time_limit = Seconds(100 * id);
    job.tasks = {{0, 0, devices_of(node, 0b0001)}, {0, 1, devices_of(2, 0b0001)}};
    jobs.add(std::move(job));
  };
  const auto on_node = [&](NodeIndex node) {
    const std::span<const std::int64_t> ids = jobs.on_node(node);
    return std::multiset<std::int64_t>(ids.begin(), ids.end());
  };
  run(1, 0);
  run(2, 0);
  EXPECT_EQ(on_node(0), (std::multiset<std::int64_t>{1, 2}));
  run(3, 1);
  EXPECT_EQ(on_node(2), (std::multiset<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(jobs.times()[2].planned_end, Seconds(300));
  jobs.remove(1);
  EXPECT_EQ(on_node(0), (std::multiset<std::int64_t>{2}));
  EXPECT_EQ(jobs.times()[0].planned_end, Seconds(300)) << "the last took the place of the one that left";
  jobs.drop_task(*jobs.change(3), 1);
  jobs.change(3)->stop_at = Seconds(50);
  EXPECT_EQ(on_node(2), (std::multiset<std::int64_t>{2}));
  EXPECT_EQ(jobs.times()[0].tasks, 1U);
  EXPECT_TRUE(jobs.times()[0].is_told);
  for (RunningJob& job : jobs.change_all()) job.job.time_limit = Seconds(700);
  EXPECT_EQ(jobs.times()[1].planned_end, Seconds(700));
  EXPECT_TRUE(on_node(9).empty());
}

}  // namespace
}  // namespace berth
