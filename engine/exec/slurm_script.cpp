#include "engine/exec/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "engine/base/text.h"

namespace berth {

namespace {

using NodeTasks = std::map<std::string, std::vector<const LaunchTask*>>;

NodeTasks tasks_by_node(const Launch& launch) {
  NodeTasks nodes;
  for (const LaunchTask& task : launch.tasks) nodes[task.node].push_back(&task);
  return nodes;
}

DeviceMask devices_of(const std::vector<const LaunchTask*>& tasks) {
  DeviceMask devices = 0;
  for (const LaunchTask* task : tasks) devices |= task->devices;
  return devices;
}

Result<SlurmNodeNeed> need_of(const std::vector<const LaunchTask*>& tasks, std::int64_t shards_per_device) {
  SlurmNodeNeed need;
  std::int64_t milli_cpus = 0;
  std::int64_t milli_gpus = 0;
  bool is_shared = false;
  for (const LaunchTask* task : tasks) {
    milli_cpus += task->cpu.value();
    need.memory_mib += task->memory.value();
    milli_gpus += std::popcount(task->devices) * task->gpu_milli.value();
    is_shared = is_shared || (task->devices != 0 && task->gpu_milli < kWholeDevice);
  }
  need.cpus = std::max<std::int64_t>(1, divide_up(milli_cpus, 1000));
  const std::int64_t devices = std::popcount(devices_of(tasks));
  // Fractions that together fill their devices need no help of Slurm's.
  if (!is_shared || milli_gpus == devices * kWholeDevice.value()) {
    need.gpus = devices;
  } else if (shards_per_device > 0 && devices == 1) {
    need.shards = divide_up(milli_gpus * shards_per_device, 1000);
  } else {
    return Status(Code::kInvalid,
                  shards_per_device > 0
                      ? fmt::format("node {}: Slurm cannot give one job parts of several devices", tasks.front()->node)
                      : fmt::format("node {}: it asks for part of a device, and Slurm gives whole ones (see option "
                                    "shards_per_device)",
                                    tasks.front()->node));
  }
  return need;
}

// Which of the node's devices a task gets: see choose() in the script.
std::string device_positions(const LaunchTask& task, const std::vector<const LaunchTask*>& of_node) {
  if (task.devices == 0) return "none";
  const DeviceMask all = devices_of(of_node);
  if (task.devices == all) return "all";
  std::vector<std::string> positions;
  int position = 0;
  for (DeviceMask left = all; left != 0; left &= left - 1) {
    ++position;
    if ((task.devices & left & (~left + 1)) != 0) positions.push_back(std::to_string(position));
  }
  return join(positions, ",");
}

std::string task_lines(const Launch& launch) {
  std::string text = "start_tasks() {\n  case $1 in\n";
  for (const auto& [node, tasks] : tasks_by_node(launch)) {
    text += fmt::format("    {})\n      task_count={}\n", quote_for_shell(node), tasks.size());
    for (const LaunchTask* task : tasks) {
      text += fmt::format("      watch {} {} {} {} {} {} {} {} &\n      watchers+=($!)\n", task->group, task->task,
                          task->rank, print_cpu(task->cpu), task->memory.value(),
                          task->devices == 0 ? 0 : task->gpu_milli.value(), task->gpu_memory.value(),
                          device_positions(*task, tasks));
    }
    text += "      ;;\n";
  }
  return text + "  esac\n}\n";
}

// To bash a variable like others: not one that it computes or does not let anybody set.
bool may_be_exported(std::string_view name) {
  constexpr std::array<std::string_view, 17> kOwn = {
      "UID",      "EUID",     "PPID",   "SHELLOPTS", "RANDOM",     "SRANDOM", "SECONDS", "LINENO",       "EPOCHSECONDS",
      "DIRSTACK", "FUNCNAME", "GROUPS", "HISTCMD",   "PIPESTATUS", "OPTARG",  "_",       "EPOCHREALTIME"};
  const auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, is_part) && !name.starts_with("BASH") &&
         std::ranges::find(kOwn, name) == kOwn.end();
}

// The job's own variables are the command's alone: a PATH or a FOLDER among them must not change what the script does.
// They are no words of a command where bash lets them be variables: everybody may read those.
std::string command_lines(const Launch& launch) {
  // An srun of its own takes that name for the job it submits, which would pass as this one.
  std::string lines = "run_command() {\n  unset SLURM_JOB_NAME\n";
  std::string words;
  for (const auto& [name, value] : launch.environment) {
    if (name == "BERTH_DONE_FILE") continue;  // it names the task, not the one that submitted the job
    const std::string word = quote_for_shell(name + "=" + value);
    (may_be_exported(name) ? lines += fmt::format("  export {}\n", word) : words += " " + word);
  }
  return lines + fmt::format("  exec{}{} /bin/sh -c -- {}\n}}\n", words.empty() ? "" : " /usr/bin/env", words,
                             quote_for_shell(launch.command));
}

// How the script comes to every node of the launch.
std::string everywhere_lines(const std::vector<SlurmComponent>& components) {
  if (components.size() == 1 && components.front().nodes.size() == 1) return "everywhere() { run_node; }\n";
  std::string text =
      "everywhere() {\n  trap : CONT\n  stay\n  (\n    give_way\n    exec srun --mpi=none --kill-on-bad-exit=0 "
      "--wait=0";
  for (std::size_t i = 0; i < components.size(); ++i) {
    if (i > 0) text += " :";
    if (components.size() > 1) text += fmt::format(" --het-group={}", i);
    text += fmt::format(
        " --nodes={0} --ntasks={0} --ntasks-per-node=1 --cpus-per-task={1} --export=ALL bash \"$FOLDER/script\" node",
        components[i].nodes.size(), components[i].need.cpus);
  }
  return text + "\n  ) &\n  await \"$!\"\n}\n";
}

// Slurm puts ids in place of "%j" and the like; "%%" is a plain one.
std::string without_patterns(std::string_view path) {
  std::string plain;
  for (const char c : path) plain += c == '%' ? "%%" : std::string(1, c);
  return plain;
}

void add_general(const Launch& launch, const SlurmSubmitOptions& options, const std::string& folder,
                 std::vector<std::string>& words) {
  words.push_back("--job-name=" + print_key(options.database, launch.key));
  // By `launch` it is known again when somebody has renamed it (read_squeue).
  words.push_back(fmt::format(R"(--comment={{"database":"{}","job":{},"attempt":{},"sequence":{},"launch":"{}"}})",
                              options.database, launch.key.job, launch.key.attempt, launch.key.sequence,
                              print_key(options.database, launch.key)));
  words.push_back("--open-mode=append");
  words.push_back("--output=" + without_patterns(folder) + "/slurm.out");
  words.push_back("--chdir=" + folder);
  if (!options.partition.empty()) words.push_back("--partition=" + options.partition);
  // Slurm counts in minutes and looks at it now and then: the script holds the limit, this one only catches the script.
  if (launch.time_limit.value() > 0)
    words.push_back(fmt::format("--time={}", divide_up((launch.time_limit + options.kill_wait).value(), 60) + 1));
  words.insert(words.end(), options.extra.begin(), options.extra.end());
  words.push_back("--no-requeue");  // whatever those say: what is lost Berth places again itself
}

}  // namespace

