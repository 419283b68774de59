// kill -9 of Berth while real work runs: every job runs exactly once, none is forgotten.
//
// The berth program itself, with a local executor, runs rounds and syncs over many short jobs and is killed at random
// moments and at every failpoint; its supervisors and tasks live on. Each task appends its attempt to a file of its
// own, so the files say what really ran. Beside plain jobs there are gangs, jobs whose first attempt fails, jobs that
// are cancelled and jobs that are evicted.
//
// 30 kills over 300 jobs; BERTH_KILLS=200 BERTH_KILLED_JOBS=2000 for more.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "engine/base/env.h"
#include "engine/base/text.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

using Clock = std::chrono::steady_clock;

// With how often a process comes by at least, about.
constexpr std::pair<const char*, std::uint64_t> kFailpoints[] = {
    {"before_begin", 6},    {"mid_write", 4},      {"mid_eviction", 1},       {"before_commit", 6}, {"after_commit", 6},
    {"before_delivery", 2}, {"after_delivery", 2}, {"before_acknowledge", 2}, {"mid_observe", 2}};

std::int64_t wanted(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

class ExactlyOnce : public StoreTest {
 protected:
  // Statements in a process of their own; killed at a failpoint ("name:nth"), or after a delay if that is not negative.
  // Whether it was.
  bool berth(const std::string& statements, const std::string& failpoint = "",
             std::chrono::microseconds delay = std::chrono::microseconds(-1)) {
    std::ofstream(path("statements")) << statements;
    const pid_t child = ::fork();
    if (child == 0) {
      const int log = ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
      if (!failpoint.empty()) ::setenv("BERTH_FAILPOINT", failpoint.c_str(), 1);
      ::execl(BERTH_PROGRAM, "berth", "--db", path().c_str(), path("statements").c_str(), nullptr);
      ::_exit(127);
    }
    if (delay.count() >= 0) {
      std::this_thread::sleep_for(delay);
      ::kill(child, SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    EXPECT_TRUE(was_killed || status == 0) << statements << "\n" << file_content(path("log"));
    std::filesystem::remove(path("log"));
    return was_killed;
  }

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

  std::string submission(const std::string& name, const std::string& options, const std::string& command) const {
    return fmt::format(
        "SUBMIT JOB {} IN QUEUE work {} command = 'echo $BERTH_ATTEMPT >> {}/$BERTH_JOB_NAME."
        "$BERTH_RANK; {}');\n",
        name, options, path("out"), command);
  }
  // Mostly plain jobs; gangs, failing and endless ones in between.
  void submit_jobs(std::int64_t count) {
    std::string statements;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string pause = fmt::format("sleep 0.{}", random_.below(3));
      const std::string one = "WITH (cpu = 1, memory = 1GiB, pool = short,";
      if (i % 10 == 3) {
        statements += submission(fmt::format("retried{}", i), one + " retries = 1,", "test $BERTH_ATTEMPT = 2");
      } else if (i % 10 == 5) {
        statements += submission(fmt::format("gang{}", i), "WITH (tasks = 3, cpu = 1, pool = short,", pause);
      } else if (i % 30 == 7) {
        cancelled_.push_back(fmt::format("endless{}", i));
        statements += submission(cancelled_.back(), one, "sleep 1000");
      } else {
        statements += submission(fmt::format("plain{}", i), one, pause);
      }
    }
    berth(statements);
  }
  // Fills the small node with jobs that end only in a later attempt, or asks for its room in a hurry.
  std::string pressure(bool is_urgent) {
    const std::int64_t i = pressed_++;
    if (!is_urgent)
      return submission(fmt::format("evicted{}", i), "WITH (cpu = 4, pool = small,",
                        "test $BERTH_ATTEMPT -gt 1 || sleep 1000");
    return submission(fmt::format("urgent{}", i), "PRIORITY urgent WITH (cpu = 4, pool = small,", "sleep 0.1");
  }

  // One process, killed or not: rounds and syncs, now and then a cancellation or a job of another class first.
  void step() {
    std::string statements;
    const std::uint64_t what = random_.below(8);
    if (what == 0 && pressed_ < 2 + kills_ / 5) berth(pressure(pressed_ % 2 == 1));
    if (what == 1 && !cancelled_.empty()) statements = fmt::format("CANCEL JOB {}; ", cancelled_.back());
    statements += random_.below(4) == 0 ? "RUN SYNC" : "RUN SYNC; RUN SCHEDULE; RUN SYNC";
    bool was_killed = false;
    if (random_.below(2) == 0) {
      was_killed = berth(statements, "", std::chrono::microseconds(random_.below(60000)));
    } else {
      const auto& [name, most] = kFailpoints[random_.below(std::size(kFailpoints))];
      was_killed = berth(statements, fmt::format("{}:{}", name, 1 + random_.below(most)));
      if (was_killed) ++killed_at_[name];
    }
    kills_ += was_killed ? 1 : 0;
    if (what == 1 && !cancelled_.empty() && is_told(cancelled_.back())) cancelled_.pop_back();
    Database db = open();
    expect_healthy(db);
  }
  bool is_told(const std::string& job) {
    Database db = open();
    return must_have(db.integer(
               fmt::format("SELECT count(*) FROM events WHERE kind = 'cancel job' AND object = '{}'", job))) > 0;
  }
  std::int64_t left() {
    Database db = open();
    return must_have(db.integer("SELECT count(*) FROM jobs WHERE state IN ('pending', 'running')"));
  }

  // Undisturbed, until nothing is left to do.
  void finish() {
    for (const std::string& job : cancelled_) berth("CANCEL JOB " + job);
    const Clock::time_point begin = Clock::now();
    while (left() > 0 && Clock::now() - begin < std::chrono::minutes(1)) {
      if (waits_for_eviction()) berth(pressure(true));
      berth("RUN SYNC; RUN SCHEDULE; RUN SYNC");
    }
  }
  bool waits_for_eviction() {
    Database db = open();
    return must_have(db.integer("SELECT EXISTS (SELECT 1 FROM runs r JOIN jobs j ON j.id = r.job_id WHERE name GLOB "
                                "'evicted*' AND r.state = 'running' AND attempt = 1) AND NOT EXISTS (SELECT 1 FROM "
                                "jobs WHERE name GLOB 'urgent*' AND state = 'pending')")) > 0;
  }

  std::map<std::string, std::string> lines_of_tasks() const {
    std::map<std::string, std::string> lines;
    for (const auto& file : std::filesystem::directory_iterator(path("out")))
      lines[file.path().filename().string()] = file_content(file.path().string());
    return lines;
  }

  // Every attempt that ended by itself has one line of every task, every other at most one, and there are no more.
  void compare_with_files(Database& db) {
    std::map<std::string, std::string> lines = lines_of_tasks();
    Statement tasks = must_have(db.prepare(
        "SELECT j.name || '.' || t.task_index, r.attempt, r.state FROM runs r JOIN jobs j ON j.id = r.job_id "
        "JOIN run_tasks t ON t.run_id = r.id ORDER BY r.job_id, t.task_index, r.attempt"));
    while (tasks.next()) {
      std::string& left = lines[std::string(tasks.text(0))];
      const std::string line = fmt::format("{}\n", tasks.integer(1));
      const bool has_line = left.starts_with(line);
      if (has_line) left.erase(0, line.size());
      EXPECT_TRUE(has_line || tasks.text(2) == "evicted" || tasks.text(2) == "cancelled")
          << tasks.text(0) << " attempt " << tasks.integer(1) << ", " << tasks.text(2) << ", did not run";
    }
    EXPECT_OK(tasks.status());
    for (const auto& [task, more] : lines) EXPECT_EQ(more, "") << task << " ran more often than is known";
  }

  static void compare_states(Database& db) {
    const auto count = [&](const std::string& condition) {
      return must_have(db.integer("SELECT count(*) FROM " + condition));
    };
    EXPECT_EQ(count("jobs WHERE state <> iif(name GLOB 'endless*', 'cancelled', 'finished')"), 0);
    EXPECT_EQ(count("runs WHERE state NOT IN ('succeeded', 'failed', 'evicted', 'cancelled')"), 0);
    EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id WHERE r.state = 'failed' AND j.name NOT GLOB 'retried*'"),
              0);
    EXPECT_EQ(count("jobs j WHERE (SELECT count(*) FROM runs r WHERE r.job_id = j.id AND r.state <> 'evicted') <> "
                    "CASE WHEN name GLOB 'retried*' THEN 2 WHEN name GLOB 'endless*' THEN (SELECT count(*) FROM runs r "
                    "WHERE r.job_id = j.id) ELSE 1 END"),
              0);
    EXPECT_EQ(count("outbox"), 0);
    EXPECT_EQ(count("allocations"), 0);
    EXPECT_EQ(count("drift"), 0);
    expect_healthy(db);
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

  Random random_{20261205};
  std::int64_t kills_ = 0;
  std::int64_t pressed_ = 0;
  std::vector<std::string> cancelled_;  // endless jobs that nobody has cancelled yet
  std::map<std::string, std::int64_t> killed_at_;
};

TEST_F(ExactlyOnce, UnderKills) {
  const std::int64_t kills = wanted("BERTH_KILLS", 30);
  const std::int64_t jobs = wanted("BERTH_KILLED_JOBS", 300);
  build(32);
  submit_jobs(jobs);
  std::int64_t steps = 0;
  for (; kills_ < kills && !HasFailure(); ++steps) {
    if (left() == 0) GTEST_FAIL() << "no work left after " << kills_ << " kills";
    step();
  }
  const std::int64_t left_then = left();
  finish();
  Database db = open();
  EXPECT_EQ(left(), 0);
  compare_states(db);
  compare_with_files(db);
  const Clock::time_point begin = Clock::now();
  while (has_supervisors() && Clock::now() - begin < std::chrono::seconds(10))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_supervisors());
  EXPECT_EQ(tasks_left().size(), 0);

  fmt::print("{} kills in {} steps over {} jobs, {} of them left then\n", kills_, steps, jobs, left_then);
  for (const auto& [name, times] : killed_at_) fmt::print("  {} at {}\n", times, name);
  fmt::print("  {} attempts, {} of them evicted, {} cancelled\n", must_have(db.integer("SELECT count(*) FROM runs")),
             must_have(db.integer("SELECT count(*) FROM runs WHERE state = 'evicted'")),
             must_have(db.integer("SELECT count(*) FROM runs WHERE state = 'cancelled'")));
}

}  // namespace
}  // namespace berth::test
