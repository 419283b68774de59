// Dispatch and sync while other statements come in between: the executor here does what a test tells it, in the middle
// of a call.
#include "engine/runtime/dispatcher.h"

#include <algorithm>
#include <functional>

#include "engine/policy/feasibility.h"
#include "engine/runtime/observe.h"
#include "engine/runtime/round_driver.h"
#include "engine/store/load.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

// What the executor was asked, and what it is to answer.
struct Script {
  std::function<void()> meanwhile = [] {};  // in the middle of every call
  DeliveryState launched = DeliveryState::kDone;
  TaskPhase phase = TaskPhase::kAbsent;  // of all tasks that are asked about
  std::vector<TaskKey> strays = {};
  TaskBegin begin = TaskBegin::kUnknown;
  bool is_untold = false;
  bool is_kept_out = false;
  bool may_wait = false;
  bool are_nodes_ready = true;
  Seconds closes_at{-1};  // of every node
  Seconds usual_limit{kNoLimit};
  std::vector<LaunchKey> launches = {};
  std::vector<TaskKey> stopped = {};
  bool are_overdue = false;  // of the last stop
  int looks = 0;
  int looks_before_forgetting = 0;
};

class ScriptedExecutor : public Executor {
 public:
  explicit ScriptedExecutor(Script& script) : script_(script) {}

  Result<std::vector<Delivery>> launch(std::span<const Launch> launches) override {
    script_.meanwhile();
    for (const Launch& launch : launches) script_.launches.push_back(launch.key);
    return std::vector<Delivery>(launches.size(), Delivery{script_.launched, "x", ""});
  }
  Result<std::vector<Delivery>> stop(std::span<const StopRequest> requests) override {
    for (const StopRequest& request : requests) {
      script_.are_overdue = request.is_overdue;
      for (const LiveTask& task : request.tasks) script_.stopped.push_back(task.key);
    }
    return std::vector<Delivery>(requests.size());
  }
  Result<Observation> observe(std::span<const LiveTask> tasks, std::span<const std::string> nodes) override {
    script_.meanwhile();
    ++script_.looks;
    Observation seen;
    for (const LiveTask& task : tasks) {
      TaskObservation& each = seen.tasks.emplace_back();
      each.key = task.key;
      each.phase = script_.phase;
      each.begin = script_.begin;
      each.is_untold = script_.is_untold;
      each.is_kept_out = script_.is_kept_out;
      each.may_wait = script_.may_wait;
    }
    for (const TaskKey& key : script_.strays) {
      TaskObservation& each = seen.unknown_tasks.emplace_back();
      each.key = key;
      each.phase = TaskPhase::kRunning;
    }
    for (const std::string& node : nodes) {
      NodeObservation& each =
          seen.nodes.emplace_back(NodeObservation{node, script_.are_nodes_ready, false, "no answer"});
      each.closes_at = script_.closes_at;
      each.usual_limit = script_.usual_limit;
    }
    return seen;
  }
  Status forget(std::span<const LiveTask>) override {
    script_.looks_before_forgetting = script_.looks;
    return {};
  }
  Result<std::vector<InventoryNode>> inventory() override { return std::vector<InventoryNode>(); }
  Result<std::string> log(const LiveTask&, LogStream, std::int64_t, std::int64_t) override { return std::string(); }

 private:
  Script& script_;
};

