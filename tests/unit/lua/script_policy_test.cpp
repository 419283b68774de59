// Policies in Lua where rounds use them: checks at loading, twins of native scores, orders, filters, failures.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "engine/base/env.h"
#include "engine/lua/script_policies.h"
#include "engine/policy/candidates.h"
#include "engine/policy/device_choice.h"
#include "engine/policy/registry.h"
#include "engine/round/schedule.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

ScriptPolicy script_of(std::string source, std::vector<ScriptKnobValue> knobs = {}) {
  return {.name = "p", .version = 1, .source = std::move(source), .knobs = std::move(knobs)};
}

ScriptPolicy script_in(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {.name = file, .version = 1, .source = {std::istreambuf_iterator<char>(stream), {}}, .knobs = {}};
}

std::string refusal_of(std::string source, std::vector<ScriptKnobValue> knobs = {}) {
  const Status status = PolicyScript::load(script_of(std::move(source), std::move(knobs)), policy_limits()).status();
  return status.hint().empty() ? status.message() : status.message() + " | " + status.hint();
}

constexpr const char* kOrder = "function order() return 1 end\n";

TEST(PolicyScript, SaysWhatIsWrongWhenItIsLoaded) {
  EXPECT_EQ(refusal_of("function ordr() end"), "p: global function 'ordr' is no hook | did you mean 'order'?");
  EXPECT_EQ(refusal_of("order = 3"), "p: 'order' is a hook: expected a function");
  EXPECT_EQ(refusal_of(std::string(kOrder) + "sumary = 'x'"),
            "p: global 'sumary' means nothing to Berth | did you mean 'summary'?");
  EXPECT_EQ(refusal_of(std::string(kOrder) + "needs = {'memry'}"),
            "p: needs: there is no 'memry' | did you mean 'memory'?");
  EXPECT_EQ(refusal_of("function device() end"),
            "p: it defines no hook | a policy defines order, score, feasible, victim_cost, admit, target or mixing");
  EXPECT_EQ(refusal_of("function device() end function order() end"),
            "p: device() goes with score(), which it does not define");
  EXPECT_EQ(refusal_of(std::string(kOrder) + "knobs = {x = {tpe = 'integer'}}"),
            "p: knob x: no such word 'tpe' | did you mean 'type'?");
  EXPECT_EQ(refusal_of(std::string(kOrder) + "knobs = {x = {type = 'int'}}"),
            "p: knob x: no type 'int' | expected one of integer, number, boolean, text, choice");
  EXPECT_EQ(refusal_of(std::string(kOrder) + "knobs = {x = {type = 'integer'}}"),
            "p: default: knob x: expected a whole number, found nothing");
  EXPECT_EQ(refusal_of(std::string(kOrder) + "knobs = {weight = {default = 3}}", {{"y", "4"}}),
            "p: no knob 'y' | it has weight");
  EXPECT_EQ(refusal_of(std::string(kOrder) + "knobs = {x = {default = 3, least = 0}}", {{"x", "-1"}}),
            "p: knob x: expected at least 0, found -1");
  EXPECT_EQ(refusal_of(std::string(kOrder) + "knobs = {x = {default = 3, least = 0}}", {{"x", "1.5"}}), "");
}

// A small cluster with work that was placed at random, asked by both.
class Twins {
 public:
  Twins(const std::string& name, std::uint64_t seed) : random_(seed) {
    for (const char* model : {"A100", "T4", "H100"}) {
      cluster_.models.push_back({.id = static_cast<std::int64_t>(cluster_.models.size()) + 1,
                                 .name = model,
                                 .memory = MiB(random_.below(2) == 0 ? 0 : 40960)});
    }
    for (int i = 0; i < 6; ++i) {
      NodeKind kind;
      kind.cpu = MilliCpu(pick({8000, 64000, 96000}));
      kind.memory = MiB(262144);
      kind.device_count = static_cast<std::int32_t>(pick({0, 1, 2, 4, 8, 16}));
      if (kind.device_count > 0) {
        kind.model = static_cast<std::int32_t>(random_.below(3));
        kind.device_memory = cluster_.models[static_cast<std::size_t>(kind.model)].memory;
      }
      cluster_.add_kind(kind);
    }
    for (int i = 0; i < 40; ++i)
      cluster_.nodes.push_back({.id = i + 1, .kind = static_cast<std::int32_t>(random_.below(cluster_.kinds.size()))});
    for (int i = 0; i < 30; ++i)
      workload_.push_back({.shape = shape(), .popularity = 1.0 / static_cast<double>(3 + i)});
    const ScoreInput input{.cluster = &cluster_, .workload = workload_, .seed = seed};
    native_ = *make_score(name, input);
    twin_ = script_policy_maker().make_score(script_in("scripts/policies/" + name + ".lua"), input);
  }

