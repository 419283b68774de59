// What is kept of tasks that have ended, and for how long.
#include <filesystem>

#include "tests/unit/exec/local_fixture.h"

namespace berth {
namespace {

using test::must;

class LocalKeepTest : public test::LocalExecutorTest {};

TEST_F(LocalKeepTest, ForgottenTasksDoNotStartAgainAndKeepTheirLog) {
  const Launch launch = launch_of(1, "echo once");
  const LiveTask task = start(launch);
  wait_for_end(task);
  EXPECT_TRUE(executor()->forget({&task, 1}).ok());
  EXPECT_TRUE(run(launch).succeeded());
  EXPECT_EQ(output(task), "once\n");
}

TEST_F(LocalKeepTest, OldTasksGoButNotWhatTheyMade) {
  const LiveTask old = start(launch_of(1, "echo x"));
  const LiveTask maker = start(launch_of(2, "echo x > model.bin"));
  const LiveTask live = start(launch_of(3, "sleep 30"));
  wait_for_end(old);
  wait_for_end(maker);
  EXPECT_TRUE(executor({{"keep", "1h"}})->forget({&old, 1}).ok());
  EXPECT_EQ(observe(old).phase, TaskPhase::kEnded);
  // Of another database that shares the folder: it has not been asked about there.
  const ExecutorContext other = {"local", "ffffff", path("exec"), "/proc/self/exe", &env_};
  const auto make = [&](const ExecutorContext& context) {
    const ExecutorType* type = must(find_executor_type("local"));
    return must(type->make(context, must(read_executor_options(*type, {{"keep", "0"}}))));
  };
  EXPECT_TRUE(make(other)->forget({}).ok());
  EXPECT_EQ(observe(old).phase, TaskPhase::kEnded);
  // An end that nobody may have looked at yet is kept whatever `keep` says.
  const auto sweep = [&](const ExecutorContext& context) {
    std::filesystem::remove(path(std::string("exec/swept-") + test::kDatabase));
    EXPECT_TRUE(make(context)->forget({&old, 1}).ok());
    return observe(old).phase;
  };
  ManualEnv later(env_.now() + Seconds(660));
  EXPECT_EQ(sweep({"local", test::kDatabase, path("exec"), "/proc/self/exe", &env_}), TaskPhase::kEnded);
  EXPECT_EQ(sweep({"local", test::kDatabase, path("exec"), "/proc/self/exe", &later}), TaskPhase::kAbsent);
  EXPECT_FALSE(exists("exec/tasks/0/berth-3fa9c2-1-1-0-0"));
  EXPECT_EQ(content("exec/tasks/0/berth-3fa9c2-2-1-0-0/work/model.bin"), "x\n");
  EXPECT_TRUE(wait_until([&] { return observe(live).phase == TaskPhase::kRunning; }));
}

}  // namespace
}  // namespace berth
