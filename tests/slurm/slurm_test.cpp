// The slurm executor against a real Slurm: every command appends to a file of its own, and each file has to end up with
// exactly one line.

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "engine/base/text.h"
#include "engine/exec/slurm_outcome.h"
#include "tests/slurm/slurm_fixture.h"

namespace berth {
namespace {

using test::cluster;
using test::eventually;
using test::must;
using test::shell;
using test::Slurm;

TEST_F(Slurm, AJobRunsOnceWithItsNodeDevicesAndEnvironment) {
  const Launch launch = launch_of(
      7,
      R"(echo "$SLURMD_NODENAME|$BERTH_NODE|$CUDA_VISIBLE_DEVICES|$BERTH_JOB|$BERTH_JOB_NAME|$BERTH_ATTEMPT|$BERTH_TASK_GROUP|$BERTH_TASK|$BERTH_RANK|$BERTH_GANG_SIZE|$BERTH_PEERS|$BERTH_CPUS|$BERTH_MEMORY_MIB|$BERTH_GPU_SHARE|$BERTH_GPU_MEMORY_MIB|$WORDS" >>$OUT; echo said; echo wrong >&2; exit 3)",
      {{"n3", 0b1100, 2}});
  const Delivery first = deliver(launch);
  ASSERT_EQ(first.state, DeliveryState::kDone) << first.detail;
  // Again, by this process and by another one that knows nothing.
  EXPECT_EQ(deliver(launch).external, first.external);
  executor_ = make({});
  EXPECT_EQ(deliver(launch).external, first.external);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  const TaskObservation seen = look(launch).front();
  EXPECT_EQ(seen.exit_code, 3);
  EXPECT_EQ(seen.signal, 0);
  EXPECT_EQ(seen.node, "n3");
  EXPECT_EQ(seen.external, first.external);
  EXPECT_GE(seen.started, Seconds(1));
  EXPECT_GE(seen.ended, seen.started);
  EXPECT_EQ(out(7), "n3|n3|0,1|7|train it's|1|0|0|0|1|n3|2|100|1000|40960|a 'b' \"c\" $d\n");
  EXPECT_EQ(must(executor_->log(live(launch).front(), LogStream::kOutput, 0, 100)), "said\n");
  EXPECT_EQ(must(executor_->log(live(launch).front(), LogStream::kError, 2, 3)), "ong");
  EXPECT_EQ(shell("squeue -h -t all -o %j -n " + print_key(tag_, launch.key)), print_key(tag_, launch.key) + "\n");
  ASSERT_TRUE(executor_->forget(live(launch)).ok());
  EXPECT_EQ(deliver(launch).external, first.external);
}

TEST_F(Slurm, AJobGetsNothingOfOurEnvironmentAndNobodyReadsIts) {
  setenv("BERTH_SECRET", "ours", 1);
  const Launch launch = launch_of(38, "env >>$OUT", {{"n1"}, {"n2"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  unsetenv("BERTH_SECRET");
  EXPECT_NE(out(38).find("BERTH_JOB=38"), std::string::npos);
  EXPECT_EQ(out(38).find("BERTH_SECRET"), std::string::npos);
  const std::string folder = folder_ + "/" + print_key(tag_, launch.key);
  EXPECT_EQ(shell("stat -c %a " + folder), "700\n");
  EXPECT_EQ(shell("stat -c %a " + folder + "/script"), "600\n");
}

// Whatever bash makes of the name, and to nobody but the job.
TEST_F(Slurm, AJobsVariablesArriveAsTheyAre) {
  Launch launch = launch_of(46, "printenv >$OUT; sleep 1", {{"n1"}});
  const std::vector<std::pair<std::string, std::string>> odd = {
      {"RANDOM", "7"},   {"UID", "12"}, {"FOLDER", "a\nb"}, {"SECONDS", "x"}, {"PATH", "/p:/bin:/usr/bin"},
      {"QUOTE", "'\"$x"}};
  launch.environment.insert(launch.environment.end(), odd.begin(), odd.end());
  launch.environment.emplace_back("TOKEN", "hush-" + tag_);
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  std::string seen;
  ASSERT_TRUE(eventually([&] {
    seen += shell("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '");
    return !out(46).empty();
  }));
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  for (const auto& [name, value] : odd) EXPECT_NE(out(46).find(name + "=" + value + "\n"), std::string::npos) << name;
  EXPECT_EQ(seen.find("hush-" + tag_), std::string::npos);
}

TEST_F(Slurm, AGangOfDifferentShapesStartsTogetherEachTaskWithItsOwn) {
  // n2: two tasks with two devices each, n1 and n4: one task with one; and a task without any.
  const Launch launch =
      launch_of(8, R"(echo "$BERTH_RANK $SLURMD_NODENAME [$CUDA_VISIBLE_DEVICES] $BERTH_PEERS" >>$OUT)",
                {{"n1", 0b1, 2}, {"n2", 0b0011, 2}, {"n2", 0b1100, 2}, {"n4", 0b10, 2}, {"n4", 0, 1}});
  const Delivery delivery = deliver(launch);
  ASSERT_EQ(delivery.state, DeliveryState::kDone) << delivery.detail;
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded)) << shell("squeue -t all");
  for (const TaskObservation& task : look(launch)) EXPECT_TRUE(task.succeeded()) << task.detail;
  EXPECT_EQ(shell("sort " + folder_ + "/out.8"),
            "0 n1 [0] n1,n2,n2,n4,n4\n1 n2 [0,1] n1,n2,n2,n4,n4\n2 n2 [2,3] n1,n2,n2,n4,n4\n"
            "3 n4 [0] n1,n2,n2,n4,n4\n4 n4 [] n1,n2,n2,n4,n4\n");
}

TEST_F(Slurm, AnAmbiguousSubmissionRunsOnce) {
  // An sbatch that submits and then says that it got no answer; one that only says so.
  std::filesystem::create_directories(folder_ + "/bin");
  const std::string real = shell("command -v sbatch | tr -d '\\n'");
  std::ofstream(folder_ + "/bin/sbatch") << "#!/bin/sh\n[ ! -e " << folder_ << "/lost ] && " << real
                                         << " \"$@\" >/dev/null\n"
                                         << "echo 'sbatch: error: Batch job submission failed: Socket timed out on "
                                            "send/recv operation' >&2\nexit 1\n";
  std::filesystem::permissions(folder_ + "/bin/sbatch", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder_ + "/bin:" + path).c_str(), 1);
  const Launch done = launch_of(1, "echo ran >>$OUT", {{"n1"}});
  EXPECT_EQ(deliver(done).state, DeliveryState::kDone);
  std::ofstream(folder_ + "/lost") << "";
  const Launch lost = launch_of(2, "echo ran >>$OUT", {{"n1"}});
  const Delivery unknown = deliver(lost);
  EXPECT_EQ(unknown.state, DeliveryState::kUnknown);
  EXPECT_NE(unknown.detail.find("Socket timed out"), std::string::npos) << unknown.detail;
  EXPECT_EQ(look(lost).front().phase, TaskPhase::kAbsent);
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(deliver(lost).state, DeliveryState::kDone);
  // A twin that arrives late finds the claim taken.
  const std::string twin = "cd / && sbatch --parsable -J " + print_key(tag_, done.key) + " -o /dev/null -w n1 " +
                           folder_ + "/" + print_key(tag_, done.key) + "/script";
  ASSERT_TRUE(comes_to(done, TaskPhase::kEnded) && comes_to(lost, TaskPhase::kEnded));
  shell(twin);
  EXPECT_TRUE(eventually([&] { return shell("squeue -h -n " + print_key(tag_, done.key)).empty(); }));
  EXPECT_TRUE(look(done).front().succeeded());
  EXPECT_EQ(out(1), "ran\n");
  EXPECT_EQ(out(2), "ran\n");
}

TEST_F(Slurm, WhatSlurmRefusesIsRefusedForGood) {
  Launch launch = launch_of(3, "echo ran >>$OUT", {{"n1"}});
  launch.tasks.front().memory = MiB(100'000'000);
  const Delivery refused = deliver(launch);
  EXPECT_EQ(refused.state, DeliveryState::kRefused);
  EXPECT_NE(refused.detail.find("Memory specification"), std::string::npos) << refused.detail;
  EXPECT_EQ(deliver(launch).state, DeliveryState::kRefused);
  // What the nodes have may change.
  EXPECT_EQ(deliver(launch_of(5, "true", {{"n1", 0b11111}})).state, DeliveryState::kUnknown);
  Launch share = launch_of(4, "true", {{"n1", 0b1}});
  share.tasks.front().gpu_milli = MilliGpu(500);
  EXPECT_EQ(deliver(share).state, DeliveryState::kRefused);
}

TEST_F(Slurm, SignalsReachTheTasksAndTheGraceIsOurs) {
  const Launch launch =
      launch_of(5, "trap 'echo saved >>$OUT' USR1; trap '' TERM; echo up >>$OUT; while :; do sleep 0.1; done",
                {{"n1", 0b1}, {"n2", 0b1}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return out(5) == "up\nup\n"; }));
  EXPECT_TRUE(comes_to(launch, TaskPhase::kRunning));
  StopRequest request{live(launch), std::nullopt, "USR1"};
  EXPECT_EQ(must(executor_->stop({&request, 1})).front().state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return out(5) == "up\nup\nsaved\nsaved\n"; })) << out(5);
  EXPECT_TRUE(all(launch, TaskPhase::kRunning));
  // One of the two, and after its grace.
  request = {{live(launch)[1]}, Seconds(1), ""};
  EXPECT_EQ(must(executor_->stop({&request, 1})).front().state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return look(launch)[1].phase == TaskPhase::kEnded; }));
  EXPECT_EQ(look(launch)[1].signal, 9);
  EXPECT_EQ(look(launch)[0].phase, TaskPhase::kRunning);
  request = {live(launch), Seconds(0), ""};
  EXPECT_EQ(must(executor_->stop({&request, 1})).front().state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  EXPECT_EQ(must(executor_->stop({&request, 1})).front().state, DeliveryState::kDone);
}

