#include "engine/exec/kubernetes_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "engine/exec/done_file.h"
#include "engine/exec/kubernetes_pod.h"
#include "engine/exec/local_process.h"

namespace berth {

namespace {

using ManifestJson = nlohmann::json;

constexpr const char* kTerminationMessage = "/dev/termination-log";
constexpr std::int64_t kUnaskedGraceSeconds = 30;  // of pods that others end: a drain, a node that shuts down

std::string device_list(DeviceMask devices) {
  std::string text;
  for (DeviceMask left = devices; left != 0; left &= left - 1)
    text += fmt::format("{}{}", text.empty() ? "" : ",", std::countr_zero(left));
  return text;
}

ManifestJson variables(const Launch& launch, const LaunchTask& task, const KubernetesSettings& settings) {
  std::map<std::string, std::string> all(launch.environment.begin(), launch.environment.end());
  all["BERTH_JOB"] = std::to_string(launch.key.job);
  all["BERTH_JOB_NAME"] = launch.job_name;
  all["BERTH_ATTEMPT"] = std::to_string(launch.key.attempt);
  all["BERTH_TASK_GROUP"] = std::to_string(task.group);
  all["BERTH_TASK"] = std::to_string(task.task);
  all["BERTH_RANK"] = std::to_string(task.rank);
  all["BERTH_GANG_SIZE"] = std::to_string(std::max(launch.peers.size(), launch.tasks.size()));
  all["BERTH_PEERS"] = launch.peers_text();
  all["BERTH_NODE"] = task.node;
  all[std::string(kDoneVariable)] = kTerminationMessage;
  all["BERTH_CPUS"] = print_cpu(task.cpu);
  all["BERTH_MEMORY_MIB"] = std::to_string(task.memory.value());
  all["BERTH_GPU_SHARE"] = std::to_string(task.gpu_milli.value());
  all["BERTH_GPU_MEMORY_MIB"] = std::to_string(task.gpu_memory.value());
  if (task.devices == 0) all["NVIDIA_VISIBLE_DEVICES"] = "void";  // images of CUDA say "all"
  if (task.devices != 0 && !settings.has_plugin) all["NVIDIA_VISIBLE_DEVICES"] = device_list(task.devices);
  ManifestJson list = ManifestJson::array();
  for (const auto& [name, value] : all) list.push_back({{"name", name}, {"value", keep_dollars(value)}});
  return list;
}

ManifestJson amounts(const LaunchTask& task, const KubernetesSettings& settings) {
  ManifestJson list = ManifestJson::object();
  if (task.cpu > MilliCpu(0)) list["cpu"] = fmt::format("{}m", task.cpu.value());
  if (task.memory > MiB(0)) list["memory"] = fmt::format("{}Mi", task.memory.value());
  if (task.devices != 0 && settings.has_plugin)
    list[settings.gpu_resource] = std::to_string(std::popcount(task.devices));
  return list;
}

// What the first process does behind the command: all others end with it, and the signal ends a `wait` for programs
// that are still saving their work. See dispatcher.cpp for berth_told.
std::string outlasting_command(const Launch& launch) {
  if (launch.checkpoint_signal.empty() || launch.checkpoint_grace <= Seconds(0)) return launch.command;
  return launch.command +
         fmt::format(
             "\n\nberth_end=$?\nwhile [ -n \"${{berth_told-}}\" ] && [ $(($(date +%s) - berth_told)) -lt {} ]; do "
             "berth_left=; read -r berth_left </proc/$$/task/$$/children || :; [ -n \"$berth_left\" ] || break; sleep "
             "0.5; done\nexit \"$berth_end\"\n",
             launch.checkpoint_grace.value());
}

ManifestJson shell_command(const std::string& command) { return {"/bin/sh", "-c", command}; }

std::string ending_command(const std::string& checkpoint_signal) {
  if (checkpoint_signal.empty() || checkpoint_signal == "TERM") return pod_signal_command("TERM");
  return pod_signal_command(checkpoint_signal) + " while :; do sleep 1; done";
}

ManifestJson container(const PodOrder& order, const KubernetesSettings& settings) {
  const Launch& launch = *order.launch;
  ManifestJson json = {
      {"name", kPodContainer},
      {"image", launch.image.empty() ? settings.image : launch.image},
      {"command", shell_command(keep_dollars(outlasting_command(launch)))},
      {"terminationMessagePath", kTerminationMessage},
      {"env", variables(launch, *order.task, settings)},
      // Kubernetes runs a hook as it is given: it replaces nothing in it.
      {"lifecycle", {{"preStop", {{"exec", {{"command", shell_command(ending_command(launch.checkpoint_signal))}}}}}}}};
  if (!launch.working_directory.empty()) json["workingDir"] = launch.working_directory;
  if (const ManifestJson held = amounts(*order.task, settings); !held.empty())
    json["resources"] = {{"requests", held}, {"limits", held}};
  return json;
}

ManifestJson spec(const PodOrder& order, const KubernetesSettings& settings) {
  const Launch& launch = *order.launch;
  ManifestJson json = {{"schedulerName", settings.scheduler},
                       {"restartPolicy", "Never"},
                       {"terminationGracePeriodSeconds", kUnaskedGraceSeconds},
                       {"enableServiceLinks", false},
                       {"containers", ManifestJson::array({container(order, settings)})}};
  if (!order.is_bound_later) json["nodeName"] = order.task->node;
  constexpr std::int64_t kLongestDeadline = std::numeric_limits<std::int32_t>::max();  // that Kubernetes takes
  if (launch.time_limit > Seconds(0))
    json["activeDeadlineSeconds"] = std::min(launch.time_limit.value(), kLongestDeadline);
  if (!settings.runtime_class.empty()) json["runtimeClassName"] = settings.runtime_class;
  if (settings.is_on_host_network) {
    json["hostNetwork"] = true;
    json["dnsPolicy"] = "ClusterFirstWithHostNet";
  }
  if (settings.service_account.empty()) {
    json["automountServiceAccountToken"] = false;
  } else {
    json["serviceAccountName"] = settings.service_account;
  }
  for (const std::string& key : settings.tolerate)
    json["tolerations"].push_back({{"key", key}, {"operator", "Exists"}});
  return json;
}

ManifestJson pod(const PodOrder& order, const std::string& database, const KubernetesSettings& settings) {
  const Launch& launch = *order.launch;
  const ManifestJson labels = {{std::string(kPodDatabaseLabel), database},
                               {"berth/job", std::to_string(launch.key.job)},
                               {"berth/attempt", std::to_string(launch.key.attempt)},
                               {"berth/group", std::to_string(order.task->group)},
                               {"berth/task", std::to_string(order.task->task)},
                               {std::string(kPodLaunchLabel), print_key(database, launch.key)}};
  // Free text does for annotations only; for people with kubectl.
  const ManifestJson annotations = {
      {"berth/job-name", launch.job_name}, {"berth/queue", launch.queue}, {"berth/user", launch.user}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", order.name}, {"labels", labels}, {"annotations", annotations}}},
          {"spec", spec(order, settings)}};
}

std::string as_list(const ManifestJson& items) {
  const ManifestJson list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  return list.dump(-1, ' ', false, ManifestJson::error_handler_t::replace);
}

}  // namespace

std::string why_no_pods(const Launch& launch, const KubernetesSettings& settings) {
  if (launch.image.empty() && settings.image.empty())
    return "no image: the job names none, and neither does the executor (option 'image')";
  for (const LaunchTask& task : launch.tasks) {
    if (task.devices == 0 || !settings.has_plugin) continue;
    if (task.gpu_milli < kWholeDevice)
      return fmt::format(
          "{} of a device: Kubernetes' device plugin hands out whole devices only (option 'devices' = environment does "
          "without it)",
          print_gpu(task.gpu_milli));
  }
  return {};
}

std::string write_pods(std::span<const PodOrder> orders, const std::string& database,
                       const KubernetesSettings& settings) {
  ManifestJson items = ManifestJson::array();
  for (const PodOrder& order : orders) items.push_back(pod(order, database, settings));
  return as_list(items);
}

std::string write_bindings(std::span<const PodOrder> orders) {
  ManifestJson items = ManifestJson::array();
  for (const PodOrder& order : orders) {
    items.push_back({{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", {{"name", order.name}}},
                     {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", order.task->node}}}});
  }
  return as_list(items);
}

std::string write_eviction(const std::string& pod, const std::string& version, Seconds grace) {
  return ManifestJson({{"apiVersion", "policy/" + version},
                       {"kind", "Eviction"},
                       {"metadata", {{"name", pod}}},
                       {"deleteOptions", {{"gracePeriodSeconds", grace.value()}}}})
      .dump();
}

std::string pod_signal_command(const std::string& signal) {
  // Others than the first process that mind the signal; a script around them would die of it. All hear TERM.
  const std::string to_those_that_mind = fmt::format(
      "for each in /proc/[0-9]*; do pid=${{each#/proc/}}; caught=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' $each/status); "
      "[ $pid = 1 ] || [ $(( (0x${{caught:-0}} >> {}) & 1 )) = 0 ] || {{ kill -{} $pid; told=1; }}; done 2>/dev/null; ",
      read_signal(signal).value_or(SIGTERM) - 1, signal);
  // Where none does, the children of the first, if that is a shell; and the first.
  return "told=; " + (signal == "TERM" ? std::string() : to_those_that_mind) +
         fmt::format(
             "case $told$(cat /proc/1/comm) in 1*) ;; *sh) for child in $(cat /proc/1/task/1/children); do kill -{0} "
             "$child; done;; esac; kill -{0} 1;",
             signal);
}

std::string pod_marked_signal_command(const std::string& signal) {
  return fmt::format("(printf '\\n{}\\n' >>{}) 2>/dev/null; ", kPodSignalMark, kTerminationMessage) +
         pod_signal_command(signal);
}

std::string keep_dollars(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    kept += text[i];
    const bool is_read = i + 1 < text.size() && (text[i + 1] == '$' || text[i + 1] == '(');
    if (text[i] == '$' && is_read) kept += '$';
  }
  return kept;
}

}  // namespace berth