  void run(int steps) {
    Ledger ledger(cluster_);
    Candidates native(ledger, *native_);
    Candidates twin(ledger, *twin_);
    std::vector<Holding> held;
    for (int step = 0; step < steps; ++step) {
      if (random_.below(4) == 0 && !held.empty()) {
        const std::size_t gone = random_.below(held.size());
        ASSERT_TRUE(ledger.release(held[gone]).ok());
        held[gone] = held.back();
        held.pop_back();
        continue;
      }
      const TaskShape asked = workload_[random_.below(workload_.size())].shape;
      const std::optional<NodeIndex> node = native.best(asked);
      ASSERT_EQ(twin.best(asked), node) << "step " << step << ": " << twin_->failure();
      if (!node) continue;
      const NodeView view = ledger.view(*node);
      const std::optional<DeviceMask> devices = choose_devices(view, asked, *native_);
      ASSERT_EQ(choose_devices(view, asked, *twin_), devices) << "step " << step << ": " << twin_->failure();
      const Holding holding = holding_for(asked, *view.kind, *node, devices.value_or(0));
      ASSERT_TRUE(ledger.place(holding).ok());
      held.push_back(holding);
    }
    EXPECT_EQ(twin_->failure(), "");
  }

 private:
  std::int64_t pick(std::initializer_list<std::int64_t> values) { return values.begin()[random_.below(values.size())]; }
  TaskShape shape() {
    TaskShape shape;
    shape.cpu = MilliCpu(pick({0, 500, 1000, 4000, 12000}));
    shape.memory = MiB(1024);
    shape.gpu_count = static_cast<std::int32_t>(pick({0, 1, 1, 1, 1, 2, 4, 8}));
    if (shape.gpu_count > 0) shape.gpu_milli = kWholeDevice;
    if (shape.gpu_count == 1 && random_.below(3) != 0) {
      shape.gpu_milli = MilliGpu(pick({50, 250, 333, 500, 810}));
      shape.gpu_memory = MiB(pick({0, 0, 10000, 30000}));
    }
    if (random_.below(4) == 0) shape.models = 1 + random_.below(7);
    return shape;
  }

  Random random_;
  Cluster cluster_;
  std::vector<WorkloadShape> workload_;
  std::unique_ptr<NodeScore> native_;
  std::unique_ptr<NodeScore> twin_;
};

TEST(ScriptScore, TwinsChooseTheSameNodesAndDevices) {
  for (const char* name : {"best_fit", "fgd"}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(seed));
      Twins(name, seed).run(400);
      if (HasFatalFailure()) return;
    }
  }
}

Snapshot with_scripts(Snapshot snapshot, std::vector<ScriptPolicy> scripts) {
  snapshot.scripts = {.policies = std::move(scripts), .maker = &script_policy_maker()};
  return snapshot;
}

TEST(ScriptOrder, ListsAreComparedFromTheLeft) {
  Snapshot snapshot = with_scripts(test::snapshot_from("1x4:A100", {"gpus=4", "gpus=2", "gpus=1", "gpus=2"}),
                                   {script_of("function order(job) return {-job.total_milli, -job.id} end")});
  snapshot.order_policy = "p";
  EXPECT_EQ(must(plan_schedule(snapshot)).order, (std::vector<std::int64_t>{1, 4, 2, 3}));
}

TEST(ScriptOrder, HeldBackJobsWaitWithTheReason) {
  Snapshot snapshot =
      with_scripts(test::snapshot_from("1x4:A100", {"gpus=1", "gpus=2"}),
                   {script_of("function order(job) if job.id == 1 then return nil, 'not now' end return 1 end")});
  snapshot.order_policy = "p";
  const ScheduleResult result = must(plan_schedule(snapshot));
  ASSERT_EQ(result.plan.placements.size(), 1u);
  ASSERT_EQ(result.plan.waiting.size(), 1u);
  EXPECT_EQ(result.plan.waiting[0].job, 1);
  EXPECT_EQ(result.plan.waiting[0].reason, Reason::kPolicy);
  EXPECT_EQ(result.plan.waiting[0].words, "not now");
}