// The program runs below /bin/sh, which a signal ends at once: it has its grace, and the task has ended when it has.
TEST_F(Slurm, SignalsAndEndsReachTheWholeGroup) {
  std::filesystem::create_directories(folder_);
  const std::string program = folder_ + "/train.sh";
  std::ofstream(program) << "#!/bin/sh\ntrap 'sleep 1; echo saved >>$OUT; exit 0' USR1\ntrap 'echo told >>$OUT' TERM\n"
                            "echo up >>$OUT\nwhile :; do date +%s%N >>$OUT.beat; sleep 0.1; done\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const auto beats = [&](std::int64_t job) {
    return read_whole_file(folder_ + "/out." + std::to_string(job) + ".beat");
  };
  const auto start = [&](std::int64_t job, Seconds limit) {
    Launch launch = launch_of(job, program + "; true", {{"n1", 0b1}});
    launch.time_limit = limit;
    EXPECT_EQ(deliver(launch).state, DeliveryState::kDone);
    return launch;
  };
  const Launch saves = start(31, Seconds(0));
  const Launch stopped = start(32, Seconds(0));
  const Launch late = start(33, Seconds(3));
  ASSERT_TRUE(eventually([&] { return out(31) == "up\n" && out(32) == "up\n" && out(33).starts_with("up\n"); }));
  const StopRequest save{live(saves), std::nullopt, "USR1"};
  const StopRequest end{live(stopped), Seconds(2), ""};
  EXPECT_EQ(must(executor_->stop({&save, 1})).front().state, DeliveryState::kDone);
  EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
  for (const Launch& launch : {saves, stopped, late}) ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  EXPECT_EQ(out(31), "up\nsaved\n");
  EXPECT_EQ(out(32), "up\ntold\n");
  EXPECT_EQ(out(33), "up\ntold\n");
  EXPECT_TRUE(look(saves).front().was_told && look(stopped).front().was_told && !look(late).front().was_told);
  EXPECT_TRUE(look(late).front().is_out_of_time);
  // Nothing runs on.
  const auto before = std::vector{beats(31), beats(32), beats(33)};
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(before, (std::vector{beats(31), beats(32), beats(33)}));
}

