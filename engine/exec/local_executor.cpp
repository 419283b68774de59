#include "engine/exec/local_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "engine/base/private_folder.h"
#include "engine/base/text.h"
#include "engine/exec/done_file.h"
#include "engine/exec/local_devices.h"
#include "engine/exec/local_keep.h"
#include "engine/exec/local_launch.h"
#include "engine/exec/local_limits.h"
#include "engine/exec/local_machine.h"
#include "engine/exec/local_record.h"
#include "engine/exec/plain_file.h"
#include "engine/exec/supervisor.h"

namespace berth {

namespace {

// So that the death of one supervisor costs little.
constexpr std::size_t kTasksPerSupervisor = 64;
// However soon what has ended may go: an end that nobody has looked at yet is kept.
constexpr Seconds kUnseenFor{600};

struct LocalSettings {
  std::vector<std::string> nodes;
  std::string folder;  // absolute
  std::int64_t fake_gpus = 0;
  std::string fake_model;
  MilliCpu reserve_cpus;
  MiB reserve_memory;
  LimitKind limits = LimitKind::kNone;
  std::string cgroups;
  Seconds stop_grace;
  Seconds keep;
  std::chrono::milliseconds timeout{0};
};

class LocalExecutor : public Executor {
 public:
  LocalExecutor(const ExecutorContext& context, LocalSettings settings)
      : context_(context), settings_(std::move(settings)) {}

  Result<std::vector<Delivery>> launch(std::span<const Launch> launches) override {
    std::vector<Delivery> deliveries;
    SupervisorOrder order = empty_order();
    std::string complaints;
    const LocalDevices devices = LocalDevices::read(settings_.folder);
    Claims claims = read_claims(read_task_lists(lists()));
    for (const Launch& launch : launches) {
      deliveries.push_back({DeliveryState::kDone, print_key(context_.database, launch.key), refusal(launch)});
      if (!deliveries.back().detail.empty()) deliveries.back().state = DeliveryState::kRefused;
      if (deliveries.back().state != DeliveryState::kDone) continue;
      if (const Delivery missing = devices.missing(launch); missing.state != DeliveryState::kDone) {
        deliveries.back() = missing;
        continue;
      }
      for (const LaunchTask& task : launch.tasks) {
        if (is_claimed(launch.key_of(task), claims)) continue;
        order.tasks.push_back(supervised(launch, task, devices));
        if (order.tasks.size() == kTasksPerSupervisor) hand_over(order, complaints);
      }
    }
    hand_over(order, complaints);
    claims = read_claims(read_task_lists(lists()));
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const auto is_missing = [&](const LaunchTask& task) { return !is_claimed(launches[i].key_of(task), claims); };
      if (deliveries[i].state == DeliveryState::kDone && std::ranges::any_of(launches[i].tasks, is_missing))
        deliveries[i] = {DeliveryState::kUnknown, "", complaints.empty() ? "nobody has claimed it" : complaints};
    }
    return deliveries;
  }

  Result<std::vector<Delivery>> stop(std::span<const StopRequest> requests) override {
    std::vector<Delivery> deliveries;
    std::map<ProcessMark, std::vector<std::size_t>> to_wake;  // and of which requests
    const Claims claims = read_claims(read_task_lists(lists()));
    for (const StopRequest& request : requests) {
      Delivery delivery;
      const std::optional<int> signal = request.signal.empty() ? std::optional(SIGTERM) : read_signal(request.signal);
      if (!signal) delivery = {DeliveryState::kRefused, "", fmt::format("no signal '{}'", request.signal)};
      for (std::size_t i = 0; signal && i < request.tasks.size(); ++i) {
        const TaskRequest asked = {*signal, request.grace, now(), false, request.lasts};
        const Result<std::optional<ProcessMark>> waiting = stop_task(request.tasks[i].key, asked, claims);
        if (!waiting.ok()) delivery = {DeliveryState::kUnknown, "", waiting.status().message()};
        if (waiting.ok() && *waiting) to_wake[**waiting].push_back(deliveries.size());
      }
      deliveries.push_back(std::move(delivery));
    }
    for (const auto& [supervisor, asking] : to_wake) {
      wake_stopped(supervisor);
      // One that has ended meanwhile has nothing left to stop.
      if (signal_process(supervisor, SIGUSR1) || is_gone(supervisor)) continue;
      const std::string why = fmt::format("process {} may not be signalled: it is another user's", supervisor.pid);
      for (const std::size_t request : asking) deliveries[request] = {DeliveryState::kUnknown, "", why};
    }
    return deliveries;
  }