class Dispatch : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    other_ = std::make_unique<Database>(open());
    fill(*other_);
    EXPECT_OK(change(*other_, [](Change& c) {
      ExecutorRecord executor;
      executor.name = "here";
      executor.type = "simulated";
      return create_executor(c, executor);
    }));
    runtime_ = must_have(Runtime::open({.database = path(), .actor = "tester", .env = &env_, .seed = {}}));
    lease_ = std::make_unique<Lease>(must_have(take_round_lease(*runtime_)));
    executors_.push_back(
        {must_have(find_executor(runtime_->db(), "here")), std::make_unique<ScriptedExecutor>(script_)});
  }

  // A job of two tasks, placed: its launch is in the outbox.
  std::int64_t start(const std::string& name, std::int64_t retries = 0) {
    JobRequest request = job(name, {group(2, 1)});
    request.command.command = "true";
    request.command.retries = retries;
    const std::int64_t id = submit(*other_, request);
    place(id);
    return id;
  }
  void place(std::int64_t job) {
    std::vector<Placement> placements;
    for (std::int32_t i = 0; i < 2; ++i)
      placements.push_back(placement(*other_, job, 0, i, "a1", DeviceMask{1} << i, group(2, 1), MiB(81920)));
    EXPECT_OK(apply(*other_, plan_on(*other_, placements)));
  }
  // The first node, a job that may run for so long; 0 = without a limit.
  bool keeps_out(Seconds limit) {
    JobRequest request = StoreTest::job("limited", {group(1, 1)});
    request.time_limit = limit;
    const std::int64_t id = submit(*other_, request);
    const Snapshot snapshot = must_have(load_state(*other_, {.now = env_.now()})).snapshot;
    const Job& job = *std::ranges::find(snapshot.jobs, id, &Job::id);
    const NodeKind& kind = snapshot.cluster.kind_of(0);
    cancel(id);
    return !is_feasible_when_empty(kind, job.groups[0].shape);
  }
  void cancel(std::int64_t job) {
    EXPECT_OK(change(
        *other_, [&](Change& c) { return cancel_job(c, job); }, env_.now()));
  }
  Result<DispatchReport> dispatch() { return berth::dispatch(*runtime_, *lease_, executors_); }
  Result<SyncReport> observe() { return observe_executors(*runtime_, *lease_, executors_); }
  std::string run_state(std::int64_t job) {
    return must_have(other_->text("SELECT group_concat(state, ' ') FROM (SELECT state FROM runs WHERE job_id = " +
                                  std::to_string(job) + " ORDER BY attempt)"));
  }
  std::string job_state(std::int64_t job) {
    return must_have(other_->text("SELECT state FROM jobs WHERE id = " + std::to_string(job)));
  }
  void TearDown() override {
    expect_healthy(*other_);
    executors_.clear();
    lease_.reset();
    runtime_.reset();
    other_.reset();
    StoreTest::TearDown();
  }

  ManualEnv env_{Seconds(2000)};
  std::unique_ptr<Database> other_;  // as another process has it
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Lease> lease_;
  Script script_;
  std::vector<LiveExecutor> executors_;
};

TEST_F(Dispatch, AJobIsCancelledWhileItIsLaunched) {
  const std::int64_t job = start("job");
  script_.meanwhile = [&] { cancel(job); };
  EXPECT_OK(dispatch());
  EXPECT_EQ(run_state(job), "stopping");
  script_.meanwhile = [] {};
  EXPECT_OK(dispatch());
  EXPECT_EQ(script_.launches.size(), 1u);
  EXPECT_EQ(script_.stopped, (std::vector<TaskKey>{{job, 1, 0, 0}, {job, 1, 0, 1}}));
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "cancelled") << "nobody has its tasks any more";
  EXPECT_EQ(job_state(job), "cancelled");
}

TEST_F(Dispatch, AJobIsCancelledWhileItsExecutorRefusesIt) {
  const std::int64_t job = start("job", 1);
  script_.meanwhile = [&] { cancel(job); };
  script_.launched = DeliveryState::kRefused;
  EXPECT_OK(dispatch());
  EXPECT_EQ(job_state(job), "cancelled") << "not started again, though it has a retry left";
}

TEST_F(Dispatch, AJobIsCancelledWhileItsTasksAreLookedAt) {
  const std::int64_t job = start("job");
  EXPECT_OK(dispatch());
  script_.meanwhile = [&] { cancel(job); };
  script_.phase = TaskPhase::kRunning;
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "stopping");
}