// Also one that is deaf to TERM, below a shell that is not, and whatever Slurm kills of the job by itself.
TEST_F(Slurm, WhatSlurmCancelsEndsWhole) {
  std::filesystem::create_directories(folder_);
  const std::string program = folder_ + "/deaf.sh";
  std::ofstream(program) << "#!/bin/sh\ntrap '' TERM\nwhile :; do echo up >>$OUT; sleep 0.1; done\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Launch launch = launch_of(39, program + "; true", {{"n1"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return !out(39).empty(); }));
  shell("scancel -n " + print_key(tag_, launch.key));
  EXPECT_TRUE(eventually([&] {
    const bool had_ended = all(launch, TaskPhase::kEnded);
    const std::string before = out(39);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_TRUE(!had_ended || out(39) == before) << "it ended and ran on";
    return out(39) == before;
  }));
}

// No signal of Slurm's reaches its script then, and after a while Slurm says that it was cancelled.
TEST_F(Slurm, WhoseDaemonHasDiedEndsWhenAsked) {
  const Launch launch = launch_of(64, "while :; do echo up >>$OUT; sleep 0.1; done", {{"n1"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return !out(64).empty(); }));
  shell("pkill -KILL -f \"slurmstepd: .$(squeue -h -o %A -n " + print_key(tag_, launch.key) + ")\\.\"");
  const StopRequest stop{.tasks = live(launch), .grace = Seconds(1), .signal = "", .lasts = {}};
  EXPECT_EQ(must(executor_->stop({&stop, 1})).front().state, DeliveryState::kDone);
  EXPECT_TRUE(eventually([&] { return all(launch, TaskPhase::kEnded); }, 20));
  const std::string before = out(64);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(out(64), before) << "it ended and ran on";
}