  Result<Observation> observe(std::span<const LiveTask> tasks, std::span<const std::string> nodes) override {
    Observation seen;
    seen.tasks.reserve(tasks.size());
    std::set<TaskKey> asked;
    const std::vector<ListedTasks> listed = read_task_lists(lists());
    const Claims claims = read_claims(listed);
    for (const LiveTask& task : tasks) {
      seen.tasks.push_back(observe_task(task.key, claims));
      asked.insert(task.key);
    }
    for (const ListedTasks& each : listed) observe_listed(each, asked, claims, seen);
    observe_forgotten(asked, claims, seen);
    for (const std::string& node : nodes) {
      const bool is_own = is_node(node);
      seen.nodes.push_back({node, is_own, false, is_own ? "" : "this machine is " + join(settings_.nodes, ", ")});
    }
    return seen;
  }

  Result<std::vector<InventoryNode>> inventory() override {
    NvidiaDevices devices;
    if (settings_.fake_gpus > 0) {
      devices.model = settings_.fake_model;
    } else if (settings_.nodes.size() == 1) {
      BERTH_ASSIGN(devices, machine_devices());
    }
    const bool has_devices = settings_.fake_gpus == 0 && settings_.nodes.size() == 1;
    LocalDevices numbered = has_devices ? LocalDevices::read(settings_.folder) : LocalDevices();
    numbered.renumber(devices.uuids);
    BERTH_TRY(numbered.write(settings_.folder));
    const auto count = static_cast<std::int64_t>(settings_.nodes.size());
    InventoryNode node;
    node.cpu = MilliCpu(std::max(machine_cpu() - settings_.reserve_cpus, MilliCpu(0)).value() / count);
    node.memory = MiB(std::max(machine_memory() - settings_.reserve_memory, MiB(0)).value() / count);
    node.devices = static_cast<std::int32_t>(settings_.fake_gpus > 0 ? settings_.fake_gpus
                                                                     : static_cast<std::int64_t>(numbered.count()));
    node.gone = numbered.gone();
    const std::vector<std::string> gone = numbered.gone_words();
    devices.notes.insert(devices.notes.end(), gone.begin(), gone.end());
    node.model = devices.model;
    node.device_memory = devices.memory;
    node.detail = join(devices.notes, "; ");
    std::vector<InventoryNode> nodes;
    for (const std::string& name : settings_.nodes) {
      node.name = name;
      nodes.push_back(node);
    }
    return nodes;
  }

