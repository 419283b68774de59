// An executor of type kubernetes with the real kubectl, and what it is given.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "engine/exec/executor.h"
#include "engine/exec/process.h"
#include "tests/builders.h"
#include "tests/kubernetes/api_server.h"

namespace berth::test {

inline constexpr const char* kDatabase = "3fa9c2";
inline constexpr const char* kNoKubectl =
    "there is no kubectl: scripts/setup.sh installs Debian's, or the variable KUBECTL names one";

inline std::string kubectl_program() {
  const char* named = std::getenv("KUBECTL");
  return named == nullptr ? "kubectl" : named;
}

inline bool has_kubectl() {
  static const bool is_there = [] {
    const Result<ProcessOutput> said = run_process({.command = {kubectl_program(), "version", "--client"}});
    return said.ok() && said->exit_code == 0;
  }();
  return is_there;
}

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "berth-kubernetes-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  std::string path;
};

// As another process would: nothing is shared with an earlier one but the folder.
inline std::unique_ptr<Executor> kubernetes_executor(const std::string& kubeconfig, const std::string& folder,
                                                     const Env& env, ExecutorOptions options = {},
                                                     const std::string& database = kDatabase) {
  const ExecutorType* type = must(find_executor_type("kubernetes"));
  options.insert({{"kubectl", kubectl_program()}, {"kubeconfig", kubeconfig}, {"namespace", "berth"}});
  options.insert({{"image", "busybox"}, {"timeout", "20s"}});
  return must(type->make({"k8s", database, folder, "", &env}, must(read_executor_options(*type, options))));
}

// A launch of so many tasks of 2 devices, 8 cores and 32 GiB, the n-th on node n1, n2, ...
inline Launch launch_of(std::int64_t job, int tasks = 1) {
  Launch launch;
  launch.key = {job, 1, 0};
  launch.job_name = "train";
  launch.command = "exit 3";
  for (int i = 0; i < tasks; ++i) {
    const std::string node = "n" + std::to_string(i + 1);
    launch.peers.push_back(node);
    launch.tasks.push_back({0, i, i, node, 0b11, kWholeDevice, MiB(0), MilliCpu(8000), MiB(32768)});
  }
  return launch;
}

inline std::string pod_of(const Launch& launch, std::size_t task = 0) {
  return print_key(kDatabase, launch.key_of(launch.tasks[task]));
}

inline std::vector<LiveTask> live(const Launch& launch, const std::string& external = "known") {
  std::vector<LiveTask> tasks;
  for (const LaunchTask& task : launch.tasks) tasks.push_back({launch.key_of(task), launch.key, external, task.node});
  return tasks;
}

inline Delivery launch_one(Executor& executor, const Launch& launch) {
  return must(executor.launch(std::span(&launch, 1))).front();
}
inline Delivery stop_one(Executor& executor, const StopRequest& request) {
  return must(executor.stop(std::span(&request, 1))).front();
}
inline TaskObservation observe_one(Executor& executor, const Launch& launch, const std::string& external = "known") {
  return must(executor.observe(live(launch, external), {})).tasks.front();
}

}  // namespace berth::test
