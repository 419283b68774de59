#include "engine/exec/local_executor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "engine/exec/local_keep.h"
#include "engine/exec/local_process.h"
#include "engine/exec/plain_file.h"
#include "engine/exec/process.h"
#include "engine/exec/supervisor.h"
#include "tests/unit/exec/local_fixture.h"

namespace berth {
namespace {

using test::LocalExecutorTest;
using test::must;

TEST_F(LocalExecutorTest, OutcomesAreRecorded) {
  EXPECT_TRUE(run(launch_of(1, "true")).succeeded());
  const TaskObservation failed = run(launch_of(2, "exit 7"));
  EXPECT_EQ(failed.phase, TaskPhase::kEnded);
  EXPECT_EQ(failed.exit_code, 7);
  EXPECT_FALSE(failed.succeeded());
  const TaskObservation killed = run(launch_of(3, "kill -SEGV $$"));
  EXPECT_EQ(killed.signal, SIGSEGV);
  EXPECT_EQ(killed.exit_code, 0);
  EXPECT_TRUE(killed.use.memory_peak.has_value());
  EXPECT_GE(killed.ended, killed.started);
  EXPECT_GT(killed.started, Seconds(0));
}

TEST_F(LocalExecutorTest, AnUnknownTaskIsAbsent) {
  const LiveTask task = {{5, 1, 0, 0}, {5, 1, 0}, "", "here"};
  EXPECT_EQ(observe(task).phase, TaskPhase::kAbsent);
  EXPECT_EQ(output(task), "");
}

TEST_F(LocalExecutorTest, LogsAreReadInPieces) {
  const LiveTask task = start(launch_of(1, "printf 0123456789; echo oops >&2"));
  wait_for_end(task);
  EXPECT_EQ(output(task), "0123456789");
  EXPECT_EQ(output(task, LogStream::kError), "oops\n");
  EXPECT_EQ(must(executor()->log(task, LogStream::kOutput, 4, 3)), "456");
  EXPECT_EQ(must(executor()->log(task, LogStream::kOutput, 10, 3)), "");
}

TEST_F(LocalExecutorTest, AJobSeesItsPlaceAndNothingOfOurs) {
  setenv("BERTH_SECRET", "ours", 1);
  Launch launch = launch_of(12, "env; pwd");
  launch.key.attempt = 3;
  launch.job_name = "bert \xFF large";
  launch.working_directory = folder_;
  launch.environment = {{"DATA", "a b\nc"}, {"HOME", "/nowhere"}};
  launch.peers = {"here", "there"};
  launch.tasks = {LaunchTask{.group = 1,
                             .task = 4,
                             .rank = 1,
                             .node = "here",
                             .devices = 0b1010,
                             .gpu_milli = MilliGpu(500),
                             .gpu_memory = MiB(20480),
                             .cpu = MilliCpu(1500),
                             .memory = MiB(2048)}};
  const LiveTask task = start(launch);
  EXPECT_TRUE(wait_for_end(task).succeeded());
  const std::string text = output(task);
  for (const char* line :
       {"CUDA_VISIBLE_DEVICES=1,3\n", "BERTH_GPU_SHARE=500\n", "BERTH_GPU_MEMORY_MIB=20480\n", "BERTH_CPUS=1.5\n",
        "BERTH_MEMORY_MIB=2048\n", "BERTH_JOB=12\n", "BERTH_JOB_NAME=bert \xFF large\n", "BERTH_ATTEMPT=3\n",
        "BERTH_TASK_GROUP=1\n", "BERTH_TASK=4\n", "BERTH_RANK=1\n", "BERTH_GANG_SIZE=2\n", "BERTH_PEERS=here,there\n",
        "BERTH_NODE=here\n", "BERTH_DONE_FILE=/", "DATA=a b\nc\n", "HOME=/nowhere\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
  EXPECT_EQ(text.find("BERTH_SECRET"), std::string::npos);
  EXPECT_TRUE(text.ends_with(folder_ + "\n"));
}

TEST_F(LocalExecutorTest, AGangOverSeveralSupervisors) {
  Launch launch = launch_of(1, "echo $BERTH_TASK");
  launch.tasks.clear();
  for (std::int32_t i = 0; i < 150; ++i) launch.tasks.push_back(task_number(i));
  start(launch);
  std::vector<LiveTask> tasks;
  for (const LaunchTask& task : launch.tasks) tasks.push_back({launch.key_of(task), launch.key, "", "here"});
  started_ = tasks;
  for (const LiveTask& task : tasks) {
    ASSERT_TRUE(wait_for_end(task).succeeded());
    ASSERT_EQ(output(task), std::to_string(task.key.task) + "\n");
  }
}

TEST_F(LocalExecutorTest, DeliveredTwiceStartsOnce) {
  const Launch launch = launch_of(1, "echo once >> " + path("count") + "; sleep 0.3");
  const LiveTask task = start(launch);
  for (int i = 0; i < 3; ++i) start(launch);
  EXPECT_TRUE(wait_for_end(task).succeeded());
  start(launch);
  must(executor()->launch(std::vector<Launch>{launch, launch}));
  EXPECT_EQ(content("count"), "once\n");
}

// The order's and the answer's descriptors are whatever is free in a process that has many files open.
TEST_F(LocalExecutorTest, ItStartsHoweverManyFilesAreOpen) {
  std::vector<Descriptor> open_files;
  for (std::int64_t job = 1; job <= 12; ++job) {
    open_files.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const Launch launch = launch_of(job, "true");
    const Delivery delivery = must(executor()->launch({&launch, 1})).at(0);
    EXPECT_EQ(delivery.state, DeliveryState::kDone) << open_files.back().get() << ": " << delivery.detail;
  }
}

// Its output has taken all the room that there is for records and requests.
TEST_F(LocalExecutorTest, AJobThatFillsTheDiskIsStopped) {
  const std::string folder = path("exec");
  std::filesystem::create_directory(folder);
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m,mode=0700") != 0) GTEST_SKIP() << "cannot mount a tmpfs";
  const LiveTask task = start(launch_of(1, "cat /dev/zero; while :; do sleep 0.1; done"));
  EXPECT_TRUE(wait_until([&] { return std::filesystem::space(folder).available == 0; }));
  const StopRequest stop{{task}, Seconds(5), ""};
  const Delivery told = must(executor()->stop({&stop, 1})).at(0);
  EXPECT_EQ(told.state, DeliveryState::kDone) << told.detail;
  const TaskObservation seen = wait_for_end(task);
  EXPECT_EQ(seen.signal, SIGTERM);
  EXPECT_TRUE(seen.was_told);
  EXPECT_EQ(umount2(folder.c_str(), MNT_DETACH), 0);
}

TEST_F(LocalExecutorTest, ATimeLimitEndsIt) {
  Launch launch = launch_of(1, "sleep 30");
  launch.time_limit = Seconds(1);
  const TaskObservation seen = run(launch);
  EXPECT_TRUE(seen.is_out_of_time);
  EXPECT_EQ(seen.signal, SIGTERM);
  EXPECT_FALSE(seen.succeeded());
}

TEST_F(LocalExecutorTest, AStopReachesEveryProcessThatIgnoresTheFirstWord) {
  const LiveTask task = start(launch_of(1, "trap '' TERM; (trap '' TERM; sleep 30 & echo $! > " + path("child") +
                                               "; wait) & echo ready; wait; sleep 30"));
  ASSERT_TRUE(wait_until([&] { return content("child").ends_with("\n") && output(task) == "ready\n"; }));
  const auto begin = std::chrono::steady_clock::now();
  must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(1), ""}}));
  EXPECT_EQ(wait_for_end(task).signal, SIGKILL);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  EXPECT_TRUE(wait_until([&] { return !is_running(content("child")); }));
}