  Result<std::string> log(const LiveTask& task, LogStream stream, std::int64_t offset, std::int64_t most) override {
    const std::string path = folder_of(task.key) + (stream == LogStream::kOutput ? "/stdout" : "/stderr");
    const Result<Descriptor> file = open_plain_file(path, O_RDONLY);
    if (file.status().code() == Code::kNotFound) return std::string();
    if (!file.ok()) return file.status();
    std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(most, 0, std::int64_t{1} << 30)), '\0');
    const ssize_t size = pread(file->get(), text.data(), text.size(), offset);
    if (size < 0) return file_error(path);
    text.resize(static_cast<std::size_t>(size));
    return text;
  }

  Status forget(std::span<const LiveTask> tasks) override {
    for (const LiveTask& task : tasks) {
      unlink((folder_of(task.key) + "/requests").c_str());
      // A supervisor that was killed left it.
      const std::string cgroup = settings_.cgroups + "/" + print_key(context_.database, task.key);
      const TaskLimits limits(settings_.limits, cgroup, MilliCpu(0), MiB(0));
      limits.kill_all();
      limits.remove();
    }
    remove_old_tasks(settings_.folder, context_.database, std::max(settings_.keep, kUnseenFor), now());
    return {};
  }

 private:
  Seconds now() const { return context_.env->now(); }
  std::string lists() const { return settings_.folder + "/supervisors"; }
  std::string folder_of(const TaskKey& key) const {
    return local_task_folder(settings_.folder, context_.database, key);
  }
  // What living supervisors see to, whatever has become of the record: who, by key.
  using Claims = std::map<TaskKey, ProcessMark>;
  Claims read_claims(const std::vector<ListedTasks>& listed) const;
  bool is_claimed(const TaskKey& key, const Claims& claims) const {
    return claims.contains(key) || access((folder_of(key) + "/record").c_str(), F_OK) == 0;
  }
  bool is_node(const std::string& name) const {
    return std::ranges::find(settings_.nodes, name) != settings_.nodes.end();
  }

  SupervisorOrder empty_order() const {
    return {lists(), settings_.limits, settings_.cgroups, settings_.stop_grace, {}};
  }

  // Why it can never start here; empty = it can.
  std::string refusal(const Launch& launch) const {
    for (const LaunchTask& task : launch.tasks) {
      if (!is_node(task.node))
        return fmt::format("this machine is {}, not '{}'", join(settings_.nodes, ", "), task.node);
    }
    return launch.command.find('\0') == std::string::npos ? "" : "the command holds a zero byte";
  }

  void hand_over(SupervisorOrder& order, std::string& complaints) const {
    if (order.tasks.empty()) return;
    const Result<std::string> reply = start_supervisor(context_.program, order, settings_.timeout);
    const std::string said = reply.ok() ? *reply : reply.status().message();
    if (complaints.empty()) complaints = trim(said.substr(0, said.find('\n')));
    order.tasks.clear();
  }

  SupervisedTask supervised(const Launch& launch, const LaunchTask& task, const LocalDevices& devices) const;
  // The supervisor that has to be woken for it, if any.
  Result<std::optional<ProcessMark>> stop_task(const TaskKey& key, const TaskRequest& asked,
                                               const Claims& claims) const;
  TaskObservation observe_task(const TaskKey& key, const Claims& claims) const;
  TaskObservation observe_record(const TaskKey& key, const Claims& claims) const;
  void observe_listed(const ListedTasks& listed, const std::set<TaskKey>& asked, const Claims& claims,
                      Observation& seen) const;
  // What runs here though its folder was put back as it was before: only its processes know of it.
  void observe_forgotten(const std::set<TaskKey>& asked, const Claims& claims, Observation& seen) const;

  ExecutorContext context_;
  LocalSettings settings_;
};