TEST_F(Dispatch, ATaskThatWasLaunchedWhileWeLookedIsNoStray) {
  start("before");
  EXPECT_OK(dispatch());
  std::int64_t job = 0;
  script_.phase = TaskPhase::kRunning;
  script_.meanwhile = [&] {
    job = submit(*other_, [] {
      JobRequest request = StoreTest::job("late", {group(1, 1)});
      request.command.command = "true";
      return request;
    }());
    EXPECT_OK(apply(*other_, plan_on(*other_, {placement(*other_, job, 0, 0, "a2", 1, group(1, 1), MiB(81920))})));
    script_.strays = {{job, 1, 0, 0}, {job, 7, 0, 0}};
  };
  EXPECT_EQ(must_have(observe()).strays.size(), 1u) << "of an attempt that nobody made";
  EXPECT_TRUE(script_.stopped.empty()) << "an admin decides";
  EXPECT_OK(runtime_->change([](Change& c) { return judge_strays(c, std::nullopt, StrayVerdict::kStop).status(); }));
  script_.meanwhile = [] {};
  EXPECT_TRUE(must_have(observe()).strays.empty());
  EXPECT_EQ(script_.stopped, (std::vector<TaskKey>{{job, 7, 0, 0}}));
}

TEST_F(Dispatch, ATaskOfARunThatIsOverIsStopped) {
  const std::int64_t job = start("job");
  EXPECT_OK(dispatch());
  script_.phase = TaskPhase::kVanished;
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "lost");
  script_.strays = {{job, 1, 0, 0}};
  EXPECT_TRUE(must_have(observe()).strays.empty());
  EXPECT_EQ(script_.stopped, (std::vector<TaskKey>{{job, 1, 0, 0}}));
}

// Of an executor that is not the one of the job's last run, and of which no news comes.
TEST_F(Dispatch, AJobThatComesToWaitIsHeldForItsStrayElsewhere) {
  const std::int64_t job = start("job", 1);
  EXPECT_OK(dispatch());
  EXPECT_OK(
      other_->execute("INSERT INTO strays (executor_id, job_id, attempt, generation, group_index, task_index, node, "
                      "since) VALUES (99, " +
                      std::to_string(job) + ", 7, 0, 0, 0, '', 2000)"));
  script_.phase = TaskPhase::kVanished;
  EXPECT_OK(observe());
  EXPECT_EQ(job_state(job), "held");
  EXPECT_ERROR(runtime_->change([&](Change& c) { return release_job(c, job); }).status(), Code::kConflict,
               "still runs from before");
}

// The task ends before its executor tells it to stop.
TEST_F(Dispatch, WhatEndedWellBeforeItWasToldIsDone) {
  const std::int64_t id = start("quick");
  must_have(dispatch());
  script_.phase = TaskPhase::kRunning;
  must_have(observe());
  EXPECT_OK(change(
      *other_,
      [&](Change& c) -> Status {
        BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(c.db(), id));
        return stop_run(c, *run, RunState::kEvicted, "reclaim");
      },
      env_.now()));
  must_have(dispatch());
  EXPECT_EQ(script_.stopped.size(), 2u);
  script_.phase = TaskPhase::kEnded;
  script_.is_untold = true;
  must_have(observe());
  EXPECT_EQ(run_state(id), "succeeded");
  EXPECT_EQ(job_state(id), "finished");
}

// As by a step of the network's time, between the stop and the look that finds nothing more of it.
TEST_F(Dispatch, WhatIsGoneWasStoppedThoughTheClockWasSetBack) {
  const std::int64_t id = start("guest");
  must_have(dispatch());
  script_.phase = TaskPhase::kRunning;
  must_have(observe());
  cancel(id);
  must_have(dispatch());
  env_.set(env_.now() - Seconds(10));
  script_.phase = TaskPhase::kVanished;
  must_have(observe());
  EXPECT_EQ(run_state(id), "cancelled") << "not lost";
}

