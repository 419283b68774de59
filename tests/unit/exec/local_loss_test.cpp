// What becomes of tasks whose supervisor, guard, launcher or machine ends before they do.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/exec/local_executor.h"
#include "engine/exec/local_keep.h"
#include "engine/exec/local_process.h"
#include "engine/exec/plain_file.h"
#include "engine/exec/process.h"
#include "engine/exec/supervisor.h"
#include "tests/unit/exec/local_fixture.h"

namespace berth {
namespace {

using test::must;

class LocalLossTest : public test::LocalExecutorTest {};

// The guard takes over: ends are seen, times pass and requests are followed as before.
TEST_F(LocalLossTest, TasksOfAKilledSupervisorEndAsTheyEnd) {
  Launch limited = launch_of(4, "sleep 60");
  limited.time_limit = Seconds(2);
  const std::vector<LiveTask> tasks = {
      start(launch_of(1, "sleep 0.5; echo well")), start(launch_of(2, "sleep 0.5; exit 3")),
      start(launch_of(3, "sleep 0.5; kill -SEGV $$")), start(limited), start(launch_of(5, "exec sleep 60"))};
  for (const LiveTask& task : tasks)
    ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
  for (const LiveTask& task : tasks) kill_and_wait(record(task).supervisor);
  EXPECT_EQ(observe(tasks[4]).phase, TaskPhase::kRunning);
  must(executor()->stop(std::vector<StopRequest>{{{tasks[4]}, Seconds(1), ""}}));
  const TaskObservation well = wait_for_end(tasks[0]);
  EXPECT_TRUE(well.succeeded()) << well.detail;
  EXPECT_TRUE(well.use.memory_peak.has_value());
  EXPECT_EQ(output(tasks[0]), "well\n");
  EXPECT_EQ(wait_for_end(tasks[1]).exit_code, 3);
  EXPECT_EQ(wait_for_end(tasks[2]).signal, SIGSEGV);
  EXPECT_TRUE(wait_for_end(tasks[3]).is_out_of_time);
  EXPECT_EQ(wait_for_end(tasks[4]).signal, SIGTERM);
  EXPECT_TRUE(wait_until([&] { return std::filesystem::is_empty(path("exec/supervisors")); }));
}

TEST_F(LocalLossTest, WhatIsKilledTogetherWithItsSupervisorIsLost) {
  const LiveTask task = start(launch_of(1, "exec sleep 60"));
  ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
  const TaskRecord before = record(task);
  ASSERT_TRUE(signal_process(before.supervisor, SIGKILL));
  signal_process(before.start->process, SIGKILL);
  const TaskObservation lost = wait_for_end(task);
  EXPECT_EQ(lost.phase, TaskPhase::kVanished);
  EXPECT_EQ(lost.detail, "it was killed together with its supervisor");
}

// Killed with its guard and with its task still running: that goes on, and is lost when it ends.
TEST_F(LocalLossTest, WhoseMainThreadHasEndedLivesAsLongAsAnother) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t other;
    pthread_create(
        &other, nullptr, [](void*) -> void* { return pause(), nullptr; }, nullptr);
    syscall(SYS_exit, 0);  // of this thread alone
  }
  ASSERT_TRUE(wait_until([&] { return !is_running(std::to_string(child)); })) << "so it seems";
  EXPECT_TRUE(process_stat(child).has_value());
  kill(child, SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !process_stat(child).has_value(); }));
  waitpid(child, nullptr, 0);
}

// As programs hide it that set their title.
TEST_F(LocalLossTest, WhatHidesItsEnvironmentIsItsTasksInTheirSession) {
  const std::string hidden = "env -i sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done'; exit 0";
  const std::vector<Launch> launches = {launch_of(1, "exec sleep 60"), launch_of(2, hidden), launch_of(3, hidden)};
  must(executor()->launch(launches));
  std::vector<LiveTask> tasks;
  for (const Launch& launch : launches) tasks.push_back({launch.key_of(launch.tasks[0]), launch.key, "", "here"});
  started_ = tasks;
  for (const std::size_t i : {1, 2}) ASSERT_TRUE(wait_until([&] { return !output(tasks[i]).empty(); }));
  must(executor()->stop(std::vector<StopRequest>{{{tasks[1]}, Seconds(1), ""}}));
  wait_for_end(tasks[1]);
  EXPECT_FALSE(is_running(output(tasks[1]))) << "it ends whole";
  EXPECT_EQ(observe(tasks[2]).phase, TaskPhase::kRunning);
  EXPECT_TRUE(is_running(output(tasks[2]))) << "another's stays";
  kill_with_guard(record(tasks[2]));
  must(executor()->stop(std::vector<StopRequest>{{{tasks[2]}, Seconds(1), ""}}));
  wait_for_end(tasks[2]);
  EXPECT_TRUE(wait_until([&] { return !is_running(output(tasks[2])); }));
}

