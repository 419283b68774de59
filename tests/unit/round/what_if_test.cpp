#include "engine/round/what_if.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "engine/round/schedule.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

// A job that runs since `start`, holding the first `devices` devices of each of `nodes`, one task a node.
void run_job(Snapshot& snapshot, std::int64_t id, std::vector<NodeIndex> nodes, DeviceMask devices, Seconds start,
             std::int32_t queue = -1) {
  RunningJob run;
  run.job = job_from("gpus=1", id, snapshot.cluster);
  run.job.state = JobState::kRunning;
  run.job.queue = queue;
  run.job.groups[0].shape.gpu_count = std::popcount(devices);
  run.job.groups[0].count = run.job.groups[0].min_tasks = run.job.groups[0].placed =
      static_cast<std::int32_t>(nodes.size());
  run.start = start;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    snapshot.allocations.push_back({.job = id,
                                    .group = 0,
                                    .task = static_cast<std::int32_t>(i),
                                    .node = nodes[i],
                                    .devices = devices,
                                    .gpu_milli = kWholeDevice,
                                    .gpu_memory = MiB(81920),
                                    .cpu = MilliCpu(1000),
                                    .memory = MiB(1024),
                                    .start = start});
  }
  snapshot.running.push_back(std::move(run));
  std::ranges::sort(snapshot.running, {}, [](const RunningJob& job) { return job.job.id; });
  std::ranges::sort(snapshot.allocations, {}, [](const Allocation& a) { return std::tuple(a.node, a.job, a.task); });
}

std::vector<ChangeKind> kinds_of(const WhatIfAnswer& answer) {
  std::vector<ChangeKind> kinds;
  for (const WhatIf& change : answer.changes) kinds.push_back(change.kind);
  return kinds;
}

const WhatIf* change_of(const WhatIfAnswer& answer, ChangeKind kind) {
  const auto found = std::ranges::find(answer.changes, kind, &WhatIf::kind);
  return found == answer.changes.end() ? nullptr : &*found;
}

// Two departments of 8 and 8 A100; `owner` waits with a gang.
Snapshot two_queues(std::string_view job, std::int64_t owner_quota, std::int64_t borrow_limit = kNoLimit) {
  Snapshot snapshot = snapshot_from("2x8:A100", {job});
  snapshot.queues.resize(2);
  snapshot.queues[0].id = 1;
  snapshot.queues[0].name = "owner";
  snapshot.queues[1].id = 2;
  snapshot.queues[1].name = "other";
  snapshot.quotas.resources = {{"A100", ResourceKind::kGpu, 1}};
  snapshot.quotas.terms.assign(2, std::vector<QuotaTerms>(1));
  snapshot.quotas.terms[0][0] = {.has_quota = true, .quota = owner_quota, .borrow_limit = borrow_limit};
  snapshot.quotas.terms[1][0] = {.has_quota = true, .quota = 8000};
  snapshot.jobs[0].queue = 0;
  return snapshot;
}

TEST(WhatIf, AJobThatStartsNeedsNothing) {
  const Snapshot snapshot = snapshot_from("1x4:A100", {"gpus=2"});
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  EXPECT_TRUE(answer.starts_anyway);
  EXPECT_TRUE(answer.changes.empty());
  EXPECT_EQ(what_would_start(snapshot, 7).status().code(), Code::kNotFound);
}

TEST(WhatIf, QuotaIsNamedToTheDevice) {
  Snapshot snapshot = two_queues("gpus=4 models=A100", 1000, 0);
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  EXPECT_EQ(answer.waiting.reason, Reason::kQuota);
  const WhatIf* quota = change_of(answer, ChangeKind::kQuota);
  ASSERT_NE(quota, nullptr);
  ASSERT_EQ(quota->quotas.size(), 1u);
  EXPECT_EQ(quota->quotas[0].queue, 0);
  EXPECT_EQ(quota->quotas[0].amount, 3000);
  // With so much it starts, with one milli-GPU less it does not.
  snapshot.quotas.terms[0][0].quota += 3000;
  EXPECT_TRUE(must(what_would_start(snapshot, 1)).starts_anyway);
  snapshot.quotas.terms[0][0].quota -= 1;
  EXPECT_FALSE(must(what_would_start(snapshot, 1)).starts_anyway);
  EXPECT_NE(change_of(answer, ChangeKind::kGpus), nullptr);  // one GPU a task is within the quota
}

