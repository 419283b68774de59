// Plans carried out on a database: what is loaded afterwards is the ledger that planning left, every promise of CHECK
// holds, states move only along the table of changes, and required locality holds across rounds.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <map>

#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/policy/workload.h"
#include "engine/round/schedule.h"
#include "engine/store/apply.h"
#include "engine/store/check.h"
#include "engine/store/cluster_records.h"
#include "engine/store/job_records.h"
#include "engine/store/open.h"
#include "engine/store/queue_records.h"
#include "tests/builders.h"
#include "tests/property/world.h"

namespace berth::test {
namespace {

void must_do(const Status& status) {
  if (!status.ok()) std::cerr << status.message() << "\n";
  if (!status.ok()) std::abort();
}

// A random cluster in a database of its own, and jobs that come and go.
class StoredWorld {
 public:
  StoredWorld(const std::string& path, std::uint64_t seed)
      : random_(seed), cluster_(random_cluster(random_, {})), db_(must(open_state(path))) {
    must_do(db_.execute("PRAGMA synchronous = OFF"));
    change([&](Change& c) -> Status {
      for (const std::string& pool : cluster_.pools) BERTH_TRY(add_pool(c, pool));
      for (const DeviceModel& m : cluster_.models) BERTH_TRY(add_device_model(c, {m.name, m.memory, 1.0}));
      BERTH_TRY(add_queue(c, {"all", ""}));
      BERTH_TRY(add_priority_class(c, {"high", 10}));
      for (std::size_t k = 0; k < cluster_.kinds.size(); ++k) BERTH_TRY(add_type(c, k));
      for (std::size_t n = 0; n < cluster_.nodes.size(); ++n) BERTH_TRY(add_node(c, n));
      return {};
    });
  }

  Loaded load() {
    Loaded loaded = must(load_state(db_, {.now = now_, .node_names = true, .also_job = std::nullopt}));
    std::vector<WorkloadTask> tasks;
    for (const ShapeCount& count : loaded.shapes) tasks.push_back({count.shape, count.models_text, count.tasks});
    loaded.snapshot.workload = typical_workload(tasks);
    return loaded;
  }

  void apply(const Plan& plan, const Loaded& loaded) {
    now_ += Seconds(600);
    (void)must(apply_plan(db_, plan,
                          {.kind = "schedule",
                           .actor = "tester",
                           .now = now_,
                           .seconds = {},
                           .last_reasons = loaded.last_reasons,
                           .plan_id = 0}));
  }

  void submit_some(int count) {
    change([&](Change& c) -> Status {
      for (; count > 0; --count) BERTH_TRY(submit_job(c, random_request()).status());
      return {};
    });
  }

  void end_some() {
    for (const auto& [id, state] : job_states()) {
      if (random_.below(3) != 0) continue;
      change([&, job = id, is_running = state == JobState::kRunning](Change& c) {
        return is_running ? end_job(c, job, JobState::kFinished) : cancel_job(c, job);
      });
    }
  }

  void drain_one() {
    const std::vector<std::string> name = {cluster_.node_names[random_.below(cluster_.node_names.size())]};
    change([&](Change& c) {
      (void)drain_nodes(c, name);  // a node that is down stays as it is
      return Status();
    });
  }

  // Of jobs that have not ended.
  std::map<std::int64_t, JobState> job_states() {
    std::map<std::int64_t, JobState> states;
    Statement rows = must(db_.prepare("SELECT id, state FROM jobs WHERE state IN ('pending', 'held', 'running')"));
    while (rows.next()) states[rows.integer(0)] = must(read_job_state(rows.text(1)));
    return states;
  }

  std::vector<Finding> findings() { return must(check_state(db_)); }

 private:
  template <class Body>
  void change(Body&& body) {
    Change change = must(Change::begin(db_, "tester", now_));
    must_do(body(change));
    (void)must(change.commit());
  }

  Status add_type(Change& change, std::size_t k) {
    const NodeKind& kind = cluster_.kinds[k];
    NodeTypeRequest type{"type" + std::to_string(k), kind.cpu, kind.memory, {}, kind.device_count, {}};
    if (kind.model >= 0) type.device_model = cluster_.models[static_cast<std::size_t>(kind.model)].name;
    type.link_groups = print_link_groups(kind.link_groups);
    return add_node_type(change, type);
  }

