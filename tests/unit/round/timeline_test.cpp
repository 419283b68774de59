#include "engine/round/timeline.h"

#include <gtest/gtest.h>

#include "tests/builders.h"

namespace berth {
namespace {

Holding devices_of(NodeIndex node, DeviceMask devices, std::int64_t cpu = 1000) {
  return {node, devices, kWholeDevice, MiB(81920), MilliCpu(cpu), MiB(1024)};
}

std::vector<ReservedTask> task_on(const Holding& holding) { return {{0, 0, holding.node + 1, holding}}; }

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
  std::int64_t delayed_by(const Holding& holding, Seconds end, std::int64_t except = 0) {
    EXPECT_TRUE(ledger.place(holding).ok());
    const std::int64_t job = timeline.delays(ledger, holding, end, except);
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

TEST_F(TimelineTest, AClosedNodeTakesNobodyElse) {
  timeline.close(7, task_on(devices_of(0, 0b0001)));
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000), Seconds(11)), 7);
  EXPECT_EQ(delayed_by(devices_of(0, 0b1000), Seconds(11), 7), 0);
}

// With the shade taken away, what is left is free for the whole stretch.
TEST_F(TimelineTest, TheShadeIsWhatMustBeLeftAlone) {
  timeline.reserve(7, task_on(devices_of(0, 0b1001, 20000)), Seconds(150), Seconds(300));
  std::vector<Holding> shade;
  timeline.append_shade(ledger, 0, Seconds(10), Seconds(150), kNoneEnded, 0, shade);
  EXPECT_TRUE(shade.empty());
  timeline.append_shade(ledger, 0, Seconds(10), Seconds(151), kNoneEnded, 0, shade);
  ASSERT_EQ(shade.size(), 2U) << "8 of the 20 cores are free anyway at 100, and device 0";
  EXPECT_EQ(shade[0].cpu, MilliCpu(12000));
  EXPECT_EQ(shade[1].devices, DeviceMask{0b1000});
  EXPECT_EQ(shade[1].gpu_milli, kWholeDevice);
  shade.clear();
  timeline.append_shade(ledger, 0, Seconds(10), kNever, kNoneEnded, 7, shade);
  EXPECT_TRUE(shade.empty());
}

TEST_F(TimelineTest, KnowsWhatStartsAfterTheReservation) {
  timeline.reserve(7, task_on(devices_of(0, 0b1111)), Seconds(200), Seconds(300));
  run(devices_of(0, 0b1000), Seconds(150));
  EXPECT_EQ(delayed_by(devices_of(0, 0, 1000), Seconds(200)), 0);
  EXPECT_EQ(timeline.free_from(ledger, task_on(devices_of(0, 0b1000)), Seconds(50), 0), Seconds(150));
  ASSERT_EQ(timeline.ends().size(), 3U);
  EXPECT_EQ(timeline.ends()[1].time, Seconds(150));
}

}  // namespace
}  // namespace berth
