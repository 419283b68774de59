// Tasks started per second by the local executor, beside xargs running the same commands.
//
//   local_launch BERTH [TASKS] [ROUNDS]     BERTH = the berth binary; 2,000 tasks of `true`, 3 rounds
//
// Each line is the median of the rounds, in which the kinds take turns: from the first launch until the last task has
// ended and its outcome is recorded.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "bench/support.h"
#include "engine/exec/executor.h"

namespace {

using berth::bench::Clock;
using berth::bench::give_up;
using berth::bench::must;
using berth::bench::seconds_since;

struct Measured {
  double seconds = 0;
  double slowest_launch = 0;
};

Measured run_xargs(std::int64_t tasks) {
  const Clock::time_point begin = Clock::now();
  const std::string command = fmt::format("seq {} | xargs -P 8 -I{{}} sh -c true", tasks);
  if (std::system(command.c_str()) != 0) give_up("xargs failed");
  return {seconds_since(begin), 0};
}

Measured run_local(const std::string& program, const std::string& folder, std::int64_t tasks, std::int64_t batch) {
  const berth::SystemEnv env;
  const berth::ExecutorType& type = *must(berth::find_executor_type("local"));
  const berth::ExecutorContext context = {"local", "abc123", folder, program, &env};
  const auto executor = must(type.make(context, must(berth::read_executor_options(type, {{"node", "here"}}))));
  std::vector<berth::LiveTask> live;
  Measured measured;
  const Clock::time_point begin = Clock::now();
  for (std::int64_t first = 0; first < tasks; first += batch) {
    std::vector<berth::Launch> launches;
    for (std::int64_t job = first; job < std::min(first + batch, tasks); ++job) {
      berth::Launch launch;
      launch.key = {job, 1, 0};
      launch.command = "true";
      launch.tasks.resize(1);
      launch.tasks[0].node = "here";
      live.push_back({launch.key_of(launch.tasks[0]), launch.key, "", "here"});
      launches.push_back(std::move(launch));
    }
    const Clock::time_point before = Clock::now();
    for (const berth::Delivery& delivery : must(executor->launch(launches)))
      if (delivery.state != berth::DeliveryState::kDone) give_up(delivery.detail);
    measured.slowest_launch = std::max(measured.slowest_launch, seconds_since(before));
  }
  while (!live.empty()) {
    const berth::Observation seen = must(executor->observe(live, {}));
    std::vector<berth::LiveTask> left;
    for (std::size_t i = 0; i < live.size(); ++i) {
      if (seen.tasks[i].phase != berth::TaskPhase::kEnded) left.push_back(live[i]);
    }
    live = std::move(left);
    if (!live.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  measured.seconds = seconds_since(begin);
  return measured;
}

Measured median(std::vector<Measured> all) {
  std::ranges::sort(all, {}, &Measured::seconds);
  return all[all.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) give_up("local_launch BERTH [TASKS] [ROUNDS]");
  const std::string program = arguments[1];
  const std::int64_t tasks = count > 2 ? std::atoll(arguments[2]) : 2000;
  const std::int64_t rounds = count > 3 ? std::atoll(arguments[3]) : 3;
  // Removed in the end: ext4 is slow to create files where many were removed within seconds.
  std::string folder = (std::filesystem::temp_directory_path() / "berth-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) give_up("no temporary folder");
  std::vector<Measured> xargs;
  std::vector<Measured> by_8;
  std::vector<Measured> by_64;
  for (std::int64_t round = 0; round < rounds; ++round) {
    xargs.push_back(run_xargs(tasks));
    by_8.push_back(run_local(program, fmt::format("{}/{}-8", folder, round), tasks, 8));
    by_64.push_back(run_local(program, fmt::format("{}/{}-64", folder, round), tasks, 64));
  }
  std::filesystem::remove_all(folder);
  const double peer = median(xargs).seconds;
  fmt::print("{:<24}{:>10}{:>10}{:>16}\n", "", "tasks/s", "of xargs", "slowest launch");
  const auto print = [&](const char* name, const Measured& measured) {
    fmt::print("{:<24}{:>10.0f}{:>9.0f}%{:>13.1f} ms\n", name, static_cast<double>(tasks) / measured.seconds,
               100 * peer / measured.seconds, measured.slowest_launch * 1000);
  };
  print("xargs -P 8", median(xargs));
  print("launches of 8 tasks", median(by_8));
  print("launches of 64 tasks", median(by_64));
}