// An executor takes the stop in, and its tasks never hear of it.
TEST_F(Dispatch, WhatRunsOnAfterItsGraceIsToldToStopAgain) {
  const auto count = [&](const std::string& rows) {
    return must_have(other_->integer("SELECT count(*) FROM " + rows));
  };
  const std::int64_t job = start("deaf");
  must_have(dispatch());
  script_.phase = TaskPhase::kRunning;
  must_have(observe());
  cancel(job);
  const auto look_after = [&](Seconds time) {
    env_.set(env_.now() + time);
    EXPECT_OK(lease_->keep(env_.now()));
    script_.stopped.clear();
    must_have(dispatch());
    must_have(observe());
    return script_.stopped.size();
  };
  EXPECT_EQ(look_after(Seconds(0)), 2u);
  EXPECT_FALSE(script_.are_overdue);
  const Seconds grace = must_have(read_settings(*other_)).stop_grace;
  EXPECT_EQ(look_after(grace + Seconds(29)), 0u);
  EXPECT_EQ(count("drift"), 0);
  EXPECT_EQ(look_after(Seconds(1)), 2u);
  EXPECT_TRUE(script_.are_overdue);
  EXPECT_EQ(look_after(grace + Seconds(30)), 0u) << "each time later";
  EXPECT_EQ(look_after(grace + Seconds(30)), 2u);
  EXPECT_EQ(count("drift WHERE kind = 'unstopped task'"), 1) << "told once";
  EXPECT_EQ(count("outbox WHERE told_at IS NULL"), 0);
  env_.set(env_.now() - Seconds(500));
  EXPECT_EQ(look_after(Seconds(0)), 2u) << "the clock was set back";
  EXPECT_FALSE(script_.are_overdue);
  script_.phase = TaskPhase::kEnded;
  must_have(observe());
  EXPECT_EQ(run_state(job), "cancelled");
  EXPECT_EQ(count("outbox"), 0);
}

TEST_F(Dispatch, WhatIsNotKnownToBeTakenInIsToldAgainUnderItsKey) {
  const std::int64_t job = start("job");
  script_.launched = DeliveryState::kUnknown;
  EXPECT_OK(dispatch());
  EXPECT_EQ(run_state(job), "pending");
  EXPECT_OK(dispatch());
  EXPECT_EQ(script_.launches.size(), 1u) << "not at once";
  env_.set(env_.now() + Seconds(1));
  script_.launched = DeliveryState::kDone;
  EXPECT_OK(dispatch());
  EXPECT_EQ(script_.launches, (std::vector<LaunchKey>{{job, 1, 0}, {job, 1, 0}}));
  EXPECT_EQ(run_state(job), "starting");
}

TEST_F(Dispatch, AClockThatWasSetBackHoldsNothingUp) {
  start("job");
  script_.launched = DeliveryState::kUnknown;
  const Seconds before = env_.now();
  env_.set(before + Seconds(1000000));
  EXPECT_OK(dispatch());
  env_.set(before);
  EXPECT_OK(dispatch());
  EXPECT_EQ(script_.launches.size(), 2u);
}

// Maintenance next week, say.
TEST_F(Dispatch, ANodeThatClosesTakesNoJobThatMayStillRun) {
  script_.closes_at = env_.now() + Seconds(5000);
  EXPECT_OK(observe());
  EXPECT_TRUE(keeps_out(Seconds(0)));
  EXPECT_TRUE(keeps_out(Seconds(5001)));
  EXPECT_FALSE(keeps_out(Seconds(5000)));
  const std::string told = "SELECT count(*) FROM drift WHERE found LIKE 'kept for something else%'";
  const std::int64_t nodes = must_have(other_->integer("SELECT count(*) FROM nodes"));
  EXPECT_EQ(must_have(other_->integer(told)), nodes);
  env_.set(env_.now() + Seconds(1000));
  EXPECT_TRUE(keeps_out(Seconds(4001))) << "it comes nearer";
  script_.usual_limit = Seconds(4000);
  EXPECT_OK(observe());
  EXPECT_FALSE(keeps_out(Seconds(0))) << "the system gives it a limit of its own";
  EXPECT_TRUE(keeps_out(Seconds(4001)));
  script_.usual_limit = Seconds(4001);
  EXPECT_OK(observe());
  EXPECT_TRUE(keeps_out(Seconds(0)));
  EXPECT_EQ(must_have(other_->integer(told)), nodes) << "it was told";
  env_.set(script_.closes_at);
  EXPECT_TRUE(keeps_out(Seconds(1))) << "until the system shows the node as set aside";
  env_.set(script_.closes_at + Seconds(3600));
  EXPECT_FALSE(keeps_out(Seconds(0))) << "nobody has said so";
  script_.closes_at = Seconds(-1);
  EXPECT_OK(observe());
  EXPECT_EQ(must_have(other_->integer("SELECT count(*) FROM node_closings")), 0);
}

