// The folder of a launch, and the executor between programs that print what a test says.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/exec/slurm_absence.h"
#include "engine/exec/slurm_records.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

class SlurmFolder : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_ = (std::filesystem::temp_directory_path() / "berth-slurm-XXXXXX").string();
};

TEST_F(SlurmFolder, ALaunchIsAskedToEndByALineThatGivesAllItsTasksAGrace) {
  const SlurmLaunchFolder launch(folder_);
  EXPECT_FALSE(launch.is_asked_to_end());
  std::ofstream(path("control")) << "USR1 -60 all\nTERM 5 0-1,\n";
  EXPECT_FALSE(launch.is_asked_to_end());
  std::ofstream(path("control"), std::ios::app) << "TERM 5 all\n";
  EXPECT_TRUE(launch.is_asked_to_end());
}

TEST_F(SlurmFolder, SeveralListingsOverSomeMinutesMakeAnAbsence) {
  const auto note = [&](std::int64_t second, bool is_whole = true) {
    SlurmAbsences absences(path("unlisted"));  // another process each time
    const bool is_gone = absences.note("berth-abc123-1-1-l0", second * 1000, is_whole);
    EXPECT_TRUE(absences.save().ok());
    return is_gone;
  };
  EXPECT_FALSE(note(1000));
  EXPECT_FALSE(note(1000 + kGoneAfter.value())) << "two are not several";
  EXPECT_FALSE(note(1000 + kGoneAfter.value())) << "the same one again";
  EXPECT_FALSE(note(1001 + kGoneAfter.value(), false)) << "it may be in what could not be read";
  EXPECT_TRUE(note(1002 + kGoneAfter.value()));
  EXPECT_FALSE(note(10)) << "the clock was set back";
  EXPECT_FALSE(note(11));
  EXPECT_FALSE(note(12)) << "too soon";
  EXPECT_TRUE(SlurmAbsences(path("unlisted")).save().ok());  // it was listed
  EXPECT_FALSE(note(12 + kGoneAfter.value()));
}

// Whoever runs in a launch's folder may put there what they like.
TEST_F(SlurmFolder, WhatIsNoRegularFileIsNone) {
  for (const char* name : {"node.pipe", "submitted", "tasks", "slurm.out", "control", "forgotten"})
    ASSERT_EQ(mkfifo(path(name).c_str(), 0600), 0);
  std::filesystem::create_directory(path("node.folder"));
  std::filesystem::create_symlink("/dev/zero", path("node.link"));
  std::ofstream(path("node.huge")).close();
  std::filesystem::resize_file(path("node.huge"), std::uintmax_t{1} << 30);
  std::ofstream(path("node.n1")) << "start 0 0 1 7\n";
  const SlurmLaunchFolder folder(folder_);
  EXPECT_EQ(folder.records().size(), 1u) << "the good one is read";
  EXPECT_FALSE(folder.submission());
  EXPECT_TRUE(folder.tasks().empty());
  EXPECT_EQ(folder.complaint(), "");
  EXPECT_EQ(folder.add_control("TERM 1 all\n").code(), Code::kUnavailable);
  EXPECT_EQ(folder.forget({{0, 0}}).code(), Code::kUnavailable);
}

TEST_F(SlurmFolder, TheEndOfALongComplaintIsRead) {
  std::ofstream(path("slurm.out")) << std::string(1000, 'x') << "\nit broke\n";
  EXPECT_EQ(SlurmLaunchFolder(folder_).complaint().size(), 299u);
  EXPECT_TRUE(SlurmLaunchFolder(folder_).complaint().ends_with("\nit broke"));
}

TEST_F(SlurmFolder, WhatOnlyVanishedCanStillBeStopped) {
  const auto forget = [&](const std::string& claim, const std::string& record) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    for (const auto& [name, text] : {std::pair<std::string, std::string>{"tasks", "0 0 n1\n"},
                                     {"node.n1", record},
                                     {"script", "x"},
                                     {"control", "USR1 - all\n"},
                                     {"submitted", "12 5\n"}})
      std::ofstream(path(name)) << text;
    if (!claim.empty()) std::filesystem::create_symlink(claim, path("claim"));
    EXPECT_TRUE(SlurmLaunchFolder(folder_).forget({{0, 0}}).ok());
    EXPECT_FALSE(std::filesystem::exists(path("script")));
    EXPECT_TRUE(std::filesystem::exists(path("submitted")));
    return !SlurmLaunchFolder(folder_).tasks().empty() && std::filesystem::exists(path("control"));
  };
  EXPECT_TRUE(forget("12.0", "start 0 0 1 7\n"));
  EXPECT_TRUE(forget("", "")) << "it may start yet";
  EXPECT_FALSE(forget("12.0", "start 0 0 1 7\nend 0 0 2 0 1\n"));
  EXPECT_FALSE(forget("stopped", ""));
}

