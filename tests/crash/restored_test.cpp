// A database that was restored while real work ran on this machine: whatever way it came back, nothing new is taken for
// what ran before, nothing that runs is stopped unasked, and a loop on the file that was there before ends.
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/crash/killed_berth.h"

namespace berth::test {
namespace {

class Restored : public KilledBerth {
 protected:
  void SetUp() override {
    KilledBerth::SetUp();
    std::filesystem::create_directories(path("out"));
    berth(
        "CREATE NODE TYPE box WITH (cpu = 8, memory = 64GiB); CREATE NODE n1 TYPE box; CREATE QUEUE q; "
        "CREATE EXECUTOR here TYPE local WITH (node = n1, limits = none); SET stop_grace = 1s; "
        "SNAPSHOT SAVE '" +
        path("before.db") + "'");
  }
  static std::string submission_of(const std::string& name, const std::string& command) {
    return fmt::format("SUBMIT JOB {} IN QUEUE q WITH (cpu = 1, command = '{}'); ", name, command);
  }
  std::string lines() const { return file_content(path("out/lines")); }
  static bool eventually_true(const std::function<bool()>& holds) {
    const Clock::time_point begin = Clock::now();
    while (!holds() && Clock::now() - begin < std::chrono::seconds(20))
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return holds();
  }
  // Of the jobs that there are now, by id.
  std::string job_states() { return must_have(open().text("SELECT group_concat(name || ' ' || state) FROM jobs")); }

  void restore(const std::string& way) {
    if (way == "load") {
      berth("SNAPSHOT LOAD '" + path("before.db") + "'");
    } else if (way == "cp") {
      std::filesystem::copy_file(path("before.db"), path(), std::filesystem::copy_options::overwrite_existing);
    } else {
      std::filesystem::copy_file(path("before.db"), path("restored.db"));
      std::filesystem::rename(path("restored.db"), path());
    }
  }
};

TEST_F(Restored, NewJobsRunAndOldOnesRunOn) {
  for (const std::string way : {"load", "cp", "mv"}) {
    SCOPED_TRACE(way);
    std::filesystem::remove(path("out/lines"));
    berth(submission_of("old", "echo old >> " + path("out/lines")) +
          submission_of("long", "echo long >> " + path("out/lines") + "; while :; do sleep 0.1; done") + "RUN ALL");
    ASSERT_TRUE(eventually_true([&] { return lines() == "old\nlong\n" || lines() == "long\nold\n"; }));
    // The supervisor records the end of "old" a moment after its last line.
    ASSERT_TRUE(eventually_true([&] {
      berth("RUN ALL");
      return job_states().find("old finished") != std::string::npos;
    }));
    restore(way);
    // Under the numbers of the old ones, were they given again.
    is_cut_off_ = true;  // the stray is a finding
    berth(submission_of("new1", "echo new1 >> " + path("out/lines")) +
          submission_of("new2", "echo new2 >> " + path("out/lines")) + "RUN ALL");
    EXPECT_EQ(must_have(open().integer("SELECT count(*) FROM strays")), 1);
    EXPECT_EQ(job_states(), "new1 pending,new2 pending") << "nothing goes to a stray's node";
    berth("STOP STRAYS");
    for (int i = 0; i < 40 && job_states() != "new1 finished,new2 finished"; ++i) {
      berth("RUN ALL");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    is_cut_off_ = false;
    EXPECT_EQ(job_states(), "new1 finished,new2 finished");
    EXPECT_NE(lines().find("new1"), std::string::npos);
    EXPECT_NE(lines().find("new2"), std::string::npos);
    Database db = open();
    expect_healthy(db);
  }
}

TEST_F(Restored, ALoopOnAFileThatWasReplacedEnds) {
  const pid_t loop = ::fork();
  if (loop == 0) {
    const int log = ::open(path("loop.log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execl(BERTH_PROGRAM, "berth", "--db", path().c_str(), "-c", "RUN ALL EVERY 1s", nullptr);
    ::_exit(127);
  }
  ASSERT_TRUE(eventually_true([&] { return file_content(path("loop.log")).find("round 1") != std::string::npos; }));
  restore("mv");
  int status = 0;
  bool has_ended = false;
  eventually_true([&] { return has_ended = has_ended || ::waitpid(loop, &status, WNOHANG) == loop; });
  if (!has_ended) ::kill(loop, SIGKILL);
  EXPECT_TRUE(has_ended);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << status;
  EXPECT_NE(file_content(path("loop.log")).find("was replaced"), std::string::npos) << file_content(path("loop.log"));
}

}  // namespace
}  // namespace berth::test