TEST_F(LocalLossTest, AKilledGuardLosesItsTaskOnce) {
  const Launch launch = launch_of(1, "echo once >> " + path("count") + "; sleep 0.5; echo end >> " + path("count"));
  const LiveTask task = start(launch);
  ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
  kill_with_guard(record(task));
  EXPECT_EQ(observe(task).phase, TaskPhase::kRunning);
  EXPECT_EQ(must(executor()->observe({}, {})).unknown_tasks.size(), 1u);
  start(launch);
  EXPECT_EQ(wait_for_end(task).phase, TaskPhase::kVanished);
  start(launch);
  EXPECT_EQ(content("count"), "once\nend\n");
  EXPECT_EQ(must(executor()->observe({}, {})).unknown_tasks.size(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(path("exec/supervisors")));
}

TEST_F(LocalLossTest, NothingOfALostTaskRunsBesideTheNextAttempt) {
  Launch launch = launch_of(1, "sleep 60 & echo $! >pid; wait");
  launch.working_directory = folder_;
  const LiveTask task = start(launch);
  ASSERT_TRUE(wait_until([&] { return content("pid").ends_with('\n'); }));
  const TaskRecord before = record(task);
  kill_with_guard(before);
  ASSERT_TRUE(signal_process(before.start->process, SIGKILL));
  EXPECT_EQ(wait_for_end(task).phase, TaskPhase::kVanished);
  EXPECT_TRUE(wait_until([&] { return !is_running(content("pid")); }));
}

TEST_F(LocalLossTest, ATaskWithoutSupervisorCanBeStopped) {
  const LiveTask task = start(launch_of(1, "trap '' TERM; while :; do sleep 0.05; done"));
  ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
  kill_with_guard(record(task));
  must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(1), ""}}));
  EXPECT_EQ(wait_for_end(task).phase, TaskPhase::kVanished);
}

// As when the machine shuts down.
TEST_F(LocalLossTest, ASupervisorToldToEndLosesItsTasks) {
  const LiveTask task = start(launch_of(1, "exec sleep 30"));
  ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
  const ProcessMark supervisor = record(task).supervisor;
  signal_process(supervisor, SIGHUP);
  EXPECT_EQ(observe(task).phase, TaskPhase::kRunning);
  signal_process(supervisor, SIGTERM);
  const TaskObservation seen = wait_for_end(task);
  EXPECT_EQ(seen.phase, TaskPhase::kVanished);
  EXPECT_EQ(seen.detail, "its supervisor was told to end");
  EXPECT_FALSE(seen.said_done);
}

TEST_F(LocalLossTest, WhatEndsWellAsTheMachineShutsDownIsLostToo) {
  const std::string forever = "while :; do sleep 0.05; done";
  const LiveTask saves = start(launch_of(1, "trap 'exit 0' TERM; " + forever));
  const LiveTask done = start(launch_of(2, "trap 'echo done > $BERTH_DONE_FILE; exit 0' TERM; " + forever));
  const LiveTask first = start(launch_of(3, "exec sleep 30"));
  for (const LiveTask& task : {saves, done, first})
    ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
  signal_process_group(record(first).start->process, SIGTERM);  // before its supervisor hears it
  for (const LiveTask& task : {first, saves, done}) signal_process(record(task).supervisor, SIGTERM);
  EXPECT_EQ(wait_for_end(saves).phase, TaskPhase::kVanished);
  EXPECT_EQ(wait_for_end(first).phase, TaskPhase::kVanished);
  EXPECT_TRUE(wait_for_end(done).said_done);
}

TEST_F(LocalLossTest, WhatHearsOfTheShutdownBeforeItsSupervisorIsLost) {
  for (const std::int64_t job : {1, 2}) {
    const LiveTask task =
        start(launch_of(job, fmt::format("trap 'exit {}' TERM; while :; do sleep 0.01; done", job - 1)));
    ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
    signal_process_group(record(task).start->process, SIGTERM);
    usleep(100000);
    signal_process(record(task).supervisor, SIGTERM);
    EXPECT_EQ(wait_for_end(task).phase, TaskPhase::kVanished) << job;
  }
}

// The signal of an eviction that was withdrawn since is no reason of an end that others bring.
TEST_F(LocalLossTest, WhatOthersEndAfterASignalOfOursIsLostToo) {
  const std::string saves = "trap : USR1; trap 'exit 0' TERM; while :; do sleep 0.01; done";
  for (const std::int64_t job : {1, 2}) {
    const LiveTask task = start(launch_of(job, saves));
    ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
    usleep(200000);
    must(executor()->stop(std::vector<StopRequest>{{{task}, std::nullopt, "USR1"}}));
    usleep(200000);
    const TaskRecord before = record(task);
    if (job == 1) {
      signal_process_group(before.start->process, SIGTERM);
      usleep(100000);
      signal_process(before.supervisor, SIGTERM);
    } else {
      signal_process(before.supervisor, SIGKILL);
      signal_process_group(before.start->process, SIGKILL);
    }
    EXPECT_EQ(wait_for_end(task).phase, TaskPhase::kVanished) << job;
  }
}