// The executor between programs that print what the test says.
class SlurmPrograms : public SlurmFolder {
 protected:
  void SetUp() override {
    SlurmFolder::SetUp();
    std::filesystem::create_directory(path("bin"));
    for (const char* name : {"sinfo", "sbatch"}) program(name, "true");
    program("scontrol", "echo No jobs in the system");
    program("sacct", "exit 1");
    program("scancel", "echo \"$@\" >>" + path("cancelled"));
    path_before_ = std::getenv("PATH");
    ASSERT_EQ(setenv("PATH", (path("bin") + ":" + path_before_).c_str(), 1), 0);
    const ExecutorType* type = must(find_executor_type("slurm"));
    const ExecutorContext context{"cluster", "abc123", path("files"), "", nullptr};
    executor_ = must(type->make(context, must(read_executor_options(*type, {{"poll_interval", "0s"}}))));
    const std::string launch = path("files/berth-abc123-1-1-l0");
    std::filesystem::create_directory(launch);
    std::ofstream(launch + "/tasks") << "0 0 n1\n";
    std::ofstream(launch + "/submitted") << "12 5\n";
    std::ofstream(launch + "/node.n1") << "start 0 0 1000 7\n";
    std::filesystem::create_symlink("12.0", launch + "/claim");
    const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (launch + "/claim").c_str(), long_ago, AT_SYMLINK_NOFOLLOW), 0);
  }
  void TearDown() override {
    setenv("PATH", path_before_.c_str(), 1);
    SlurmFolder::TearDown();
  }
  void program(const std::string& name, const std::string& script) const {
    std::ofstream(path("bin/" + name)) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path("bin/" + name), std::filesystem::perms::owner_all);
  }
  TaskObservation look() const { return must(executor_->observe({&kTask, 1}, {})).tasks.front(); }
  // As if all of its listings were that much older.
  void age_absences(Seconds age) const {
    std::istringstream row(must_read("files/unlisted"));
    std::string name;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t count = 0;
    ASSERT_TRUE(row >> name >> first >> last >> count);
    std::ofstream(path("files/unlisted")) << name << " " << first - age.value() * 1000 << " " << last << " " << count;
  }
  std::string must_read(const std::string& name) const { return read_whole_file(path(name)).value_or(""); }

  static constexpr std::string_view kRow = "12|RUNNING|None|n1|root|900|1000|N/A|(null)|berth-abc123-1-1-l0";
  inline static const LiveTask kTask{{1, 1, 0, 0}, {1, 1, 0}, "12", "n1"};
  std::string path_before_;
  std::unique_ptr<Executor> executor_;
};

TEST_F(SlurmPrograms, OneStrangeAnswerLosesNothing) {
  const std::string row(kRow);
  for (const std::string& answer :
       {std::string("exit 0"), std::string("echo 'slurm_load_jobs error: no contact'"),
        "printf '" + row.substr(0, 8) + "'", "echo '" + row + "' | sed s/RUNNING/ODD_STATE/",
        "echo '" + row + "' | sed s/RUNNING/POWER_UP_NODE/", "echo '" + row + "' | sed s/RUNNING/R/",
        "echo '" + row + "'"}) {
    program("squeue", answer);
    EXPECT_EQ(look().phase, TaskPhase::kRunning) << answer;
  }
}

TEST_F(SlurmPrograms, WhatIsMissingForLongIsLostAndAStrayWhenItComesBack) {
  program("squeue", "exit 0");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(look().phase, TaskPhase::kRunning);
  const StopRequest stop{{kTask}, Seconds(1), ""};
  EXPECT_EQ(must(executor_->stop({&stop, 1})).front().state, DeliveryState::kUnknown);
  age_absences(kGoneAfter);
  EXPECT_EQ(look().phase, TaskPhase::kVanished);
  ASSERT_TRUE(executor_->forget({&kTask, 1}).ok());
  program("squeue", "echo '" + std::string(kRow) + "'");
  const Observation seen = must(executor_->observe({}, {}));
  ASSERT_EQ(seen.unknown_tasks.size(), 1u);
  EXPECT_EQ(seen.unknown_tasks.front().phase, TaskPhase::kRunning);
  EXPECT_EQ(seen.unknown_tasks.front().key, kTask.key);
  EXPECT_EQ(must(executor_->stop({&stop, 1})).front().state, DeliveryState::kDone);
  EXPECT_NE(must_read("cancelled").find("--signal=CONT 12"), std::string::npos);
}