// sh dies of TERM at once; what it started may still write its checkpoint.
TEST_F(LocalExecutorTest, GraceIsForAllOfATask) {
  const LiveTask task = start(launch_of(
      1, "sh -c 'trap \"sleep 0.3; echo saved; exit 0\" TERM; echo ready; while :; do sleep 0.05; done'; true"));
  ASSERT_TRUE(wait_until([&] { return output(task) == "ready\n"; }));
  must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(20), ""}}));
  EXPECT_EQ(wait_for_end(task).signal, SIGTERM);
  EXPECT_NE(output(task).find("saved"), std::string::npos);
}

// The same with a checkpoint signal: the program around which it was has not ended, and may yet be told to.
TEST_F(LocalExecutorTest, AProgramOutlivesTheShellThatItsSignalEnded) {
  const LiveTask task = start(launch_of(1, "sh -c 'trap \"sleep 1; echo saved >>" + path("saved") +
                                               "; exit 0\" USR1; echo ready; while :; do sleep 0.05; done'; true"));
  ASSERT_TRUE(wait_until([&] { return output(task) == "ready\n"; }));
  must(executor()->stop(std::vector<StopRequest>{{{task}, std::nullopt, "USR1"}}));
  EXPECT_EQ(wait_for_end(task).signal, SIGUSR1);
  EXPECT_EQ(content("saved"), "saved\n");
}

