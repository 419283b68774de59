// A folder of its own for each test, and short ways to build a small cluster in a database.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/model/plan.h"
#include "engine/store/apply.h"
#include "engine/store/change.h"
#include "engine/store/check.h"
#include "engine/store/cluster_records.h"
#include "engine/store/job_records.h"
#include "engine/store/load.h"
#include "engine/store/names.h"
#include "engine/store/open.h"
#include "engine/store/queue_records.h"

namespace berth::test {

inline const Status& status_of(const Status& status) { return status; }
template <class T>
Status status_of(const Result<T>& result) {
  return result.status();
}

#define EXPECT_OK(expression)                                        \
  do {                                                               \
    const ::berth::Status s_ = ::berth::test::status_of(expression); \
    EXPECT_TRUE(s_.ok()) << s_.message();                            \
  } while (false)

// The error's code, and words that its message must have.
#define EXPECT_ERROR(expression, expected_code, words)                         \
  do {                                                                         \
    const ::berth::Status s_ = ::berth::test::status_of(expression);           \
    EXPECT_EQ(code_name(s_.code()), code_name(expected_code)) << s_.message(); \
    EXPECT_NE(s_.message().find(words), std::string::npos) << s_.message();    \
  } while (false)

template <class T>
T must_have(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status().message();
    std::abort();
  }
  return *std::move(result);
}

inline std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / (std::string("berth-store-") + info->test_suite_name() + "-" +
                                                        info->name() + "-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "berth.db") const { return (folder_ / name).string(); }
  Database open(const std::string& name = "berth.db") const { return must_have(open_state(path(name))); }

  // One statement: the body in a Change of its own.
  template <class Body>
  static Status change(Database& db, Body&& body, Seconds now = Seconds(1000)) {
    BERTH_ASSIGN(Change change, Change::begin(db, "tester", now));
    BERTH_TRY(status_of(body(change)));
    return change.commit().status();
  }

  // Queues "train" below "all" and "serve"; class "high"; models A100 (80 GiB) and T4 (16 GiB); four nodes a1..a4 of
  // eight A100 in pool "main" and rack r1 or r2, two nodes t1, t2 of four T4, one node c1 without devices.
  static void fill(Database& db) {
    EXPECT_OK(change(db, [](Change& c) -> Status {
      BERTH_TRY(add_pool(c, "main"));
      BERTH_TRY(add_pool(c, "empty"));
      BERTH_TRY(add_device_model(c, {"A100", MiB(81920), 1.0}));
      BERTH_TRY(add_device_model(c, {"T4", MiB(16384), 0.3}));
      BERTH_TRY(add_node_type(c, {"a100x8", MilliCpu(128000), MiB(1048576), "A100", 8, "[[0 1] [2 3]] [[4 5] [6 7]]"}));
      BERTH_TRY(add_node_type(c, {"t4x4", MilliCpu(32000), MiB(131072), "T4", 4, ""}));
      BERTH_TRY(add_node_type(c, {"cpu", MilliCpu(64000), MiB(262144), "", 0, ""}));
      const std::vector<NodeRequest> nodes = {{"a1", "a100x8", "main", "r1", {{"zone", "x"}}},
                                              {"a2", "a100x8", "main", "r1", {}},
                                              {"a3", "a100x8", "main", "r2", {}},
                                              {"a4", "a100x8", "main", "r2", {}},
                                              {"t1", "t4x4", "", "", {}},
                                              {"t2", "t4x4", "", "", {}},
                                              {"c1", "cpu", "", "", {}}};
      BERTH_TRY(add_nodes(c, nodes));
      BERTH_TRY(add_queue(c, {"all", ""}));
      BERTH_TRY(add_queue(c, {"train", "all"}));
      BERTH_TRY(add_queue(c, {"serve", "all"}));
      return add_priority_class(c, {"high", 100});
    }));
  }

  static TaskGroupRequest group(std::int64_t count, std::int64_t gpus, MilliGpu milli = kWholeDevice) {
    TaskGroupRequest request;
    request.count = count;
    request.cpu = MilliCpu(1000);
    request.memory = MiB(1024);
    request.gpu_count = gpus;
    request.gpu_milli = milli;
    return request;
  }
  static JobRequest job(const std::string& name, std::vector<TaskGroupRequest> groups) {
    JobRequest request;
    request.name = name;
    request.queue = "train";
    request.groups = std::move(groups);
    return request;
  }
  static std::int64_t submit(Database& db, const JobRequest& request) {
    std::int64_t id = 0;
    EXPECT_OK(change(db, [&](Change& c) -> Status {
      BERTH_ASSIGN(id, submit_job(c, request));
      return {};
    }));
    return id;
  }

  static Loaded load(Database& db) {
    return must_have(load_state(db, {.now = Seconds(2000), .node_names = true, .also_job = std::nullopt}));
  }
  // What one task of a group takes on the node with that name.
  static Placement placement(Database& db, std::int64_t job, std::int32_t group_index, std::int32_t task,
                             const std::string& node, DeviceMask devices, const TaskGroupRequest& asked,
                             MiB gpu_memory) {
    Placement p;
    p.job = job;
    p.group = group_index;
    p.task = task;
    p.node_id = must_have(find_id(db, Thing::kNode, node));
    p.devices = devices;
    p.gpu_milli = devices != 0 ? asked.gpu_milli : MilliGpu(0);
    p.gpu_memory = gpu_memory;
    p.cpu = asked.cpu;
    p.memory = asked.memory;
    return p;
  }
  static Plan plan_on(Database& db, std::vector<Placement> placements, std::vector<Waiting> waiting = {}) {
    Plan plan;
    plan.version = must_have(state_version(db));
    plan.planned_at = Seconds(2000);
    plan.order_policy = "fifo";
    plan.score_policy = "best_fit";
    plan.placements = std::move(placements);
    plan.waiting = std::move(waiting);
    return plan;
  }
  static Result<ApplyResult> apply(Database& db, const Plan& plan, std::span<const LastReason> last = {}) {
    return apply_plan(db, plan,
                      {.kind = "schedule",
                       .actor = "tester",
                       .now = Seconds(2000),
                       .seconds = {},
                       .last_reasons = last,
                       .plan_id = 0});
  }
  // A job of `count` one-device tasks that runs on `node`.
  static std::int64_t run_job(Database& db, const std::string& name, std::int64_t count, const std::string& node) {
    const TaskGroupRequest asked = group(count, 1);
    const std::int64_t id = submit(db, job(name, {asked}));
    std::vector<Placement> placements;
    for (std::int32_t i = 0; i < count; ++i) {
      placements.push_back(placement(db, id, 0, i, node, DeviceMask{1} << i, asked, MiB(81920)));
    }
    EXPECT_OK(apply(db, plan_on(db, placements)));
    return id;
  }

  static void expect_healthy(Database& db) {
    for (const Finding& finding : must_have(check_state(db))) {
      ADD_FAILURE() << finding.promise << ": " << finding.object << ": " << finding.sentence;
    }
  }

  std::filesystem::path folder_;
};

}  // namespace berth::test
