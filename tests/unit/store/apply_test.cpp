#include "engine/store/apply.h"

#include "engine/store/journal.h"
#include "engine/store/totals.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Apply : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_.emplace(open());
    fill(*db_);
  }
  std::int64_t count(const std::string& table) { return must_have(db_->integer("SELECT count(*) FROM " + table)); }

  std::optional<Database> db_;
};

TEST_F(Apply, LoadReadsTheClusterAsItIs) {
  const Loaded loaded = load(*db_);
  const Snapshot& s = loaded.snapshot;
  EXPECT_EQ(s.version, 1);
  EXPECT_EQ(s.now, Seconds(2000));
  EXPECT_EQ(s.order_policy, "priority");
  ASSERT_EQ(s.cluster.nodes.size(), 7u);
  EXPECT_EQ(s.cluster.node_names[6], "c1");
  EXPECT_EQ(s.cluster.kinds.size(), 3u);
  const NodeKind& a100 = s.cluster.kind_of(0);
  EXPECT_EQ(a100.device_count, 8);
  EXPECT_EQ(a100.device_memory, MiB(81920));
  EXPECT_EQ(a100.link_groups.size(), 6u);
  EXPECT_EQ(s.cluster.pools[static_cast<std::size_t>(a100.pool)], "main");
  EXPECT_EQ(s.cluster.kind_of(4).pool, -1);
  EXPECT_EQ(s.cluster.kind_of(6).device_count, 0);
  EXPECT_EQ(s.cluster.racks, (std::vector<std::string>{"r1", "r2"}));
  EXPECT_EQ(s.cluster.nodes[2].rack, 1);
  EXPECT_EQ(s.cluster.nodes[4].rack, -1);
  EXPECT_EQ(s.queues[1].parent, 0);
}

TEST_F(Apply, WritesPlacementsStatesRoundAndDecisions) {
  const TaskGroupRequest pair = group(2, 2);
  const TaskGroupRequest part = group(1, 1, MilliGpu(300));
  const std::int64_t gang = submit(*db_, job("gang", {pair, part}));
  const std::int64_t waits = submit(*db_, job("waits", {group(4, 8)}));
  Plan plan = plan_on(*db_,
                      {placement(*db_, gang, 0, 0, "a1", 0b11, pair, MiB(81920)),
                       placement(*db_, gang, 0, 1, "a2", 0b1100, pair, MiB(81920)),
                       placement(*db_, gang, 1, 0, "t1", 0b1, part, MiB(4915))},
                      {{waits, Reason::kGang, 0, 2, 4}});
  const ApplyResult result = must_have(apply(*db_, plan));
  EXPECT_EQ(result.started_jobs, 1);
  EXPECT_EQ(result.placed_tasks, 3);
  EXPECT_EQ(result.waiting_jobs, 1);
  EXPECT_EQ(result.changed_reasons, 1);
  EXPECT_EQ(result.version, plan.version + 1);
  EXPECT_EQ(must_have(db_->text("SELECT state || start_time FROM jobs WHERE name = 'gang'")), "running2000");
  EXPECT_EQ(must_have(db_->text("SELECT wait_reason || wait_since FROM jobs WHERE name = 'waits'")), "gang2000");
  EXPECT_EQ(must_have(db_->text(
                "SELECT group_concat(seq || kind || job_id || coalesce(reason, '') || detail, ';') FROM decisions")),
            "0start1{\"tasks\":3};1wait2gang{\"group\":0,\"fits\":2,\"needed\":4}");
  EXPECT_EQ(
      must_have(db_->text("SELECT kind || state_version || order_policy || placed_tasks || started_jobs FROM rounds")),
      "schedule" + std::to_string(plan.version) + "fifo31");

  const Loaded loaded = load(*db_);
  ASSERT_EQ(loaded.snapshot.allocations.size(), 3u);
  EXPECT_EQ(loaded.snapshot.allocations[1].devices, 0b1100u);
  ASSERT_EQ(loaded.snapshot.jobs.size(), 1u) << "the running job has nothing left to place";
  EXPECT_EQ(loaded.last_reasons[0].reason, Reason::kGang);
  expect_healthy(*db_);

  // The same reason again is not written again.
  plan = plan_on(*db_, {}, {{waits, Reason::kGang, 0, 1, 4}});
  EXPECT_EQ(must_have(apply(*db_, plan, loaded.last_reasons)).changed_reasons, 0);
  plan = plan_on(*db_, {}, {{waits, Reason::kGang, 0, 1, 4}});
  EXPECT_EQ(must_have(apply(*db_, plan)).changed_reasons, 0) << "read from the tables";
  plan = plan_on(*db_, {}, {{waits, Reason::kGpu, 0, 1, 4}});
  EXPECT_EQ(must_have(apply(*db_, plan)).changed_reasons, 1);
}

