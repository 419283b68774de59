#include "engine/round/forecast.h"

#include <gtest/gtest.h>

#include "tests/builders.h"

namespace berth::test {
namespace {

// Runs since 0 on the whole of `node` and is expected to last so long.
void run_whole_node(Snapshot& snapshot, std::int64_t id, NodeIndex node, Seconds p50, Seconds p90) {
  const NodeKind& kind = snapshot.cluster.kind_of(static_cast<std::size_t>(node));
  RunningJob run;
  run.job = job_from("gpus=1", id, snapshot.cluster);
  run.job.state = JobState::kRunning;
  run.job.groups[0].placed = 1;
  run.job.estimate = {p50, p50, p90};
  snapshot.running.push_back(run);
  snapshot.allocations.push_back({.job = id,
                                  .group = 0,
                                  .task = 0,
                                  .node = node,
                                  .devices = (DeviceMask{1} << kind.device_count) - 1,
                                  .gpu_milli = kWholeDevice,
                                  .gpu_memory = kind.device_memory,
                                  .cpu = MilliCpu(1000),
                                  .memory = MiB(1024)});
}

TEST(Forecast, AJobStartsWhenTheFirstThatMakesRoomEnds) {
  Snapshot snapshot = snapshot_from("2x4:A100", {"gpus=4"});
  run_whole_node(snapshot, 10, 0, Seconds(5000), Seconds(9000));
  run_whole_node(snapshot, 11, 1, Seconds(3000), Seconds(8000));
  const Forecast forecast = must(forecast_start(snapshot, 1));
  EXPECT_EQ(forecast.p50, Seconds(3000));
  EXPECT_EQ(forecast.p90, Seconds(8000));
  EXPECT_EQ(forecast.guesses, 0);
}

// Four run for 1,100 s where 100 were expected: each is believed to last as long again, whatever ends before it.
TEST(Forecast, WhatIsOverdueIsAskedOnce) {
  Snapshot snapshot = snapshot_from("4x4:A100", {"gpus=4 tasks=4"});
  for (std::int32_t node = 0; node < 4; ++node)
    run_whole_node(snapshot, 10 + node, node, Seconds(100 + node), Seconds(100 + node));
  snapshot.now = Seconds(1100);
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, Seconds(2100));
  snapshot.running[0].job.time_limit = Seconds(1500);
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, Seconds(2099)) << "its limit ends it";
}

TEST(Forecast, JobsAheadAreServedFirst) {
  Snapshot snapshot = snapshot_from("1x4:A100", {"gpus=4", "gpus=4"});
  snapshot.jobs[0].estimate = {Seconds(2000), Seconds(2000), Seconds(2000)};
  run_whole_node(snapshot, 10, 0, Seconds(5000), Seconds(5000));
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, Seconds(5000));
  EXPECT_EQ(must(forecast_start(snapshot, 2)).p50, Seconds(7000));
}

TEST(Forecast, SeveralJobsInOnePlay) {
  Snapshot snapshot = snapshot_from("1x4:A100", {"gpus=4", "gpus=4", "gpus=8", "gpus=4"});
  for (Job& job : snapshot.jobs) job.estimate = {Seconds(2000), Seconds(2000), Seconds(3000)};
  run_whole_node(snapshot, 10, 0, Seconds(5000), Seconds(6000));
  const std::vector<std::int64_t> jobs = {4, 2, 3};
  const auto starts = must(forecast_starts(snapshot, jobs));
  EXPECT_EQ(starts[0], Seconds(9000));
  EXPECT_EQ(starts[1], Seconds(7000));
  EXPECT_EQ(starts[2], std::nullopt);  // it never fits
  EXPECT_EQ(starts[1], must(forecast_start(snapshot, 2)).p50);
  EXPECT_EQ(must(forecast_starts(snapshot, jobs, ForecastDurations::kLong))[1], Seconds(9000));
  EXPECT_EQ(must(forecast_starts(snapshot, jobs, ForecastDurations::kMedian, 1))[1], std::nullopt);
  EXPECT_EQ(forecast_starts(snapshot, std::vector<std::int64_t>{77}).status().code(), Code::kNotFound);
}