  Status add_node(Change& change, std::size_t n) {
    const Node& node = cluster_.nodes[n];
    const NodeKind& kind = cluster_.kind_of(n);
    NodeRequest request{cluster_.node_names[n], "type" + std::to_string(node.kind), {}, {}, {}};
    if (kind.pool >= 0) request.pool = cluster_.pools[static_cast<std::size_t>(kind.pool)];
    if (node.rack >= 0) request.rack = cluster_.racks[static_cast<std::size_t>(node.rack)];
    BERTH_TRY(add_nodes(change, std::span(&request, 1)));
    if (node.unhealthy != 0) BERTH_TRY(set_device_health(change, request.name, node.unhealthy, Health::kUnhealthy));
    return node.state == NodeState::kUp ? Status() : set_node_state(change, std::span(&request.name, 1), node.state);
  }

  JobRequest random_request() {
    const Job job = random_job(random_, {}, 0, now_);
    JobRequest request;
    request.queue = "all";
    request.priority_class = job.priority_class > 0 ? "high" : "";
    request.submit_time = job.submit;
    request.allow_infeasible = true;
    for (const TaskGroup& group : job.groups) {
      TaskGroupRequest asked;
      asked.count = group.count;
      asked.min_tasks = group.min_tasks;
      asked.cpu = group.shape.cpu;
      asked.memory = group.shape.memory;
      asked.gpu_count = group.shape.gpu_count;
      asked.gpu_milli = group.shape.gpu_milli;
      asked.gpu_memory = group.shape.gpu_memory;
      for (std::size_t m = 0; m < cluster_.models.size(); ++m) {
        if (((group.shape.models >> m) & 1) != 0) asked.models.push_back(cluster_.models[m].name);
      }
      if (group.shape.pool >= 0) asked.pool = cluster_.pools[static_cast<std::size_t>(group.shape.pool)];
      asked.locality = group.locality;
      asked.locality_required = group.locality_required;
      request.groups.push_back(asked);
    }
    return request;
  }

  Random random_;
  Cluster cluster_;
  Database db_;
  Seconds now_{100000};
};

class ApplyProperty : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("berth-property-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

void run_one_round(StoredWorld& world, const std::string& order, const std::string& score) {
  Loaded loaded = world.load();
  loaded.snapshot.order_policy = order;
  loaded.snapshot.score_policy = score;
  const Planning planning = must(planning_of(loaded.snapshot));
  const Plan plan = must(plan_schedule_on(loaded.snapshot, *planning.state)).plan;
  ASSERT_EQ(join(broken_promises(loaded.snapshot, plan), "\n"), "") << plan_to_text(plan);

  const std::map<std::int64_t, JobState> before = world.job_states();
  world.apply(plan, loaded);
  for (const auto& [job, state] : world.job_states()) {
    ASSERT_TRUE(state == before.at(job) || job_may_change(before.at(job), state)) << "job " << job;
  }
  const Loaded after = world.load();
  ASSERT_EQ(print_free(must(ledger_of(after.snapshot))), print_free(planning.state->ledger()));
  for (const Finding& finding : world.findings()) FAIL() << finding.object << ": " << finding.sentence;
}

TEST_F(ApplyProperty, TheDatabaseHoldsTheLedgerThatPlanningLeft) {
  std::uint64_t seed = 0;
  for (const PolicyRow& score : all_policies()) {
    for (const PolicyRow& order : all_policies()) {
      if (score.kind != PolicyKind::kScore || order.kind != PolicyKind::kOrder) continue;
      SCOPED_TRACE("seed " + std::to_string(++seed) + ", " + std::string(order.name) + " + " + std::string(score.name));
      StoredWorld world((folder_ / (std::to_string(seed) + ".db")).string(), seed);
      for (int round = 0; round < 4; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        world.submit_some(round == 0 ? 30 : 8);
        ASSERT_NO_FATAL_FAILURE(run_one_round(world, std::string(order.name), std::string(score.name)));
        world.end_some();
        world.drain_one();
      }
    }
  }
}

}  // namespace
}  // namespace berth::test