TEST_F(LocalExecutorTest, WhatOutlivesItsShellCanBeStoppedAndIsOutOfTime) {
  const std::string deaf = "sh -c 'trap : USR1; trap \"\" TERM; echo ready; while :; do sleep 0.05; done'; true";
  const LiveTask task = start(launch_of(1, deaf));
  Launch limited = launch_of(2, deaf);
  limited.time_limit = Seconds(2);
  const LiveTask late = start(limited);
  for (const LiveTask& each : {task, late}) {
    ASSERT_TRUE(wait_until([&] { return output(each) == "ready\n"; }));
    must(executor()->stop(std::vector<StopRequest>{{{each}, std::nullopt, "USR1"}}));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(observe(task).phase, TaskPhase::kRunning);
  must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(0), ""}}));
  EXPECT_EQ(wait_for_end(task).signal, SIGUSR1);
  EXPECT_TRUE(wait_for_end(late).is_out_of_time);
}

TEST_F(LocalExecutorTest, ATaskSaysThatItsWorkIsDone) {
  EXPECT_TRUE(run(launch_of(1, "echo done >$BERTH_DONE_FILE; exit 3")).said_done);
  EXPECT_FALSE(run(launch_of(2, "echo nearly done >$BERTH_DONE_FILE")).said_done);
  EXPECT_FALSE(run(launch_of(3, ":")).said_done);
  EXPECT_FALSE(run(launch_of(4, "mkfifo $BERTH_DONE_FILE")).said_done);
  EXPECT_FALSE(run(launch_of(5, "echo done >other; ln -s $PWD/other $BERTH_DONE_FILE")).said_done);
}

TEST_F(LocalExecutorTest, WhatATaskLeavesBehindEndsWithIt) {
  const LiveTask task = start(launch_of(1, "sleep 30 & echo $!"));
  EXPECT_TRUE(wait_for_end(task).succeeded());
  EXPECT_TRUE(wait_until([&] { return !is_running(output(task)); }));
}

TEST_F(LocalExecutorTest, ACheckpointSignalLeavesItRunning) {
  const LiveTask task = start(launch_of(1, "trap 'echo saved; exit 5' USR1; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(wait_until([&] { return output(task) == "ready\n"; }));
  const std::vector<StopRequest> unknown = {{{task}, std::nullopt, "NOSUCH"}};
  EXPECT_EQ(must(executor()->stop(unknown)).at(0).state, DeliveryState::kRefused);
  must(executor()->stop(std::vector<StopRequest>{{{task}, std::nullopt, "USR1"}}));
  EXPECT_EQ(wait_for_end(task).exit_code, 5);
  EXPECT_NE(output(task).find("saved"), std::string::npos);
}

TEST_F(LocalExecutorTest, StoppedBeforeItStartedItNeverStarts) {
  const Launch launch = launch_of(1, "echo ran");
  const LiveTask task = {{1, 1, 0, 0}, {1, 1, 0}, "", "here"};
  must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(1), ""}}));
  EXPECT_EQ(start(launch).key, task.key);
  const TaskObservation seen = observe(task);
  EXPECT_EQ(seen.phase, TaskPhase::kEnded);
  EXPECT_EQ(seen.signal, SIGTERM);
  EXPECT_EQ(output(task), "");
}

TEST_F(LocalExecutorTest, WhatIsAskedOfWhatHasEndedIsDone) {
  const LiveTask task = start(launch_of(1, "true"));
  wait_for_end(task);
  EXPECT_EQ(must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(1), ""}})).at(0).state,
            DeliveryState::kDone);
  EXPECT_TRUE(observe(task).succeeded());
}