TEST_F(Apply, APartlyPlacedJobIsLoadedAndGrows) {
  TaskGroupRequest asked = group(3, 1);
  asked.min_tasks = 1;
  const std::int64_t id = submit(*db_, job("elastic", {asked}));
  EXPECT_OK(apply(*db_, plan_on(*db_, {placement(*db_, id, 0, 0, "a1", 0b1, asked, MiB(81920))})));
  Loaded loaded = load(*db_);
  ASSERT_EQ(loaded.snapshot.jobs.size(), 1u);
  EXPECT_EQ(loaded.snapshot.jobs[0].state, JobState::kRunning);
  EXPECT_EQ(loaded.snapshot.jobs[0].groups[0].placed, 1);
  EXPECT_EQ(loaded.snapshot.jobs[0].groups[0].anchor, 0) << "where its first task runs: later ones keep to that";
  const ApplyResult grown =
      must_have(apply(*db_, plan_on(*db_, {placement(*db_, id, 0, 1, "a1", 0b10, asked, MiB(81920)),
                                           placement(*db_, id, 0, 2, "a1", 0b100, asked, MiB(81920))})));
  EXPECT_EQ(grown.started_jobs, 0);
  EXPECT_EQ(load(*db_).snapshot.jobs.size(), 0u);
  expect_healthy(*db_);
}

TEST_F(Apply, RefusesAPlanOfAnotherStateSayingWhatMoved) {
  const TaskGroupRequest asked = group(1, 1);
  const std::int64_t id = submit(*db_, job("j", {asked}));
  const Plan plan = plan_on(*db_, {placement(*db_, id, 0, 0, "a1", 0b1, asked, MiB(81920))});
  EXPECT_OK(change(*db_, [](Change& c) { return drain_nodes(c, std::vector<std::string>{"a1"}); }));
  EXPECT_ERROR(apply(*db_, plan), Code::kConflict, "drain node a1 by tester");
  for (int i = 0; i < 5; ++i) submit(*db_, job("", {asked}));
  EXPECT_ERROR(apply(*db_, plan), Code::kConflict, "; and 3 more");
  EXPECT_EQ(count("allocations"), 0);
  EXPECT_EQ(count("rounds"), 0);
}

TEST_F(Apply, RefusesPlansThatBreakPromisesAndChangesNothing) {
  const TaskGroupRequest asked = group(2, 1);
  const std::int64_t id = submit(*db_, job("j", {asked}));
  const auto refused = [&](std::vector<Placement> placements, const std::string& words) {
    EXPECT_ERROR(apply(*db_, plan_on(*db_, std::move(placements))), Code::kConflict, words);
    EXPECT_EQ(count("allocations"), 0);
    EXPECT_EQ(count("rounds"), 0);
    EXPECT_EQ(count("decisions"), 0);
  };
  const Placement first = placement(*db_, id, 0, 0, "a1", 0b1, asked, MiB(81920));
  refused({first}, "1 of the 2 tasks of group 0 that must start together");
  Placement second = placement(*db_, id, 0, 1, "a1", 0b1, asked, MiB(81920));
  refused({first, second}, "over-allocated");
  second.devices = 0b110;
  refused({first, second}, "does not give job 'j' what group 0 of it asks for");
  second.devices = 0b10;
  second.cpu = MilliCpu(1);
  refused({second, first}, "does not give job 'j'");
  second.cpu = first.cpu;
  Placement third = placement(*db_, id, 0, 2, "a1", 0b100, asked, MiB(81920));
  refused({first, second, third}, "does not give job 'j'");
  third.group = 1;
  refused({first, second, third}, "FOREIGN KEY");
  second.node_id = 99;
  refused({first, second}, "does not exist");
  second.node_id = first.node_id;
  EXPECT_OK(change(*db_, [&](Change& c) { return hold_job(c, id); }));
  refused({first, second}, "job 'j' is held: it cannot start");
  expect_healthy(*db_);
}

