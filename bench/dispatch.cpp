// What it costs to tell an executor of 10,000 tasks and to ask what has become of them, beside a bare update of the
// same rows; and jobs started per second by the whole engine, beside xargs running the same commands.
//
//   dispatch [BERTH [JOBS [ROUNDS]]]     BERTH = the berth binary, for the second part; 2,000 jobs, 3 rounds
//
// First part: an executor on which nothing runs (type simulated), so only Berth's own work is left. The bare update
// writes in one transaction, row by row by key, the columns of run_tasks and runs that the step beside it changes; the
// step writes the journal of the runs and the outbox besides. Second part: from the first round until every job has
// ended and says so in the tables, in one process; submitted before.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "bench/support.h"
#include "engine/base/text.h"
#include "engine/runtime/round_driver.h"
#include "engine/runtime/sync.h"
#include "engine/store/cluster_records.h"
#include "engine/store/job_records.h"
#include "engine/store/open.h"
#include "engine/store/queue_records.h"

namespace {

using berth::bench::Clock;
using berth::bench::give_up;
using berth::bench::must;
namespace fs = std::filesystem;

double time_of(const std::function<void()>& work) {
  const Clock::time_point begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "berth-bench-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) give_up("no temporary folder");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct World {
  std::int64_t jobs = 0;
  std::int64_t tasks = 1;  // of each
  std::string nodes;       // "n[1-100]"
  std::int64_t cores = 0;  // of each node
  std::string executor;
  std::map<std::string, std::string, std::less<>> options;
};

std::unique_ptr<berth::Runtime> make_runtime(const Folder& folder, const berth::Env& env, const World& world) {
  auto runtime =
      must(berth::Runtime::open({.database = folder / "berth.db", .actor = "bench", .env = &env, .seed = {}}));
  must(runtime
           ->change([&](berth::Change& change) -> berth::Status {
             BERTH_TRY(berth::add_node_type(
                 change, {"box", berth::MilliCpu(world.cores * 1000), berth::MiB(world.cores * 4096), "", 0, ""}));
             std::vector<berth::NodeRequest> nodes;
             for (const std::string& name : must(berth::expand_range(world.nodes)))
               nodes.push_back({name, "box", "", "", {}});
             BERTH_TRY(berth::add_nodes(change, nodes));
             BERTH_TRY(berth::add_queue(change, {"work", ""}));
             berth::ExecutorRecord executor;
             executor.name = "there";
             executor.type = world.executor;
             executor.options = world.options;
             BERTH_TRY(berth::create_executor(change, executor));
             BERTH_ASSIGN(berth::Submitter submitter, berth::Submitter::make(change));
             berth::JobRequest job;
             job.queue = "work";
             job.command.command = "true";
             job.groups.emplace_back();
             job.groups[0].count = world.tasks;
             job.groups[0].cpu = berth::MilliCpu(1000);
             for (std::int64_t i = 0; i < world.jobs; ++i) BERTH_TRY(submitter.submit(job).status());
             return submitter.finish();
           })
           .status());
  return runtime;
}

// Row by row, by key, in one transaction.
double bare_update(berth::Database& db, const std::string& phase, const std::string& state) {
  std::vector<std::pair<std::int64_t, std::int64_t>> tasks;
  std::vector<std::int64_t> runs;
  {
    berth::Statement rows = must(db.prepare("SELECT run_id, task_index FROM run_tasks"));
    while (rows.next()) tasks.emplace_back(rows.integer(0), rows.integer(1));
    berth::Statement ids = must(db.prepare("SELECT id FROM runs"));
    while (ids.next()) runs.push_back(ids.integer(0));
  }
  return time_of([&] {
    berth::Transaction transaction = must(berth::Transaction::begin_write(db));
    berth::Statement task =
        must(db.prepare("UPDATE run_tasks SET phase = ?3, external = ?4, start_time = ?5 WHERE run_id = ?1 AND "
                        "group_index = 0 AND task_index = ?2"));
    for (const auto& [run, index] : tasks) must(task.run(run, index, phase, "berth-3fa9c2-12-1-l0", 2000));
    berth::Statement run = must(db.prepare("UPDATE runs SET state = ?2 WHERE id = ?1"));
    for (const std::int64_t id : runs) must(run.run(id, state));
    must(transaction.commit());
  });
}

struct Steps {
  std::vector<double> dispatch, bare_dispatch, first_sync, bare_sync, sync, last_sync;
};

void measure_steps(const World& world, Steps& steps) {
  const Folder folder;
  berth::ManualEnv env{berth::Seconds(1000)};
  const auto runtime = make_runtime(folder, env, world);
  const berth::PlannedRound round = must(berth::plan_round(*runtime, {}));
  must(berth::apply_plan(runtime->db(), round.schedule.plan,
                         {.kind = "schedule", .actor = "bench", .now = env.now(), .seconds = {}, .last_reasons = {}})
           .status());
  must(runtime->db().execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  fs::copy_file(folder / "berth.db", folder / "bare.db");
  {
    berth::Database bare = must(berth::open_state(folder / "bare.db"));
    steps.bare_dispatch.push_back(bare_update(bare, "starting", "starting"));
    steps.bare_sync.push_back(bare_update(bare, "running", "running"));
  }
  berth::Lease lease = must(berth::take_round_lease(*runtime));
  std::vector<berth::LiveExecutor> executors = must(berth::reach_executors(*runtime));
  steps.dispatch.push_back(time_of([&] {
    const berth::DispatchReport report = must(berth::dispatch(*runtime, lease, executors));
    if (report.tasks != world.jobs * world.tasks) give_up(fmt::format("{} tasks were launched", report.tasks));
  }));
  const auto sync = [&] {
    const berth::SyncReport report = must(berth::observe_executors(*runtime, lease, executors));
    if (report.asked_tasks != world.jobs * world.tasks) give_up("not all tasks were asked about");
  };
  steps.first_sync.push_back(time_of(sync));
  steps.sync.push_back(time_of(sync));
  env.advance(berth::Seconds(60));
  steps.last_sync.push_back(time_of(sync));
}

void print_steps(const World& world, int rounds) {
  Steps steps;
  for (int i = 0; i < rounds; ++i) measure_steps(world, steps);
  fmt::print("{} tasks in {} jobs{:>16}{:>14}{:>10}\n", world.jobs * world.tasks, world.jobs, "ms", "bare update",
             "times");
  const auto print = [](const char* name, double own, double bare) {
    fmt::print("{:<28}{:>10.1f}{:>14.1f}{:>10.2f}\n", name, own * 1000, bare * 1000, own / bare);
  };
  print("dispatch", median(steps.dispatch), median(steps.bare_dispatch));
  print("sync: all begin to run", median(steps.first_sync), median(steps.bare_sync));
  print("sync: nothing has changed", median(steps.sync), median(steps.bare_sync));
  print("sync: all have ended", median(steps.last_sync), median(steps.bare_sync));
  print("dispatch and first sync", median(steps.dispatch) + median(steps.first_sync),
        median(steps.bare_dispatch) + median(steps.bare_sync));
}

double run_jobs(std::int64_t jobs) {
  const Folder folder;
  const berth::SystemEnv env;
  const auto runtime = make_runtime(folder, env,
                                    {.jobs = jobs,
                                     .tasks = 1,
                                     .nodes = "here",
                                     .cores = 512,
                                     .executor = "local",
                                     .options = {{"node", "here"}, {"limits", "none"}}});
  return time_of([&] {
    while (must(runtime->db().integer("SELECT EXISTS (SELECT 1 FROM live_jobs)")) != 0) {
      must(berth::run_round(*runtime, {}).status());
      must(berth::run_sync(*runtime, false).status());
    }
  });
}

double run_xargs(std::int64_t jobs) {
  return time_of([&] {
    if (std::system(fmt::format("seq {} | xargs -P 8 -I{{}} sh -c true", jobs).c_str()) != 0) give_up("xargs failed");
  });
}

}  // namespace

int main(int count, char** arguments) {
  const std::int64_t jobs = count > 2 ? std::atoll(arguments[2]) : 2000;
  const int rounds = count > 3 ? std::atoi(arguments[3]) : 3;
  print_steps({.jobs = 10000, .tasks = 1, .nodes = "n[1-100]", .cores = 128, .executor = "simulated", .options = {}},
              rounds);
  print_steps({.jobs = 1250, .tasks = 8, .nodes = "n[1-100]", .cores = 128, .executor = "simulated", .options = {}},
              rounds);
  if (count < 2) return 0;
  setenv("BERTH_PROGRAM", arguments[1], 1);
  std::vector<double> own;
  std::vector<double> xargs;
  for (int i = 0; i < rounds; ++i) {
    xargs.push_back(run_xargs(jobs));
    own.push_back(run_jobs(jobs));
  }
  fmt::print("{} jobs a second by the whole engine, {} by xargs -P 8: {:.0f}%\n",
             static_cast<std::int64_t>(static_cast<double>(jobs) / median(own)),
             static_cast<std::int64_t>(static_cast<double>(jobs) / median(xargs)), 100 * median(xargs) / median(own));
}
