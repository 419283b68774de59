// Evictions, reservations and marks from a plan to the tables and back.
#include "engine/store/eviction_records.h"

#include <cmath>

#include "engine/round/schedule.h"
#include "engine/store/settings.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Evictions : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_.emplace(open());
    fill(*db_);
  }

  Loaded load_at(Seconds now) {
    return must_have(load_state(*db_, {.now = now, .node_names = true, .also_job = std::nullopt}));
  }
  Result<ApplyResult> apply_at(const Plan& plan, Seconds now) {
    const Loaded loaded = load_at(now);
    return apply_plan(*db_, plan,
                      {.kind = "schedule",
                       .actor = "tester",
                       .now = now,
                       .seconds = {},
                       .last_reasons = loaded.last_reasons,
                       .plan_id = 0});
  }
  Plan plan_of(std::vector<Eviction> evictions, Seconds planned_at) {
    Plan plan = plan_on(*db_, {});
    plan.planned_at = planned_at;
    plan.evictions = std::move(evictions);
    return plan;
  }
  std::string text(const std::string& sql) { return must_have(db_->text(sql)); }
  std::int64_t number(const std::string& sql) { return must_have(db_->integer(sql)); }

  std::optional<Database> db_;
};

TEST_F(Evictions, OneThatEndsNowFreesItsRoomForTheBeneficiary) {
  const std::int64_t victim = run_job(*db_, "victim", 8, "a1");
  const TaskGroupRequest asked = group(8, 1);
  const std::int64_t wins = submit(*db_, job("wins", {asked}));
  Plan plan = plan_of(
      {{.job = victim, .beneficiary = wins, .rule = EvictionRule::kReclaim, .lost = 8000, .stop_at = Seconds(5600)}},
      Seconds(5600));
  for (std::int32_t i = 0; i < 8; ++i)
    plan.placements.push_back(placement(*db_, wins, 0, i, "a1", DeviceMask{1} << i, asked, MiB(81920)));
  plan.marks = {{wins, 3}};
  const ApplyResult result = must_have(apply_at(plan, Seconds(5600)));
  EXPECT_EQ(result.evicted_jobs, 1);
  EXPECT_EQ(result.started_jobs, 1);
  EXPECT_EQ(
      text("SELECT state || evictions || ',' || last_eviction || ',' || submit_time || ',' || quota_mark FROM jobs "
           "WHERE name = 'victim'"),
      "pending1,5600,1000,0");
  // 8 GPUs for an hour.
  EXPECT_EQ(number("SELECT attained_milli_s FROM jobs WHERE name = 'victim'"), 8 * 1000 * 3600);
  EXPECT_EQ(text("SELECT state || ',' || tasks || ',' || detail FROM runs"), "evicted,8,reclaim for job wins");
  EXPECT_EQ(text("SELECT victim || beneficiary || rule || tasks || whole || lost_gpu_milli_s FROM eviction_log"),
            "victimwinsreclaim818000");
  EXPECT_EQ(number("SELECT quota_mark FROM jobs WHERE name = 'wins'"), 3);
  expect_healthy(*db_);

  const Loaded loaded = load_at(Seconds(6000));
  ASSERT_EQ(loaded.snapshot.running.size(), 1u);
  EXPECT_EQ(loaded.snapshot.running[0].job.id, wins);
  EXPECT_EQ(loaded.snapshot.running[0].quota_mark, 3u);
  EXPECT_EQ(loaded.snapshot.running[0].start, Seconds(5600));
  ASSERT_EQ(loaded.snapshot.jobs.size(), 1u);
  const Job& again = loaded.snapshot.jobs[0];
  EXPECT_EQ(again.eviction.evicted_for, std::vector<std::int64_t>{wins});
  EXPECT_EQ(again.attained, 8 * 1000 * 3600);
  EXPECT_EQ(again.submit, Seconds(1000));
  EXPECT_TRUE(loaded.last_reasons[0].reclaimed);
  EXPECT_EQ(loaded.last_reasons[0].cause, WaitCause::kLenderReclaimed);
  EXPECT_EQ(loaded.snapshot.queues[1].lost_this_hour, 8000);
  EXPECT_EQ(load_at(Seconds(5600 + 3600)).snapshot.queues[1].lost_this_hour, 0);
}

