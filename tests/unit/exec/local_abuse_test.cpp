// These tests break, move or put back what a job needs: its folder, records, requests, supervisor and process group.
#include <signal.h>
#include <sys/stat.h>

#include "engine/exec/local_machine.h"
#include "engine/exec/local_process.h"
#include "tests/unit/exec/local_fixture.h"

namespace berth {
namespace {

using test::LocalExecutorTest;
using test::must;

class LocalAbuseTest : public LocalExecutorTest {
 protected:
  bool is_running_soon(const LiveTask& task) {
    return wait_until([&] { return observe(task).phase == TaskPhase::kRunning; });
  }
  std::string folder_of(const LiveTask& task) const {
    return local_task_folder(folder_ + "/exec", test::kDatabase, task.key);
  }
  static char state_of(const ProcessMark& process) {
    std::ifstream file("/proc/" + std::to_string(process.pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    return name_end == std::string::npos ? '?' : text.at(name_end + 2);
  }
};

// The folder moves with its database.
TEST_F(LocalAbuseTest, AFolderThatIsMovedTakesItsTasksAlong) {
  const std::string until_asked = "trap 'exit 7' USR1; while :; do sleep 0.05; done";
  const LiveTask ends = start(launch_of(1, "while [ ! -e " + path("go") + " ]; do sleep 0.05; done; echo end; exit 3"));
  const LiveTask told = start(launch_of(2, until_asked));
  for (const LiveTask& task : {ends, told})
    ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
  std::filesystem::create_directory(path("elsewhere"));
  std::filesystem::rename(path("exec"), path("elsewhere/exec"));
  folder_ += "/elsewhere";
  for (const LiveTask& task : {ends, told}) EXPECT_EQ(observe(task).phase, TaskPhase::kRunning);
  std::ofstream(folder_ + "/../go") << "go";
  EXPECT_EQ(wait_for_end(ends).exit_code, 3);
  EXPECT_EQ(output(ends), "end\n");
  must(executor()->stop(std::vector<StopRequest>{{{told}, Seconds(9), "USR1"}}));
  const TaskObservation seen = wait_for_end(told);
  EXPECT_EQ(seen.exit_code, 7);
  EXPECT_TRUE(seen.was_told);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/../exec"));
}

// The folder was put back as it was before the task began.
TEST_F(LocalAbuseTest, ATaskWhoseFolderIsGoneIsFoundByItsProcesses) {
  const LiveTask task = start(launch_of(1, "exec sleep 30"));
  ASSERT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kRunning; }));
  const ProcessMark process = record(task).start->process;
  std::filesystem::rename(path("exec"), path("old"));
  Observation seen = must(executor()->observe({}, {}));
  ASSERT_EQ(seen.unknown_tasks.size(), 1U);
  EXPECT_EQ(seen.unknown_tasks[0].key, task.key);
  EXPECT_EQ(seen.unknown_tasks[0].phase, TaskPhase::kRunning);
  must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(1), ""}}));
  EXPECT_TRUE(wait_until([&] { return is_gone(process); }));
  EXPECT_TRUE(must(executor()->observe({}, {})).unknown_tasks.empty());
}

TEST_F(LocalAbuseTest, WhatClearsItsWorkingDirectoryKeepsItsRecordAndLog) {
  const LiveTask task = start(launch_of(1, "rm -rf ./* ./.[!.]*; echo cleared; pwd"));
  EXPECT_TRUE(wait_for_end(task).succeeded());
  EXPECT_EQ(output(task), "cleared\n" + folder_of(task) + "/work\n");
}

// Not asked about, asked about, launched again or told to stop: it runs as long as its supervisor says so.
TEST_F(LocalAbuseTest, ATaskWithoutRecordIsNotAbsent) {
  const Launch launch =
      launch_of(1, "rm -r $(dirname $BERTH_DONE_FILE); echo x >>" + path("count") + "; exec sleep 60");
  const LiveTask task = start(launch);
  ASSERT_TRUE(wait_until([&] { return content("count") == "x\n"; }));
  EXPECT_EQ(observe(task).phase, TaskPhase::kRunning);
  EXPECT_EQ(must(executor()->observe({}, {})).unknown_tasks.size(), 1u);
  start(launch);
  must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(5), ""}}));
  const TaskObservation seen = wait_for_end(task);
  EXPECT_EQ(seen.phase, TaskPhase::kEnded);
  EXPECT_EQ(seen.signal, SIGTERM);
  EXPECT_EQ(content("count"), "x\n");
}

TEST_F(LocalAbuseTest, AGuardFindsATaskWithoutRecord) {
  const LiveTask task = start(launch_of(1, "sleep 1; exit 3"));
  ASSERT_TRUE(is_running_soon(task));
  const TaskRecord before = record(task);
  std::filesystem::remove(folder_of(task) + "/record");
  kill_and_wait(before.supervisor);
  EXPECT_TRUE(wait_until([&] { return observe(task).phase == TaskPhase::kEnded; }));  // absent until the guard has it
  EXPECT_EQ(observe(task).exit_code, 3);
}

