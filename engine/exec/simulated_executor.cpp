#include "engine/exec/simulated_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/base/text.h"

namespace berth {

namespace {

std::set<std::string, std::less<>> names_of(std::string_view text) {
  std::set<std::string, std::less<>> names;
  for (const std::string_view name : split(text, ',')) {
    if (!trim(name).empty()) names.emplace(trim(name));
  }
  return names;
}

class SimulatedExecutor : public Executor {
 public:
  SimulatedExecutor(const ExecutorContext& context, Seconds runtime, std::int64_t fail, const ExecutorOptions& options)
      : context_(context),
        runtime_(runtime),
        fail_(fail),
        is_down_(options.at("down") == "true"),
        bad_nodes_(names_of(options.at("bad_nodes"))),
        foreign_on_(names_of(options.at("foreign_on"))),
        file_(context.folder + "/launches") {}

  Status read() {
    std::error_code error;
    std::filesystem::create_directories(context_.folder, error);
    std::ifstream lines(file_);
    LaunchKey key;
    std::int64_t start = 0;
    std::int64_t stop = 0;
    while (lines >> key.job >> key.attempt >> key.sequence >> start >> stop) note(key, start, stop);
    return {};
  }

  Result<std::vector<Delivery>> launch(std::span<const Launch> launches) override {
    BERTH_TRY(reach());
    std::vector<Delivery> deliveries;
    std::string lines;
    for (const Launch& launch : launches) {
      if (!runs_.contains(launch.key)) {
        lines += line(launch.key, now(), -1);
        note(launch.key, now(), -1);
      }
      deliveries.push_back({DeliveryState::kDone, print_key(context_.database, launch.key), ""});
    }
    BERTH_TRY(append(lines));
    return deliveries;
  }

  Result<std::vector<Delivery>> stop(std::span<const StopRequest> requests) override {
    BERTH_TRY(reach());
    std::string lines;
    for (const StopRequest& request : requests) {
      if (!request.grace || request.tasks.empty()) continue;
      const LaunchKey key = request.tasks.front().launch;
      const auto run = runs_.find(key);
      if (run == runs_.end() || run->second.stop >= 0) continue;
      lines += line(key, run->second.start, now());
      run->second.stop = now();
    }
    BERTH_TRY(append(lines));
    return std::vector<Delivery>(requests.size());
  }

  Result<Observation> observe(std::span<const LiveTask> tasks, std::span<const std::string> nodes) override {
    BERTH_TRY(reach());
    Observation seen;
    seen.tasks.reserve(tasks.size());
    for (const LiveTask& task : tasks) seen.tasks.push_back(observe_task(task));
    for (const std::string& node : nodes) {
      const bool is_bad = bad_nodes_.contains(node);
      seen.nodes.push_back({node, !is_bad, false, is_bad ? "not in order" : ""});
      if (foreign_on_.contains(node))
        seen.foreign.push_back(
            {.node = node, .what = "somebody's job", .cpu = MilliCpu(2000), .memory = MiB(1024), .gpu_count = 1});
    }
    return seen;
  }

  Result<std::vector<InventoryNode>> inventory() override { return std::vector<InventoryNode>(); }

  Result<std::string> log(const LiveTask&, LogStream, std::int64_t, std::int64_t) override { return std::string(); }

 private:
  struct Run {
    std::int64_t start;
    std::int64_t stop;  // -1 = nobody stopped it
  };

  std::int64_t now() const { return context_.env->now().value(); }
  Status reach() const {
    return is_down_ ? Status(Code::kUnavailable, fmt::format("executor {} is down", context_.name)) : Status();
  }
  void note(const LaunchKey& key, std::int64_t start, std::int64_t stop) { runs_[key] = {start, stop}; }
  static std::string line(const LaunchKey& key, std::int64_t start, std::int64_t stop) {
    return fmt::format("{} {} {} {} {}\n", key.job, key.attempt, key.sequence, start, stop);
  }

  Status append(const std::string& lines) const {
    if (lines.empty()) return {};
    const int file = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const bool written = file >= 0 && write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
    const int error = errno;
    if (file >= 0) close(file);
    return written ? Status() : Status(Code::kUnavailable, fmt::format("{}: {}", file_, std::strerror(error)));
  }

  TaskObservation observe_task(const LiveTask& task) const {
    TaskObservation seen;
    seen.key = task.key;
    const auto run = runs_.find(task.launch);
    if (run == runs_.end()) return seen;
    seen.external = print_key(context_.database, task.launch);
    seen.started = Seconds(run->second.start);
    const std::int64_t planned = run->second.start + runtime_.value();
    const bool was_stopped = run->second.stop >= 0 && run->second.stop < planned;
    const std::int64_t end = was_stopped ? run->second.stop : planned;
    seen.phase = end <= now() ? TaskPhase::kEnded : TaskPhase::kRunning;
    if (seen.phase == TaskPhase::kRunning) return seen;
    seen.ended = Seconds(end);
    if (was_stopped) {
      seen.signal = 15;
    } else if (fail_ > 0 && task.key.job % fail_ == 0) {
      seen.exit_code = 1;
    }
    return seen;
  }

  ExecutorContext context_;
  Seconds runtime_;
  std::int64_t fail_;
  bool is_down_;
  std::set<std::string, std::less<>> bad_nodes_;
  std::set<std::string, std::less<>> foreign_on_;
  std::string file_;
  std::map<LaunchKey, Run> runs_;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_simulated_executor(const ExecutorContext& context,
                                                          const ExecutorOptions& options) {
  BERTH_ASSIGN(const Seconds runtime, read_duration(options.at("runtime")));
  BERTH_ASSIGN(const std::int64_t fail, read_integer(options.at("fail")));
  auto executor = std::make_unique<SimulatedExecutor>(context, runtime, fail, options);
  BERTH_TRY(executor->read());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace berth