TEST_F(Evictions, OneWithAGraceIsToldToStopAndEndedByALaterRound) {
  const std::int64_t victim = run_job(*db_, "victim", 2, "a1");
  ASSERT_TRUE(db_->execute("UPDATE jobs SET checkpoint_grace_s = 120 WHERE name = 'victim'").ok());
  ASSERT_TRUE(db_->execute("DELETE FROM nodes WHERE name IN ('a2', 'a3', 'a4')").ok());  // it is needed on its node
  JobRequest higher = job("wins", {group(1, 8)});
  higher.priority_class = "high";
  const std::int64_t wins = submit(*db_, higher);
  Plan plan = plan_of(
      {{.job = victim, .beneficiary = wins, .rule = EvictionRule::kPriority, .lost = 10, .stop_at = Seconds(2620)}},
      Seconds(2500));
  const Snapshot running = load_at(Seconds(2500)).snapshot;
  const NodeIndex node = running.allocations.front().node;
  const TaskShape& shape = std::ranges::find(running.jobs, wins, &Job::id)->groups[0].shape;
  const Holding room = holding_for(shape, running.cluster.kind_of(static_cast<std::size_t>(node)), node, 0xFF);
  plan.reservations.push_back({.job = wins,
                               .kind = ReservationKind::kEviction,
                               .made_at = Seconds(2500),
                               .expected = Seconds(2620),
                               .expires = Seconds(6220),
                               .tasks = {{0, 0, running.cluster.nodes[static_cast<std::size_t>(node)].id, room}}});
  const ApplyResult told = must_have(apply_at(plan, Seconds(2510)));
  EXPECT_EQ(told.stopping_jobs, 1);
  EXPECT_EQ(told.evicted_jobs, 0);
  // The grace counts from when the plan is carried out.
  EXPECT_EQ(text("SELECT rule || stop_at FROM stopping_jobs"), "priority2630");
  EXPECT_EQ(number("SELECT count(*) FROM allocations"), 2);
  expect_healthy(*db_);

  const Loaded before = load_at(Seconds(2629));
  ASSERT_EQ(before.snapshot.running.size(), 1u);
  EXPECT_EQ(before.snapshot.running[0].stop_at, Seconds(2630));
  EXPECT_EQ(before.snapshot.running[0].stops_for, wins);
  EXPECT_TRUE(must_have(plan_schedule(before.snapshot)).plan.evictions.empty());

  const Loaded due = load_at(Seconds(2630));
  const Plan ends = must_have(plan_schedule(due.snapshot)).plan;
  ASSERT_EQ(ends.evictions.size(), 1u);
  EXPECT_EQ(ends.evictions[0].job, victim);
  EXPECT_EQ(ends.evictions[0].rule, EvictionRule::kPriority);
  EXPECT_EQ(must_have(apply_at(ends, Seconds(2631))).evicted_jobs, 1);
  EXPECT_EQ(number("SELECT count(*) FROM evictions"), 1) << "one decision, one row";
  EXPECT_EQ(number("SELECT count(*) FROM stopping_jobs"), 0);
  EXPECT_EQ(text("SELECT state || evictions || ',' || last_eviction FROM jobs WHERE name = 'victim'"), "pending1,2631");
  EXPECT_EQ(text("SELECT cause FROM wait_intervals WHERE job_id = 1 AND to_time IS NULL"), "order");
  expect_healthy(*db_);
}