std::string quote_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

Result<std::vector<SlurmComponent>> slurm_components(const Launch& launch, std::int64_t shards_per_device) {
  const NodeTasks nodes = tasks_by_node(launch);
  std::vector<const LaunchTask*> by_rank;
  for (const LaunchTask& task : launch.tasks) by_rank.push_back(&task);
  std::ranges::stable_sort(by_rank, {}, &LaunchTask::rank);
  std::vector<SlurmComponent> components;
  std::map<std::string, bool> is_done;
  for (const LaunchTask* task : by_rank) {
    if (std::exchange(is_done[task->node], true)) continue;
    BERTH_ASSIGN(const SlurmNodeNeed need, need_of(nodes.at(task->node), shards_per_device));
    auto component = std::ranges::find(components, need, &SlurmComponent::need);
    if (component == components.end()) component = components.insert(component, {need, {}});
    component->nodes.push_back(task->node);
  }
  if (components.empty()) return Status(Code::kInvalid, "a launch without tasks");
  return components;
}

std::string slurm_launch_folder(const SlurmSubmitOptions& options, const LaunchKey& key) {
  return options.shared_folder + "/" + print_key(options.database, key);
}

std::vector<std::string> sbatch_command(const Launch& launch, const std::vector<SlurmComponent>& components,
                                        const SlurmSubmitOptions& options) {
  const std::string folder = slurm_launch_folder(options, launch.key);
  std::vector<std::string> words = {"sbatch", "--parsable", "--export=ALL"};
  for (const SlurmComponent& component : components) {
    if (&component != &components.front()) words.push_back(":");
    add_general(launch, options, folder, words);
    words.push_back("--nodelist=" + join(component.nodes, ","));
    words.push_back(fmt::format("--nodes={}", component.nodes.size()));
    words.push_back("--ntasks-per-node=1");
    words.push_back(fmt::format("--cpus-per-task={}", component.need.cpus));
    if (component.need.memory_mib > 0) words.push_back(fmt::format("--mem={}", component.need.memory_mib));
    if (component.need.gpus > 0) words.push_back(fmt::format("--gres=gpu:{}", component.need.gpus));
    if (component.need.shards > 0) words.push_back(fmt::format("--gres=shard:{}", component.need.shards));
  }
  words.push_back(folder + "/script");
  return words;
}