// Nobody tells Slurm then that it is over.
TEST_F(Slurm, WhoseDaemonHasDiedLeavesItsNode) {
  const Launch launch = launch_of(65, "echo up >>$OUT; sleep 1", {{"n1"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return !out(65).empty(); }));
  const std::string name = print_key(tag_, launch.key);
  shell("pkill -KILL -f \"slurmstepd: .$(squeue -h -o %A -n " + name + ")\\.\"");
  ASSERT_TRUE(eventually([&] { return all(launch, TaskPhase::kEnded); }, 20));
  if (shell("squeue -h -t R -n " + name).empty()) GTEST_SKIP() << "this Slurm has seen it";
  ASSERT_TRUE(executor_->forget(live(launch)).ok());
  must(executor_->observe({}, {}));
  EXPECT_NE(shell("squeue -h -t R -n " + name), "") << "it may be about to leave";
  // The runner may still write there.
  EXPECT_TRUE(eventually([&] {
    shell("touch -d '2 minutes ago' " + folder_ + "/" + name);
    must(executor_->observe({}, {}));
    return shell("squeue -h -t R -n " + name).empty();
  }));
}

// Slurm then tells the steps to end, and says that the job has failed.
TEST_F(Slurm, WhoseScriptIsKilledIsLost) {
  const Launch saves =
      launch_of(51, "trap 'exit 0' TERM; echo up >>$OUT; while :; do sleep 0.1; done", {{"n1"}, {"n2"}});
  const Launch differs = launch_of(52, "echo up >>$OUT; exec sleep 60", {{"n3"}, {"n4", 0, 2}});
  for (const Launch* const launch : {&saves, &differs}) {
    ASSERT_EQ(deliver(*launch).state, DeliveryState::kDone);
    ASSERT_TRUE(eventually([&] { return out(launch->key.job) == "up\nup\n"; }));
    const std::string claim = *SlurmLaunchFolder(folder_ + "/" + print_key(tag_, launch->key)).claim();
    shell("kill -9 " + std::string(split(claim, '.').at(2)));
  }
  // What its folder may say yet is waited for.
  const int patience = static_cast<int>(kRecordPatience.value()) + 20;
  EXPECT_TRUE(eventually([&] { return all(saves, TaskPhase::kVanished); }, patience));
  EXPECT_TRUE(eventually([&] { return all(differs, TaskPhase::kVanished); }, patience));
}

// A step hears CONT then, as when Slurm ends it.
TEST_F(Slurm, WhoWasSuspendedOnSeveralNodesEndsByItself) {
  const Launch launch = launch_of(53, "echo up >>$OUT; sleep 2; exit $BERTH_RANK", {{"n1"}, {"n2"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return out(53) == "up\nup\n"; }));
  shell("id=$(squeue -h -o %A -n " + print_key(tag_, launch.key) +
        "); scontrol suspend $id; sleep 1; scontrol resume $id");
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  EXPECT_TRUE(look(launch).at(0).succeeded());
  EXPECT_EQ(look(launch).at(1).exit_code, 1);
}