TEST_F(Evictions, AJobThatEndsWithinItsGraceLosesNothing) {
  const std::int64_t victim = run_job(*db_, "victim", 2, "a1");
  const std::int64_t wins = submit(*db_, job("wins", {group(1, 8)}));
  EXPECT_OK(
      apply_at(plan_of({{.job = victim, .beneficiary = wins, .lost = 10, .stop_at = Seconds(2620)}}, Seconds(2500)),
               Seconds(2500)));
  EXPECT_OK(change(
      *db_, [&](Change& c) { return end_job(c, victim, JobState::kFinished); }, Seconds(2600)));
  EXPECT_EQ(number("SELECT lost_gpu_milli_s FROM evictions"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM stopping_jobs"), 0);
  expect_healthy(*db_);
}

TEST_F(Evictions, SurplusTasksGoAndTheGangRunsOn) {
  TaskGroupRequest asked = group(4, 1);
  asked.min_tasks = 2;
  const std::int64_t elastic = submit(*db_, job("elastic", {asked}));
  std::vector<Placement> placements;
  for (std::int32_t i = 0; i < 4; ++i)
    placements.push_back(placement(*db_, elastic, 0, i, "a1", DeviceMask{1} << i, asked, MiB(81920)));
  EXPECT_OK(apply(*db_, plan_on(*db_, placements)));
  const std::int64_t wins = submit(*db_, job("wins", {group(1, 8)}));
  const Eviction surplus{.job = elastic,
                         .beneficiary = wins,
                         .whole = false,
                         .tasks = {{0, 2}, {0, 3}},
                         .lost = 5,
                         .stop_at = Seconds(3000)};
  EXPECT_EQ(must_have(apply_at(plan_of({surplus}, Seconds(3000)), Seconds(3000))).shrunk_jobs, 1);
  EXPECT_EQ(number("SELECT count(*) FROM allocations"), 2);
  EXPECT_EQ(text("SELECT state FROM jobs WHERE name = 'elastic'"), "running");
  EXPECT_EQ(number("SELECT attained_milli_s FROM jobs WHERE name = 'elastic'"), 2 * 1000 * 1000);
  expect_healthy(*db_);
  EXPECT_ERROR(
      apply_at(
          plan_of({{.job = elastic, .beneficiary = wins, .whole = false, .tasks = {{0, 1}}, .stop_at = Seconds(3000)}},
                  Seconds(3000)),
          Seconds(3000)),
      Code::kConflict, "less than its gang");
  EXPECT_ERROR(apply_at(plan_of({surplus}, Seconds(3000)), Seconds(3000)), Code::kConflict, "does not run task 0.2");
  expect_healthy(*db_);
}

// A job of one GPU grows to four after an hour, gives one back ten minutes later, and ends after ten more: what counts
// of it is added up second by second from when each task ran.
TEST_F(Evictions, UseOfATaskCountsFromItsOwnStart) {
  constexpr std::int64_t kHalfLife = 1800;
  constexpr std::int64_t kBegin = 2000;
  constexpr std::int64_t kGrows = kBegin + 3600;
  constexpr std::int64_t kShrinks = kGrows + 600;
  constexpr std::int64_t kEnd = kShrinks + 600;
  EXPECT_OK(change(*db_, [](Change& c) -> Status {
    BERTH_TRY(set_setting(c, "usage_weight", "1"));
    return set_setting(c, "usage_half_life", "1800s");
  }));
  const auto counted = [&](std::int64_t now) {
    double sum = 0;
    for (std::int64_t t = kBegin; t < now; ++t) {
      const int tasks = t < kGrows ? 1 : t < kShrinks ? 4 : t < kEnd ? 3 : 0;
      sum += 1000.0 * tasks * std::exp2(-static_cast<double>(2 * (now - t) - 1) / (2.0 * kHalfLife));
    }
    return sum;
  };
  const auto expect_counted = [&](std::int64_t now) {
    SCOPED_TRACE(now);
    double sum = 0;
    for (const Queue& queue : load_at(Seconds(now)).snapshot.queues) sum += queue.decayed_usage;
    EXPECT_NEAR(sum, counted(now), 1e-4 * counted(now));
  };
  TaskGroupRequest asked = group(4, 1);
  asked.min_tasks = 1;
  const std::int64_t elastic = submit(*db_, job("elastic", {asked}));
  const auto task = [&](std::int32_t i) {
    return placement(*db_, elastic, 0, i, "a1", DeviceMask{1} << i, asked, MiB(81920));
  };
  EXPECT_OK(apply(*db_, plan_on(*db_, {task(0)})));
  expect_counted(kGrows);
  Plan more = plan_of({}, Seconds(kGrows));
  more.placements = {task(1), task(2), task(3)};
  EXPECT_OK(apply_at(more, Seconds(kGrows)));
  expect_counted(kGrows + 60);
  for (const RunningJob& run : load_at(Seconds(kGrows + 60)).snapshot.running) EXPECT_EQ(run.start, Seconds(kBegin));
  for (const Allocation& a : load_at(Seconds(kGrows + 60)).snapshot.allocations) {
    EXPECT_EQ(a.start, Seconds(a.task == 0 ? kBegin : kGrows));
  }
  const std::int64_t wins = submit(*db_, job("wins", {group(1, 8)}));
  EXPECT_OK(apply_at(
      plan_of({{.job = elastic, .beneficiary = wins, .whole = false, .tasks = {{0, 3}}, .stop_at = Seconds(kShrinks)}},
              Seconds(kShrinks)),
      Seconds(kShrinks)));
  expect_counted(kShrinks);
  expect_counted(kShrinks + 300);
  EXPECT_OK(change(
      *db_, [&](Change& c) { return end_job(c, elastic, JobState::kFinished); }, Seconds(kEnd)));
  expect_counted(kEnd);
  expect_counted(kEnd + 5000);
  EXPECT_EQ(number("SELECT attained_milli_s FROM jobs WHERE name = 'elastic'"), 1000 * (3600 + 4 * 600 + 3 * 600));
  expect_healthy(*db_);
}

TEST_F(Evictions, WhatDoesNotRunCannotBeEvicted) {
  const std::int64_t waits = submit(*db_, job("waits", {group(1, 1)}));
  EXPECT_ERROR(
      apply_at(plan_of({{.job = waits, .beneficiary = waits, .stop_at = Seconds(2000)}}, Seconds(2000)), Seconds(2000)),
      Code::kConflict, "'waits' does not run");
  EXPECT_EQ(number("SELECT count(*) FROM rounds"), 0);
}

TEST_F(Evictions, ReservationsAreKeptByDifference) {
  const TaskGroupRequest asked = group(1, 8);
  const std::int64_t first = submit(*db_, job("first", {asked}));
  const std::int64_t second = submit(*db_, job("second", {asked}));
  const auto reserve = [&](std::int64_t job, const std::string& node, Seconds expected) {
    const Placement p = placement(*db_, job, 0, 0, node, 0xFF, asked, MiB(81920));
    Reservation reservation{.job = job, .made_at = Seconds(2000), .expected = expected, .tasks = {}};
    reservation.tasks.push_back({0, 0, p.node_id, {0, p.devices, p.gpu_milli, p.gpu_memory, p.cpu, p.memory}});
    return reservation;
  };
  Plan plan = plan_of({}, Seconds(2000));
  plan.reservations = {reserve(first, "a1", Seconds(5000)), reserve(second, "a2", Seconds(6000))};
  EXPECT_OK(apply_at(plan, Seconds(2000)));
  const std::vector<Reservation> read = load_at(Seconds(2000)).snapshot.reservations;
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].expected, Seconds(5000));
  EXPECT_EQ(read[1].tasks[0].holding.node, 1);
  EXPECT_EQ(read[1].tasks[0].holding.devices, DeviceMask{0xFF});
  expect_healthy(*db_);

  // The same again writes nothing; a moved one is replaced, one that is gone goes.
  plan = plan_of({}, Seconds(2100));
  plan.reservations = read;
  const std::int64_t changes_before = number("SELECT total_changes()");
  EXPECT_OK(apply_at(plan, Seconds(2100)));
  const std::int64_t same = number("SELECT total_changes()") - changes_before;
  plan = plan_of({}, Seconds(2200));
  plan.reservations = {reserve(second, "a3", Seconds(6500))};
  const std::int64_t moved_before = number("SELECT total_changes()");
  EXPECT_OK(apply_at(plan, Seconds(2200)));
  EXPECT_GT(number("SELECT total_changes()") - moved_before, same);
  EXPECT_EQ(text("SELECT group_concat(job || expected) FROM reservations_now"), "second6500");
  // A held or cancelled job loses its room.
  EXPECT_OK(change(*db_, [&](Change& c) { return hold_job(c, second); }));
  EXPECT_EQ(number("SELECT count(*) FROM reserved_tasks"), 0);
  expect_healthy(*db_);
}