TEST(Forecast, RoomThatIsHeldForAJobIsTakenByItFirst) {
  // Node 0 is held for job 2, whose victim stops; job 1 is before it in the order, and gets node 1 later.
  Snapshot snapshot = snapshot_from("2x4:A100", {"gpus=4", "gpus=4"});
  run_whole_node(snapshot, 11, 1, Seconds(3000), Seconds(3000));
  const NodeKind& kind = snapshot.cluster.kind_of(0);
  const TaskShape& shape = snapshot.jobs[1].groups[0].shape;
  const Holding holding{0, 0xF, shape.gpu_milli, kind.device_memory, shape.cpu, shape.memory};
  snapshot.reservations.push_back({.job = 2,
                                   .kind = ReservationKind::kEviction,
                                   .made_at = Seconds(0),
                                   .expected = Seconds(0),
                                   .expires = snapshot.now + Seconds(600),
                                   .tasks = {{.group = 0, .task = 0, .node_id = 1, .holding = holding}}});
  EXPECT_EQ(must(forecast_start(snapshot, 2)).p50, snapshot.now);
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, Seconds(3000));
}

TEST(Forecast, AJobThatDependsOnOthersStartsWhenTheyHaveEnded) {
  // Job 1 comes after 11, which runs, and 2, which waits behind it.
  Snapshot snapshot = snapshot_from("2x4:A100", {"gpus=4", "gpus=4"});
  snapshot.jobs[0].after = {2, 11};
  snapshot.jobs[1].estimate = {Seconds(500), Seconds(500), Seconds(500)};
  run_whole_node(snapshot, 11, 1, Seconds(3000), Seconds(8000));
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, Seconds(3000));
  snapshot.jobs[0].after = {2, 99};  // held, or failed
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, std::nullopt);
}

TEST(Forecast, WhatADrainingNodeGivesBackIsNobodys) {
  Snapshot snapshot = snapshot_from("1x4:A100 state=draining; 1x4:A100", {"gpus=4"});
  run_whole_node(snapshot, 10, 0, Seconds(2000), Seconds(2000));
  snapshot.queues.resize(2);
  snapshot.queues[0].id = 1;
  snapshot.queues[1].id = 2;
  snapshot.quotas.resources = {{"A100", ResourceKind::kGpu, 1}};
  snapshot.quotas.terms.assign(2, std::vector<QuotaTerms>(1));
  snapshot.quotas.terms[0][0] = {.has_quota = true, .quota = 4000, .lend_limit = 0};
  snapshot.running[0].job.queue = 0;
  snapshot.jobs[0].queue = 1;
  // While job 10 uses what its queue keeps, the other node is free; then it is kept.
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, snapshot.now);
  snapshot.allocations.clear();
  snapshot.running.clear();
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, std::nullopt);
}

// Each queue runs on one node. Queue 1 has the lesser weight: the job of the other, which fits nowhere, goes first, and
// nobody passes it - until the job that queue 1 runs has ended.
TEST(Forecast, JobsAreOrderedAnewAsOthersEnd) {
  for (const char* order : {"drf", "fair_share"}) {
    SCOPED_TRACE(order);
    Snapshot snapshot = snapshot_from("2x4:A100", {"gpus=4", "gpus=8"});
    snapshot.order_policy = order;
    snapshot.rules.backfill = BackfillMode::kNone;
    snapshot.queues.resize(2);
    snapshot.queues[0].id = 1;
    snapshot.queues[1].id = 2;
    snapshot.jobs[0].queue = 0;
    snapshot.jobs[1].queue = 1;
    run_whole_node(snapshot, 10, 0, Seconds(5000), Seconds(5000));
    run_whole_node(snapshot, 11, 1, Seconds(9000), Seconds(9000));
    snapshot.running[0].job.queue = 0;
    snapshot.running[1].job.queue = 1;
    snapshot.queues[0].weight = 0.5;
    EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, Seconds(5000));
  }
}

TEST(Forecast, UnknownDurationsAreCountedAndTakeTheDefault) {
  Snapshot snapshot = snapshot_from("1x4:A100", {"gpus=4"});
  run_whole_node(snapshot, 10, 0, Seconds(0), Seconds(0));
  const Forecast forecast = must(forecast_start(snapshot, 1));
  EXPECT_EQ(forecast.guesses, 1);
  EXPECT_EQ(forecast.p50, snapshot.rules.default_duration);
}

TEST(Forecast, WhatNeverFitsHasNone) {
  Snapshot snapshot = snapshot_from("1x4:A100", {"gpus=8"});
  run_whole_node(snapshot, 10, 0, Seconds(5000), Seconds(5000));
  EXPECT_EQ(must(forecast_start(snapshot, 1)).p50, std::nullopt);
}

}  // namespace
}  // namespace berth::test
