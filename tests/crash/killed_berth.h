// The berth program under kill -9 while real work runs: what tests of single executors share.
//
// A process of berth runs rounds and syncs over many short jobs and is killed at a random moment or at a failpoint;
// what it started lives on. Each task appends its attempt to a file of its own, so the files say what really ran.
// Beside plain jobs there are gangs, jobs whose first attempt fails, jobs that are cancelled and jobs that are evicted.
// In the end the tables and the files have to tell the same story: every attempt ran once, no job is forgotten.
//
// BERTH_KILLS, BERTH_KILLED_JOBS and BERTH_SEED make it another size or another story.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/env.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {

inline std::int64_t wanted(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

class KilledBerth : public StoreTest {
 protected:
  using Clock = std::chrono::steady_clock;
  // A name, and how often a process comes by at least, about.
  using Failpoint = std::pair<const char*, std::uint64_t>;

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
    const bool is_cut_off = is_cut_off_ && WIFEXITED(status) && WEXITSTATUS(status) == kFindings;
    EXPECT_TRUE(was_killed || is_cut_off || status == 0) << statements << "\n" << file_content(path("log"));
    std::filesystem::remove(path("log"));
    return was_killed;
  }

  // All but those that are evicted: the next ones.
  void submit_jobs(std::int64_t count) {
    std::string statements;
    for (const std::int64_t end = submitted_ + count; submitted_ < end; ++submitted_) {
      const std::int64_t i = submitted_;
      const std::string pause = fmt::format("sleep 0.{}", random_.below(3));
      const std::string one = "WITH (cpu = 1, memory = 1GiB, pool = short,";
      if (i % 10 == 3) {
        statements += submission(fmt::format("retried{}", i), one + " retries = 1,", "test $BERTH_ATTEMPT = 2");
      } else if (i % 10 == 5) {
        const auto& [tasks, cpus] = gangs_[static_cast<std::size_t>(i / 10) % gangs_.size()];
        const std::string gang = fmt::format("WITH (tasks = {}, cpu = {}, memory = 1GiB, pool = short,", tasks, cpus);
        statements += submission(fmt::format("gang{}", i), gang, pause);
      } else if (i % 30 == 7) {
        cancelled_.push_back(fmt::format("endless{}", i));
        statements += submission(cancelled_.back(), one, "sleep 1000");
      } else {
        statements += submission(fmt::format("plain{}", i), one, pause);
      }
    }
    berth(statements);
  }

  // The next of so many portions of jobs comes with its share of kills, or when there is nothing left to do.
  void kill_often(std::int64_t kills, std::int64_t jobs, std::int64_t portions) {
    berth(pressure(false));
    for (; kills_ < kills && !HasFailure(); ++steps_) {
      while (submitted_ < jobs && (left() == 0 || submitted_ * kills <= jobs * kills_))
        submit_jobs(std::min(jobs - submitted_, (jobs + portions - 1) / portions));
      if (left() == 0) GTEST_FAIL() << "no work left after " << kills_ << " kills";
      before_step();
      step();
    }
    if (submitted_ < jobs) submit_jobs(jobs - submitted_);
  }
  virtual void before_step() {}

  // One process, killed or not: rounds and syncs, now and then a cancellation or a job of another class first. Kills at
  // failpoints and at random moments take turns.
  void step() {
    std::string statements;
    const std::uint64_t what = random_.below(8);
    if (what == 0 && pressed_ < 2 + kills_ / 5) berth(pressure(pressed_ % 2 == 1));
    const bool cancels = what == 1 && !cancelled_.empty();
    if (cancels) statements = fmt::format("CANCEL JOB {}; ", cancelled_.back());
    statements += random_.below(4) == 0 ? "RUN SYNC" : "RUN SYNC; RUN SCHEDULE; RUN SYNC";
    bool was_killed = false;
    if (kills_ % 2 == 1) {
      was_killed = berth(statements, "", std::chrono::microseconds(random_.below(longest_delay_us_)));
      if (was_killed) ++killed_at_["a random moment"];
    } else {
      was_killed = step_to_failpoint(statements);
    }
    kills_ += was_killed ? 1 : 0;
    if (cancels && is_told(cancelled_.back())) cancelled_.pop_back();
    Database db = open();
    expect_healthy(db);
  }

  // One after the other; one that it does not come by three times in a row has to wait for the next turn.
  bool step_to_failpoint(const std::string& statements) {
    const auto& [name, most] = failpoints_[failpoint_];
    if (name == std::string_view("mid_eviction")) berth(pressure(waits_for_eviction()));
    const bool was_killed = berth(statements, fmt::format("{}:{}", name, 1 + random_.below(tries_ == 0 ? most : 1)));
    if (was_killed) ++killed_at_[name];
    if (!was_killed && ++tries_ < 3) return false;
    tries_ = 0;
    failpoint_ = (failpoint_ + 1) % failpoints_.size();
    return was_killed;
  }

  // Undisturbed, until nothing is left to do.
  void finish() {
    for (const std::string& job : cancelled_) berth("CANCEL JOB " + job);
    const Clock::time_point begin = Clock::now();
    while (left() > 0 && Clock::now() - begin < std::chrono::minutes(2)) {
      if (waits_for_eviction()) berth(pressure(true));
      berth("RUN SYNC; RUN SCHEDULE; RUN SYNC");
    }
    EXPECT_EQ(left(), 0);
  }

  std::int64_t count(const std::string& condition) const {
    Database db = open();
    return must_have(db.integer("SELECT count(*) FROM " + condition));
  }
  std::int64_t left() const { return count("jobs WHERE state IN ('pending', 'running')"); }

  // Every attempt that ended by itself has one line of every task, every other at most one, and there are no more.
  void compare_with_files() {
    Database db = open();
    std::map<std::string, std::string> lines = lines_of_tasks();
    Statement tasks = must_have(db.prepare(
        "SELECT j.name || '.' || t.task_index, r.attempt, r.state FROM runs r JOIN jobs j ON j.id = r.job_id "
        "JOIN run_tasks t ON t.run_id = r.id ORDER BY r.job_id, t.task_index, r.attempt"));
    while (tasks.next()) {
      std::string& unread = lines[std::string(tasks.text(0))];
      const std::string line = fmt::format("{}\n", tasks.integer(1));
      const bool has_line = unread.starts_with(line);
      if (has_line) unread.erase(0, line.size());
      lines_ += has_line ? 1 : 0;
      EXPECT_TRUE(has_line || tasks.text(2) == "evicted" || tasks.text(2) == "cancelled")
          << tasks.text(0) << " attempt " << tasks.integer(1) << ", " << tasks.text(2) << ", did not run";
    }
    EXPECT_OK(tasks.status());
    for (const auto& [task, more] : lines) EXPECT_EQ(more, "") << task << " ran more often than is known";
  }

  void compare_states() const {
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
    EXPECT_EQ(count(fmt::format("drift WHERE kind NOT IN ('{}', 'capacity')", allowed_drift_)), 0);
    Database db = open();
    expect_healthy(db);
    if (HasFailure()) print_trouble(db);
  }

  void print_story(std::int64_t left_then) const {
    fmt::print("{} kills in {} steps over {} jobs, {} of them left then; seed {}\n", kills_, steps_, count("jobs"),
               left_then, seed_);
    for (const auto& [name, times] : killed_at_) fmt::print("  {} at {}\n", times, name);
    for (const char* kind : {"plain", "gang", "retried", "endless", "evicted", "urgent"})
      fmt::print("  {} jobs {}*\n", count(fmt::format("jobs WHERE name GLOB '{}*'", kind)), kind);
    fmt::print("  {} attempts, {} of them failed, {} evicted, {} cancelled; {} tasks, {} lines in their files\n",
               count("runs"), count("runs WHERE state = 'failed'"), count("runs WHERE state = 'evicted'"),
               count("runs WHERE state = 'cancelled'"), count("run_tasks"), lines_);
  }

  static constexpr int kFindings = 4;  // berth's exit code when an executor does not answer

  // What a test may set to its own.
  std::vector<Failpoint> failpoints_ = {{"before_begin", 6},       {"mid_write", 4},       {"before_commit", 6},
                                        {"after_commit", 6},       {"before_delivery", 2}, {"after_delivery", 2},
                                        {"before_acknowledge", 2}, {"mid_observe", 2},     {"mid_eviction", 1}};
  std::uint64_t longest_delay_us_ = 60000;                               // of a kill at a random moment
  std::vector<std::pair<std::int64_t, std::int64_t>> gangs_ = {{3, 1}};  // tasks, and CPUs of each
  std::string allowed_drift_;
  bool is_cut_off_ = false;  // the executor does not answer now

  std::int64_t seed_ = wanted("BERTH_SEED", 20261205);
  Random random_{static_cast<std::uint64_t>(seed_)};
  std::int64_t kills_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t submitted_ = 0;
  std::size_t failpoint_ = 0;  // whose turn it is
  int tries_ = 0;
  std::map<std::string, std::int64_t> killed_at_;

 private:
  std::string submission(const std::string& name, const std::string& options, const std::string& command) const {
    return fmt::format(
        "SUBMIT JOB {} IN QUEUE work {} command = 'echo $BERTH_ATTEMPT >> {}/$BERTH_JOB_NAME."
        "$BERTH_RANK; {}');\n",
        name, options, path("out"), command);
  }
  // Fills the small node with jobs that end only in a later attempt, or asks for its room in a hurry.
  std::string pressure(bool is_urgent) {
    const std::int64_t i = pressed_++;
    const std::string all = "WITH (cpu = 4, memory = 1GiB, pool = small,";
    if (!is_urgent) return submission(fmt::format("evicted{}", i), all, "test $BERTH_ATTEMPT -gt 1 || sleep 1000");
    return submission(fmt::format("urgent{}", i), "PRIORITY urgent " + all, "sleep 0.1");
  }
  static void print_trouble(Database& db) {
    Statement rows = must_have(
        db.prepare("SELECT j.name || ' attempt ' || r.attempt || ' ' || r.state || ' task ' || t.task_index || ' ' || "
                   "t.phase || ': ' || t.detail FROM runs r JOIN jobs j ON j.id = r.job_id LEFT JOIN run_tasks t ON "
                   "t.run_id = r.id WHERE r.state NOT IN ('succeeded', 'cancelled', 'evicted') AND j.name NOT GLOB "
                   "'retried*' OR r.state = 'lost' UNION ALL SELECT kind || ' ' || object || ': ' || expected || ', ' "
                   "|| found || ', ' || repair FROM drift LIMIT 40"));
    while (rows.next()) fmt::print("  {}\n", rows.text(0));
  }
  bool is_told(const std::string& job) const {
    return count(fmt::format("events WHERE kind = 'cancel job' AND object = '{}'", job)) > 0;
  }
  bool waits_for_eviction() const {
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

  std::int64_t pressed_ = 0;
  std::vector<std::string> cancelled_;  // endless jobs that nobody has cancelled yet
  std::int64_t lines_ = 0;
};

}  // namespace berth::test