TEST(ScriptOrder, FailsWithLineAndFallsBack) {
  for (const auto& [source, message] : std::vector<std::pair<std::string, std::string>>{
           {"function order(job) return job.gpuz end", "p:1: job has no field 'gpuz'"},
           {"function order(job)\n while true do end end", "p:2: used more than 1000000 instructions"},
           {"function order(job) return nil end", "p: order() gives nil without a reason: expected nil, \"why\""},
           {"function order(job) return 'x' end", "p: order() gives a string in place of a number"},
           {"function order(job) return 0/0 end", "p: order() gives a number that is none: 0/0"},
           {"function order(job) return {} end", "p: order() gives a list of 0 numbers; 1 to 8 are compared"},
           {"function order(job) job.id = 3 return 1 end", "p:1: job is read-only: cannot assign to 'id'"},
           {"function order(job, queue) queue.x = 3 return 1 end", "p:1: queue is read-only: cannot assign to 'x'"},
           {"function order(job) job.models[1] = 3 return 1 end",
            "p:1: job.models is read-only: cannot assign to 'number'"},
           {"function order(job) count = 1 return 1 end",
            "p:1: global 'count' assigned after loading: globals are frozen then; declare it local"},
           {"function order(job) return knob.x end", "p:1: knob has no field 'x'"}}) {
    Snapshot snapshot = with_scripts(test::snapshot_from("1x4:A100", {"gpus=1", "gpus=2"}), {script_of(source)});
    snapshot.order_policy = "p";
    const ScheduleResult result = must(plan_schedule(snapshot));
    ASSERT_EQ(result.failures.size(), 1u) << source;
    EXPECT_EQ(result.failures[0].message, message);
    EXPECT_EQ(result.plan.placements.size(), 2u);
  }
}

TEST(ScriptScore, FailsWithLineAndFallsBack) {
  for (const auto& [source, message] : std::vector<std::pair<std::string, std::string>>{
           {"function score(node) return node.memory_mib end", "p:1: node has no field 'memory_mib'"},
           {"function score(node) return 3e6 end", "p: score() gives 3000000.0; expected -2000000 to 2000000"},
           {"function score(node) return 0/0 end", "p: score() gives -nan; expected -2000000 to 2000000"},
           {"function score(node) return end", "p: score() gives a nil; expected a number"},
           {"function score() return 1 end function device() return 9 end",
            "p: device() gives 9, which is not one of fits"},
           {"function score() return 1 end function prepare() error('no') end", "p:1: no"}}) {
    Snapshot snapshot = with_scripts(test::snapshot_from("2x4:A100", {"gpus=0.5", "gpus=2"}), {script_of(source)});
    snapshot.score_policy = "p";
    const ScheduleResult result = must(plan_schedule(snapshot));
    ASSERT_EQ(result.failures.size(), 1u) << source;
    EXPECT_EQ(result.failures[0].message, message);
    EXPECT_EQ(result.plan.placements.size(), 2u) << source;
  }
}

TEST(ScriptScore, NeedsMemory) {
  Snapshot snapshot = with_scripts(
      test::snapshot_from("2x4:A100", {"gpus=1"}),
      {script_of(
          "needs = {'memory', 'tenants'} function score(n, s) return n.memory_mib - s.memory_mib + n.tenants end")});
  snapshot.score_policy = "p";
  EXPECT_TRUE(must(plan_schedule(snapshot)).failures.empty());
}

TEST(ScriptFilter, TasksRunOnlyWhereItLetsThem) {
  Snapshot snapshot =
      with_scripts(test::snapshot_from("1x4:A100; 1x4:T4", {"gpus=2", "gpus=2", "gpus=2"}),
                   {script_of("function feasible(node, shape) return node.model == 'T4', 'only on T4' end")});
  snapshot.filter_policy = "p";
  const ScheduleResult result = must(plan_schedule(snapshot));
  ASSERT_EQ(result.plan.placements.size(), 2u);
  EXPECT_EQ(result.plan.placements[0].node_id, 2);
  EXPECT_EQ(result.plan.placements[1].node_id, 2);
  ASSERT_EQ(result.plan.waiting.size(), 1u);
  EXPECT_EQ(result.plan.waiting[0].reason, Reason::kPolicy);
  EXPECT_TRUE(result.failures.empty());
}

TEST(ScriptFilter, FailureNamesTheFilter) {
  Snapshot snapshot = with_scripts(test::snapshot_from("1x4:A100", {"gpus=2"}),
                                   {script_of("function feasible(node, shape) return 1 end")});
  snapshot.filter_policy = "p";
  const ScheduleResult result = must(plan_schedule(snapshot));
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].kind, PolicyKind::kFilter);
  EXPECT_EQ(result.failures[0].message, "p: feasible() gives a number; expected true or false");
}

}  // namespace
}  // namespace berth