// Neither waits, and the other task is seen whatever stands in the place of a record.
TEST_F(LocalAbuseTest, WhatIsNoRecordHidesNobodyElse) {
  const std::vector<std::string> spoilt = {"rm record; mkfifo record", "rm record; mkdir record",
                                           "rm record; ln -s /etc/hostname record", "truncate -s 6G record"};
  const LiveTask other = start(launch_of(100, "exec sleep 60"));
  ASSERT_TRUE(is_running_soon(other));
  std::int64_t job = 0;
  for (const std::string& each : spoilt) {
    const LiveTask task =
        start(launch_of(++job, "cd ..; " + each + "; echo x >" + path("spoilt") + "; sleep 0.5; exit 3"));
    ASSERT_TRUE(wait_until([&] { return content("spoilt") == "x\n"; }));
    const std::vector<LiveTask> both = {task, other};
    const Observation seen = must(executor()->observe(both, {}));
    EXPECT_EQ(seen.tasks.at(0).phase, TaskPhase::kRunning) << each;
    EXPECT_EQ(seen.tasks.at(1).phase, TaskPhase::kRunning) << each;
    EXPECT_EQ(wait_for_end(task).exit_code, 3) << each;
    std::filesystem::remove(path("spoilt"));
  }
}

TEST_F(LocalAbuseTest, ASpoiltRecordWithoutSupervisorIsALostTask) {
  const LiveTask task = start(launch_of(1, "exec sleep 60"));
  ASSERT_TRUE(is_running_soon(task));
  const TaskRecord before = record(task);
  std::filesystem::remove(folder_of(task) + "/record");
  std::filesystem::create_directory(folder_of(task) + "/record");
  kill_with_guard(before);
  EXPECT_EQ(observe(task).phase, TaskPhase::kVanished);
  EXPECT_TRUE(wait_until([&] { return !is_alive(before.start->process); }));
}

TEST_F(LocalAbuseTest, WhatIsNoFileOfRequestsStopsNoStop) {
  for (const char* command : {"mkfifo ../requests", "mkdir -p ../requests/x", "ln -s /dev/null ../requests"}) {
    const LiveTask task = start(launch_of(static_cast<std::int64_t>(started_.size() + 1),
                                          "rm ../requests; " + std::string(command) + "; echo ready; exec sleep 60"));
    ASSERT_TRUE(wait_until([&] { return output(task) == "ready\n"; }));
    EXPECT_EQ(must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(5), ""}})).at(0).state,
              DeliveryState::kDone);
    EXPECT_EQ(wait_for_end(task).signal, SIGTERM) << command;
  }
}

TEST_F(LocalAbuseTest, WhatIsNoListHidesNoTask) {
  const LiveTask task = start(launch_of(1, "exec sleep 60"));
  const std::string lists = path("exec/supervisors/");
  ASSERT_EQ(mkfifo((lists + "1.1").c_str(), 0600), 0);
  std::filesystem::create_directory(lists + "2.2");
  std::filesystem::create_symlink("/dev/zero", lists + "3.3");
  std::ofstream(lists + "4.4").close();
  std::filesystem::resize_file(lists + "4.4", std::uintmax_t{6} << 30);
  EXPECT_TRUE(is_running_soon(task));
  EXPECT_EQ(must(executor()->observe({}, {})).unknown_tasks.size(), 1u);
}

TEST_F(LocalAbuseTest, AStoppedSupervisorGoesOn) {
  const LiveTask task = start(launch_of(1, "kill -STOP $PPID; sleep 0.3; exit 3"));
  EXPECT_TRUE(wait_until([&] { return record(task).end.has_value(); }));
  EXPECT_EQ(observe(task).exit_code, 3);
}

TEST_F(LocalAbuseTest, AStoppedGuardAndSupervisorGoOnWhenTheyAreSeen) {
  const LiveTask task = start(launch_of(1, "exec sleep 60"));
  ASSERT_TRUE(is_running_soon(task));
  const TaskRecord before = record(task);
  for (const ProcessMark& each : {before.guard, before.supervisor}) {
    ASSERT_TRUE(signal_process(each, SIGSTOP));
    ASSERT_TRUE(wait_until([&] { return state_of(each) == 'T'; }));
  }
  observe(task);
  EXPECT_TRUE(wait_until([&] { return state_of(before.guard) == 'S' && state_of(before.supervisor) == 'S'; }));
}