// Slurm says NODE_FAIL of what it could not switch a node on for.
TEST_F(Dispatch, ALaunchWhoseNodeFailsBeforeItBeginsIsNotCharged) {
  const std::int64_t job = start("job");
  for (int i = 0; i < 6; ++i) {
    script_.phase = TaskPhase::kVanished;
    script_.begin = TaskBegin::kNodeFailed;
    EXPECT_OK(dispatch());
    EXPECT_OK(observe());
    EXPECT_EQ(job_state(job), "pending");
    EXPECT_EQ(must_have(other_->integer("SELECT sum(losses) FROM jobs")), 0);
    EXPECT_EQ(must_have(other_->text("SELECT state FROM nodes WHERE name = 'a1'")), "up")
        << "it is the system's to close";
    place(job);
  }
}

// The cluster keeps the node for something else, for days perhaps: other nodes may have room.
TEST_F(Dispatch, ALaunchThatItsNodeKeepsOutIsWithdrawnAndNotCharged) {
  const std::int64_t job = start("job");
  EXPECT_OK(dispatch());
  script_.phase = TaskPhase::kStarting;
  script_.is_kept_out = script_.may_wait = true;
  EXPECT_OK(observe());
  EXPECT_TRUE(keeps_out(Seconds(0))) << "without a time limit, too";
  EXPECT_FALSE(keeps_out(Seconds(86400))) << "the cluster may have room for it until then";
  env_.set(env_.now() + Seconds(300));
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "starting");
  env_.set(env_.now() + Seconds(1));
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "stopping");
  EXPECT_OK(dispatch());
  EXPECT_EQ(script_.stopped.size(), 2u);
  script_.is_kept_out = false;
  script_.phase = TaskPhase::kAbsent;
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "lost");
  EXPECT_EQ(job_state(job), "pending");
  EXPECT_EQ(must_have(other_->integer("SELECT sum(losses) FROM jobs")), 0);
  EXPECT_EQ(must_have(other_->text("SELECT state FROM nodes WHERE name = 'a1'")), "up");
  EXPECT_TRUE(keeps_out(Seconds(0)));
  const auto evicts_from = [&] {
    const Snapshot snapshot = must_have(load_state(*other_, {.now = env_.now()})).snapshot;
    return std::ranges::find(snapshot.jobs, job, &Job::id)->eviction.evicts_from;
  };
  EXPECT_EQ(evicts_from(), env_.now() + Seconds(3600)) << "others would stop for it in vain";
  EXPECT_OK(change(
      *other_, [&](Change& c) { return resume_nodes(c, std::vector<std::string>{"a1"}); }, env_.now()));
  EXPECT_FALSE(keeps_out(Seconds(0))) << "somebody says that it is open again";
}

TEST_F(Dispatch, WhatHasNotBegunAfterTenMinutesIsDrift) {
  const auto drifts = [&] { return must_have(other_->integer("SELECT count(*) FROM drift")); };
  start("job");
  EXPECT_OK(dispatch());
  script_.phase = TaskPhase::kStarting;
  EXPECT_OK(observe());
  env_.set(env_.now() + Seconds(600));
  EXPECT_OK(observe());
  EXPECT_EQ(drifts(), 0);
  env_.set(env_.now() + Seconds(1));
  script_.may_wait = true;
  EXPECT_OK(observe());
  EXPECT_EQ(drifts(), 0) << "a queue of the system's says itself when that is too long";
  script_.may_wait = false;
  EXPECT_OK(observe());
  EXPECT_OK(observe());
  EXPECT_EQ(drifts(), 1);
}

