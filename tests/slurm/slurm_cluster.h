// The private Slurm cluster of cluster.sh for the length of a test program, and waiting for things in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/exec/process.h"
#include "tests/builders.h"

namespace berth::test {

class SlurmCluster {
 public:
  // Nothing is started before that.
  explicit SlurmCluster(std::string script) : script_(std::move(script)) {}
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;
  ~SlurmCluster() {
    if (folder_.empty()) return;
    verb({"stop"});
    if (std::getenv("BERTH_KEEP") == nullptr) std::filesystem::remove_all(folder_);
  }

  // Why it cannot be; empty = it is up.
  std::string start(const std::vector<std::string>& size) {
    const ProcessOutput possible = must(run_process({.command = {script_, "possible"}}));
    if (!possible.ok()) return possible.output;
    std::string pattern = "/tmp/berth-slurm-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("SLURM_CONF", (folder_ + "/slurm.conf").c_str(), 1);
    std::vector<std::string> words = {"start"};
    words.insert(words.end(), size.begin(), size.end());
    const ProcessOutput started = verb(words);
    EXPECT_TRUE(started.ok()) << started.complaint("cluster.sh");
    return "";
  }

  ProcessOutput verb(const std::vector<std::string>& words) const {
    ProcessRequest request{.command = {script_, folder_}, .deadline = std::chrono::seconds(100)};
    request.command.insert(request.command.end(), words.begin(), words.end());
    return must(run_process(request));
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string script_;
  std::string folder_;
};

// What a command prints, by the shell.
inline std::string shell(const std::string& command) {
  return must(run_process({.command = {"sh", "-c", command}})).output;
}

inline bool eventually(const std::function<bool()>& is_true, int seconds = 15) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace berth::test
