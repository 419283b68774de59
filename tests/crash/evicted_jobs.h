// Jobs that are evicted while they really run, through the whole of Berth: an owner takes its quota back, they are told
// to stop, and whatever they do then, they run again, unless they say that they were done.
#pragma once

#include "tests/crash/killed_berth.h"

namespace berth::test {

class EvictedJobs : public KilledBerth {
 protected:
  // Up to six nodes n1.. of four cores, owned by queue `own`.
  void build(const std::string& executor) {
    berth(
        "CREATE NODE TYPE box WITH (cpu = 4, memory = 15GiB); CREATE QUEUE own; CREATE QUEUE guest; ALTER QUEUE own "
        "SET QUOTA (cpu = 24); ALTER QUEUE guest SET QUOTA (cpu = 0); " +
        executor + "; SET min_runtime = 0; SET pending_delay = 0; SET eviction_cooldown = 0; SET stop_grace = 2s");
  }
  // Six guests that end differently when they are told, and jobs that come after them.
  void submit_guests() {
    const std::string told = ", checkpoint_signal = USR1, checkpoint_grace = 3s";
    submit("saves", told, "trap \"sleep 0.3; exit 0\" USR1");
    submit("fails", told, "trap \"exit 1\" USR1");
    submit("dies", told, ":");
    submit("deaf", told, "trap \"\" USR1");
    submit("plain", "", "trap \"exit 0\" TERM");
    submit("done", told, "trap \"echo done >$BERTH_DONE_FILE; exit 0\" USR1");
  }
  bool until(const std::string& condition, std::int64_t wanted_count) {
    const Clock::time_point begin = Clock::now();
    while (count(condition) != wanted_count) {
      if (Clock::now() - begin > patience_) return false;
      berth("RUN ALL");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }
  // Until all run and have set their traps; never told in the second of their start.
  void start_guests() {
    berth("RUN ALL");
    const Clock::time_point begin = Clock::now();
    while (ready() < guests_ && Clock::now() - begin < patience_)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_EQ(ready(), guests_);
    ASSERT_TRUE(until("runs WHERE state = 'running'", guests_));
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  }
  void take_back() {
    std::string statements;
    for (std::int64_t i = 1; i <= guests_; ++i)
      statements += fmt::format(
          "SUBMIT JOB owner{0} IN QUEUE own WITH (cpu = 4, pool = p{0}, time_limit = 1h, command = 'sleep 1'); ", i);
    berth(statements + "RUN ALL");
  }
  void expect_all_ran_again() {
    EXPECT_TRUE(until("jobs WHERE state <> 'finished'", 0));
    const std::string of_guests =
        "runs r JOIN jobs j ON j.id = r.job_id JOIN queues q ON q.id = j.queue_id WHERE "
        "q.name = 'guest' AND j.name NOT GLOB 'after_*' AND ";
    EXPECT_EQ(count(of_guests + "r.attempt = 1 AND r.state = 'evicted'"), guests_ - 1);
    EXPECT_EQ(count(of_guests + "r.attempt = 2 AND r.state = 'succeeded'"), guests_ - 1);
    EXPECT_EQ(count(of_guests + "j.name = 'done'"), 1);
    EXPECT_EQ(count("jobs WHERE failures + losses > 0"), 0);
    EXPECT_EQ(count("evictions WHERE state = 'done' AND rule = 'reclaim'"), guests_ - 1);
    EXPECT_EQ(count("evictions WHERE state = 'ended' AND rule = 'reclaim'"), 1);
    // What comes after a job begins when it has really finished.
    EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id JOIN jobs b ON j.name = 'after_' || b.name WHERE "
                    "r.start_time < b.end_time"),
              0);
    Database db = open();
    expect_healthy(db);
  }

  std::chrono::seconds patience_{40};

 private:
  // A node for each of them, to which it comes back after the owner.
  void submit(const std::string& job, const std::string& options, const std::string& command) {
    const std::string pool = fmt::format("p{}", ++guests_);
    berth(fmt::format(
        "CREATE POOL {0}; CREATE NODE n{1} TYPE box IN POOL {0}; SUBMIT JOB {2} IN QUEUE guest WITH (cpu = 4, pool = "
        "{0}, time_limit = 1h, command = 'test $BERTH_ATTEMPT = 2 && exit 0; {3}; echo ready >{4}.$BERTH_JOB; while :; "
        "do sleep 0.1; done'{5}); SUBMIT JOB after_{2} IN QUEUE guest WITH (cpu = 1, pool = {0}, time_limit = 1h, "
        "after = {2}, command = 'true')",
        pool, guests_, job, command, path("ready"), options));
  }
  std::int64_t ready() const {
    std::int64_t files = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_))
      files += file.path().filename().string().starts_with("ready.") ? 1 : 0;
    return files;
  }

  std::int64_t guests_ = 0;
};

}  // namespace berth::test