TEST_F(Dispatch, ATaskMayBeUnseenForAWhileAfterItWasTakenInHoweverLongThatTook) {
  const std::int64_t job = start("job");
  env_.set(env_.now() + Seconds(300));  // its executor was down
  EXPECT_OK(dispatch());
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "starting");
  env_.set(env_.now() + Seconds(31));
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "lost");
  EXPECT_EQ(job_state(job), "pending");
}

TEST_F(Dispatch, ANodeIsLostWithALaunchThatWasNeverTakenIn) {
  const std::int64_t job = start("job");
  script_.launched = DeliveryState::kUnknown;
  EXPECT_OK(dispatch());
  script_.are_nodes_ready = false;
  EXPECT_OK(observe());
  env_.set(env_.now() + Seconds(60));
  EXPECT_OK(observe());
  EXPECT_EQ(run_state(job), "lost");
  EXPECT_EQ(job_state(job), "pending");
  EXPECT_EQ(must_have(other_->integer("SELECT count(*) FROM outbox")), 0);
}

// Its mount is gone, say: the system calls it idle, and each launch there ends at once.
TEST_F(Dispatch, ANodeThatLosesEachLaunchRestsAndNoJobIsCharged) {
  const auto node_state = [&] { return must_have(other_->text("SELECT state FROM nodes WHERE name = 'a1'")); };
  const auto losses = [&] { return must_have(other_->integer("SELECT sum(losses) FROM jobs")); };
  const std::int64_t one = start("one");
  EXPECT_OK(dispatch());
  script_.phase = TaskPhase::kVanished;
  script_.begin = TaskBegin::kLost;
  EXPECT_OK(observe());
  EXPECT_EQ(losses(), 0) << "no other node has lost it";
  EXPECT_EQ(node_state(), "up");
  start("two");
  EXPECT_OK(dispatch());
  EXPECT_OK(observe());
  EXPECT_EQ(losses(), 0) << "the node has lost another's, too";
  EXPECT_EQ(node_state(), "drained");
  EXPECT_EQ(job_state(one), "pending");
  EXPECT_EQ(must_have(other_->integer("SELECT count(*) FROM drift WHERE found LIKE 'the last 2 launches%'")), 1);
  env_.set(env_.now() + Seconds(299));
  EXPECT_OK(observe());
  EXPECT_EQ(node_state(), "drained");
  env_.set(env_.now() + Seconds(1));
  EXPECT_OK(observe());
  EXPECT_EQ(node_state(), "up");

  const std::int64_t three = start("three");
  EXPECT_OK(dispatch());
  EXPECT_OK(observe());
  EXPECT_EQ(node_state(), "drained");
  env_.set(env_.now() + Seconds(599));
  EXPECT_OK(observe());
  EXPECT_EQ(node_state(), "drained") << "longer each time";
  EXPECT_OK(change(
      *other_, [&](Change& c) { return resume_nodes(c, std::vector<std::string>{"a1"}); }, env_.now()));
  EXPECT_OK(observe());
  EXPECT_EQ(node_state(), "up") << "somebody has mended it";

  // Slurm says of what never begins there that it runs, for a while.
  start("four");
  script_.phase = TaskPhase::kRunning;
  EXPECT_OK(dispatch());
  EXPECT_OK(observe());
  script_.phase = TaskPhase::kVanished;
  EXPECT_OK(observe());
  EXPECT_EQ(must_have(other_->integer("SELECT count(*) FROM launch_losses")), 1);

  start("five");
  EXPECT_OK(dispatch());
  script_.phase = TaskPhase::kRunning;
  script_.begin = TaskBegin::kBegan;
  EXPECT_OK(observe());
  EXPECT_EQ(must_have(other_->integer("SELECT count(*) FROM launch_losses")), 0);
  EXPECT_EQ(job_state(three), "pending");
  EXPECT_EQ(losses(), 0);
}

