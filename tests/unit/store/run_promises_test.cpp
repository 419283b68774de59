// CHECK sees every way in which runs, their tasks, the outbox and the journal of runs can disagree.
#include <algorithm>

#include "engine/store/executor_records.h"
#include "engine/store/run_outcome.h"
#include "engine/store/run_records.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class RunPromises : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_ = std::make_unique<Database>(open());
    fill(*db_);
    EXPECT_OK(change(*db_, [](Change& c) {
      ExecutorRecord executor;
      executor.name = "here";
      executor.type = "simulated";
      return create_executor(c, executor);
    }));
    JobRequest request = job("gang", {group(2, 1)});
    request.command.command = "true";
    job_ = submit(*db_, request);
    std::vector<Placement> placements;
    for (std::int32_t i = 0; i < 2; ++i)
      placements.push_back(placement(*db_, job_, 0, i, "a1", DeviceMask{1} << i, group(2, 1), MiB(81920)));
    EXPECT_OK(apply(*db_, plan_on(*db_, placements)));
    run_ = must_have(live_run_of(*db_, job_)).value();
  }

  // The promises that are broken after these statements, once each.
  std::vector<std::string> broken_by(const std::string& sql) {
    EXPECT_OK(db_->execute("PRAGMA foreign_keys = OFF"));
    EXPECT_OK(db_->execute(sql));
    std::vector<std::string> broken;
    for (const Finding& finding : must_have(check_state(*db_))) {
      if (broken.empty() || broken.back() != finding.promise) broken.push_back(finding.promise);
    }
    return broken;
  }
  using Names = std::vector<std::string>;

  std::unique_ptr<Database> db_;
  std::int64_t job_ = 0;
  LiveRun run_;
};

TEST_F(RunPromises, HoldFromLaunchToEnd) {
  expect_healthy(*db_);
  EXPECT_OK(set_run_state(*db_, run_, RunState::kStarting, "", Seconds(2001)));
  EXPECT_OK(db_->execute("UPDATE run_tasks SET phase = 'starting'; DELETE FROM outbox"));
  expect_healthy(*db_);
  EXPECT_OK(change(*db_, [&](Change& c) { return cancel_job(c, job_); }));
  expect_healthy(*db_);
  EXPECT_OK(db_->execute("UPDATE run_tasks SET phase = 'ended'"));
  expect_healthy(*db_);
  EXPECT_OK(change(*db_, [&](Change& c) {
    return conclude_run(c, must_have(live_run_of(*db_, job_)).value(), RunState::kCancelled, "");
  }));
  expect_healthy(*db_);
}

TEST_F(RunPromises, ALiveRunIsThatOfARunningJob) {
  const Names broken = broken_by("UPDATE jobs SET state = 'held', start_time = NULL; DELETE FROM allocations");
  EXPECT_EQ(std::ranges::count(broken, "live_runs") + std::ranges::count(broken, "run_tasks_hold"), 2);
}

TEST_F(RunPromises, ALiveRunHasTasks) {
  EXPECT_EQ(broken_by("DELETE FROM outbox; DELETE FROM run_tasks"), (Names{"live_runs"}));
}

TEST_F(RunPromises, TasksHoldTheirPart) {
  EXPECT_EQ(broken_by("UPDATE run_tasks SET node_id = node_id + 1 WHERE task_index = 1"), (Names{"run_tasks_hold"}));
}

TEST_F(RunPromises, NoTaskOutlivesItsRun) {
  EXPECT_OK(change(*db_, [&](Change& c) { return cancel_job(c, job_); }));
  EXPECT_OK(change(*db_, [&](Change& c) {
    return conclude_run(c, must_have(live_run_of(*db_, job_)).value(), RunState::kCancelled, "");
  }));
  EXPECT_EQ(broken_by(""), (Names{"run_tasks_end"}));
}

