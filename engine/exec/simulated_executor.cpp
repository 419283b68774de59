#include "engine/exec/simulated_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

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

// "exit:3", "signal:10", "done", "on": how a task ends when it is told to.
struct ToldEnd {
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  bool said_done = false;
  bool needs_stop = false;  // a signal alone does not end it
  bool is_gone = false;     // nobody knows how it ended
};
Result<std::vector<ToldEnd>> read_told_ends(std::string_view text) {
  std::vector<ToldEnd> ends;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view words = trim(part);
    const std::size_t colon = words.find(':');
    const Result<std::int64_t> number =
        colon == std::string_view::npos ? Result<std::int64_t>(0) : read_integer(words.substr(colon + 1));
    const std::string_view kind = words.substr(0, colon);
    if (words.empty() || kind == "on") {
      ends.push_back({.signal = 15, .needs_stop = true});
    } else if (kind == "gone") {
      ends.push_back({.is_gone = true});
    } else if (kind == "done") {
      ends.push_back({.said_done = true});
    } else if (number.ok() && kind == "exit") {
      ends.push_back({.exit_code = static_cast<std::int32_t>(*number)});
    } else if (number.ok() && kind == "signal") {
      ends.push_back({.signal = static_cast<std::int32_t>(*number)});
    } else {
      return Status(Code::kInvalid, fmt::format("'{}' is not 'exit:3', 'signal:10', 'done', 'gone' or 'on'", words));
    }
  }
  return ends;
}

