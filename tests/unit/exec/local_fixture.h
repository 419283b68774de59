// A local executor in a folder of its own. The test program itself is the supervisor: see local_executor_test.cpp.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "engine/base/private_folder.h"
#include "engine/exec/executor.h"
#include "engine/exec/local_process.h"
#include "engine/exec/local_record.h"
#include "tests/builders.h"

namespace berth::test {

inline constexpr const char* kDatabase = "3fa9c2";

class LocalExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-local-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = root_ = pattern;
  }
  void TearDown() override {
    for (const LiveTask& task : started_)
      must(executor()->stop(std::vector<StopRequest>{{{task}, Seconds(0), "KILL"}}));
    for (const LiveTask& task : started_) wait_for_end(task);
    std::filesystem::remove_all(root_);
  }

  // Each call makes another one, as another process would.
  std::unique_ptr<Executor> executor(ExecutorOptions options = {}) {
    const ExecutorType& type = *must(find_executor_type("local"));
    options.try_emplace("node", "here");
    options.try_emplace("limits", "rlimit");
    options.try_emplace("stop_grace", "1s");
    const ExecutorContext context = {"local", kDatabase, folder_ + "/exec", "/proc/self/exe", &env_};
    return must(type.make(context, must(read_executor_options(type, options))));
  }

  static LaunchTask task_number(std::int32_t number, std::string node = "here") {
    LaunchTask task;
    task.task = number;
    task.rank = number;
    task.node = std::move(node);
    return task;
  }
  // One task on the node "here".
  static Launch launch_of(std::int64_t job, std::string command) {
    Launch launch;
    launch.key = {job, 1, 0};
    launch.command = std::move(command);
    launch.peers = {"here"};
    launch.tasks = {task_number(0)};
    return launch;
  }

  LiveTask start(const Launch& launch, ExecutorOptions options = {}) {
    const Delivery delivery = must(executor(std::move(options))->launch({&launch, 1})).at(0);
    EXPECT_EQ(delivery.state, DeliveryState::kDone) << delivery.detail;
    const LiveTask task = {launch.key_of(launch.tasks[0]), launch.key, delivery.external, "here"};
    started_.push_back(task);
    return task;
  }

  TaskObservation observe(const LiveTask& task) { return must(executor()->observe({&task, 1}, {})).tasks.at(0); }

  static bool wait_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 1000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  TaskObservation wait_for_end(const LiveTask& task) {
    TaskObservation seen;
    EXPECT_TRUE(wait_until([&] {
      seen = observe(task);
      return seen.phase != TaskPhase::kStarting && seen.phase != TaskPhase::kRunning;
    }));
    return seen;
  }
  TaskObservation run(const Launch& launch, ExecutorOptions options = {}) {
    return wait_for_end(start(launch, std::move(options)));
  }

  std::string output(const LiveTask& task, LogStream stream = LogStream::kOutput) {
    return must(executor()->log(task, stream, 0, 1 << 20));
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  // Not gone, and not only waiting to be buried.
  static bool is_running(const std::string& pid) {
    std::ifstream file("/proc/" + std::string(trim(pid)) + "/stat");
    std::string text;
    std::getline(file, text);
    return file && text.substr(text.rfind(')')).substr(0, 3) != ") Z";
  }
  TaskRecord record(const LiveTask& task) const {
    return *must(read_record(local_task_folder(folder_ + "/exec", kDatabase, task.key)));
  }

  static void kill_and_wait(const ProcessMark& process) {
    ASSERT_TRUE(signal_process(process, SIGKILL));
    ASSERT_TRUE(wait_until([&] { return !is_alive(process); }));
  }
  // Nobody sees the task to its end then.
  static void kill_with_guard(const TaskRecord& record) {
    kill_and_wait(record.guard);
    kill_and_wait(record.supervisor);
  }

  std::string root_;
  std::string folder_;
  SystemEnv env_;
  std::vector<LiveTask> started_;
};

}  // namespace berth::test
