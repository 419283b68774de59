// The slurm executor on a real Slurm of a few small nodes, and launches whose commands append to a file of their own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/exec/executor.h"
#include "engine/exec/slurm_records.h"
#include "tests/slurm/slurm_cluster.h"

namespace berth::test {

inline SlurmCluster& cluster() {
  static SlurmCluster only(SLURM_CLUSTER);
  return only;
}

class Slurm : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { lacking_ = cluster().start({"4", "8", "4"}); }

  void SetUp() override {
    if (!lacking_.empty()) GTEST_SKIP() << lacking_;
    static int serial = 0;
    tag_ = "test" + std::string(1, static_cast<char>('a' + serial / 26)) + static_cast<char>('a' + serial % 26);
    ++serial;
    folder_ = cluster().folder() + "/" + tag_;
    executor_ = make({});
  }
  void TearDown() override {
    if (lacking_.empty())
      shell(
          "squeue -h -o %A | sort -u | xargs -r scancel --signal=KILL --full; "
          "squeue -h -o %A | sort -u | xargs -r scancel");
  }

  std::unique_ptr<Executor> make(ExecutorOptions given) const {
    given.try_emplace("poll_interval", "0s");
    given.try_emplace("kill_wait", "1s");
    const ExecutorType* type = must(find_executor_type("slurm"));
    const ExecutorContext context{"cluster", tag_, folder_, "", &env_};
    return must(type->make(context, must(read_executor_options(*type, given))));
  }

  struct Place {
    std::string node;
    DeviceMask devices = 0;
    std::int64_t cpus = 1;
  };
  Launch launch_of(std::int64_t job, const std::string& command, const std::vector<Place>& places) const {
    Launch launch;
    launch.key = {job, 1, 0};
    launch.job_name = "train it's";
    launch.command = command;
    launch.environment = {{"OUT", folder_ + "/out." + std::to_string(job)}, {"WORDS", "a 'b' \"c\" $d"}};
    std::int32_t rank = 0;
    for (const Place& place : places) {
      launch.peers.push_back(place.node);
      launch.tasks.push_back(
          {0, rank, rank, place.node, place.devices, kWholeDevice, MiB(40960), MilliCpu(place.cpus * 1000), MiB(100)});
      ++rank;
    }
    return launch;
  }
  static std::vector<LiveTask> live(const Launch& launch) {
    std::vector<LiveTask> tasks;
    for (const LaunchTask& task : launch.tasks) tasks.push_back({launch.key_of(task), launch.key, "", task.node});
    return tasks;
  }
  Delivery deliver(const Launch& launch) { return must(executor_->launch({&launch, 1})).front(); }
  std::vector<TaskObservation> look(const Launch& launch) { return must(executor_->observe(live(launch), {})).tasks; }
  bool all(const Launch& launch, TaskPhase phase) {
    for (const TaskObservation& task : look(launch))
      if (task.phase != phase) return false;
    return true;
  }
  bool comes_to(const Launch& launch, TaskPhase phase) {
    return eventually([&] { return all(launch, phase); });
  }
  std::string out(std::int64_t job) const {
    return read_whole_file(folder_ + "/out." + std::to_string(job)).value_or("");
  }

  static inline std::string lacking_;
  SystemEnv env_;
  std::string tag_;
  std::string folder_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace berth::test
