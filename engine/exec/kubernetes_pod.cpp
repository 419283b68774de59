#include "engine/exec/kubernetes_pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/text.h"
#include "engine/exec/done_file.h"
#include "engine/exec/kubernetes_json.h"

namespace berth {

namespace {

using kubernetes::Json;
using kubernetes::text_at;
using kubernetes::value_at;

constexpr std::int32_t kLastSignal = 64;
constexpr Seconds kClockSkew{60};  // of a node's clock behind the API server's

// Reasons of a failed pod with which its job has nothing to do.
constexpr std::array<std::string_view, 6> kEndedByTheNode = {"Evicted",  "NodeLost",   "NodeShutdown",
                                                             "Shutdown", "Terminated", "Preempting"};

// A kubelet refuses the pod for what it asks: another node may take it, and this one others.
constexpr std::array<std::string_view, 4> kRefusedForWhatItAsks = {"TopologyAffinityError", "SMTAlignmentError",
                                                                   "SysctlForbidden", "AppArmor"};

// For what a container waits that somebody has to mend; the others pass.
constexpr std::array<std::string_view, 8> kStuckReasons = {
    "ImagePullBackOff", "ErrImagePull",        "ErrImageNeverPull",          "InvalidImageName",
    "ErrImageInspect",  "RegistryUnavailable", "CreateContainerConfigError", "CreateContainerError"};

bool is_stuck_reason(std::string_view waiting) {
  return std::ranges::find(kStuckReasons, waiting.substr(0, waiting.find(':'))) != kStuckReasons.end();
}

// Of its container: the kubelet, started anew, did not see it end.
bool is_end_unseen(const KubernetesPod& pod) {
  return pod.end_reason == "ContainerStatusUnknown" || (pod.end_reason == "Unknown" && pod.exit_code == 255);
}

// The runtime could not begin its container: a driver that does not answer, or an image without a shell.
bool never_started(const KubernetesPod& pod) {
  return pod.has_ended && (pod.end_reason == "StartError" || pod.end_reason == "ContainerCannotRun");
}

bool is_ended_by_the_node(const KubernetesPod& pod) {
  return std::ranges::find(kEndedByTheNode, pod.reason) != kEndedByTheNode.end() || is_end_unseen(pod);
}

bool is_refused_for_what_it_asks(const KubernetesPod& pod) {
  return !pod.has_ended && std::ranges::find(kRefusedForWhatItAsks, pod.reason) != kRefusedForWhatItAsks.end();
}

std::string reason_and_message(const Json& object) {
  const std::string reason = text_at(object, {"reason"});
  const std::string message = text_at(object, {"message"});
  return message.empty() ? reason : reason.empty() ? message : reason + ": " + message;
}

struct HeldAmounts {
  MilliCpu cpu;
  MiB memory;
  std::int64_t gpus = 0;
};

HeldAmounts amounts_at(const Json& holder, std::string_view field, std::string_view gpu_resource) {
  return {kubernetes::cpu_at(holder, {field, "cpu"}, QuantityRounding::kUp),
          kubernetes::memory_at(holder, {field, "memory"}, QuantityRounding::kUp),
          kubernetes::count_at(holder, {field, gpu_resource})};
}

// Requests, or limits of what has none: the API server fills them in so, but extended resources may have limits alone.
HeldAmounts held_by(const Json& container, std::string_view gpu_resource) {
  const Json& resources = value_at(container, {"resources"});
  HeldAmounts held = amounts_at(resources, "requests", gpu_resource);
  const HeldAmounts limits = amounts_at(resources, "limits", gpu_resource);
  if (held.cpu == MilliCpu(0)) held.cpu = limits.cpu;
  if (held.memory == MiB(0)) held.memory = limits.memory;
  if (held.gpus == 0) held.gpus = limits.gpus;
  return held;
}

void read_held(const Json& spec, std::string_view gpu_resource, KubernetesPod& pod) {
  HeldAmounts sum;
  const auto add = [&](const HeldAmounts& more) {
    sum.cpu += more.cpu;
    sum.memory += more.memory;
    sum.gpus += more.gpus;
  };
  HeldAmounts largest;
  for (const Json& container : value_at(spec, {"containers"})) add(held_by(container, gpu_resource));
  for (const Json& container : value_at(spec, {"initContainers"})) {
    const HeldAmounts held = held_by(container, gpu_resource);
    if (text_at(container, {"restartPolicy"}) == "Always") {  // a sidecar: it stays
      add(held);
      continue;
    }
    largest.cpu = std::max(largest.cpu, held.cpu);
    largest.memory = std::max(largest.memory, held.memory);
    largest.gpus = std::max(largest.gpus, held.gpus);
  }
  sum = {std::max(sum.cpu, largest.cpu), std::max(sum.memory, largest.memory), std::max(sum.gpus, largest.gpus)};
  add(amounts_at(spec, "overhead", gpu_resource));
  pod.cpu = sum.cpu;
  pod.memory = sum.memory;
  pod.gpu_count = static_cast<std::int32_t>(std::min<std::int64_t>(sum.gpus, INT32_MAX));
}

// Our pods have one container; sidecars that others inject come beside it.
const Json& main_status(const Json& status) {
  const Json& all = value_at(status, {"containerStatuses"});
  for (const Json& each : all) {
    if (text_at(each, {"name"}) == kPodContainer) return each;
  }
  static const Json kNone;
  return all.is_array() && all.size() == 1 ? all[0] : kNone;
}

Status read_container(const Json& status, KubernetesPod& pod) {
  const Json& state = value_at(main_status(status), {"state"});
  const Json& ended = value_at(state, {"terminated"});
  pod.waiting = reason_and_message(value_at(state, {"waiting"}));
  pod.started = kubernetes::moment_at(state, {"running", "startedAt"});
  if (!ended.is_object()) return {};
  pod.has_ended = true;
  for (const Json& each : value_at(status, {"containerStatuses"}))
    pod.has_company = pod.has_company || value_at(each, {"state", "running"}).is_object();
  pod.started = kubernetes::moment_at(ended, {"startedAt"});
  pod.ended = kubernetes::moment_at(ended, {"finishedAt"});
  const auto code = kubernetes::integer_at(ended, {"exitCode"}, INT32_MIN, INT32_MAX);
  const auto signal = kubernetes::integer_at(ended, {"signal"}, 0, kLastSignal);
  if (!code || !signal)
    return Status(Code::kUnavailable, fmt::format("kubectl's answer has no exit code or signal that pod {} could have "
                                                  "ended with",
                                                  pod.name));
  pod.exit_code = *code;
  pod.signal = *signal;
  pod.end_reason = text_at(ended, {"reason"});
  pod.end_message = text_at(ended, {"message"});
  return {};
}

// The command that sends the signal leaves a mark in the termination message: a proof, whatever became of the label. A
// program that writes its own message may remove the mark: so one that was asked, and said something, counts, too.
// Takes the marks out.
bool read_was_signalled(std::string_view label, std::string& end_message) {
  bool is_marked = false;
  std::string rest;
  for (const std::string_view line : split(end_message, '\n')) {
    const bool is_mark = line == kPodSignalMark;
    is_marked = is_marked || is_mark;
    if (!is_mark) rest.append(rest.empty() ? "" : "\n").append(line);
  }
  if (is_marked) end_message = trim(rest);
  return is_marked || (label == kPodSignalAsked ? !end_message.empty() : !label.empty());
}

Result<KubernetesPod> read_pod(const Json& json, std::string_view gpu_resource) {
  KubernetesPod pod;
  const auto label = [&](std::string_view key) { return text_at(json, {"metadata", "labels", key}); };
  pod.name_space = text_at(json, {"metadata", "namespace"});
  pod.name = text_at(json, {"metadata", "name"});
  pod.database = label(kPodDatabaseLabel);
  pod.launch = label(kPodLaunchLabel);
  if (const Result<std::int64_t> recorded = read_integer(label(kPodRecordedLabel)); recorded.ok())
    pod.recorded = *recorded;
  pod.node = text_at(json, {"spec", "nodeName"});
  const Json& status = value_at(json, {"status"});
  pod.phase = text_at(status, {"phase"});
  pod.reason = text_at(status, {"reason"});
  pod.trouble = reason_and_message(status);
  pod.is_deleting = value_at(json, {"metadata", "deletionTimestamp"}).is_string();
  const auto grace = kubernetes::integer_at(value_at(json, {"metadata"}), {"deletionGracePeriodSeconds"}, 0, INT32_MAX);
  if (pod.is_deleting)
    pod.deleted = kubernetes::moment_at(json, {"metadata", "deletionTimestamp"}) - Seconds(grace.value_or(0));
  BERTH_TRY(read_container(status, pod));
  pod.was_signalled = read_was_signalled(label(kPodSignalledLabel), pod.end_message);
  if (pod.started < Seconds(0) && pod.phase != "Pending") pod.started = kubernetes::moment_at(status, {"startTime"});
  read_held(value_at(json, {"spec"}), gpu_resource, pod);
  return pod;
}

void observe_end(const KubernetesPod& pod, TaskObservation& seen) {
  seen.phase = TaskPhase::kEnded;
  seen.ended = pod.ended;
  seen.exit_code = pod.exit_code;
  seen.signal = pod.signal;
  // 128 + n is how a container says that signal n ended it.
  if (seen.signal == 0 && seen.exit_code > 128 && seen.exit_code <= 128 + kLastSignal)
    seen.signal = seen.exit_code - 128;
  seen.is_out_of_memory = pod.end_reason == "OOMKilled";
  seen.is_out_of_time = pod.reason == "DeadlineExceeded";
  // A pod that is over goes as soon as it is deleted; one that is still there ended after that, by its node's clock.
  // Berth deletes the pods of runs that it stops; who looks at the end of one knows whether that is one.
  seen.was_told_by_others = pod.is_deleting && pod.ended + kClockSkew >= pod.deleted;
  seen.was_told = pod.was_signalled || seen.was_told_by_others;
  seen.is_untold = !seen.was_told;
  seen.said_done = says_done(pod.end_message);
  const bool is_plain = pod.end_reason == "Completed" || pod.end_reason == "Error";
  seen.detail = pod.trouble;
  if (seen.detail.empty()) seen.detail = is_plain ? pod.end_message : pod.end_reason;
  if (pod.phase == "Succeeded" || (pod.is_outlived() && !never_started(pod) && !is_end_unseen(pod))) return;
  const bool has_not_run = !pod.has_ended && !seen.is_out_of_time;
  if (never_started(pod)) {
    seen.phase = TaskPhase::kVanished;
    seen.detail = pod.end_reason + (pod.end_message.empty() ? "" : ": " + pod.end_message);
  } else if (is_ended_by_the_node(pod) || pod.was_refused() || is_refused_for_what_it_asks(pod)) {
    seen.phase = TaskPhase::kVanished;
  } else if (has_not_run || seen.exit_code == 0) {
    seen.exit_code = 1;
    if (seen.detail.empty()) seen.detail = "its pod failed and does not say why";
  }
}

}  // namespace

bool KubernetesPod::was_refused() const {
  return phase == "Failed" && !has_ended && !reason.empty() && reason != "DeadlineExceeded" &&
         !is_ended_by_the_node(*this) && !is_refused_for_what_it_asks(*this);
}

Result<std::vector<KubernetesPod>> read_kubernetes_pods(std::string_view json, std::string_view gpu_resource) {
  BERTH_ASSIGN(const Json items, kubernetes::read_items(json, "Pod"));
  std::vector<KubernetesPod> pods;
  pods.reserve(items.size());
  for (const Json& item : items) {
    BERTH_ASSIGN(KubernetesPod pod, read_pod(item, gpu_resource));
    pods.push_back(std::move(pod));
  }
  return pods;
}

TaskObservation observe_pod(const KubernetesPod& pod, const TaskKey& key) {
  TaskObservation seen;
  seen.key = key;
  seen.external = pod.name;
  seen.node = pod.node;
  seen.started = pod.started;
  if (pod.was_refused() || never_started(pod)) {
    seen.begin = TaskBegin::kLost;
  } else if (pod.has_ended || pod.phase == "Running") {
    seen.begin = TaskBegin::kBegan;
  }
  if (pod.is_over() || pod.is_outlived()) {
    observe_end(pod, seen);
    return seen;
  }
  const bool is_silent = pod.phase == "Unknown";
  seen.phase = pod.phase == "Running" || is_silent ? TaskPhase::kRunning : TaskPhase::kStarting;
  seen.detail = !pod.waiting.empty() ? pod.waiting : pod.trouble;
  seen.is_stuck = seen.phase == TaskPhase::kStarting && is_stuck_reason(pod.waiting);
  if (is_silent && seen.detail.empty()) seen.detail = "its node does not answer";
  if (pod.is_deleting) seen.detail += seen.detail.empty() ? "it is being deleted" : "; it is being deleted";
  return seen;
}

}  // namespace berth