TEST_F(SlurmPrograms, WhatScontrolKnowsOrDoesNotSayIsNotLost) {
  program("squeue", "exit 0");
  for (int i = 0; i < 4; ++i) look();
  age_absences(kGoneAfter);
  for (const char* answer :
       {"echo 'JobId=12 JobName=berth-abc123-1-1-l0 UserId=root(0) JobState=RUNNING Reason=None'", "true", "exit 1"}) {
    program("scontrol", answer);
    EXPECT_EQ(look().phase, TaskPhase::kRunning) << answer;
  }
  program("scontrol", "echo 'JobId=12 JobName=another UserId=root(0) JobState=RUNNING Reason=None'");
  EXPECT_EQ(look().phase, TaskPhase::kVanished);
}

// Another user's comment has a newline and a row of ours in it.
TEST_F(SlurmPrograms, WhatOthersWriteIsNoRowOfOurs) {
  const std::string forged =
      "99|PENDING|None||nobody|1|N/A|N/A|x|x\\n12|COMPLETED|None|n1|root|900|1000|1100|\"launch\":"
      "\"berth-abc123-1-1-l0\"|y\\n";
  program("squeue", "case \"$*\" in *--all*--user=" + std::to_string(geteuid()) + "*) echo '" + std::string(kRow) +
                        "' ;; *%j*) printf '" + forged + "' ;; *) echo '12|12|RUNNING|1|n1|" +
                        std::to_string(geteuid()) + "'; echo '7|5_2|RUNNING|1|n1|65534' ;; esac");
  program("scontrol",
          "echo 'JobId=7 JobName=x UserId=eve(65534) JobState=RUNNING Nodes=n1 CPU_IDs=0-3 Mem=100 "
          "GRES=(null) Comment=Nodes=n2 CPU_IDs=0-3 Mem=100 GRES=gpu:4'");
  const std::vector<std::string> nodes = {"n1", "n2"};
  const Observation seen = must(executor_->observe({&kTask, 1}, nodes));
  EXPECT_EQ(seen.tasks.front().phase, TaskPhase::kRunning);
  ASSERT_EQ(seen.foreign.size(), 1u);
  EXPECT_EQ(seen.foreign.front().node, "n1");
  EXPECT_EQ(seen.foreign.front().what, "slurm job 7 of eve");
  EXPECT_EQ(seen.foreign.front().cpu, MilliCpu(1000));
  EXPECT_TRUE(seen.nodes.front().is_ready && seen.nodes.front().is_cordoned) << "sinfo lists no node";
}

TEST_F(SlurmPrograms, WhatNeverComesBackIsClearedAtLast) {
  const std::string tasks = path("files/berth-abc123-1-1-l0/tasks");
  ASSERT_TRUE(executor_->forget({&kTask, 1}).ok());
  EXPECT_TRUE(std::filesystem::exists(tasks));
  EXPECT_TRUE(must_read("files/vanished").starts_with("berth-abc123-1-1-l0 "));
  std::ofstream(path("files/vanished")) << "berth-abc123-1-1-l0 1000000\n";
  ASSERT_TRUE(executor_->forget({}).ok());
  EXPECT_FALSE(std::filesystem::exists(tasks));
  EXPECT_EQ(must_read("files/vanished"), "");
}

TEST_F(SlurmPrograms, AccountingMayTellTheEndOfWhatIsNotListed) {
  program("squeue", "exit 0");
  program("sacct", "echo '12|CANCELLED by 0|1000|1100|berth-abc123-1-1-l0'");
  EXPECT_EQ(look().phase, TaskPhase::kEnded);
}

TEST_F(SlurmPrograms, APipeAmongTheFilesHoldsNothingUp) {
  program("squeue", "exit 0");
  ASSERT_EQ(mkfifo(path("files/berth-abc123-1-1-l0/node.zz").c_str(), 0600), 0);
  EXPECT_EQ(look().phase, TaskPhase::kRunning);
}

}  // namespace
}  // namespace berth