// "n[1-2] 8 16GiB, g1 32 256GiB 4 A100"
Result<std::vector<InventoryNode>> read_nodes(std::string_view text) {
  std::vector<InventoryNode> nodes;
  for (const std::string_view part : split(text, ',')) {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(trim(part), ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (words.empty()) continue;
    if (words.size() != 3 && words.size() != 5)
      return Status(Code::kInvalid, fmt::format("'{}' is not a name, cores, memory, and devices and their model or "
                                                "none",
                                                trim(part)));
    InventoryNode node;
    BERTH_ASSIGN(node.cpu, read_cpu(words[1]));
    BERTH_ASSIGN(node.memory, read_memory(words[2]));
    if (words.size() == 5) {
      BERTH_ASSIGN(const std::int64_t devices, read_integer(words[3]));
      if (devices < 0 || devices > kMaxDevices)
        return Status(Code::kInvalid, fmt::format("a node has 0 to {} devices, not {}", kMaxDevices, devices));
      node.devices = static_cast<std::int32_t>(devices);
      node.model = words[4];
    }
    BERTH_ASSIGN(const std::vector<std::string> names, expand_range(words[0]));
    for (const std::string& name : names) {
      node.name = name;
      nodes.push_back(node);
    }
  }
  return nodes;
}

class SimulatedExecutor : public Executor {
 public:
  SimulatedExecutor(const ExecutorContext& context, Seconds runtime, std::int64_t fail, Seconds clock_offset,
                    const ExecutorOptions& options, std::vector<InventoryNode> nodes, std::vector<ToldEnd> told_ends)
      : context_(context),
        inventory_(std::move(nodes)),
        told_ends_(std::move(told_ends)),
        waits_(options.at("waits")),
        runtime_(runtime),
        fail_(fail),
        clock_offset_(clock_offset),
        is_down_(options.at("down") == "true"),
        tells_strays_(options.at("strays") == "true"),
        bad_nodes_(names_of(options.at("bad_nodes"))),
        cordoned_nodes_(names_of(options.at("cordoned_nodes"))),
        foreign_on_(names_of(options.at("foreign_on"))),
        file_(context.folder + "/launches"),
        cordons_file_(context.folder + "/cordons") {}

  Status read() {
    std::error_code error;
    std::filesystem::create_directories(context_.folder, error);
    std::ifstream lines(file_);
    LaunchKey key;
    Run run;
    for (std::string text; std::getline(lines, text);) {
      // Of a later generation, and of one that got a signal, the line goes on.
      std::istringstream words(text);
      if (!(words >> key.job >> key.attempt >> key.sequence >> run.start >> run.stop)) continue;
      if (!(words >> key.generation)) key.generation = 0;
      if (!(words >> run.signal)) run.signal = -1;
      runs_[key] = run;
    }
    std::ifstream cordons(cordons_file_);
    bool is_cordoned = false;
    std::string node;
    std::string reason;
    while (cordons >> is_cordoned >> node && std::getline(cordons, reason)) note_cordon(node, is_cordoned, reason);
    return {};
  }

  Result<std::vector<Delivery>> launch(std::span<const Launch> launches) override {
    BERTH_TRY(reach());
    std::vector<Delivery> deliveries;
    std::string lines;
    for (const Launch& launch : launches) {
      if (!runs_.contains(launch.key)) {
        runs_[launch.key] = {.start = now()};
        lines += line(launch.key);
      }
      deliveries.push_back({DeliveryState::kDone, print_key(context_.database, launch.key), ""});
    }
    BERTH_TRY(append(file_, lines));
    return deliveries;
  }

  Result<std::vector<Delivery>> stop(std::span<const StopRequest> requests) override {
    BERTH_TRY(reach());
    std::string lines;
    for (const StopRequest& request : requests) {
      if (request.tasks.empty()) continue;
      const auto run = runs_.find(request.tasks.front().launch);
      if (run == runs_.end()) continue;
      std::int64_t& told = request.grace ? run->second.stop : run->second.signal;
      if (told >= 0) continue;
      told = now();
      lines += line(run->first);
    }
    BERTH_TRY(append(file_, lines));
    return std::vector<Delivery>(requests.size());
  }

  Result<Observation> observe(std::span<const LiveTask> tasks, std::span<const std::string> nodes) override {
    BERTH_TRY(reach());
    Observation seen;
    seen.tasks.reserve(tasks.size());
    for (const LiveTask& task : tasks) seen.tasks.push_back(observe_task(task));
    if (tells_strays_) observe_strays(tasks, seen);
    for (const std::string& node : nodes) {
      const bool is_bad = bad_nodes_.contains(node);
      if (!inventory_.empty() && std::ranges::find(inventory_, node, &InventoryNode::name) == inventory_.end()) {
        seen.nodes.push_back({node, false, false, "there is no such node"});
        continue;
      }
      const bool is_cordoned = cordoned_nodes_.contains(node);
      const std::string trouble = is_bad ? "not in order" : is_cordoned ? "somebody drains it" : "";
      seen.nodes.push_back({node, !is_bad, is_cordoned, trouble, !is_cordoned && cordons_.contains(node)});
      if (foreign_on_.contains(node))
        seen.foreign.push_back(
            {.node = node, .what = "somebody's job", .cpu = MilliCpu(2000), .memory = MiB(1024), .gpu_count = 1});
    }
    return seen;
  }

  Result<std::vector<InventoryNode>> inventory() override {
    BERTH_TRY(reach());
    return inventory_;
  }

  Result<std::string> log(const LiveTask&, LogStream, std::int64_t, std::int64_t) override { return std::string(); }

  bool has_cordons() const override { return true; }

  Result<std::vector<Delivery>> cordon(std::span<const std::string> nodes, bool is_cordoned,
                                       const std::string& reason) override {
    BERTH_TRY(reach());
    std::vector<Delivery> deliveries(nodes.size());
    std::string lines;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (is_cordoned && cordoned_nodes_.contains(nodes[i])) {
        deliveries[i] = {DeliveryState::kRefused, "", "somebody drains it"};
        continue;
      }
      if (cordons_.contains(nodes[i]) == is_cordoned) continue;
      lines += fmt::format("{:d} {} {}\n", is_cordoned, nodes[i], reason);
      note_cordon(nodes[i], is_cordoned, reason);
    }
    BERTH_TRY(append(cordons_file_, lines));
    return deliveries;
  }

 private:
  struct Run {
    std::int64_t start = 0;
    std::int64_t signal = -1;  // -1 = none was sent
    std::int64_t stop = -1;    // -1 = nobody stopped it
  };

  std::int64_t now() const { return context_.env->now().value(); }
  Status reach() const {
    return is_down_ ? Status(Code::kUnavailable, fmt::format("executor {} is down", context_.name)) : Status();
  }
  std::string line(const LaunchKey& key) const {
    const Run& run = runs_.at(key);
    const std::string signal = run.signal < 0 ? std::string() : fmt::format(" {}", run.signal);
    const std::string more =
        key.generation == 0 && signal.empty() ? std::string() : fmt::format(" {}{}", key.generation, signal);
    return fmt::format("{} {} {} {} {}{}\n", key.job, key.attempt, key.sequence, run.start, run.stop, more);
  }

  void note_cordon(const std::string& node, bool is_cordoned, const std::string& reason) {
    if (is_cordoned) {
      cordons_[node] = trim(reason);
    } else {
      cordons_.erase(node);
    }
  }

  static Status append(const std::string& path, const std::string& lines) {
    if (lines.empty()) return {};
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const bool written = file >= 0 && write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
    const int error = errno;
    if (file >= 0) close(file);
    return written ? Status() : Status(Code::kUnavailable, fmt::format("{}: {}", path, std::strerror(error)));
  }

  TaskObservation observe_task(const LiveTask& task) const {
    TaskObservation seen;
    seen.key = task.key;
    const auto run = runs_.find(task.launch);
    if (run == runs_.end()) return seen;
    seen.external = print_key(context_.database, task.launch);
    if (!waits_.empty() && run->second.stop < 0) {
      seen.phase = TaskPhase::kStarting;
      seen.detail = waits_;
      seen.is_stuck = true;
      return seen;
    }
    seen.started = Seconds(run->second.start) + clock_offset_;
    const ToldEnd& told = told_ends_[static_cast<std::size_t>(task.key.task) % told_ends_.size()];
    const std::int64_t planned = run->second.start + runtime_.value();
    std::int64_t told_at = run->second.stop;
    if (!told.needs_stop && run->second.signal >= 0) told_at = run->second.signal;
    const bool was_told = told_at >= 0 && told_at < planned;
    const std::int64_t end = was_told ? told_at : planned;
    seen.phase = end <= now() ? TaskPhase::kEnded : TaskPhase::kRunning;
    if (seen.phase == TaskPhase::kRunning) return seen;
    seen.ended = Seconds(end) + clock_offset_;
    if (was_told) {
      seen.was_told = true;
      seen.exit_code = told.exit_code;
      seen.signal = told.signal;
      seen.said_done = told.said_done;
      if (told.is_gone) seen.phase = TaskPhase::kVanished;
    } else if (fail_ > 0 && task.key.job % fail_ == 0) {
      seen.exit_code = 1;
    }
    return seen;
  }

  // Of each launch its first task.
  void observe_strays(std::span<const LiveTask> tasks, Observation& seen) const {
    for (const auto& [launch, run] : runs_) {
      const LaunchKey& key = launch;
      if (std::ranges::any_of(tasks, [&](const LiveTask& task) { return task.launch == key; })) continue;
      TaskObservation stray = observe_task(
          {.key = {key.job, key.attempt, 0, 0, key.generation}, .launch = key, .external = "", .node = ""});
      stray.sequence = key.sequence;
      if (stray.phase == TaskPhase::kRunning) seen.unknown_tasks.push_back(std::move(stray));
    }
  }

  ExecutorContext context_;
  std::vector<InventoryNode> inventory_;  // empty = whatever it is asked about
  std::vector<ToldEnd> told_ends_;        // of each task in turn; one at least
  std::string waits_;
  Seconds runtime_;
  std::int64_t fail_;
  Seconds clock_offset_;
  bool is_down_;
  bool tells_strays_;
  std::set<std::string, std::less<>> bad_nodes_;
  std::set<std::string, std::less<>> cordoned_nodes_;
  std::set<std::string, std::less<>> foreign_on_;
  std::string file_;
  std::string cordons_file_;
  std::map<LaunchKey, Run> runs_;
  std::map<std::string, std::string, std::less<>> cordons_;  // by node: why
};

}  // namespace

Result<std::unique_ptr<Executor>> make_simulated_executor(const ExecutorContext& context,
                                                          const ExecutorOptions& options) {
  BERTH_ASSIGN(const Seconds runtime, read_duration(options.at("runtime")));
  BERTH_ASSIGN(const std::int64_t fail, read_integer(options.at("fail")));
  Result<std::vector<InventoryNode>> nodes = read_nodes(options.at("nodes"));
  if (!nodes.ok()) return std::move(nodes).status().in_option("nodes");
  Result<std::vector<ToldEnd>> told_ends = read_told_ends(options.at("when_told"));
  if (!told_ends.ok()) return std::move(told_ends).status().in_option("when_told");
  BERTH_ASSIGN(const std::int64_t clock_offset, read_integer(options.at("clock_offset")));
  auto executor = std::make_unique<SimulatedExecutor>(context, runtime, fail, Seconds(clock_offset), options,
                                                      *std::move(nodes), *std::move(told_ends));
  BERTH_TRY(executor->read());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace berth