TEST_F(Apply, SavedPlansComeBackAndAreMarked) {
  const TaskGroupRequest asked = group(1, 1);
  const std::int64_t id = submit(*db_, job("j", {asked}));
  const Plan plan = plan_on(*db_, {placement(*db_, id, 0, 0, "a1", 0b1, asked, MiB(81920))});
  const std::int64_t number = must_have(save_plan(*db_, plan, "schedule", Seconds(10)));
  EXPECT_EQ(must_have(state_version(*db_)), plan.version) << "saving a plan is no change of state";
  const SavedPlan saved = must_have(load_plan(*db_, number));
  EXPECT_EQ(plan_to_text(saved.plan), plan_to_text(plan));
  EXPECT_EQ(saved.state, PlanState::kOpen);
  EXPECT_OK(apply_plan(*db_, saved.plan, {.actor = "tester", .now = Seconds(2000), .plan_id = number}));
  EXPECT_EQ(must_have(load_plan(*db_, number)).state, PlanState::kApplied);
  const Status unknown = load_plan(*db_, 7).status();
  EXPECT_ERROR(unknown, Code::kNotFound, "no plan 7");
}

TEST_F(Apply, LoadsAJobThatIsAskedForWhateverItsState) {
  const std::int64_t running = run_job(*db_, "running", 2, "a1");
  const std::int64_t held = submit(*db_, job("held", {group(1, 1)}));
  submit(*db_, job("pending", {group(1, 1)}));
  EXPECT_OK(change(*db_, [&](Change& c) { return hold_job(c, held); }));
  EXPECT_EQ(load(*db_).snapshot.jobs.size(), 1u);
  for (const std::int64_t id : {running, held}) {
    const Loaded loaded = must_have(load_state(*db_, {.now = Seconds(1), .node_names = false, .also_job = id}));
    ASSERT_EQ(loaded.snapshot.jobs.size(), 2u);
    EXPECT_EQ(loaded.snapshot.jobs[0].id, id);
    EXPECT_EQ(loaded.last_reasons.size(), 2u);
    EXPECT_TRUE(loaded.snapshot.cluster.node_names.empty());
  }
  EXPECT_EQ(must_have(load_state(*db_, {.now = Seconds(1), .also_job = running})).snapshot.jobs[0].groups[0].placed, 2);
}

TEST_F(Apply, AModelThatIsGoneIsNoModelRatherThanAny) {
  TaskGroupRequest asked = group(1, 1);
  asked.models = {"T4"};
  submit(*db_, job("j", {asked}));
  EXPECT_OK(db_->execute("UPDATE task_groups SET models = 'P4'"));
  const ModelSet models = load(*db_).snapshot.jobs[0].groups[0].shape.models;
  EXPECT_NE(models, 0u);
  EXPECT_EQ(models & 0b11u, 0u);
}

