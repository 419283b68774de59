// kill -9 of Berth while real work runs on this machine: see killed_berth.h. Its supervisors and tasks live on.
//
// 30 kills over 300 jobs; BERTH_KILLS=200 BERTH_KILLED_JOBS=2000 for more.

#include "tests/crash/killed_berth.h"

namespace berth::test {
namespace {

class ExactlyOnce : public KilledBerth {
 protected:
  // A node for short jobs, on which a part of them fits at a time, and a small one for those that are evicted.
  void build(std::int64_t cores) {
    std::filesystem::create_directories(path("out"));
    berth(fmt::format(
        "CREATE POOL short; CREATE POOL small; CREATE NODE TYPE big WITH (cpu = {}, memory = 1024GiB); "
        "CREATE NODE TYPE little WITH (cpu = 4, memory = 1024GiB); "
        "CREATE NODE n1 TYPE big IN POOL short; CREATE NODE n2 TYPE little IN POOL small; CREATE QUEUE work; "
        "CREATE PRIORITY CLASS urgent VALUE 100; "
        "CREATE EXECUTOR here TYPE local WITH (node = 'n[1-2]', limits = none); "
        "SET min_runtime = 0; SET pending_delay = 0; SET eviction_cooldown = 0; SET stop_grace = 5s",
        cores));
  }

  // Those that work in the folder of this test.
  std::vector<pid_t> tasks_left() const {
    std::vector<pid_t> left;
    std::error_code error;
    for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
      const std::string directory = std::filesystem::read_symlink(process.path() / "cwd", error).string();
      if (directory.starts_with(folder_.string())) left.push_back(std::atoi(process.path().filename().c_str()));
    }
    return left;
  }
  // Those that have not ended say so.
  bool has_supervisors() const {
    std::error_code error;
    return !std::filesystem::is_empty(path() + ".executors/here/supervisors", error);
  }
  void TearDown() override {
    for (const pid_t task : tasks_left()) ::kill(task, SIGKILL);  // of a test that failed
    StoreTest::TearDown();
  }
};

TEST_F(ExactlyOnce, UnderKills) {
  build(32);
  kill_often(wanted("BERTH_KILLS", 30), wanted("BERTH_KILLED_JOBS", 300), 1);
  const std::int64_t left_then = left();
  finish();
  compare_states();
  compare_with_files();
  const Clock::time_point begin = Clock::now();
  while (has_supervisors() && Clock::now() - begin < std::chrono::seconds(10))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_supervisors());
  EXPECT_EQ(tasks_left().size(), 0);
  print_story(left_then);
}

// Their tasks are seen to their end all the same: no job runs again, whatever its retries.
TEST_F(ExactlyOnce, UnderKillsOfSupervisors) {
  build(60);
  constexpr std::int64_t kJobs = 60;
  std::string statements;
  for (std::int64_t i = 0; i < kJobs; ++i)
    statements += fmt::format(
        "SUBMIT JOB j{0} IN QUEUE work WITH (cpu = 1, memory = 1GiB, pool = short, command = 'echo $BERTH_ATTEMPT >> "
        "{1}{0}; sleep 2; exit {2}'); RUN ALL; ",
        i, path("out/"), i % 4 == 0 ? 3 : 0);
  berth(statements);
  std::int64_t killed = 0;
  for (const auto& list : std::filesystem::directory_iterator(path() + ".executors/here/supervisors")) {
    ::kill(std::atoi(list.path().filename().c_str()), SIGKILL);
    ++killed;
  }
  const Clock::time_point begin = Clock::now();
  while (count("jobs WHERE end_time IS NULL") > 0 && Clock::now() - begin < std::chrono::seconds(60)) {
    berth("RUN ALL");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_GE(killed, 3) << "of supervisors, whose jobs ran";  // where all is slow, most have ended
  for (std::int64_t i = 0; i < kJobs; ++i) EXPECT_EQ(file_content(path("out/" + std::to_string(i))), "1\n") << i;
  EXPECT_EQ(count("runs WHERE state = 'lost'"), 0);
  EXPECT_EQ(count("jobs WHERE state = 'failed'"), kJobs / 4);
  EXPECT_EQ(count("jobs WHERE state = 'finished'"), kJobs - kJobs / 4);
  while (has_supervisors() && Clock::now() - begin < std::chrono::seconds(70))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_supervisors());
}

}  // namespace
}  // namespace berth::test
