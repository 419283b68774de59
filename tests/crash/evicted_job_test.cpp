// Jobs that are evicted from this machine while they really run: whatever they do when they are told to stop, they run
// again, unless they say that they were done.

#include "tests/crash/killed_berth.h"

namespace berth::test {
namespace {

class EvictedJob : public KilledBerth {
 protected:
  // A node for each of the jobs, which comes back to it after the urgent one that evicts it.
  void submit(const std::string& job, const std::string& options, const std::string& command) {
    const std::string pool = fmt::format("p{}", ++jobs_);
    berth(
        fmt::format("CREATE POOL {0}; CREATE NODE n{1} TYPE box IN POOL {0}; SUBMIT JOB {2} IN QUEUE work WITH (cpu = "
                    "4, pool = {0}, command = 'test $BERTH_ATTEMPT = 2 && exit 0; {3}; echo ready >{4}.$BERTH_JOB; "
                    "while :; do sleep 0.1; done'{5}); "
                    "SUBMIT JOB after_{2} IN QUEUE work WITH (cpu = 1, pool = {0}, after = {2}, command = 'true')",
                    pool, jobs_, job, command, path("ready"), options));
  }
  void evict_all() {
    std::string statements;
    for (std::int64_t i = 1; i <= jobs_; ++i)
      statements += fmt::format(
          "SUBMIT JOB urgent{0} IN QUEUE work PRIORITY urgent WITH (cpu = 4, pool = p{0}, command = 'sleep 1'); ", i);
    berth(statements + "RUN ALL");
  }
  bool until(const std::string& condition, std::int64_t wanted_count) {
    const Clock::time_point begin = Clock::now();
    while (count(condition) != wanted_count) {
      if (Clock::now() - begin > std::chrono::seconds(40)) return false;
      berth("RUN ALL");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }
  std::int64_t ready() const {
    std::int64_t files = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_))
      files += file.path().filename().string().starts_with("ready.") ? 1 : 0;
    return files;
  }

  std::int64_t jobs_ = 0;
};

TEST_F(EvictedJob, RunsAgainHoweverItEndsAndIsDoneOnlyIfItSaysSo) {
  berth(
      "CREATE NODE TYPE box WITH (cpu = 4, memory = 16GiB); CREATE QUEUE work; CREATE PRIORITY CLASS urgent VALUE "
      "100; CREATE EXECUTOR here TYPE local WITH (node = 'n[1-6]', limits = none); SET min_runtime = 0; SET "
      "pending_delay = 0; SET eviction_cooldown = 0; SET stop_grace = 2s");
  const std::string told = ", checkpoint_signal = USR1, checkpoint_grace = 3s";
  submit("saves", told, "trap \"sleep 0.3; exit 0\" USR1");
  submit("fails", told, "trap \"exit 1\" USR1");
  submit("dies", told, ":");
  submit("deaf", told, "trap \"\" USR1");
  submit("plain", "", "trap \"exit 0\" TERM");
  submit("done", told, "trap \"echo done >$BERTH_DONE_FILE; exit 0\" USR1");
  berth("RUN ALL");
  const Clock::time_point begin = Clock::now();
  while (ready() < jobs_ && Clock::now() - begin < std::chrono::seconds(20))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(until("runs WHERE state = 'running'", jobs_));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // no end in the second of the start
  evict_all();
  EXPECT_TRUE(until("jobs WHERE state <> 'finished'", 0));
  EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id WHERE r.attempt = 1 AND r.state = 'evicted'"), 5);
  EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id WHERE r.attempt = 2 AND r.state = 'succeeded'"), 5);
  EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id WHERE j.name = 'done'"), 1);
  EXPECT_EQ(count("jobs WHERE failures + losses > 0"), 0);
  EXPECT_EQ(count("evictions WHERE state = 'done'"), 5);
  EXPECT_EQ(count("evictions WHERE state = 'ended'"), 1);
  // What comes after a job begins when it has really finished.
  EXPECT_EQ(count("runs r JOIN jobs j ON j.id = r.job_id JOIN jobs b ON j.name = 'after_' || b.name "
                  "WHERE r.start_time < b.end_time"),
            0);
  Database db = open();
  expect_healthy(db);
}

}  // namespace
}  // namespace berth::test