TEST_F(Dispatch, WhoHasLostTheLeaseTellsNobody) {
  const std::int64_t job = start("job");
  env_.set(env_.now() + Seconds(601));
  const Lease taken = must_have(
      Lease::acquire(*other_, {.name = "round", .holder = "other", .now = env_.now(), .duration = Seconds(600)}));
  EXPECT_ERROR(dispatch(), Code::kConflict, "was lost");
  EXPECT_ERROR(observe(), Code::kConflict, "was lost");
  EXPECT_TRUE(script_.launches.empty());
  EXPECT_EQ(run_state(job), "pending");
}

// A process may be stopped in the middle of a call, and go on when another has taken over.
TEST_F(Dispatch, WhoLosesTheLeaseDuringACallWritesNothingOfTheAnswer) {
  const std::int64_t job = start("job");
  const auto phases = [&] { return must_have(other_->text("SELECT group_concat(phase, ' ') FROM run_tasks")); };
  std::unique_ptr<Lease> taken;
  const auto take_over = [&] {
    env_.set(env_.now() + Seconds(601));
    taken = std::make_unique<Lease>(
        must_have(Lease::acquire(*other_, {.name = "round", .holder = "other", .now = env_.now()})));
  };
  const auto take_back = [&] {
    taken.reset();
    lease_ = std::make_unique<Lease>(must_have(take_round_lease(*runtime_)));
  };
  script_.meanwhile = take_over;
  EXPECT_ERROR(dispatch(), Code::kConflict, "was lost");
  EXPECT_EQ(script_.launches.size(), 1u);
  EXPECT_EQ(must_have(other_->integer("SELECT count(*) FROM outbox")), 1) << "it is told again";
  EXPECT_EQ(phases(), "pending pending");
  script_.launched = DeliveryState::kRefused;
  take_back();
  EXPECT_ERROR(dispatch(), Code::kConflict, "was lost");
  EXPECT_EQ(job_state(job), "running") << "no refusal is taken in either";

  script_.meanwhile = [] {};
  script_.launched = DeliveryState::kDone;
  take_back();
  EXPECT_OK(dispatch());
  script_.meanwhile = take_over;
  script_.phase = TaskPhase::kVanished;
  script_.are_nodes_ready = false;
  EXPECT_ERROR(observe(), Code::kConflict, "was lost");
  EXPECT_EQ(phases(), "starting starting");
  EXPECT_EQ(run_state(job), "starting");
  EXPECT_EQ(must_have(other_->integer("SELECT count(*) FROM node_health")), 0);
  EXPECT_OK(runtime_->change([](Change& c) { return c.record("test", "other changes are made"); }));
}

// Statements need no lease.
TEST_F(Dispatch, WhatHasEndedWhileWeLookedIsNotMadeToRunAgain) {
  const std::int64_t job = start("job");
  EXPECT_OK(dispatch());
  script_.phase = TaskPhase::kRunning;
  script_.meanwhile = [&] {
    EXPECT_OK(other_->execute("UPDATE run_tasks SET phase = 'ended', end_time = 2000, exit_code = 0, end_signal = 0"));
  };
  EXPECT_OK(observe());
  EXPECT_EQ(must_have(other_->text("SELECT group_concat(phase, ' ') FROM run_tasks")), "ended ended");
  EXPECT_EQ(run_state(job), "succeeded");
}

// Two may keep their records in one folder.
TEST_F(Dispatch, NothingIsForgottenBeforeAllHaveLooked) {
  start("job");
  EXPECT_OK(dispatch());
  executors_.push_back({executors_.front().record, std::make_unique<ScriptedExecutor>(script_)});
  script_.phase = TaskPhase::kEnded;
  EXPECT_OK(observe_executors(*runtime_, *lease_, executors_, Inventories::kAll));
  EXPECT_EQ(script_.looks_before_forgetting, 2);
}

}  // namespace
}  // namespace berth::test