SupervisedTask LocalExecutor::supervised(const Launch& launch, const LaunchTask& task,
                                         const LocalDevices& devices) const {
  std::map<std::string, std::string> variables;
  for (const char* name : {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"}) {
    if (const char* value = std::getenv(name); value != nullptr) variables[name] = value;
  }
  variables.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  variables["CUDA_VISIBLE_DEVICES"] = devices.visible(task.devices);
  variables["BERTH_GPU_SHARE"] = std::to_string(task.gpu_milli.value());
  variables["BERTH_GPU_MEMORY_MIB"] = std::to_string(task.gpu_memory.value());
  variables["BERTH_CPUS"] = print_cpu(task.cpu);
  variables["BERTH_MEMORY_MIB"] = std::to_string(task.memory.value());
  variables["BERTH_JOB"] = std::to_string(launch.key.job);
  variables["BERTH_JOB_NAME"] = launch.job_name;
  variables["BERTH_ATTEMPT"] = std::to_string(launch.key.attempt);
  variables["BERTH_TASK_GROUP"] = std::to_string(task.group);
  variables["BERTH_TASK"] = std::to_string(task.task);
  variables["BERTH_RANK"] = std::to_string(task.rank);
  variables["BERTH_GANG_SIZE"] = std::to_string(std::max(launch.peers.size(), launch.tasks.size()));
  variables["BERTH_PEERS"] = launch.peers_text();
  variables["BERTH_NODE"] = task.node;
  for (const auto& [name, value] : launch.environment) variables[name] = value;
  const TaskKey key = launch.key_of(task);
  const std::string folder = folder_of(key);
  variables[std::string(kDoneVariable)] = local_done_file(folder);
  SupervisedTask order = {print_key(context_.database, key),
                          folder,
                          local_done_file(folder),
                          launch.command,
                          launch.working_directory.empty() ? local_work_folder(folder) : launch.working_directory,
                          {},
                          launch.time_limit,
                          task.cpu,
                          task.memory};
  for (const auto& [name, value] : variables) order.environment.push_back(name + "=" + value);
  return order;
}

// Nobody waits for a task whose supervisor is gone. So each observation tells it to stop once its time limit has
// passed, and kills it once its grace is over.
void end_orphan(const TaskRecord& record, const std::string& folder, Seconds now, Seconds grace) {
  const ProcessMark& process = record.start->process;
  bool was_told = false;
  std::size_t offset = 0;
  for (const TaskRequest& request : read_requests(folder, offset)) {
    was_told |= request.grace.has_value();
    if (request.grace && now >= request.at + *request.grace) signal_process_group(process, SIGKILL);
  }
  if (was_told || record.time_limit <= Seconds(0) || running_time(process) < record.time_limit) return;
  if (!write_request(folder, {SIGTERM, grace, now, true}).ok()) return;
  signal_process_group(process, SIGTERM);
  signal_process_group(process, SIGCONT);
}

bool was_out_of_time(const std::string& folder) {
  std::size_t offset = 0;
  return std::ranges::any_of(read_requests(folder, offset), &TaskRequest::is_out_of_time);
}

// Who sees it to its end, if anybody does; one in another container may.
std::optional<ProcessMark> supervisor_of(const std::string& lists, const TaskRecord& record) {
  if (supervisor_state(lists, record.supervisor) != ProcessState::kGone) return record.supervisor;
  const bool has_guard = supervisor_state(lists, record.guard) != ProcessState::kGone;
  return has_guard ? std::optional(record.guard) : std::nullopt;
}

Result<std::optional<ProcessMark>> LocalExecutor::stop_task(const TaskKey& key, const TaskRequest& asked,
                                                            const Claims& claims) const {
  const std::optional<ProcessMark> nobody;
  const std::string folder = folder_of(key);
  Result<std::optional<TaskRecord>> found = read_record(folder);
  if (const auto claim = claims.find(key); claim != claims.end()) {
    if (found.ok() && *found && ((*found)->end || (*found)->lost)) return nobody;
    BERTH_TRY(write_request(folder, asked));
    return std::optional(claim->second);
  }
  if (found.status().code() == Code::kCorrupt) {
    kill_left_of_task(local_done_file(folder), {});
    return nobody;
  }
  BERTH_ASSIGN(std::optional<TaskRecord> record, std::move(found));
  if (!record && !asked.grace) return nobody;
  if (!record) {
    // Claimed here, in nobody's name, it can never start, however late a supervisor gets to it.
    BERTH_ASSIGN(const Descriptor claim, claim_task(folder, {0, getpid(), own_process_mark().boot}));
    const TaskEnd end = {.at = now(), .signal = asked.signal, .was_told = true, .detail = "stopped before it started"};
    if (claim.is_open()) {
      kill_left_of_task(local_done_file(folder), {});  // see observe_forgotten()
      return write_end(claim, end) ? Result(nobody) : Result<std::optional<ProcessMark>>(file_error(folder));
    }
    BERTH_ASSIGN(record, read_record(folder));
  }
  if (!record || record->end || record->lost) return nobody;
  const std::optional<ProcessMark> supervisor = supervisor_of(lists(), *record);
  const bool is_supervised = supervisor.has_value();
  const bool is_orphan = !is_supervised && record->start && is_alive(record->start->process);
  if (!is_supervised && !is_orphan) return nobody;
  if (is_supervised && process_state(*supervisor) == ProcessState::kUnknown) {
    return Status(Code::kUnavailable, fmt::format("its supervisor, process {}, is of another container (PID namespace "
                                                  "{}) and can be told only from there",
                                                  supervisor->pid, supervisor->boot));
  }
  BERTH_TRY(write_request(folder, asked));
  if (is_supervised) return supervisor;
  signal_process_group(record->start->process, asked.signal);
  end_orphan(*record, folder, now(), settings_.stop_grace);
  return nobody;
}

LocalExecutor::Claims LocalExecutor::read_claims(const std::vector<ListedTasks>& listed) const {
  Claims claims;
  for (const ListedTasks& each : listed) {
    if (supervisor_state(lists(), each.supervisor) == ProcessState::kGone) continue;
    wake_stopped(each.supervisor);
    if (!each.is_claimed) continue;
    for (const std::string& text : each.keys) {
      if (const std::optional<TaskKey> key = read_task_key(context_.database, text)) claims[*key] = each.supervisor;
    }
  }
  return claims;
}

TaskObservation LocalExecutor::observe_task(const TaskKey& key, const Claims& claims) const {
  TaskObservation seen = observe_record(key, claims);
  if (seen.phase != TaskPhase::kAbsent || !claims.contains(key)) return seen;
  // It may have ended since the lists were read; else its record is gone, and it is not.
  const Claims now = read_claims(read_task_lists(lists()));
  if (!now.contains(key)) return observe_record(key, now);
  seen.phase = TaskPhase::kRunning;
  seen.detail = "its record is gone";
  return seen;
}

TaskObservation LocalExecutor::observe_record(const TaskKey& key, const Claims& claims) const {
  const std::string folder = folder_of(key);
  TaskObservation seen;
  seen.key = key;
  Result<std::optional<TaskRecord>> found = read_record(folder);
  const bool is_supervised = claims.contains(key);
  if (found.status().code() == Code::kCorrupt && !is_supervised) {
    kill_left_of_task(local_done_file(folder), {});
    seen.phase = TaskPhase::kVanished;
    seen.detail = found.status().message();
    return seen;
  }
  if (!found.ok()) {
    if (is_supervised) return seen;
    // Nothing is known of it now: as it was.
    seen.phase = TaskPhase::kStarting;
    seen.detail = found.status().message();
    return seen;
  }
  std::optional<TaskRecord> record = *std::move(found);
  if (!record) return seen;
  bool is_orphan = false;
  if (!record->end && !record->lost && !supervisor_of(lists(), *record)) {
    if (is_supervised) return seen;
    // It may have written its last line since the record was read.
    Result<std::optional<TaskRecord>> again = read_record(folder);
    if (again.ok() && *again) record = *std::move(again);
    is_orphan = !record->end && !record->lost && record->start && is_alive(record->start->process);
    if (!record->end && !is_orphan) seen.phase = TaskPhase::kVanished;
  }
  if (record->lost) seen.phase = TaskPhase::kVanished;
  if (record->start) {
    seen.external = fmt::format("pid {}", record->start->process.pid);
    seen.started = record->start->at;
    seen.begin = TaskBegin::kBegan;
  }
  if (seen.phase == TaskPhase::kVanished) {
    // The next attempt must not find them beside it.
    if (record->start) kill_left_of_task(local_done_file(folder), record->start->process);
    const bool is_this_boot = is_of_this_boot(record->supervisor);
    seen.detail = record->lost.value_or(is_this_boot ? "its supervisor is gone" : "the machine was restarted");
    if (!record->lost && is_this_boot && was_out_of_time(folder)) {
      seen.phase = TaskPhase::kEnded;
      seen.signal = SIGTERM;
      seen.is_out_of_time = true;
      seen.detail.clear();
    }
  } else if (!record->end) {
    seen.phase = record->start ? TaskPhase::kRunning : TaskPhase::kStarting;
    wake_stopped(record->supervisor);
    wake_stopped(record->guard);
    if (is_orphan) end_orphan(*record, folder, now(), settings_.stop_grace);
  } else {
    seen.phase = TaskPhase::kEnded;
    seen.ended = record->end->at;
    seen.exit_code = record->end->exit_code;
    seen.signal = record->end->signal;
    seen.is_out_of_time = record->end->is_out_of_time;
    seen.is_out_of_memory = record->end->is_out_of_memory;
    seen.was_told = record->end->was_told;
    seen.is_untold = !seen.was_told;
    seen.use = record->end->use;
    seen.detail = record->end->detail;
  }
  const bool is_over = seen.phase == TaskPhase::kEnded || seen.phase == TaskPhase::kVanished;
  seen.said_done = is_over && reads_done(local_done_file(folder));
  return seen;
}

void LocalExecutor::observe_listed(const ListedTasks& listed, const std::set<TaskKey>& asked, const Claims& claims,
                                   Observation& seen) const {
  bool is_alone = supervisor_state(lists(), listed.supervisor) == ProcessState::kGone;
  for (const std::string& text : listed.keys) {
    const std::optional<TaskKey> key = read_task_key(context_.database, text);
    if (!key || (!is_alone && asked.contains(*key))) continue;
    TaskObservation each = observe_task(*key, claims);
    const bool is_live = each.phase == TaskPhase::kStarting || each.phase == TaskPhase::kRunning;
    if (is_live) is_alone = false;
    if (is_live && !asked.contains(*key)) seen.unknown_tasks.push_back(std::move(each));
  }
  // Its supervisor died, and nothing of its runs any more.
  if (is_alone) unlink(listed.path.c_str());
}

void LocalExecutor::observe_forgotten(const std::set<TaskKey>& asked, const Claims& claims, Observation& seen) const {
  for (const std::string& file : done_files_below(settings_.folder + "/tasks")) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    const std::string name = std::filesystem::path(folder).filename().string();
    const std::optional<TaskKey> key = read_task_key(context_.database, name);
    if (!key || asked.contains(*key) || claims.contains(*key) || access((folder + "/record").c_str(), F_OK) == 0)
      continue;
    TaskObservation& task = seen.unknown_tasks.emplace_back();
    task.key = *key;
    task.phase = TaskPhase::kRunning;
    task.detail = "its record is gone";
  }
}