TEST(WhatIf, QuotaThatTakesRoomBackNamesWhoIsEvicted) {
  Snapshot snapshot = two_queues("gpus=8 models=A100", 4000);
  run_job(snapshot, 10, {0}, 0xFF, Seconds(-5000), 1);
  run_job(snapshot, 11, {1}, 0xFF, Seconds(-4000), 1);
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  const WhatIf* quota = change_of(answer, ChangeKind::kQuota);
  ASSERT_NE(quota, nullptr);
  ASSERT_EQ(quota->quotas.size(), 1u);
  EXPECT_EQ(quota->quotas[0].amount, 4000);
  ASSERT_EQ(quota->evictions.size(), 1u);
  EXPECT_EQ(quota->evictions[0].job, 11);  // the newer one runs on what it borrowed
}

TEST(WhatIf, AnotherModelOneIsEnough) {
  Snapshot snapshot = snapshot_from("1x4:A100; 1x4:T4; 1x4:P100", {"gpus=4 models=A100"});
  run_job(snapshot, 10, {0}, 1, Seconds(0));
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  const WhatIf* model = change_of(answer, ChangeKind::kModel);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(std::popcount(model->models), 1);
}

TEST(WhatIf, FewerTasksAsManyAsFit) {
  Snapshot snapshot = snapshot_from("3x4:A100", {"gpus=2 tasks=6"});
  run_job(snapshot, 10, {0}, 0xF, Seconds(0));
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  const WhatIf* tasks = change_of(answer, ChangeKind::kTasks);
  ASSERT_NE(tasks, nullptr);
  EXPECT_EQ(tasks->count, 4);
  const WhatIf* gpus = change_of(answer, ChangeKind::kGpus);
  ASSERT_NE(gpus, nullptr);
  EXPECT_EQ(gpus->count, 1);
  const WhatIf* evict = change_of(answer, ChangeKind::kEvict);
  ASSERT_NE(evict, nullptr);
  EXPECT_EQ(evict->jobs, std::vector<std::int64_t>{10});
  EXPECT_EQ(evict->lost, 1000 * 4000);  // a thousand seconds of four GPUs, no checkpoint
}

TEST(WhatIf, TheNarrowestWiderLocality) {
  Snapshot snapshot = snapshot_from("2x4:A100 rack=a; 2x4:A100 rack=b", {"gpus=1 tasks=6 locality=node"});
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  const WhatIf* locality = change_of(answer, ChangeKind::kLocality);
  ASSERT_NE(locality, nullptr);
  EXPECT_EQ(locality->locality, Locality::kRack);
}

TEST(WhatIf, AnEarlierPlaceNamesThoseItMustPass) {
  Snapshot snapshot = snapshot_from("1x8:A100", {"gpus=2", "gpus=2", "gpus=2", "gpus=4"});
  const WhatIfAnswer answer = must(what_would_start(snapshot, 4));
  const WhatIf* order = change_of(answer, ChangeKind::kOrder);
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->jobs, std::vector<std::int64_t>{3});
}

TEST(WhatIf, TheLowestPriorityClassThatWouldDo) {
  Snapshot snapshot = snapshot_from("1x8:A100", {"gpus=8", "gpus=4"});
  snapshot.order_policy = "priority";
  snapshot.priority_classes = {{1, "low", 1}, {2, "high", 10}, {3, "highest", 100}};
  snapshot.jobs[0].priority_class = 0;
  const WhatIfAnswer answer = must(what_would_start(snapshot, 2));
  const WhatIf* priority = change_of(answer, ChangeKind::kPriority);
  ASSERT_NE(priority, nullptr);
  EXPECT_EQ(priority->priority_class, 1);
}

TEST(WhatIf, NodesThatAreDrainingWouldDo) {
  const Snapshot snapshot = snapshot_from("1x4:A100; 2x8:A100 state=drained; 1x8:A100 state=down", {"gpus=8"});
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  EXPECT_EQ(kinds_of(answer), (std::vector{ChangeKind::kGpus, ChangeKind::kNodes}));
  EXPECT_EQ(answer.changes[1].nodes.size(), 1u);
}

TEST(WhatIf, EvictionsClearOneNodeAtLeastCost) {
  Snapshot snapshot = snapshot_from("4x4:A100", {"gpus=4"});
  for (NodeIndex node = 0; node < 4; ++node) {
    run_job(snapshot, 10 + node, {node}, 0x3, Seconds(900 - 100 * node));
    run_job(snapshot, 20 + node, {node}, 0x4, Seconds(900 - 100 * node));
  }
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  const WhatIf* evict = change_of(answer, ChangeKind::kEvict);
  ASSERT_NE(evict, nullptr);
  std::vector<std::int64_t> victims = evict->jobs;
  std::ranges::sort(victims);
  EXPECT_EQ(victims, (std::vector<std::int64_t>{10, 20}));  // the node whose jobs are newest
  EXPECT_EQ(evict->lost, 100 * 3000);
}

