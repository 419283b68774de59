// kill -9 of Berth while real work runs on Slurm, which goes on with what it was given: see tests/crash/killed_berth.h.
// Halfway the controller is away for a while.
//
// 6 kills over 40 jobs, and 3 over 20 with pilot jobs; BERTH_KILLS=20 BERTH_KILLED_JOBS=300 for more.

#include "tests/crash/killed_berth.h"
#include "tests/slurm/slurm_cluster.h"

namespace berth::test {
namespace {

SlurmCluster& cluster() {
  static SlurmCluster only(SLURM_CLUSTER);
  return only;
}

class SlurmKills : public KilledBerth {
 protected:
  static void SetUpTestSuite() {
    setenv("MIN_JOB_AGE", "3600", 1);  // all jobs are counted in the end
    lacking_ = cluster().start({"4", "8", "0"});
  }
  void SetUp() override {
    KilledBerth::SetUp();
    if (!lacking_.empty()) GTEST_SKIP() << lacking_;
    failpoints_.insert(failpoints_.begin(), {"mid_delivery", 3});
    gangs_ = {{2, 5}, {3, 1}, {3, 4}};  // over two nodes; perhaps on one; over two nodes that have different shares
    longest_delay_us_ = 900000;
  }
  void TearDown() override {
    if (lacking_.empty()) shell("squeue -h -o %A | sort -u | xargs -r scancel");
    KilledBerth::TearDown();
  }

  void build(const std::string& options) {
    std::filesystem::create_directories(path("out"));
    berth(
        "CREATE POOL short; CREATE POOL small; CREATE NODE TYPE machine WITH (cpu = 8, memory = 15GiB); "
        "CREATE NODES n[1-3] TYPE machine IN POOL short; CREATE NODE TYPE little WITH (cpu = 4, memory = 15GiB); "
        "CREATE NODE n4 TYPE little IN POOL small; CREATE QUEUE work; "
        "CREATE PRIORITY CLASS urgent VALUE 100; "
        "CREATE EXECUTOR hpc TYPE slurm WITH (timeout = 5s, " +
        options + "); SET min_runtime = 0; SET pending_delay = 0; SET eviction_cooldown = 0; SET stop_grace = 5s");
  }

  void before_step() override {
    if (restart_at_ < 0 || kills_ < restart_at_) return;
    restart_at_ = -1;
    allowed_drift_ = "node";  // a controller that starts does not know them at first
    const Clock::time_point begin = Clock::now();
    ASSERT_TRUE(cluster().verb({"stop-controller"}).ok());
    is_cut_off_ = true;
    berth("RUN SYNC; RUN SCHEDULE");
    step();
    ++steps_;
    EXPECT_EQ(count("executors WHERE state = 'down'"), 1);
    is_cut_off_ = false;
    ASSERT_TRUE(cluster().verb({"start-controller"}).ok());
    ++restarts_;
    away_ = Clock::now() - begin;
  }

  // What Slurm still has of us.
  static std::int64_t in_slurm(const std::string& filter) {
    return std::atoll(shell("squeue -h -t all -o '%i|%T|%j' | grep -v '^[0-9]*+[1-9]' | " + filter).c_str());
  }
  static bool is_quiet() { return shell("squeue -h").empty(); }

  static inline std::string lacking_;
  std::int64_t restart_at_ = -1;  // after how many kills; negative = not at all, or done
  std::int64_t restarts_ = 0;
  Clock::duration away_{};
};

TEST_F(SlurmKills, EveryJobRunsOnce) {
  const std::int64_t kills = wanted("BERTH_KILLS", 6);
  const std::int64_t jobs = wanted("BERTH_KILLED_JOBS", 40);
  build("poll_interval = 1s");
  restart_at_ = kills / 2;
  kill_often(kills, jobs, kills);
  const std::int64_t left_then = left();
  finish();
  EXPECT_EQ(restarts_, 1);
  compare_states();
  compare_with_files();
  EXPECT_TRUE(eventually(is_quiet)) << shell("squeue");
  print_story(left_then);
  const std::int64_t launches = in_slurm("cut -d'|' -f3 | sort -u | wc -l");
  fmt::print("  {} launches in Slurm, {} submitted twice; the controller was away for {} s\n", launches,
             in_slurm("wc -l") - launches, std::chrono::duration_cast<std::chrono::seconds>(away_).count());
}

// A snapshot that is copied over the file: jobs of the numbers that there were before really run.
TEST_F(SlurmKills, ARestoredFileRunsItsNewJobs) {
  build("poll_interval = 0s");
  const auto submit = [&](const std::string& name, const std::string& command) {
    berth(fmt::format("SUBMIT JOB {} IN QUEUE work WITH (cpu = 1, memory = 1GiB, command = '{} >> {}')", name, command,
                      path("out/" + name)));
  };
  const auto have_ended = [&] {
    berth("RUN ALL");
    return count("jobs WHERE end_time IS NULL") == 0;
  };
  berth("SNAPSHOT SAVE '" + path("before.db") + "'");
  submit("good", "echo ran");
  submit("bad", "exit 3");
  submit("slow", "while :; do sleep 0.2; done");
  EXPECT_TRUE(eventually([&] {
    berth("RUN ALL");
    return count("runs WHERE state = 'succeeded' OR state = 'failed'") == 2 &&
           count("runs WHERE state = 'running'") == 1;
  }));
  std::filesystem::copy_file(path("before.db"), path(), std::filesystem::copy_options::overwrite_existing);
  is_cut_off_ = true;  // a stray is a finding
  for (const char* name : {"new1", "new2", "new3"}) submit(name, "echo ran");
  berth("RUN ALL");
  EXPECT_EQ(count("strays"), 1);
  EXPECT_NE(shell("squeue -h -t running"), "") << "it is not stopped unasked";
  berth("STOP STRAYS");
  EXPECT_TRUE(eventually(have_ended, 40));
  is_cut_off_ = false;
  for (const char* name : {"new1", "new2", "new3"}) EXPECT_EQ(file_content(path(std::string("out/") + name)), "ran\n");
  EXPECT_EQ(count("jobs WHERE state = 'finished'"), 3);
  EXPECT_TRUE(eventually(is_quiet)) << shell("squeue");
}

// With pilot jobs, which stay.
TEST_F(SlurmKills, EveryStepRunsOnce) {
  const std::int64_t kills = std::max<std::int64_t>(1, wanted("BERTH_KILLS", 6) / 2);
  const std::int64_t jobs = std::max<std::int64_t>(10, wanted("BERTH_KILLED_JOBS", 40) / 2);
  build("poll_interval = 0s, pilot = true");
  kill_often(kills, jobs, kills);
  const std::int64_t left_then = left();
  finish();
  compare_states();
  compare_with_files();
  EXPECT_TRUE(eventually([] { return shell("squeue -h -s -o %j | grep -cvE '^(batch|extern)$'") == "0\n"; }))
      << shell("squeue -s");
  EXPECT_EQ(shell("squeue -h -o %j | grep -v -- -pilot-"), "");
  print_story(left_then);
}

}  // namespace
}  // namespace berth::test