// Which limits there can be; kUnavailable when a cgroup was asked for and there is none.
Status choose_limits(const std::string& asked, const std::string& cgroup, LocalSettings& settings) {
  if (asked != "auto" && asked != "cgroup" && asked != "rlimit" && asked != "none")
    return Status(Code::kInvalid, fmt::format("limits are cgroup, rlimit, none or auto, not '{}'", asked));
  settings.limits = asked == "none" ? LimitKind::kNone : LimitKind::kRlimit;
  if (asked == "none" || asked == "rlimit") return {};
  const Result<std::string> cgroups =
      prepare_cgroups(cgroup.empty() ? own_cgroup().value_or("/sys/fs/cgroup") : cgroup);
  if (!cgroups.ok() && asked == "cgroup") return cgroups.status();
  if (!cgroups.ok()) return {};
  settings.limits = LimitKind::kCgroup;
  settings.cgroups = *cgroups;
  return {};
}

// The machine's host name when it was first asked: with another one it is the same node still.
Result<std::string> own_name(const std::string& folder) {
  const std::string file = folder + "/node";
  BERTH_ASSIGN(const std::optional<std::string> known, read_private_file(file));
  if (known && !trim(*known).empty()) return std::string(trim(*known));
  BERTH_TRY(replace_private_file(file, machine_name() + "\n"));
  return machine_name();
}