TEST_F(LocalExecutorTest, MemoryIsLimited) {
  Launch launch = launch_of(1, "head -c 300000000 /dev/zero | tail -c 300000000 > /dev/null; echo $?");
  launch.tasks[0].memory = MiB(64);
  const LiveTask limited = start(launch);
  wait_for_end(limited);
  EXPECT_NE(output(limited), "0\n");
  launch.key.job = 2;
  const LiveTask free = start(launch, {{"limits", "none"}});
  EXPECT_GE(wait_for_end(free).use.memory_peak.value_or(MiB(0)), MiB(200));
  EXPECT_EQ(output(free), "0\n");
}

TEST_F(LocalExecutorTest, WhatCannotStartSaysWhy) {
  Launch launch = launch_of(1, "true");
  launch.working_directory = "/no/such/place";
  const TaskObservation seen = run(launch);
  EXPECT_EQ(seen.exit_code, 127);
  EXPECT_EQ(seen.detail, "working directory /no/such/place: No such file or directory");
  launch = launch_of(2, "true");
  launch.tasks[0].node = "there";
  const Delivery refused = must(executor()->launch({&launch, 1})).at(0);
  EXPECT_EQ(refused.state, DeliveryState::kRefused);
  EXPECT_EQ(refused.detail, "this machine is here, not 'there'");
}

TEST_F(LocalExecutorTest, ADiskThatRefusesLeavesItUnknown) {
  const Launch launch = launch_of(1, "true");
  std::filesystem::create_directory(path("exec"));
  std::ofstream(path("exec/tasks")) << "no folder";
  const Delivery unknown = must(executor()->launch({&launch, 1})).at(0);
  EXPECT_EQ(unknown.state, DeliveryState::kUnknown);
  EXPECT_NE(unknown.detail.find("Not a directory"), std::string::npos) << unknown.detail;
  std::filesystem::remove(path("exec/tasks"));
  EXPECT_TRUE(run(launch).succeeded());
}

TEST_F(LocalExecutorTest, AsManyPeersAsFitIntoAVariable) {
  Launch launch = launch_of(1, "echo \"$BERTH_GANG_SIZE:$BERTH_PEERS\"");
  launch.peers.assign(20000, "node-0001.example.org");
  const LiveTask task = start(launch);
  EXPECT_TRUE(wait_for_end(task).succeeded());
  EXPECT_EQ(output(task), "20000:\n");
}