std::string slurm_script(const Launch& launch, const std::vector<SlurmComponent>& components,
                         const SlurmSubmitOptions& options) {
  std::string text = fmt::format("#!/bin/bash\n# A launch of Berth: {}. Each node is to see this folder.\n",
                                 print_key(options.database, launch.key));
  text += fmt::format("export BERTH_JOB={} BERTH_JOB_NAME={} BERTH_ATTEMPT={} BERTH_GANG_SIZE={} BERTH_PEERS={}\n",
                      launch.key.job, quote_for_shell(launch.job_name), launch.key.attempt, launch.peers.size(),
                      quote_for_shell(launch.peers_text()));
  const std::string folder = slurm_launch_folder(options, launch.key);
  text += fmt::format("FOLDER={}\nDIRECTORY={}\nTIME_LIMIT={}\nKILL_WAIT={}\n", quote_for_shell(folder),
                      quote_for_shell(launch.working_directory.empty() ? folder + "/work" : launch.working_directory),
                      launch.time_limit.value(), options.kill_wait.value());
  return text + command_lines(launch) + task_lines(launch) + everywhere_lines(components) + std::string(slurm_runner());
}

bool is_slurm_silence(std::string_view complaint) {
  const std::string said = to_lower(complaint);
  constexpr std::array<std::string_view, 10> kNoAnswer = {
      "timed out", "contact",   "connection", "connect failure", "zero bytes",
      "message",   "temporari", "standby",    "sleeping",        "did not answer"};
  return std::ranges::any_of(kNoAnswer, [&](std::string_view word) { return said.find(word) != std::string::npos; });
}

bool is_sbatch_delay(std::string_view complaint) {
  const std::string said = to_lower(complaint);
  constexpr std::array<std::string_view, 8> kNotNow = {"inactive", "drain",  "available now", "usable now",
                                                       "are busy", "in use", "presently",     "currently"};
  return std::ranges::any_of(kNotNow, [&](std::string_view word) { return said.find(word) != std::string::npos; });
}

// Of what the job itself asks for. All else - partitions, accounts, limits of the site, nodes that are not there - may
// be mended or pass: the job waits, and SHOW DRIFT tells it.
bool is_sbatch_refusal(std::string_view complaint) {
  if (is_slurm_silence(complaint) || is_sbatch_delay(complaint)) return false;
  const std::string said = to_lower(complaint);
  constexpr std::array<std::string_view, 6> kNo = {"memory specification", "cpu count",     "node count",
                                                   "more processors",      "time limit is", "unrecognized"};
  return std::ranges::any_of(kNo, [&](std::string_view word) { return said.find(word) != std::string::npos; });
}

}  // namespace berth
