// kill -9 at any moment: no acknowledged statement is lost, no round is half applied, every promise holds.
//
// A worker process (worker.cpp) changes a database; it is killed at random moments and at each named failpoint, two
// hundred times and more. After each kill the database is opened, checked from scratch, and compared with what the
// worker had acknowledged.

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <set>

#include "engine/base/env.h"
#include "engine/store/migrate.h"
#include "engine/store/snapshot_file.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

// A running worker and the pipe that it acknowledges on.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, const std::string& failpoint) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      if (!failpoint.empty()) ::setenv("BERTH_FAILPOINT", failpoint.c_str(), 1);
      std::vector<char*> words = {const_cast<char*>(CRASH_WORKER)};
      for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
      words.push_back(nullptr);
      ::execv(CRASH_WORKER, words.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { ::close(output_); }

  // Waits for the first acknowledgement, or for the end.
  void wait_for_output() {
    pollfd waited{output_, POLLIN, 0};
    ::poll(&waited, 1, 20000);
  }
  void kill() { ::kill(pid_, SIGKILL); }
  // What it said, once it has ended. Its wait status.
  int finish(std::string& said) {
    char buffer[65536];
    for (ssize_t got = 0; (got = ::read(output_, buffer, sizeof buffer)) > 0;)
      said.append(buffer, static_cast<std::size_t>(got));
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    return status;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

class Crash : public StoreTest {
 protected:
  // Runs the worker until it is killed; then looks at what is left.
  void kill_at_failpoint(const std::string& name, std::uint64_t nth) {
    Child child({"run", path(), std::to_string(++seed_)}, name + ":" + std::to_string(nth));
    collect(child);
  }
  void kill_after(std::chrono::microseconds delay) {
    Child child({"run", path(), std::to_string(++seed_)}, "");
    child.wait_for_output();
    ::usleep(static_cast<useconds_t>(delay.count()));
    child.kill();
    collect(child);
  }

  void collect(Child& child) {
    std::string said;
    const int status = child.finish(said);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the worker ended by itself: " << status;
    ++kills_;
    std::size_t from = 0;
    for (std::size_t end = said.find('\n'); end != std::string::npos; end = said.find('\n', from)) {
      const std::string line = said.substr(from, end - from);
      const std::size_t bar = line.find('|');
      last_ = std::stoll(line.substr(0, bar));
      acknowledged_[last_] = line.substr(bar + 1);
      from = end + 1;
    }
    verify();
  }

  void verify() {
    Database db = open();
    expect_healthy(db);
    // Everything acknowledged is there; at most one more was accepted without its acknowledgement getting out.
    const std::int64_t version = must_have(state_version(db));
    EXPECT_GE(version, last_);
    EXPECT_LE(version, last_ + 1);
    std::map<std::int64_t, std::string> recorded;
    Statement rows = must_have(db.prepare("SELECT state_version, kind || '|' || object FROM events ORDER BY id"));
    while (rows.next()) recorded[rows.integer(0)] = rows.text(1);
    EXPECT_EQ(static_cast<std::int64_t>(recorded.size()), version) << "every version has its event";
    for (const auto& [at, what] : acknowledged_) EXPECT_EQ(recorded[at], what) << "version " << at;
    last_ = version;
    for (const auto& [at, what] : recorded) acknowledged_.emplace(at, what);
    verify_rounds(db);
  }

  // A round is there with all of its decisions, placements and evictions, or not at all. In this workload gangs start
  // whole and are evicted whole, and an attempt that ended has its run, so each start and each end is accounted for.
  static void verify_rounds(Database& db) {
    const auto count = [&](const char* sql) { return must_have(db.integer(sql)); };
    EXPECT_EQ(count("SELECT count(*) FROM rounds r WHERE placed_tasks <> (SELECT coalesce(sum(detail ->> 'tasks'), 0) "
                    "FROM decisions WHERE round_id = r.id AND kind = 'start') OR started_jobs <> (SELECT count(*) FROM "
                    "decisions WHERE round_id = r.id AND kind = 'start')"),
              0);
    EXPECT_EQ(
        count("SELECT count(*) FROM jobs j WHERE "
              "(SELECT coalesce(sum(detail ->> 'tasks'), 0) FROM decisions WHERE job_id = j.id AND kind = 'start') "
              "<> (SELECT count(*) FROM allocations WHERE job_id = j.id) + "
              "(SELECT coalesce(sum(tasks), 0) FROM runs WHERE job_id = j.id)"),
        0);
    EXPECT_EQ(count("SELECT count(*) FROM jobs j WHERE evictions <> (SELECT count(*) FROM evictions WHERE victim_id = "
                    "j.id AND state IN ('stopping', 'done'))"),
              0);
    EXPECT_EQ(count("SELECT count(*) FROM evictions e WHERE state IN ('stopping', 'done') "
                    "AND (SELECT count(*) FROM runs WHERE job_id = e.victim_id) = 0 "
                    "AND NOT EXISTS (SELECT 1 FROM stopping_jobs WHERE job_id = e.victim_id)"),
              0);
    EXPECT_EQ(count("SELECT count(*) FROM rounds"), count("SELECT count(*) FROM events WHERE kind = 'run schedule'"));
  }

  void start_over() {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path() + suffix);
    acknowledged_.clear();
    last_ = 0;
  }

  std::uint64_t seed_ = 0;
  int kills_ = 0;
  std::int64_t last_ = 0;
  std::map<std::int64_t, std::string> acknowledged_;  // version -> what happened
};

TEST_F(Crash, AtRandomMoments) {
  Random random(20261201);
  while (kills_ < 150) {
    if (kills_ % 25 == 0) start_over();
    kill_after(std::chrono::microseconds(random.below(60000)));
    if (HasFatalFailure()) return;
  }
  std::cout << kills_ << " kills, " << acknowledged_.size() << " statements since the last fresh start\n";
}

TEST_F(Crash, AtEachFailpoint) {
  Random random(7);
  for (const char* name : {"before_begin", "mid_write", "mid_eviction", "before_commit", "after_commit"}) {
    start_over();
    for (int i = 0; i < 20; ++i) {
      kill_at_failpoint(name, 1 + random.below(i == 0 || name == std::string("mid_eviction") ? 3 : 40));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(kills_, 100);
}

TEST_F(Crash, WhileLoadingASnapshot) {
  const std::string saved = path("saved.db");
  {
    Database db = open();
    fill(db);
    EXPECT_OK(save_snapshot(db, saved));
    run_job(db, "later", 2, "a1");
  }
  for (const char* name : {"before_begin", "mid_write", "before_commit", "after_commit"}) {
    Child child({"load", path(), saved}, name);
    std::string said;
    const int status = child.finish(said);
    ASSERT_TRUE(WIFSIGNALED(status)) << name;
    Database db = open();
    expect_healthy(db);
    EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM jobs")), 1) << name << ": the present content stays";
  }
  Database db = open();
  EXPECT_OK(load_snapshot(db, saved, "tester", Seconds(1)));
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM jobs")), 0);
}

TEST_F(Crash, WhileMigrating) {
  const Schema& newest = embedded_schema();
  for (const char* name : {"before_begin", "before_commit", "after_commit"}) {
    start_over();
    std::ofstream(path()).flush();
    {
      Database old = must_have(Database::open(path(), Access::kReadWrite));
      EXPECT_OK(migrate(old, {newest.steps.first(1), ""}));
      EXPECT_OK(old.execute("INSERT INTO pools (name) VALUES ('kept')"));
    }
    Child child({"open", path()}, name);
    std::string said;
    const int status = child.finish(said);
    ASSERT_TRUE(WIFSIGNALED(status)) << name;
    Database db = open();
    EXPECT_EQ(must_have(db.integer("PRAGMA user_version")), newest.newest());
    EXPECT_EQ(must_have(db.text("SELECT name FROM pools")), "kept");
    expect_healthy(db);
  }
}

}  // namespace
}  // namespace berth::test