TEST_F(Evictions, TermsOfAJobAreLoaded) {
  JobRequest request = job("careful", {group(1, 1)});
  request.terms = {.preemptible = false,
                   .checkpoint_every = Seconds(1800),
                   .checkpoint_grace = Seconds(120),
                   .restart_cost = Seconds(300),
                   .min_runtime = Seconds(0),
                   .after = {}};
  submit(*db_, request);
  submit(*db_, job("plain", {group(1, 1)}));
  EXPECT_OK(
      change(*db_, [](Change& c) { return c.db().execute("INSERT INTO settings VALUES ('min_runtime', '20m')"); }));
  const Snapshot snapshot = load_at(Seconds(2000)).snapshot;
  const EvictionTerms& careful = snapshot.jobs[0].eviction;
  EXPECT_FALSE(careful.preemptible);
  EXPECT_EQ(careful.checkpoint_interval, Seconds(1800));
  EXPECT_EQ(careful.checkpoint_grace, Seconds(120));
  EXPECT_EQ(careful.restart_cost, Seconds(300));
  EXPECT_EQ(careful.min_runtime, Seconds(0));
  EXPECT_EQ(careful.last_eviction, Seconds(-1));
  EXPECT_EQ(snapshot.jobs[1].eviction.min_runtime, Seconds(1200));
  EXPECT_EQ(snapshot.rules.min_runtime, Seconds(1200));
}