// Its exit code is known, and what uses its grace goes on.
TEST_F(LocalAbuseTest, ASupervisorKilledAfterTheShellEndedLosesNothing) {
  const LiveTask task =
      start(launch_of(1, "trap 'exit 7' TERM; (trap '' TERM; echo ready; sleep 1.5; echo saved) & wait"));
  ASSERT_TRUE(wait_until([&] { return output(task) == "ready\n"; }));
  must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(20), ""}}));
  ASSERT_TRUE(wait_until([&] { return record(task).first_end.has_value(); }));
  ASSERT_TRUE(signal_process(record(task).supervisor, SIGKILL));
  const TaskObservation seen = wait_for_end(task);
  EXPECT_EQ(seen.phase, TaskPhase::kEnded);
  EXPECT_EQ(seen.exit_code, 7);
  EXPECT_TRUE(record(task).end->was_told);
  EXPECT_EQ(output(task), "ready\nsaved\n");
}

TEST_F(LocalAbuseTest, ATimeLimitHoldsWhenSupervisorAndGuardAreKilled) {
  Launch launch = launch_of(1, "trap '' TERM; while :; do sleep 0.05; done");
  launch.time_limit = Seconds(2);
  const LiveTask task = start(launch);
  ASSERT_TRUE(is_running_soon(task));
  kill_with_guard(record(task));
  EXPECT_EQ(observe(task).phase, TaskPhase::kRunning);
  const TaskObservation seen = wait_for_end(task);
  EXPECT_EQ(seen.phase, TaskPhase::kEnded);
  EXPECT_TRUE(seen.is_out_of_time);
}

// It does not end before what left for a session of its own.
TEST_F(LocalAbuseTest, ASessionOfItsOwnEndsWithItsTask) {
  const std::string apart = "setsid sh -c 'trap \"\" TERM; echo $$ >" + path("apart") + "; exec sleep 60' & ";
  const LiveTask stopped = start(launch_of(1, apart + "sleep 60"));
  ASSERT_TRUE(wait_until([&] { return content("apart").ends_with('\n'); }));
  must(executor()->stop(std::vector<StopRequest>{{{stopped}, Seconds(1), ""}}));
  EXPECT_EQ(wait_for_end(stopped).signal, SIGTERM);
  EXPECT_FALSE(is_running(content("apart")));
  std::filesystem::remove(path("apart"));
  const LiveTask well = start(launch_of(2, apart + "while ! [ -s " + path("apart") + " ]; do sleep 0.05; done"));
  EXPECT_TRUE(wait_for_end(well).succeeded());
  EXPECT_FALSE(is_running(content("apart")));
}

// Two tasks of one supervisor: what left the one's session is not the other's.
TEST_F(LocalAbuseTest, ASessionOfItsOwnOutlivesItsTasksNeighbour) {
  Launch launch = launch_of(1, "test $BERTH_TASK = 1 || { until [ -s " + path("apart") +
                                   " ]; do sleep 0.05; done; exit; }; setsid sh -c 'echo $$ >" + path("apart") +
                                   "; exec sleep 60' & sleep 60");
  launch.tasks = {task_number(0), task_number(1)};
  const LiveTask first = start(launch);
  const LiveTask second = {launch.key_of(launch.tasks[1]), launch.key, "", "here"};
  started_.push_back(second);
  EXPECT_TRUE(wait_for_end(first).succeeded());
  EXPECT_TRUE(is_running(content("apart")));
  EXPECT_EQ(observe(second).phase, TaskPhase::kRunning);
}

// Else the tasks that a job's own call of Berth started would end with that job.
TEST_F(LocalAbuseTest, ASupervisorIsNoPartOfTheJobThatCalledBerth) {
  setenv("BERTH_DONE_FILE", "/outer/done", 1);
  const LiveTask task = start(launch_of(1, "exec sleep 60"));
  unsetenv("BERTH_DONE_FILE");
  ASSERT_TRUE(is_running_soon(task));
  std::ifstream file("/proc/" + std::to_string(record(task).supervisor.pid) + "/environ");
  std::vector<std::string> found;
  for (std::string each; std::getline(file, each, '\0');) {
    if (each.starts_with("BERTH_DONE_FILE=")) found.push_back(each);
  }
  EXPECT_EQ(found, std::vector<std::string>{"BERTH_DONE_FILE="});
}

// Nothing of it has ended when its host name changes.
TEST_F(LocalAbuseTest, AMachineThatIsRenamedIsTheSameNode) {
  const ExecutorOptions options = {{"node", ""}, {"fake_gpus", "1"}};
  const std::string name = must(executor(options)->inventory()).at(0).name;
  EXPECT_EQ(name, machine_name());
  std::ofstream(path("exec/node"), std::ios::trunc) << "as-it-was-called\n";
  const std::vector<std::string> nodes = {"as-it-was-called"};
  EXPECT_EQ(must(executor(options)->inventory()).at(0).name, nodes.front());
  EXPECT_TRUE(must(executor(options)->observe({}, nodes)).nodes.at(0).is_ready);
}

}  // namespace
}  // namespace berth