Result<LocalSettings> read_local_settings(const ExecutorContext& context, const ExecutorOptions& options) {
  LocalSettings settings;
  std::error_code error;
  const std::string& folder = options.at("folder");
  settings.folder = std::filesystem::absolute(folder.empty() ? context.folder : folder, error).string();
  if (error) return Status(Code::kUnavailable, fmt::format("folder '{}': {}", folder, error.message()));
  BERTH_TRY(make_private_folder(settings.folder));
  std::string node = options.at("node");
  if (node.empty()) {
    BERTH_ASSIGN(node, own_name(settings.folder));
  }
  BERTH_ASSIGN(settings.nodes, expand_range(node));
  BERTH_ASSIGN(settings.fake_gpus, read_integer(options.at("fake_gpus")));
  if (settings.fake_gpus < 0 || settings.fake_gpus > 64)
    return Status(Code::kInvalid, fmt::format("fake_gpus is 0 to 64, not {}", settings.fake_gpus));
  settings.fake_model = options.at("fake_model");
  Result<MilliCpu> cpus = read_cpu(options.at("reserve_cpus"));
  if (!cpus.ok()) return std::move(cpus).status().in_option("reserve_cpus");
  settings.reserve_cpus = *cpus;
  Result<MiB> memory = read_memory(options.at("reserve_memory"));
  if (!memory.ok()) return std::move(memory).status().in_option("reserve_memory");
  settings.reserve_memory = *memory;
  BERTH_TRY(choose_limits(options.at("limits"), options.at("cgroup"), settings));
  BERTH_ASSIGN(settings.stop_grace, read_duration(options.at("stop_grace")));
  BERTH_ASSIGN(settings.keep, read_duration(options.at("keep")));
  BERTH_ASSIGN(const Seconds timeout, read_duration(options.at("timeout")));
  if (timeout < Seconds(1)) return Status(Code::kInvalid, "option 'timeout' is at least 1s").about("timeout");
  settings.timeout = std::chrono::seconds(timeout.value());
  return settings;
}

}  // namespace

Result<std::unique_ptr<Executor>> make_local_executor(const ExecutorContext& context, const ExecutorOptions& options) {
  BERTH_ASSIGN(LocalSettings settings, read_local_settings(context, options));
  return std::unique_ptr<Executor>(std::make_unique<LocalExecutor>(context, std::move(settings)));
}

}  // namespace berth