TEST_F(Evictions, AJobWaitsForThoseItComesAfter) {
  const std::int64_t prep = run_job(*db_, "prep", 1, "a1");
  JobRequest request = job("train-it", {group(1, 1)});
  request.terms.after = {"prep"};
  submit(*db_, request);
  EXPECT_FALSE(load_at(Seconds(2000)).snapshot.jobs[0].after.empty());
  EXPECT_OK(change(*db_, [&](Change& c) { return end_job(c, prep, JobState::kFinished); }));
  EXPECT_TRUE(load_at(Seconds(2000)).snapshot.jobs[0].after.empty());
  submit(*db_, [&] {
    request.name = "later";
    return request;
  }());
  EXPECT_EQ(text("SELECT group_concat(state) FROM dependencies"), "met,met");

  const std::int64_t fails = run_job(*db_, "fails", 1, "a2");
  request.name = "never";
  request.terms.after = {"fails"};
  const std::int64_t never = submit(*db_, request);
  EXPECT_OK(change(*db_, [&](Change& c) { return end_job(c, fails, JobState::kFailed); }));
  const Snapshot snapshot = load_at(Seconds(2000)).snapshot;
  EXPECT_EQ(snapshot.jobs.back().id, never);
  EXPECT_FALSE(snapshot.jobs.back().after.empty());
  expect_healthy(*db_);
  request.name = "refused";
  EXPECT_ERROR(change(*db_, [&](Change& c) { return submit_job(c, request); }), Code::kConflict, "'fails' has failed");
  request.terms.after = {"refused"};
  EXPECT_ERROR(change(*db_, [&](Change& c) { return submit_job(c, request); }), Code::kNotFound, "no job 'refused'");
}

}  // namespace
}  // namespace berth::test