TEST_F(Apply, ViewsAndTotalsAgreeWithTheTables) {
  run_job(*db_, "three", 3, "a1");
  const TaskGroupRequest part = group(1, 1, MilliGpu(250));
  const std::int64_t id = submit(*db_, job("part", {part}));
  EXPECT_OK(apply(*db_, plan_on(*db_, {placement(*db_, id, 0, 0, "t1", 0b100, part, MiB(4096))})));
  submit(*db_, job("waits", {group(5, 1)}));
  EXPECT_OK(change(*db_, [](Change& c) { return set_device_health(c, "a2", 0b1, Health::kUnhealthy); }));
  EXPECT_OK(change(*db_, [](Change& c) { return drain_nodes(c, std::vector<std::string>{"a4"}); }));

  const ClusterTotals totals = must_have(cluster_totals(*db_));
  ASSERT_EQ(totals.types.size(), 3u);
  EXPECT_EQ(totals.types[2].type, "a100x8");
  EXPECT_EQ(totals.types[2].gpu_used, MilliGpu(3000));
  EXPECT_EQ(totals.types[2].nodes, 4);
  EXPECT_EQ(totals.types[2].nodes_up, 3);
  EXPECT_EQ(totals.types[2].devices_unhealthy, 1);
  EXPECT_EQ(totals.types[2].devices_free, 3 * 8 - 3 - 1);
  EXPECT_EQ(totals.all.gpu_used, MilliGpu(3250));
  EXPECT_EQ(totals.all.devices, 40);
  EXPECT_EQ(totals.all.tasks, 4);
  EXPECT_EQ(totals.jobs_running, 2);
  EXPECT_EQ(totals.jobs_pending, 1);

  EXPECT_EQ(must_have(db_->integer("SELECT sum(gpu_used_milli) FROM node_usage")), 3250);
  EXPECT_EQ(must_have(db_->integer("SELECT sum(used_milli) FROM device_usage")), 3250);
  EXPECT_EQ(must_have(db_->text("SELECT used_milli || ' ' || memory_used_mib || ' ' || tasks FROM device_usage WHERE "
                                "node = 't1' AND device_index = 2")),
            "250 4096 1");
  EXPECT_EQ(must_have(db_->text(
                "SELECT group_concat(state || n) FROM (SELECT state, count(*) AS n FROM tasks GROUP BY state)")),
            "running4,waiting5");
  EXPECT_EQ(
      must_have(db_->text(
          "SELECT jobs_running || ' ' || jobs_pending || ' ' || gpu_used_milli FROM queue_usage WHERE queue = 'all'")),
      "2 1 3250");
  EXPECT_EQ(must_have(db_->text(
                "SELECT devices_free || ' ' || free_on_shared_milli FROM fragmentation WHERE device_model = 'T4'")),
            "7 750");
  EXPECT_EQ(must_have(db_->integer("SELECT tasks - tasks_placed FROM jobs_now WHERE job = 'waits'")), 5);
}

TEST_F(Apply, HistoryIsPrunedByAge) {
  const std::int64_t id = run_job(*db_, "j", 1, "a1");
  EXPECT_OK(change(*db_, [&](Change& c) { return end_job(c, id, JobState::kFinished); }));
  const std::int64_t version = must_have(state_version(*db_));
  EXPECT_EQ(must_have(prune_history(*db_, Seconds(2000))), 0);
  EXPECT_GT(must_have(prune_history(*db_, Seconds(2000 + 400 * 86400))), 0);
  for (const char* table : {"rounds", "decisions", "jobs", "task_groups", "runs"}) EXPECT_EQ(count(table), 0) << table;
  EXPECT_EQ(must_have(db_->text("SELECT group_concat(kind) FROM events")), "vacuum rounds") << "all that is left";
  EXPECT_EQ(must_have(state_version(*db_)), version);
  EXPECT_EQ(submit(*db_, job("", {group(1, 1)})), id + 1) << "ids are not used again";
  expect_healthy(*db_);
}

TEST_F(Apply, DeviceMemoryIsWhatWasAsked) {
  const TaskGroupRequest whole = group(1, 1);
  const TaskGroupRequest part = group(1, 1, MilliGpu(300));
  TaskGroupRequest stated = part;
  stated.gpu_memory = MiB(5000);
  struct Case {
    const TaskGroupRequest& asked;
    const char* node;
    std::int64_t memory;  // MiB of a device
  };
  const Case cases[] = {{whole, "a1", 81920}, {part, "a2", 24576}, {stated, "a3", 5000}, {part, "t1", 4915}};
  for (const Case& each : cases) {
    const std::int64_t id = submit(*db_, job("", {each.asked}));
    for (const std::int64_t off : {-1, 1}) {
      EXPECT_ERROR(
          apply(*db_, plan_on(*db_, {placement(*db_, id, 0, 0, each.node, 0b1, each.asked, MiB(each.memory + off))})),
          Code::kConflict, off > 0 && &each.asked == &whole ? "memory of a device" : "does not give job");
    }
    EXPECT_OK(apply(*db_, plan_on(*db_, {placement(*db_, id, 0, 0, each.node, 0b1, each.asked, MiB(each.memory))})));
  }
  expect_healthy(*db_);
}

}  // namespace
}  // namespace berth::test