// One that was killed knows no more that it had started the job, and nothing tells its script that this is another
// time.
TEST_F(Slurm, AJobThatItsControllerStartsAgainDoesNotRunAgain) {
  const Launch launch = launch_of(38, "echo ran >>$OUT", {{"n1"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  const std::string folder = folder_ + "/" + print_key(tag_, launch.key);
  const std::string id = std::to_string(*job_of_claim(SlurmLaunchFolder(folder).claim()));
  shell("cd / && SLURM_JOB_ID=" + id + " SLURMD_NODENAME=n1 bash " + folder + "/script");
  EXPECT_EQ(out(38), "ran\n");
}

// As where a controller restarts before it has told the node: scancel has said that all is well.
TEST_F(Slurm, ASignalThatIsLostIsFollowedByACancellation) {
  std::filesystem::create_directories(folder_ + "/bin");
  const std::string real = shell("command -v scancel | tr -d '\\n'");
  std::ofstream(folder_ + "/bin/scancel") << "#!/bin/sh\ncase \"$*\" in *--signal=*) [ -e " << folder_
                                          << "/dies ] && kill -KILL $$; exit 0 ;; esac\nexec " << real << " \"$@\"\n";
  std::filesystem::permissions(folder_ + "/bin/scancel", std::filesystem::perms::owner_all);
  const Launch launch = launch_of(36, "trap '' TERM; while :; do echo up >>$OUT; sleep 0.1; done", {{"n1"}, {"n2"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kRunning));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // when they begin, scripts look without being told
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder_ + "/bin:" + path).c_str(), 1);
  StopRequest stop{.tasks = live(launch), .grace = Seconds(1), .signal = "", .lasts = {}};
  std::ofstream(folder_ + "/dies") << "";
  EXPECT_EQ(must(executor_->stop({&stop, 1})).front().state, DeliveryState::kUnknown) << "scancel was killed";
  std::filesystem::remove(folder_ + "/dies");
  EXPECT_EQ(must(executor_->stop({&stop, 1})).front().state, DeliveryState::kDone);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_TRUE(all(launch, TaskPhase::kRunning)) << "nobody has heard of it";
  stop.is_overdue = true;
  EXPECT_EQ(must(executor_->stop({&stop, 1})).front().state, DeliveryState::kDone);
  setenv("PATH", path.c_str(), 1);
  // Whose watcher is killed before it notes the end is given kRecordPatience.
  EXPECT_TRUE(eventually([&] { return all(launch, TaskPhase::kEnded); }, 45)) << shell("squeue -t all");
}

TEST_F(Slurm, WhatATaskLeavesBehindGoesAndItMaySayThatItIsDone) {
  const Launch launch = launch_of(34, "sleep 300 & echo done >$BERTH_DONE_FILE; exit 130", {{"n2"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  const TaskObservation seen = look(launch).front();
  EXPECT_EQ(seen.exit_code, 130);
  EXPECT_EQ(seen.signal, 0);
  EXPECT_TRUE(seen.said_done);
  EXPECT_EQ(shell("pgrep -fx 'sleep [3]00'"), "");
  const Launch killed = launch_of(35, "kill -INT $$", {{"n2"}});
  ASSERT_EQ(deliver(killed).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(killed, TaskPhase::kEnded));
  EXPECT_EQ(look(killed).front().signal, 2);
}

// As launchers start their workers in sessions of their own: by its end, after CANCEL and at its time limit.
TEST_F(Slurm, WhatLeavesTheGroupEndsWithItsTask) {
  const std::string apart = "setsid sh -c 'trap \"\" TERM; while :; do echo up >>$OUT; sleep 0.1; done' & ";
  const auto start = [&](std::int64_t job, const std::string& rest, Seconds limit) {
    Launch launch = launch_of(job, apart + rest, {{"n1", 0b1}});
    launch.time_limit = limit;
    EXPECT_EQ(deliver(launch).state, DeliveryState::kDone);
    return launch;
  };
  const Launch ends = start(43, "until [ -s $OUT ]; do sleep 0.1; done", Seconds(0));
  const Launch stopped = start(44, "wait", Seconds(0));
  const Launch late = start(45, "wait", Seconds(2));
  ASSERT_TRUE(eventually([&] { return !out(43).empty() && !out(44).empty() && !out(45).empty(); }));
  const StopRequest end{live(stopped), Seconds(1), ""};
  EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
  for (const Launch& launch : {ends, stopped, late}) ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  EXPECT_EQ(look(ends).front().exit_code, 0);
  const auto before = std::vector{out(43), out(44), out(45)};
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(before, (std::vector{out(43), out(44), out(45)}));
}

TEST_F(Slurm, MaintenanceRefusesNothing) {
  shell("scontrol update PartitionName=berth State=INACTIVE");
  const Launch launch = launch_of(36, "echo ran >>$OUT", {{"n1"}});
  const Delivery delivery = deliver(launch);
  EXPECT_EQ(delivery.state, DeliveryState::kUnknown) << delivery.detail;
  EXPECT_NE(delivery.detail.find("inactive"), std::string::npos) << delivery.detail;
  shell("scontrol update PartitionName=berth State=DOWN");
  executor_ = make({{"pending_limit", "0s"}});
  EXPECT_EQ(deliver(launch).state, DeliveryState::kDone);
  EXPECT_TRUE(eventually([&] {
    const TaskObservation seen = look(launch).front();
    return seen.is_stuck && seen.detail.find("PartitionDown") != std::string::npos;
  })) << look(launch).front().detail;
  shell("scontrol update PartitionName=berth State=UP");
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  EXPECT_EQ(out(36), "ran\n");
}

// A controller that has lost its state gives ids out again.
TEST_F(Slurm, AnIdThatIsAnothersIsLeftAlone) {
  std::filesystem::create_directories(folder_);
  const std::string words = folder_ + "/foreign";
  const std::string foreign =
      shell("cd / && sbatch --parsable -J someones -o /dev/null -w n4 --wrap \"trap 'echo woken >>" + words +
            "' CONT; while :; do sleep 0.1; done\"");
  const std::string id = foreign.substr(0, foreign.find('\n'));
  ASSERT_TRUE(eventually([&] { return shell("squeue -h -o %T -j " + id) == "RUNNING\n"; }));
  const Launch launch = launch_of(37, "sleep 60", {{"n1"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kRunning));
  const std::string claim = folder_ + "/" + print_key(tag_, launch.key) + "/claim";
  std::filesystem::remove(claim);
  std::filesystem::create_symlink(id + ".0", claim);
  const StopRequest end{live(launch), Seconds(0), ""};
  EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(shell("squeue -h -o %T -j " + id), "RUNNING\n");
  EXPECT_EQ(read_whole_file(words), std::nullopt);
}

TEST_F(Slurm, AJobThatIsRenamedIsOursAllTheSame) {
  const Launch launch =
      launch_of(50, "scontrol update JobId=$SLURM_JOB_ID JobName=mine; echo up >>$OUT; sleep 300", {{"n1", 0b1}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return out(50) == "up\n"; }));
  ASSERT_EQ(shell("squeue -h -o %j"), "mine\n");
  const std::vector<std::string> nodes = {"n1"};
  EXPECT_TRUE(must(executor_->observe(live(launch), nodes)).foreign.empty());
  EXPECT_TRUE(all(launch, TaskPhase::kRunning));
  const StopRequest end{live(launch), Seconds(0), ""};
  EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
  EXPECT_TRUE(comes_to(launch, TaskPhase::kEnded));
}

// It has the environment of the task, by which Berth knows what is left of one.
TEST_F(Slurm, AJobThatATaskSubmitsIsNotItsOwn) {
  const Launch launch = launch_of(
      51,
      "sbatch --quiet --nodelist=n1 --mem=10 --output=/dev/null --wrap='echo began >>$OUT; sleep 4; echo done "
      ">>$OUT'; for i in $(seq 100); do grep -q began $OUT && break; sleep 0.1; done",
      {{"n1", 0b1}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  EXPECT_TRUE(comes_to(launch, TaskPhase::kEnded));
  EXPECT_TRUE(eventually([&] { return out(51) == "began\ndone\n"; })) << out(51);
}

TEST_F(Slurm, WhatHasNotStartedNeverDoes) {
  // The second one waits in Slurm for the devices of the first.
  const Launch holder = launch_of(11, "sleep 60", {{"n1", 0b1111}});
  const Launch waiting = launch_of(12, "echo ran >>$OUT", {{"n1", 0b1}});
  const std::vector<Launch> both = {holder, waiting};
  executor_ = make({{"pending_limit", "0s"}, {"parallel", "1"}});
  for (const Delivery& delivery : must(executor_->launch(both))) EXPECT_EQ(delivery.state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(holder, TaskPhase::kRunning));
  EXPECT_TRUE(eventually([&] { return look(waiting).front().detail.find("Slurm's own queue") != std::string::npos; }));
  EXPECT_EQ(look(waiting).front().phase, TaskPhase::kStarting);
  // One that was never delivered either.
  const Launch never = launch_of(13, "echo ran >>$OUT", {{"n2"}});
  const std::vector<StopRequest> requests = {{live(waiting), Seconds(5), ""}, {live(never), Seconds(5), ""}};
  for (const Delivery& delivery : must(executor_->stop(requests))) EXPECT_EQ(delivery.state, DeliveryState::kDone);
  EXPECT_TRUE(comes_to(waiting, TaskPhase::kEnded));
  EXPECT_EQ(deliver(never).state, DeliveryState::kRefused);
  const StopRequest end{live(holder), Seconds(0), ""};
  const Delivery ended = must(executor_->stop({&end, 1})).front();
  EXPECT_EQ(ended.state, DeliveryState::kDone) << ended.detail;
  EXPECT_TRUE(comes_to(holder, TaskPhase::kEnded));
  EXPECT_EQ(out(12) + out(13), "");
}

TEST_F(Slurm, TheTimeLimitIsHeldToTheSecond) {
  Launch launch = launch_of(6, "echo up >>$OUT; sleep 60", {{"n1"}});
  launch.time_limit = Seconds(1);
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  const TaskObservation seen = look(launch).front();
  EXPECT_TRUE(seen.is_out_of_time);
  EXPECT_EQ(seen.signal, 15);
  EXPECT_LE(seen.ended - seen.started, Seconds(3));
}

TEST_F(Slurm, ForeignJobsDrainsAndCancellationsAreSeen) {
  const std::string foreign =
      shell("cd / && sbatch --parsable -J someones -o /dev/null -w n4 -c2 --mem=300 --gres=gpu:2 --wrap 'sleep 60'");
  const Launch launch = launch_of(9, "sleep 60", {{"n1", 0b1}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  const std::vector<std::string> nodes = {"n1", "n3", "n4", "n9"};
  Observation seen;
  ASSERT_TRUE(eventually([&] {
    seen = must(executor_->observe({}, nodes));
    return seen.foreign.size() == 1 && seen.unknown_tasks.size() == 1 &&
           seen.unknown_tasks.front().phase == TaskPhase::kRunning;
  }));
  EXPECT_EQ(seen.foreign.front().what, "slurm job " + foreign.substr(0, foreign.find('\n')) + " of root");
  EXPECT_EQ(seen.foreign.front().node, "n4");
  EXPECT_EQ(seen.foreign.front().cpu, MilliCpu(2000));
  EXPECT_EQ(seen.foreign.front().memory, MiB(300));
  EXPECT_EQ(seen.foreign.front().gpu_count, 2);
  EXPECT_EQ(seen.foreign.front().devices, 0b11u);
  EXPECT_EQ(seen.unknown_tasks.front().key, live(launch).front().key);
  EXPECT_EQ(seen.unknown_tasks.front().node, "n1");
  EXPECT_TRUE(seen.nodes[0].is_ready && !seen.nodes[0].is_cordoned);
  EXPECT_TRUE(seen.nodes[3].is_cordoned) << "sinfo does not list it";

  shell("scontrol update NodeName=n3 State=DRAIN Reason='fan broken'");
  seen = must(executor_->observe({}, nodes));
  EXPECT_TRUE(seen.nodes[1].is_cordoned);
  EXPECT_EQ(seen.nodes[1].detail, "drained: fan broken");
  shell("scontrol update NodeName=n3 State=RESUME");

  shell("scancel -n " + print_key(tag_, launch.key));
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  // Of the task's shell and what it runs either may get the signal first; then the other one exits with it as its code.
  const TaskObservation ended = look(launch).front();
  EXPECT_TRUE(ended.signal == 15 || ended.exit_code == 128 + 15) << ended.signal << ", " << ended.exit_code;
}

TEST_F(Slurm, OurDrainsAreSetAndTakenBackAndOnlyOurs) {
  const std::vector<std::string> nodes = {"n1", "n3", "n9"};
  shell("scontrol update NodeName=n3 State=DRAIN Reason='fan broken'");
  for (int time = 0; time < 2; ++time) {
    const std::vector<Delivery> said = must(executor_->cordon(nodes, true, "memory\nerrors, \"bank\" 3"));
    EXPECT_EQ(said[0].state, DeliveryState::kDone) << said[0].detail;
    EXPECT_EQ(said[1].state, DeliveryState::kRefused);
    EXPECT_NE(said[1].detail.find("fan broken"), std::string::npos) << said[1].detail;
    EXPECT_EQ(said[2].state, DeliveryState::kRefused);
  }
  EXPECT_EQ(shell("sinfo -h -N -n n1 -o '%T|%E' | tr -d '*'"),
            "drained|berth-" + tag_ + ": memory errors, \"bank\" 3\n");
  const Observation seen = must(executor_->observe({}, nodes));
  EXPECT_TRUE(seen.nodes[0].has_our_cordon && !seen.nodes[0].is_cordoned);
  EXPECT_TRUE(!seen.nodes[1].has_our_cordon && seen.nodes[1].is_cordoned);
  for (int time = 0; time < 2; ++time) {
    const std::vector<Delivery> said = must(executor_->cordon(nodes, false, ""));
    EXPECT_EQ(said[0].state, DeliveryState::kDone) << said[0].detail;
    EXPECT_EQ(said[1].state, DeliveryState::kDone);
  }
  EXPECT_EQ(shell("sinfo -h -N -n n1,n3 -o '%N|%T|%E' | tr -d '*'"), "n1|idle|none\nn3|drained|fan broken\n");
  shell("scontrol update NodeName=n3 State=RESUME");
}

TEST_F(Slurm, ItsNodesAreAnInventory) {
  const std::vector<InventoryNode> rows = must(executor_->inventory());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].name, "n2");
  EXPECT_EQ(rows[1].cpu, MilliCpu(8000));
  EXPECT_EQ(rows[1].memory, MiB(16000));
  EXPECT_EQ(rows[1].devices, 4);
  EXPECT_EQ(rows[1].model, "a100");
  EXPECT_EQ(rows[1].pool, "berth");
  EXPECT_TRUE(rows[1].is_ready);
}

TEST_F(Slurm, AControllerThatRestartsLosesNothing) {
  const Launch launch = launch_of(10, "echo up >>$OUT; sleep 3; echo done >>$OUT", {{"n1"}, {"n2"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return out(10) == "up\nup\n"; }));
  ASSERT_TRUE(cluster().verb({"stop-controller"}).ok());
  executor_ = make({{"timeout", "2s"}});
  const Launch meanwhile = launch_of(14, "echo ran >>$OUT", {{"n3"}});
  EXPECT_FALSE(executor_->observe(live(launch), {}).ok());
  EXPECT_FALSE(executor_->launch({&meanwhile, 1}).ok());
  EXPECT_FALSE(executor_->launch({&meanwhile, 1}).ok());
  ASSERT_TRUE(cluster().verb({"start-controller"}).ok());
  executor_ = make({});
  EXPECT_EQ(deliver(meanwhile).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  ASSERT_TRUE(comes_to(meanwhile, TaskPhase::kEnded));
  for (const TaskObservation& task : look(launch)) EXPECT_TRUE(task.succeeded());
  EXPECT_EQ(out(10), "up\nup\ndone\ndone\n");
  EXPECT_EQ(out(14), "ran\n");
}

TEST_F(Slurm, ADeadNodeTakesItsTasksWithIt) {
  const Launch launch = launch_of(15, "echo up >>$OUT; sleep 60; echo done >>$OUT", {{"n4"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return out(15) == "up\n"; }));
  ASSERT_TRUE(cluster().verb({"set", "SlurmdTimeout", "6"}).ok());
  ASSERT_TRUE(cluster().verb({"kill-node", "n4"}).ok());
  const std::vector<std::string> nodes = {"n4"};
  EXPECT_TRUE(eventually(
      [&] {
        const Observation seen = must(executor_->observe(live(launch), nodes));
        return !seen.nodes.front().is_ready && seen.tasks.front().phase == TaskPhase::kVanished;
      },
      40))
      << shell("squeue -t all; sinfo -N -l");
  EXPECT_EQ(shell("pgrep -f 'sleep 60; echo [d]one'"), "");
  const ProcessOutput back = cluster().verb({"start-node", "n4"});
  EXPECT_TRUE(back.ok()) << back.complaint("cluster.sh")
                         << shell("tail -n 20 " + cluster().folder() + "/log/slurm*.log");
  EXPECT_TRUE(must(executor_->observe({}, nodes)).nodes.front().is_ready);
}

}  // namespace
}  // namespace berth