TEST_F(LocalLossTest, AKilledLauncherLeavesATaskThatIsFound) {
  const Launch launch = launch_of(1, "echo once >> " + path("count") + "; sleep 30");
  const pid_t launcher = fork();
  if (launcher == 0) {
    static_cast<void>(executor()->launch({&launch, 1}));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(launcher, &status, 0), launcher);
  const LiveTask task = start(launch);
  ASSERT_TRUE(wait_until([&] { return content("count") == "once\n"; }));
  EXPECT_EQ(observe(task).phase, TaskPhase::kRunning);
}

// Wherever it is killed: what ran ran once and is known to have, and what is claimed but did not run is lost.
TEST_F(LocalLossTest, SupervisorsKilledAtRandomMoments) {
  std::int64_t lost = 0;
  for (std::int64_t round = 0; round < 20; ++round) {
    Launch launch = launch_of(100 + round, "echo $BERTH_TASK >> " + path("ran") + "$BERTH_JOB; sleep 0.02");
    launch.tasks.clear();
    for (std::int32_t i = 0; i < 8; ++i) launch.tasks.push_back(task_number(i));
    const LiveTask first = start(launch);
    std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
    signal_process(record(first).supervisor, SIGKILL);
    start(launch);
    std::vector<int> counts(8);
    std::vector<TaskObservation> ends;
    for (const LaunchTask& task : launch.tasks) ends.push_back(wait_for_end({launch.key_of(task), launch.key, "", ""}));
    std::ifstream ran(path("ran" + std::to_string(launch.key.job)));
    for (std::size_t task = 0; ran >> task;) ++counts.at(task);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      EXPECT_LE(counts[i], 1);
      EXPECT_TRUE(ends[i].phase == TaskPhase::kEnded || ends[i].phase == TaskPhase::kVanished);
      EXPECT_TRUE(ends[i].phase == TaskPhase::kVanished || counts[i] == 1);
      if (ends[i].phase == TaskPhase::kVanished && counts[i] == 1) ++lost;
    }
  }
  // In the moment between the end of a task and its record.
  EXPECT_LE(lost, 4);
}

TEST_F(LocalLossTest, ARestartOfTheMachineLosesWhatRan) {
  const Launch launch = launch_of(1, "true");
  const std::string folder = local_task_folder(folder_ + "/exec", test::kDatabase, {1, 1, 0, 0});
  ProcessMark before = own_process_mark();
  before.boot = "an earlier one";
  must(claim_task(folder, before));
  const TaskObservation seen = run(launch);
  EXPECT_EQ(seen.phase, TaskPhase::kVanished);
  EXPECT_EQ(seen.detail, "the machine was restarted");
}

// Containers of one machine share its boot, not the numbers of their processes.
TEST_F(LocalLossTest, WhatAnotherContainerRunsIsNotLost) {
  const Launch launch = launch_of(1, "true");
  const std::string folder = local_task_folder(folder_ + "/exec", test::kDatabase, {1, 1, 0, 0});
  const ProcessMark other = {getpid(), 1, this_boot() + "/1"};
  must(claim_task(folder, other));
  const LiveTask task = {launch.key_of(launch.tasks[0]), launch.key, "", "here"};
  EXPECT_EQ(process_state(other), ProcessState::kUnknown);
  const std::string lists = folder_ + "/exec/supervisors";
  ASSERT_TRUE(make_folders(lists));
  Descriptor list = must(open_plain_file(lists + "/" + task_list_name(other), O_WRONLY | O_CREAT));
  ASSERT_EQ(flock(list.get(), LOCK_EX), 0);
  const std::string boot = other.boot + "\n";
  ASSERT_EQ(write(list.get(), boot.data(), boot.size()), static_cast<ssize_t>(boot.size()));
  EXPECT_EQ(observe(task).phase, TaskPhase::kStarting);
  const Delivery told = must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(1), ""}})).at(0);
  EXPECT_EQ(told.state, DeliveryState::kUnknown);
  EXPECT_NE(told.detail.find("another container"), std::string::npos) << told.detail;
  list = Descriptor();
  EXPECT_EQ(observe(task).phase, TaskPhase::kVanished) << "the container is gone";
}

TEST_F(LocalLossTest, HalfARecordIsALostTask) {
  const std::string folder = local_task_folder(folder_ + "/exec", test::kDatabase, {1, 1, 0, 0});
  ASSERT_TRUE(make_folders(folder));
  for (const char* text :
       {"", "{\"claimed\":1,\"pid\":", "\0\0\0", "{\"claimed\":1,\"pid\":\"x\",\"boot\":7}\n[]\n{}\n"}) {
    std::ofstream(folder + "/record") << text;
    EXPECT_EQ(run(launch_of(1, "true")).phase, TaskPhase::kVanished) << text;
  }
}

}  // namespace
}  // namespace berth