TEST_F(RunPromises, LiveTasksHaveTheirExecutor) {
  EXPECT_EQ(broken_by("DELETE FROM executors"), (Names{"references", "run_executors"}));
}

TEST_F(RunPromises, LaunchesAreNotForgotten) { EXPECT_EQ(broken_by("DELETE FROM outbox"), (Names{"launches_told"})); }

TEST_F(RunPromises, ALaunchIsOfTasksThatThereAre) {
  EXPECT_EQ(broken_by("UPDATE outbox SET sequence = 7"), (Names{"launches_told", "outbox_live"}));
}

TEST_F(RunPromises, NobodyIsToldOfRunsThatAreOver) {
  EXPECT_OK(set_run_state(*db_, run_, RunState::kStarting, "", Seconds(2001)));
  EXPECT_OK(db_->execute("UPDATE run_tasks SET phase = 'ended'"));
  EXPECT_OK(change(*db_, [&](Change& c) {
    return conclude_run(c, must_have(live_run_of(*db_, job_)).value(), RunState::kSucceeded, "");
  }));
  EXPECT_EQ(broken_by("INSERT INTO outbox (round_id, seq, executor_id, kind, run_id, created_at) "
                      "SELECT 0, 99, executor_id, 'stop', run_id, 1 FROM run_tasks LIMIT 1"),
            (Names{"outbox_live"}));
}

TEST_F(RunPromises, AStopIsForSomething) {
  EXPECT_OK(change(*db_, [&](Change& c) { return stop_run(c, run_, RunState::kEvicted, ""); }));
  EXPECT_EQ(broken_by(""), (Names{"stops_decided"})) << "nobody decided that eviction";
  EXPECT_EQ(broken_by("UPDATE runs SET stop_state = 'cancelled'"), Names{});
  EXPECT_EQ(broken_by("UPDATE runs SET stop_state = NULL"), (Names{"stops_decided"}));
}

TEST_F(RunPromises, EveryChangeOfARunIsJournalled) {
  EXPECT_EQ(broken_by("UPDATE runs SET state = 'starting'"), (Names{"runs_journalled"}));
  EXPECT_EQ(broken_by("INSERT INTO run_changes (run_id, time, from_state, to_state) SELECT id, 1, 'running', "
                      "'starting' FROM runs"),
            (Names{"runs_journalled"}));
}

// A node may go with a launch that nobody has taken in yet.
TEST_F(RunPromises, APendingRunMayBeLost) {
  EXPECT_OK(db_->execute("UPDATE run_tasks SET phase = 'lost'"));
  EXPECT_OK(change(*db_, [&](Change& c) { return conclude_run(c, run_, RunState::kLost, "its node is down"); }));
  expect_healthy(*db_);
  EXPECT_EQ(must_have(db_->text("SELECT state FROM jobs")), "pending");
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM outbox")), 0);
}

// Of ends within one second the one that launchers cause comes last; what the rest was stopped for is remembered.
TEST_F(RunPromises, TheEndThatCameByItselfSpeaks) {
  const auto detail = [&] { return must_have(judge_run(*db_, must_have(live_run_of(*db_, job_)).value())).detail; };
  EXPECT_OK(
      db_->execute("UPDATE run_tasks SET phase = 'ended', end_time = 3000, end_signal = iif(task_index = 0, 15, 9), "
                   "detail = iif(task_index = 0, 'signal 15', 'signal 9')"));
  EXPECT_EQ(detail(), "signal 9");
  EXPECT_OK(db_->execute("UPDATE run_tasks SET end_signal = 0, exit_code = 1, end_time = 3000 - (task_index = 0)"));
  EXPECT_EQ(detail(), "signal 15");
  EXPECT_OK(db_->execute("UPDATE runs SET state = 'stopping', stop_state = 'failed', detail = 'signal 9'"));
  EXPECT_EQ(detail(), "signal 9");
}

}  // namespace
}  // namespace berth::test
