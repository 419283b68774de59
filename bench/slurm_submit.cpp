// Submissions a second through the slurm executor, beside the same jobs by sbatch one after the other in the same run.
//
// usage: slurm_submit [JOBS]    needs a Slurm that SLURM_CONF names: tests/slurm/cluster.sh FOLDER start 4 64 4
//
// Each job is of one CPU on one node and runs `true`. The executor makes a folder and a script for each job besides;
// the commands' own sbatch gets the same arguments. At the end every job of the executor's must have ended well.
// Then launches in pilot mode, one after the other: from the call to the command's first word.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "bench/support.h"
#include "engine/base/text.h"
#include "engine/exec/executor.h"
#include "engine/exec/slurm_client.h"
#include "engine/exec/slurm_records.h"
#include "engine/exec/slurm_script.h"

namespace {

using namespace berth;  // NOLINT(google-build-using-namespace)
using bench::Clock;
using bench::must;
using bench::seconds_since;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// At once, rather than after every wait has run out.
void need_slurm() {
  const auto said = run_process({.command = {"sinfo", "--noheader"}, .deadline = std::chrono::seconds(20)});
  if (!said.ok()) bench::give_up(said.status().message());
  if (!said->ok() || said->output.empty()) bench::give_up("no Slurm answers: " + said->error);
}

// Nothing waits or runs: what one part leaves behind must not slow the next one.
void wait_until_idle() {
  for (int i = 0; i < 1200; ++i) {
    const auto said = run_process({.command = {"squeue", "--noheader", "--states=PD,R,CG"}});
    if (said.ok() && said->ok() && said->output.empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
}

class Bench {
 public:
  explicit Bench(std::int64_t jobs) : jobs_(jobs) {
    std::string pattern = "/tmp/berth-bench-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Bench() {
    for (const std::string& node : nodes_)
      (void)run_process({.command = {"scancel", "--name=berth-bench1-pilot-" + node}});
    std::filesystem::remove_all(folder_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  std::unique_ptr<Executor> make(ExecutorOptions given) const {
    given.try_emplace("poll_interval", "0s");
    given.try_emplace("timeout", "120s");
    const ExecutorType* type = must(find_executor_type("slurm"));
    return must(type->make({"bench", "bench1", folder_, "", &env_}, must(read_executor_options(*type, given))));
  }

  // What is submitted meanwhile waits, so that only submission is measured.
  void hold(bool is_held) const {
    const Result<std::vector<Delivery>> told = make({})->cordon(nodes_, is_held, "bench");
    if (!told.ok()) return fmt::print("{}\n", told.status().message());
    for (const Delivery& each : *told) {
      if (each.state != DeliveryState::kDone) fmt::print("{}\n", each.detail);
    }
  }

  std::vector<Launch> launches(std::int64_t first, const std::string& command) const {
    std::vector<Launch> list;
    for (std::int64_t i = 0; i < jobs_; ++i) {
      Launch launch;
      launch.key = {first + i, 1, 0};
      launch.command = command;
      const std::string node = nodes_[static_cast<std::size_t>(i) % nodes_.size()];
      launch.peers = {node};
      launch.tasks = {{0, 0, 0, node, 0, kWholeDevice, MiB(0), MilliCpu(1000), MiB(10)}};
      list.push_back(std::move(launch));
    }
    return list;
  }

  // From the call of launch() to the command's first word, one launch after the other: milliseconds.
  std::vector<double> pilot_starts(std::int64_t count, std::int64_t first) {
    const auto executor = make({{"pilot", "true"}, {"poll_interval", "1s"}});
    std::vector<double> times;
    const std::string mark = folder_ + "/mark";
    std::vector<Launch> list = launches(first, fmt::format("date +%s%N >{0}.new; mv {0}.new {0}", mark));
    list.resize(static_cast<std::size_t>(std::min<std::int64_t>(count, jobs_)));
    for (const Launch& launch : list) {
      Delivery delivery;
      std::int64_t start = 0;
      for (int i = 0; i < 600 && (i == 0 || delivery.state != DeliveryState::kDone); ++i) {
        if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        start = now_ns();
        delivery = must(executor->launch({&launch, 1})).front();
      }
      for (int i = 0; i < 10000 && !std::filesystem::exists(mark); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto text = read_whole_file(mark);
      if (text) times.push_back(static_cast<double>(must(read_integer(trim(*text))) - start) / 1e6);
      std::filesystem::remove(mark);
    }
    return times;
  }

  // The same sbatch calls, one after the other.
  double one_by_one() const {
    const SlurmClient client(folder_, "", Seconds(60), Seconds(0), std::to_string(geteuid()));
    SlurmSubmitOptions options;
    options.database = "other1";
    options.shared_folder = folder_;
    std::vector<std::vector<std::string>> commands;
    for (const Launch& launch : launches(1, "true")) {
      const std::vector<SlurmComponent> components = must(slurm_components(launch, 0));
      commands.push_back(sbatch_command(launch, components, options));
      commands.back().pop_back();
      for (std::string& word : commands.back()) {
        if (word.starts_with("--chdir=")) word = "--chdir=/";
        if (word.starts_with("--output=")) word = "--output=/dev/null";
      }
      commands.back().push_back("--wrap=true");
    }
    hold(true);
    const Clock::time_point start = Clock::now();
    for (const auto& command : commands) must(client.submit(command));
    const double took = seconds_since(start);
    hold(false);
    wait_until_idle();
    return took;
  }

  double by_executor(const std::string& parallel, std::int64_t first) {
    const auto executor = make({{"parallel", parallel}});
    const std::vector<Launch> list = launches(first, "true");
    hold(true);
    const Clock::time_point start = Clock::now();
    for (const Delivery& delivery : must(executor->launch(list)))
      if (delivery.state != DeliveryState::kDone) fmt::print("not submitted: {}\n", delivery.detail);
    const double took = seconds_since(start);
    hold(false);
    wait_until_idle();
    wait_for(*executor, list);
    return took;
  }

 private:
  static void wait_for(Executor& executor, const std::vector<Launch>& list) {
    std::vector<LiveTask> tasks;
    for (const Launch& launch : list) tasks.push_back({launch.key_of(launch.tasks[0]), launch.key, "", ""});
    for (int i = 0; i < 300; ++i) {
      const auto seen = must(executor.observe(tasks, {})).tasks;
      if (std::ranges::all_of(seen, &TaskObservation::succeeded)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    fmt::print("not all jobs ended well\n");
  }

  SystemEnv env_;
  std::int64_t jobs_;
  std::string folder_;
  std::vector<std::string> nodes_ = {"n1", "n2", "n3", "n4"};
};

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t jobs = argc > 1 ? std::atoll(argv[1]) : 500;
  constexpr std::int64_t kRounds = 5;
  need_slurm();
  Bench bench(std::max<std::int64_t>(1, jobs / kRounds));
  // In turns, so that whatever else this machine does falls on all alike.
  std::array<double, 3> took{};
  for (std::int64_t round = 0; round < kRounds; ++round) {
    took[0] += bench.one_by_one();
    took[1] += bench.by_executor("1", 10000 * (round + 1));
    took[2] += bench.by_executor("4", 10000 * (round + 1) + 5000);
  }
  constexpr std::array kRows = {"sbatch, one after the other", "executor, parallel = 1",
                                "executor, parallel = 4 (default)"};
  for (std::size_t i = 0; i < kRows.size(); ++i)
    fmt::print("{:<34} {:>6.2f} s {:>7.0f} a second\n", kRows[i], took[i], static_cast<double>(jobs) / took[i]);
  std::vector<double> starts;
  for (std::int64_t round = 0; round < 2; ++round)
    for (const double each : bench.pilot_starts(100, 900000 + 1000 * round)) starts.push_back(each);
  if (starts.empty()) return 1;
  std::ranges::sort(starts);
  fmt::print("pilot: {} launches, from launch() to the command: median {:.0f} ms, p99 {:.0f} ms\n", starts.size(),
             starts[starts.size() / 2], starts[starts.size() * 99 / 100]);
  return 0;
}