TEST(WhatIf, AJobThatHasJustStartedMayEndToo) {
  Snapshot snapshot = two_queues("gpus=4", 16000);
  snapshot.quotas.terms[1][0].quota = 0;
  snapshot.rules.pending_delay = Seconds(3600);
  run_job(snapshot, 11, {0}, 0xF, snapshot.now, 1);
  run_job(snapshot, 12, {0}, 0xF0, snapshot.now, 1);
  run_job(snapshot, 13, {1}, 0xFF, snapshot.now, 0);
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  const WhatIf* evicted = change_of(answer, ChangeKind::kEvict);
  ASSERT_NE(evicted, nullptr);
  EXPECT_EQ(evicted->jobs.size(), 1U);
  EXPECT_NE(evicted->jobs, std::vector<std::int64_t>{13});
  EXPECT_EQ(evicted->lost, 0);
}

TEST(WhatIf, EvictionsForTheJobThatItMayNotPassOrDelay) {
  // Job 1 lacks four GPUs, job 2 would fit beside it. Nobody passes it, or job 2 would delay it.
  for (const BackfillMode mode : {BackfillMode::kNone, BackfillMode::kEasy}) {
    SCOPED_TRACE(backfill_mode_name(mode));
    Snapshot snapshot = snapshot_from("2x8:A100", {"gpus=8", "gpus=4"});
    snapshot.rules.backfill = mode;
    snapshot.jobs[1].time_limit = Seconds(90'000);
    run_job(snapshot, 10, {0}, 0xFF, Seconds(-9000));
    run_job(snapshot, 11, {1}, 0xF, Seconds(-15'000));
    for (RunningJob& run : snapshot.running) run.job.time_limit = Seconds(20'000);
    const WhatIfAnswer answer = must(what_would_start(snapshot, 2));
    ASSERT_EQ(answer.waiting.reason, mode == BackfillMode::kNone ? Reason::kBlocked : Reason::kReserved);
    const WhatIf* evict = change_of(answer, ChangeKind::kEvict);
    ASSERT_NE(evict, nullptr);
    EXPECT_EQ(evict->jobs, std::vector<std::int64_t>{10});
    EXPECT_FALSE(evict->goes_first);
  }
}

TEST(WhatIf, WhereJobsAheadWouldTakeTheRoomItHasToGoBeforeThemToo) {
  Snapshot snapshot = snapshot_from("2x8:A100", {"gpus=8", "gpus=8", "gpus=8", "gpus=4"});
  run_job(snapshot, 10, {0}, 0xFF, Seconds(0));
  run_job(snapshot, 11, {1}, 0xFF, Seconds(500));
  const WhatIfAnswer answer = must(what_would_start(snapshot, 4));
  EXPECT_EQ(answer.ahead, 3);
  EXPECT_EQ(change_of(answer, ChangeKind::kOrder), nullptr);  // nothing is free, first or not
  const WhatIf* evict = change_of(answer, ChangeKind::kEvict);
  ASSERT_NE(evict, nullptr);
  EXPECT_EQ(evict->jobs, std::vector<std::int64_t>{11});
  EXPECT_TRUE(evict->goes_first);
}

TEST(WhatIf, AnEarlierPlacePassesThoseThatOnlyWaitToo) {
  // Job 1 takes the room that 3 needs; 2 never fits and stands between them.
  Snapshot snapshot = snapshot_from("1x8:A100", {"gpus=8", "gpus=8 tasks=9", "gpus=2"});
  const WhatIfAnswer answer = must(what_would_start(snapshot, 3));
  const WhatIf* order = change_of(answer, ChangeKind::kOrder);
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->jobs, (std::vector<std::int64_t>{1, 2}));
}

TEST(WhatIf, QuotaForTheJobsOfItsQueueAheadOfItToo) {
  Snapshot snapshot = two_queues("gpus=8 models=A100", 0);
  snapshot.jobs.push_back(snapshot.jobs[0]);
  snapshot.jobs.back().id = 2;
  run_job(snapshot, 10, {0}, 0xFF, Seconds(-5000), 1);
  run_job(snapshot, 11, {1}, 0xFF, Seconds(-4000), 1);
  snapshot.quotas.terms[1][0].quota = 0;
  const WhatIfAnswer answer = must(what_would_start(snapshot, 2));
  const WhatIf* quota = change_of(answer, ChangeKind::kQuota);
  ASSERT_NE(quota, nullptr);
  EXPECT_FALSE(quota->goes_first);
  EXPECT_EQ(quota->quotas[0].amount, 16000);
}

TEST(WhatIf, OthersCouldLendWhatTheyKeep) {
  Snapshot snapshot = two_queues("gpus=4 models=A100", 0);
  run_job(snapshot, 10, {0}, 0xFF, Seconds(-5000), 0);
  snapshot.quotas.terms[1][0].lend_limit = 2000;  // keeps 6 of 8
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  ASSERT_EQ(answer.waiting.reason, Reason::kLenderKeeps);
  const WhatIf* lends = change_of(answer, ChangeKind::kQuota);
  ASSERT_NE(lends, nullptr);
  ASSERT_EQ(lends->quotas.size(), 1u);
  EXPECT_EQ(lends->quotas[0].term, QuotaTerm::kLendLimit);
  EXPECT_EQ(lends->quotas[0].queue, 1);
  EXPECT_EQ(lends->quotas[0].amount, 2000);
  EXPECT_EQ(answer.waiting.beneficiary, 2);
}

TEST(WhatIf, AParentThatSumsItsQueuesIsRaisedThroughThem) {
  Snapshot snapshot = two_queues("gpus=4 models=A100", 2000, 0);
  Queue parent;
  parent.id = 3;
  parent.name = "parent";
  snapshot.queues.push_back(parent);
  snapshot.queues[0].parent = 2;
  snapshot.quotas.terms.push_back(std::vector<QuotaTerms>(1));
  snapshot.quotas.terms[2][0].borrow_limit = 0;
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  const WhatIf* quota = change_of(answer, ChangeKind::kQuota);
  ASSERT_NE(quota, nullptr);
  ASSERT_EQ(quota->quotas.size(), 1u);
  EXPECT_EQ(quota->quotas[0].queue, 0);
  EXPECT_EQ(quota->quotas[0].amount, 2000);
}

TEST(WhatIf, WhatItsQueueHasBorrowedIsCoveredFirst) {
  Snapshot snapshot = two_queues("gpus=4 models=A100", 0);
  run_job(snapshot, 10, {0}, 0xF, Seconds(-9000), 0);
  run_job(snapshot, 11, {0}, 0xF0, Seconds(-5000), 1);
  run_job(snapshot, 12, {1}, 0xFF, Seconds(-4000), 1);
  snapshot.quotas.terms[1][0].quota = 0;
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  const WhatIf* quota = change_of(answer, ChangeKind::kQuota);
  ASSERT_NE(quota, nullptr);
  EXPECT_EQ(quota->quotas[0].amount, 8000);
}

TEST(WhatIf, AtTheLimitOfItsQueueItsOwnJobsWouldMakeRoom) {
  Snapshot snapshot = two_queues("gpus=4 models=A100", 8000);
  snapshot.quotas.terms[0][0].limit = 8000;
  run_job(snapshot, 10, {0}, 0x3, Seconds(-9000), 0);
  run_job(snapshot, 11, {0}, 0xC, Seconds(-100), 0);
  run_job(snapshot, 12, {0}, 0xF0, Seconds(-300), 0);
  const WhatIfAnswer answer = must(what_would_start(snapshot, 1));
  EXPECT_EQ(answer.waiting.reason, Reason::kLimit);
  const WhatIf* evict = change_of(answer, ChangeKind::kEvict);
  ASSERT_NE(evict, nullptr);
  EXPECT_EQ(evict->jobs, std::vector<std::int64_t>{12});  // 11 is cheaper, and not enough without it not needed
}

TEST(WhatIf, EveryAnswerIsProvedByPlanningIt) {
  // What is named is changed here by hand, and the whole round planned.
  Snapshot snapshot = snapshot_from("2x8:A100; 1x8:T4", {"gpus=4", "gpus=6", "gpus=2 tasks=5 models=A100"});
  run_job(snapshot, 10, {0}, 0xF, Seconds(0));
  const WhatIfAnswer answer = must(what_would_start(snapshot, 3));
  ASSERT_FALSE(answer.starts_anyway);
  EXPECT_LE(answer.plans, 20);
  const WhatIf* tasks = change_of(answer, ChangeKind::kTasks);
  ASSERT_NE(tasks, nullptr);
  snapshot.jobs[2].groups[0].min_tasks = static_cast<std::int32_t>(tasks->count);
  const Plan plan = must(plan_schedule(snapshot)).plan;
  EXPECT_GE(std::ranges::count(plan.placements, 3, &Placement::job), tasks->count);
}

}  // namespace
}  // namespace berth::test