TEST_F(LocalExecutorTest, ItsFoldersAreForItsUserAlone) {
  umask(0);
  run(launch_of(1, "true"));
  umask(022);
  struct stat folder = {};
  ASSERT_EQ(stat(path("exec").c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777U, 0700U);
}

TEST_F(LocalExecutorTest, AFolderOfSomebodyElseIsRefused) {
  const auto refusal = [&] {
    const ExecutorType& type = *must(find_executor_type("local"));
    const ExecutorContext context = {"local", test::kDatabase, path("exec"), "/proc/self/exe", &env_};
    return type.make(context, must(read_executor_options(type, {}))).status().message();
  };
  ASSERT_EQ(mkdir(path("exec").c_str(), 0700), 0);
  EXPECT_EQ(refusal(), "");
  ASSERT_EQ(chmod(path("exec").c_str(), 0770), 0);
  EXPECT_EQ(refusal(), path("exec") + ": others may write to it");
  ASSERT_EQ(rename(path("exec").c_str(), path("other").c_str()), 0);
  std::filesystem::create_directory_symlink(path("other"), path("exec"));
  EXPECT_EQ(refusal(), path("exec") + " is not a folder");
  std::filesystem::remove(path("exec"));
  if (geteuid() != 0) return;
  ASSERT_EQ(mkdir(path("exec").c_str(), 0700), 0);
  ASSERT_EQ(chown(path("exec").c_str(), 1234, 1234), 0);
  EXPECT_EQ(refusal(), path("exec") + " belongs to another user (number 1234)");
}

// What the job put in the place of its log is not read for it.
TEST_F(LocalExecutorTest, ALogThatIsALinkIsNotFollowed) {
  std::ofstream(path("shadow")) << "secret";
  const LiveTask task = start(launch_of(1, "rm ../stdout; ln -s " + path("shadow") + " ../stdout"));
  wait_for_end(task);
  const auto log = executor()->log(task, LogStream::kOutput, 0, 100);
  EXPECT_FALSE(log.ok() && log->find("secret") != std::string::npos);
}

// The script around the program dies of the signal, and the shell around that says so; the program saves its work.
TEST_F(LocalExecutorTest, WhatMindsASignalInAScriptHasAsLongAsItLasts) {
  std::ofstream(path("save.sh"))
      << "trap 'sleep 1; echo saved; exit 0' USR1\necho ready\nwhile :; do sleep 0.05; done\n";
  std::ofstream(path("script.sh")) << "sh " + path("save.sh") + "\necho end\n";
  const auto saves = [&](std::int64_t job, const std::string& command, const std::string& all_ready = "ready\n") {
    const LiveTask task = start(launch_of(job, "trap : USR1\n" + command));
    EXPECT_TRUE(wait_until([&] { return output(task) == all_ready; }));
    StopRequest signal{{task}, {}, "USR1"};
    signal.lasts = Seconds(20);
    must(executor()->stop(std::vector<StopRequest>{signal}));
    wait_for_end(task);
    return output(task);
  };
  EXPECT_NE(saves(1, "sh " + path("script.sh")).find("saved"), std::string::npos);
  EXPECT_NE(saves(2, "sh " + path("script.sh") + "; true").find("saved"), std::string::npos);
  const std::string both = "sh " + path("save.sh") + " & sh " + path("save.sh") + " & wait";
  EXPECT_NE(saves(3, both, "ready\nready\n").find("saved"), std::string::npos);
}

TEST_F(LocalExecutorTest, WhatSomebodyHasStoppedHearsASignal) {
  const LiveTask task = start(launch_of(1, "trap 'echo saved; exit 0' USR1; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(wait_until([&] { return output(task) == "ready\n"; }));
  signal_process_group(record(task).start->process, SIGSTOP);
  StopRequest signal{{task}, {}, "USR1"};
  signal.lasts = Seconds(20);
  must(executor()->stop(std::vector<StopRequest>{signal}));
  wait_for_end(task);
  EXPECT_EQ(output(task), "ready\nsaved\n");
}

TEST_F(LocalExecutorTest, TheNodesOfThisMachine) {
  const ExecutorOptions options = {
      {"node", "n[1-2]"}, {"fake_gpus", "4"}, {"fake_model", "H100"}, {"reserve_memory", "64MiB"}};
  const std::vector<InventoryNode> nodes = must(executor(options)->inventory());
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].name, "n2");
  EXPECT_EQ(nodes[1].devices, 4);
  EXPECT_EQ(nodes[1].model, "H100");
  EXPECT_GT(nodes[1].cpu, MilliCpu(0));
  EXPECT_GT(nodes[1].memory, MiB(0));
  const std::vector<std::string> asked = {"n2", "n3"};
  const Observation seen = must(executor(options)->observe({}, asked));
  EXPECT_TRUE(seen.nodes.at(0).is_ready);
  EXPECT_FALSE(seen.nodes.at(1).is_ready);
  EXPECT_EQ(seen.nodes.at(1).detail, "this machine is n1, n2");
}

TEST_F(LocalExecutorTest, ASupervisorIsNotStartedByHand) {
  const ProcessOutput said = must(run_process({.command = {"/proc/self/exe", "--supervise"}}));
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_EQ(said.error, "--supervise is how Berth starts a supervisor of tasks; it is of no use by hand\n");
}

// With a program of that name in PATH.
TEST_F(LocalExecutorTest, GpusAreNamedToTasksByUuid) {
  std::ofstream(path("nvidia-smi")) << "#!/bin/sh\ncat tests/unit/exec/nvidia_smi/a100_mig_on.xml\n";
  std::filesystem::permissions(path("nvidia-smi"), std::filesystem::perms::owner_all);
  const std::string before = getenv("PATH");
  setenv("PATH", (folder_ + ":" + before).c_str(), 1);
  const InventoryNode node = must(executor()->inventory()).at(0);
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(node.devices, 2);
  EXPECT_EQ(node.model, "A100");
  EXPECT_EQ(node.device_memory, MiB(81920));
  EXPECT_EQ(node.detail, "GPU 00000000:0F:00.0 left out: MIG is on (3 instances)");
  Launch launch = launch_of(1, "echo $CUDA_VISIBLE_DEVICES");
  launch.tasks[0].devices = 0b10;
  const LiveTask task = start(launch);
  wait_for_end(task);
  EXPECT_EQ(output(task), "GPU-5a17c002-1f2e-3d4c-5b6a-000090ab0002\n");
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  if (berth::is_supervisor_call(count, arguments)) return berth::supervise();
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
