#include "engine/store/cluster_records.h"

#include "engine/store/catalog.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class ClusterRecords : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_.emplace(open());
    fill(*db_);
  }
  template <class Body>
  Status run(Body&& body) {
    return change(*db_, body);
  }
  std::string node_state(const std::string& name) {
    return must_have(db_->text("SELECT state FROM nodes WHERE name = '" + name + "'"));
  }

  std::optional<Database> db_;
};

TEST_F(ClusterRecords, EachStatementIsOneVersionAndItsEvents) {
  const std::int64_t before = must_have(state_version(*db_));
  EXPECT_OK(run([](Change& c) { return add_pool(c, "night"); }));
  EXPECT_EQ(must_have(state_version(*db_)), before + 1);
  EXPECT_EQ(must_have(db_->text("SELECT kind || ' ' || object || ' ' || actor FROM events WHERE state_version = " +
                                std::to_string(before + 1))),
            "create pool night tester");
  EXPECT_FALSE(run([](Change& c) { return add_pool(c, "night"); }).ok());
  EXPECT_EQ(must_have(state_version(*db_)), before + 1) << "a refused statement leaves no trace";
  expect_healthy(*db_);
}

TEST_F(ClusterRecords, NamesAreCheckedAndSuggested) {
  EXPECT_ERROR(run([](Change& c) { return add_pool(c, "main"); }), Code::kExists, "pool 'main' exists already");
  EXPECT_ERROR(run([](Change& c) { return add_pool(c, ""); }), Code::kInvalid, "must not be empty");
  EXPECT_ERROR(run([](Change& c) { return add_pool(c, "a\nb"); }), Code::kInvalid, "control characters");
  EXPECT_ERROR(run([](Change& c) { return add_pool(c, std::string(201, 'x')); }), Code::kInvalid, "200 bytes");
  EXPECT_ERROR(run([](Change& c) { return add_pool(c, " \t "); }), Code::kInvalid, "must not be blank");
  for (const char* bad :
       {"\xff", "a\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82z"}) {
    EXPECT_ERROR(run([&](Change& c) { return add_pool(c, bad); }), Code::kInvalid, "must be text in UTF-8");
  }
  for (const char* good : {"\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf0\x9f\x9a\xa2", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_OK(run([&](Change& c) { return add_pool(c, good); }));
  }
  EXPECT_ERROR(run([](Change& c) {
                 return add_nodes(c, std::vector<NodeRequest>{{"n", "cpu", "", "r\n1", {}}});
               }),
               Code::kInvalid, "the rack of a node must not have control characters");
  EXPECT_ERROR(run([](Change& c) { return alter_nodes(c, std::vector<std::string>{"a1"}, {.rack = "\x1b[0m"}); }),
               Code::kInvalid, "the rack of a node must not have control characters");
  const Status unknown = run([](Change& c) { return drop_pool(c, "mian"); });
  EXPECT_ERROR(unknown, Code::kNotFound, "no pool 'mian'");
  EXPECT_EQ(unknown.hint(), "did you mean 'main'?");
  EXPECT_ERROR(run([](Change& c) { return add_device_model(c, {"A|B", MiB(1), 1}); }), Code::kInvalid, "'|'");
}

TEST_F(ClusterRecords, WhatIsInUseStays) {
  EXPECT_ERROR(run([](Change& c) { return drop_pool(c, "main"); }), Code::kConflict, "pool 'main' is in use: 4 nodes");
  EXPECT_ERROR(run([](Change& c) { return drop_device_model(c, "T4"); }), Code::kConflict, "in use: 1 node type");
  EXPECT_ERROR(run([](Change& c) { return drop_node_type(c, "cpu"); }), Code::kConflict, "in use: 1 node");
  run_job(*db_, "j", 2, "a1");
  EXPECT_ERROR(run([](Change& c) {
                 return drop_nodes(c, std::vector<std::string>{"a2", "a1"});
               }),
               Code::kConflict, "node 'a1' is in use: 2 running tasks");
  EXPECT_OK(find_id(*db_, Thing::kNode, "a2"));
  TaskGroupRequest wants = group(1, 1);
  wants.models = {"A100", "T4"};
  EXPECT_OK(run([](Change& c) { return add_device_model(c, {"T400", MiB(1), 1}); }));
  submit(*db_, job("wants", {wants}));
  EXPECT_OK(run([](Change& c) { return drop_device_model(c, "T400"); }));  // "T4" in the list is another model
  EXPECT_OK(run([](Change& c) { return drop_nodes(c, std::vector<std::string>{"t1", "t2"}); }));
  EXPECT_OK(run([](Change& c) { return drop_node_type(c, "t4x4"); }));
  EXPECT_ERROR(run([](Change& c) { return drop_device_model(c, "T4"); }), Code::kConflict, "in use: 1 live job");
  expect_healthy(*db_);
}

TEST_F(ClusterRecords, NodeTypesAreChecked) {
  const auto add = [&](NodeTypeRequest request) {
    request.name = "new";
    return run([&](Change& c) { return add_node_type(c, request); });
  };
  EXPECT_ERROR(add({"", MilliCpu(-1), MiB(1), "", 0, ""}), Code::kInvalid, "must not be negative");
  EXPECT_ERROR(add({"", MilliCpu(1), MiB(1), "", 4, ""}), Code::kInvalid, "4 devices need a device model");
  EXPECT_ERROR(add({"", MilliCpu(1), MiB(1), "A100", 0, ""}), Code::kInvalid, "needs a number of devices");
  EXPECT_ERROR(add({"", MilliCpu(1), MiB(1), "A100", 33, ""}), Code::kInvalid, "0 to 32 devices");
  EXPECT_ERROR(add({"", MilliCpu(1), MiB(1), "A10", 4, ""}), Code::kNotFound, "no device model 'A10'");
  EXPECT_ERROR(add({"", MilliCpu(1), MiB(1), "A100", 4, "[0 9]"}), Code::kInvalid, "device 9");
  EXPECT_OK(add({"", MilliCpu(1), MiB(1), "A100", 4, "[0 1][2 3]"}));
}

TEST_F(ClusterRecords, AmountsHaveAMost) {
  const auto type = [&](const char* name, std::int64_t cpu, std::int64_t memory) {
    return run([&](Change& c) { return add_node_type(c, {name, MilliCpu(cpu), MiB(memory), "", 0, ""}); });
  };
  EXPECT_ERROR(type("n", kMostAmount + 1, 1), Code::kInvalid, "at most 1,099,511,627,776 milli-cores");
  EXPECT_ERROR(type("n", 1, INT64_MAX), Code::kInvalid, "at most 1,099,511,627,776 MiB");
  EXPECT_OK(type("n", kMostAmount, kMostAmount));
  const auto model = [&](const char* name, std::int64_t memory) {
    return run([&](Change& c) { return add_device_model(c, {name, MiB(memory), 1}); });
  };
  EXPECT_ERROR(model("m", kMostDeviceMemory + 1), Code::kInvalid, "at most 2,147,483,647 MiB");
  EXPECT_OK(model("m", kMostDeviceMemory));
  EXPECT_ERROR(run([](Change& c) { return alter_device_model(c, "m", {.memory = MiB(INT64_MAX)}); }), Code::kInvalid,
               "at most 2,147,483,647 MiB");
  for (const std::int64_t value : {INT64_MIN, INT64_MAX, std::int64_t{-1000001}, std::int64_t{1000001}}) {
    EXPECT_ERROR(run([&](Change& c) {
                   return add_priority_class(c, {"p", value});
                 }),
                 Code::kInvalid, "between -1,000,000 and 1,000,000");
    EXPECT_ERROR(run([&](Change& c) { return alter_priority_class(c, "high", value); }), Code::kInvalid, "between");
  }
  for (const char* refused :
       {"INSERT INTO priority_classes (name, value) VALUES ('p', -9223372036854775808)",
        "UPDATE priority_classes SET value = 1000001", "UPDATE device_models SET memory_mib = 2147483648",
        "UPDATE node_types SET cpu_milli = 1099511627777", "UPDATE node_types SET memory_mib = 1099511627777"}) {
    EXPECT_ERROR(db_->execute(refused), Code::kConflict, "CHECK constraint");
  }
}

TEST_F(ClusterRecords, TypesAndModelsAreAlteredUnlessTasksWouldNoLongerFit) {
  run_job(*db_, "j", 4, "a1");
  EXPECT_ERROR(run([](Change& c) { return alter_node_type(c, "a100x8", {.device_count = 3, .link_groups = ""}); }),
               Code::kConflict, "too small for the tasks");
  EXPECT_ERROR(run([](Change& c) { return alter_device_model(c, "A100", {.memory = MiB(40960)}); }), Code::kConflict,
               "too little memory");
  EXPECT_ERROR(run([](Change& c) { return alter_node_type(c, "a100x8", {.device_count = 4}); }), Code::kInvalid,
               "device 4 of a node with 4");
  EXPECT_OK(run([](Change& c) {
    return alter_node_type(c, "a100x8", {.cpu = MilliCpu(4000), .device_count = 4, .link_groups = "[0 1]"});
  }));
  EXPECT_EQ(
      must_have(db_->integer("SELECT count(*) FROM devices d JOIN nodes n ON n.id = d.node_id WHERE n.name = 'a2'")),
      4);
  EXPECT_ERROR(run([](Change& c) { return alter_nodes(c, std::vector<std::string>{"a1"}, {.type = "cpu"}); }),
               Code::kConflict, "too small for the tasks");
  EXPECT_OK(run([](Change& c) {
    return alter_nodes(c, std::vector<std::string>{"a1", "a2"},
                       {.type = std::nullopt, .pool = "", .rack = "r9", .labels = Labels{{"k", "v"}}});
  }));
  EXPECT_EQ(must_have(db_->text("SELECT coalesce(pool, '-') || rack || labels FROM node_usage WHERE node = 'a2'")),
            "-r9{\"k\":\"v\"}");
  EXPECT_ERROR(run([](Change& c) {
                 return alter_nodes(c, std::vector<std::string>{"a1"}, {.labels = Labels{{"k", "1"}, {"k", "2"}}});
               }),
               Code::kInvalid, "label 'k' is given twice");
  expect_healthy(*db_);
}

TEST_F(ClusterRecords, ABatchOfNodesIsAllOrNothing) {
  const std::vector<NodeRequest> nodes = {{"n1", "cpu", "", "", {}}, {"n2", "cpux", "", "", {}}};
  const Status refused = run([&](Change& c) { return add_nodes(c, nodes); });
  EXPECT_ERROR(refused, Code::kNotFound, "in node 'n2': no node type 'cpux'");
  EXPECT_EQ(refused.hint(), "did you mean 'cpu'?");
  EXPECT_FALSE(find_id(*db_, Thing::kNode, "n1").ok());
  const std::vector<NodeRequest> twice = {{"n1", "cpu", "", "", {}}, {"n1", "cpu", "", "", {}}};
  EXPECT_ERROR(run([&](Change& c) { return add_nodes(c, twice); }), Code::kExists, "node 'n1' exists already");
}

TEST_F(ClusterRecords, NodesMoveAlongTheirTable) {
  const std::vector<std::string> a1 = {"a1"};
  const std::vector<std::string> a2 = {"a2"};
  const std::int64_t id = run_job(*db_, "j", 1, "a1");
  EXPECT_OK(run([&](Change& c) { return drain_nodes(c, a1); }));
  EXPECT_EQ(node_state("a1"), "draining");
  EXPECT_ERROR(run([&](Change& c) { return drain_nodes(c, a1); }), Code::kConflict, "draining already");
  EXPECT_OK(run([&](Change& c) { return cancel_job(c, id); }));
  EXPECT_EQ(node_state("a1"), "drained") << "its last task ended";
  EXPECT_OK(run([&](Change& c) { return drain_nodes(c, a2); }));
  EXPECT_EQ(node_state("a2"), "drained") << "it ran nothing";
  EXPECT_ERROR(run([&](Change& c) { return set_node_state(c, a2, NodeState::kBooting); }), Code::kConflict,
               "cannot become booting");
  EXPECT_OK(run([&](Change& c) { return resume_nodes(c, a2); }));
  EXPECT_ERROR(run([&](Change& c) { return resume_nodes(c, a2); }), Code::kConflict, "is up already");
  EXPECT_ERROR(run([&](Change& c) { return resume_nodes(c, std::vector<std::string>{"a22"}); }), Code::kNotFound,
               "no node 'a22'");
  expect_healthy(*db_);
}

TEST_F(ClusterRecords, DevicesHaveHealth) {
  EXPECT_OK(run([](Change& c) { return set_device_health(c, "a1", 0b101, Health::kUnhealthy); }));
  EXPECT_EQ(load(*db_).snapshot.cluster.nodes[0].unhealthy, 0b101u);
  EXPECT_OK(run([](Change& c) { return set_device_health(c, "a1", 0b100, Health::kHealthy); }));
  EXPECT_EQ(load(*db_).snapshot.cluster.nodes[0].unhealthy, 0b001u);
  EXPECT_ERROR(run([](Change& c) { return set_device_health(c, "t1", 0b10000, Health::kUnhealthy); }), Code::kNotFound,
               "node 't1' has no device 4");
}

// One bit of the file is enough: SQLite checks rows when they are written.
TEST_F(ClusterRecords, MoreDevicesThanANodeMayHaveAreDamage) {
  EXPECT_OK(
      db_->execute("PRAGMA ignore_check_constraints = ON; UPDATE node_types SET device_count = 40 WHERE id = (SELECT "
                   "type_id FROM nodes WHERE name = 'a1')"));
  EXPECT_ERROR(Catalog::read(*db_).status(), Code::kCorrupt, "has 40 devices, not 1 to 32");
}

class QueueRecords : public ClusterRecords {};

TEST_F(QueueRecords, FormATreeWhoseLeavesHoldJobs) {
  submit(*db_, job("j", {group(1, 1)}));
  EXPECT_ERROR(run([](Change& c) { return add_queue(c, {"sub", "train"}); }), Code::kConflict, "only leaves hold jobs");
  EXPECT_ERROR(run([](Change& c) { return add_queue(c, {"sub", "al"}); }), Code::kNotFound, "no queue 'al'");
  EXPECT_ERROR(run([](Change& c) { return add_queue(c, {"all", ""}); }), Code::kExists, "exists already");
  EXPECT_OK(run([](Change& c) { return add_queue(c, {"batch", "serve"}); }));
  EXPECT_ERROR(run([](Change& c) { return alter_queue(c, "all", {.name = std::nullopt, .parent = "batch"}); }),
               Code::kConflict, "cannot go below 'batch'");
  EXPECT_ERROR(run([](Change& c) { return alter_queue(c, "batch", {.name = std::nullopt, .parent = "batch"}); }),
               Code::kConflict, "itself");
  EXPECT_OK(run([](Change& c) { return alter_queue(c, "batch", {.name = "night", .parent = "all"}); }));
  EXPECT_EQ(must_have(db_->text("SELECT parent FROM queue_usage WHERE queue = 'night'")), "all");
  EXPECT_OK(run([](Change& c) { return alter_queue(c, "night", {.name = std::nullopt, .parent = ""}); }));
  EXPECT_ERROR(run([](Change& c) { return drop_queue(c, "all"); }), Code::kConflict, "in use: 2 child queues");
  EXPECT_ERROR(run([](Change& c) { return drop_queue(c, "train"); }), Code::kConflict, "in use: 1 live job");
  EXPECT_OK(run([](Change& c) { return drop_queue(c, "night"); }));
  expect_healthy(*db_);
}

TEST_F(QueueRecords, PriorityClasses) {
  EXPECT_ERROR(run([](Change& c) { return add_priority_class(c, {"x", 1000001}); }), Code::kInvalid, "1,000,000");
  EXPECT_OK(run([](Change& c) { return add_priority_class(c, {"low", -5}); }));
  EXPECT_OK(run([](Change& c) { return alter_priority_class(c, "low", -6); }));
  JobRequest request = job("j", {group(1, 1)});
  request.priority_class = "low";
  submit(*db_, request);
  EXPECT_ERROR(run([](Change& c) { return drop_priority_class(c, "low"); }), Code::kConflict, "in use: 1 job");
  EXPECT_OK(run([](Change& c) { return drop_priority_class(c, "high"); }));
}

}  // namespace
}  // namespace berth::test
