#include "engine/exec/kubernetes_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/base/text.h"
#include "engine/exec/cluster_identity.h"
#include "engine/exec/kubectl.h"
#include "engine/exec/kubernetes_cordon.h"
#include "engine/exec/kubernetes_launch.h"
#include "engine/exec/kubernetes_manifest.h"
#include "engine/exec/kubernetes_node.h"
#include "engine/exec/kubernetes_pod.h"
#include "engine/exec/kubernetes_stop.h"

namespace berth {

namespace {

constexpr Seconds kRefusesFor{300};
constexpr Seconds kPatienceWithNodes{330};  // Kubernetes deletes the pods of a node that does not answer for 300 s

class KubernetesExecutor : public Executor {
 public:
  KubernetesExecutor(const ExecutorContext& context, KubernetesSettings settings)
      : context_(context), settings_(std::move(settings)), kubectl_(settings_, context.folder) {}

  Result<std::vector<Delivery>> launch(std::span<const Launch> launches) override {
    BERTH_TRY(check_cluster());
    return launch_pods(kubectl_, settings_, context_.database, launches);
  }

  Result<std::vector<Delivery>> stop(std::span<const StopRequest> requests) override {
    BERTH_TRY(check_cluster());
    return stop_pods(kubectl_, context_.database, requests, eviction_version_);
  }

  Result<Observation> observe(std::span<const LiveTask> tasks, std::span<const std::string> nodes) override {
    BERTH_TRY(check_cluster());
    std::vector<std::vector<std::string>> lists = {{"pods", "--selector=" + ours_selector()}};
    if (!nodes.empty()) {
      lists.push_back({"nodes"});
      lists.push_back(foreign_list(blindness_.empty()));
    }
    BERTH_ASSIGN(std::vector<KubectlReply> replies, kubectl_.list_all(lists));
    BERTH_TRY(replies[0].status());
    BERTH_ASSIGN(std::vector<KubernetesPod> ours, read_pods(replies[0]));
    BERTH_ASSIGN(const std::vector<KubernetesPod> unlisted, find_unlisted(tasks, ours));
    ours.insert(ours.end(), unlisted.begin(), unlisted.end());
    Observation seen;
    observe_tasks(tasks, ours, seen);
    if (nodes.empty()) return seen;
    BERTH_TRY(replies[1].status());
    BERTH_ASSIGN(const std::vector<KubernetesNode> cluster,
                 read_kubernetes_nodes(replies[1].output, settings_, context_.database));
    observe_nodes(nodes, cluster, seen);
    close_refusing(ours, seen);
    BERTH_TRY(observe_foreign(std::move(replies[2]), nodes, unlisted, seen));
    return seen;
  }

  Result<std::vector<InventoryNode>> inventory() override {
    BERTH_TRY(check_cluster());
    BERTH_ASSIGN(const KubectlReply reply, kubectl_.list({"nodes"}));
    BERTH_TRY(reply.status());
    BERTH_ASSIGN(std::vector<KubernetesNode> nodes, read_kubernetes_nodes(reply.output, settings_, context_.database));
    std::vector<InventoryNode> all;
    for (KubernetesNode& node : nodes) all.push_back(std::move(node.inventory));
    return all;
  }

  Result<std::string> log(const LiveTask& task, LogStream stream, std::int64_t offset, std::int64_t most) override {
    if (stream == LogStream::kError) return std::string();  // it is in the output
    BERTH_TRY(check_cluster());
    const std::string pod = print_key(context_.database, task.key);
    BERTH_ASSIGN(const KubectlReply reply, kubectl_.call({{"logs", pod, fmt::format("--container={}", kPodContainer),
                                                           fmt::format("--limit-bytes={}", offset + most)}}));
    if (reply.first(KubectlReason::kNotFound) != nullptr)
      return Status(Code::kNotFound, fmt::format("pod {} is gone, and its log with it", pod),
                    "option 'keep_pods' says how long ended pods are kept");
    if (reply.first(KubectlReason::kInvalid) != nullptr) return std::string();  // its container waits to start
    BERTH_TRY(reply.status());
    const auto from = static_cast<std::size_t>(offset);
    return from < reply.output.size() ? reply.output.substr(from) : std::string();
  }

  bool has_cordons() const override { return true; }

  Result<std::vector<Delivery>> cordon(std::span<const std::string> nodes, bool is_cordoned,
                                       const std::string& reason) override {
    BERTH_TRY(check_cluster());
    return cordon_kubernetes_nodes(kubectl_, settings_, context_.database, nodes, is_cordoned, reason);
  }

  Status forget(std::span<const LiveTask> tasks) override {
    std::vector<std::string> names;
    for (const LiveTask& task : tasks) names.push_back(print_key(context_.database, task.key));
    if (names.empty()) return {};
    BERTH_TRY(check_cluster());
    if (settings_.keep_pods > Seconds(0)) {
      BERTH_TRY(note_recorded(names));
      BERTH_ASSIGN(names, due_names());
    }
    BERTH_ASSIGN(const std::vector<KubectlReply> replies, delete_pods(kubectl_, names, {}));
    for (const KubectlReply& reply : replies) BERTH_TRY(reply.status());
    return {};
  }

 private:
  // Where Berth may never ask which cluster it is, nobody knows. Calls after the first stay with that cluster.
  Status check_cluster() {
    if (is_checked_) return {};
    BERTH_TRY(kubectl_.pin_context());
    BERTH_ASSIGN(const KubectlReply reply, kubectl_.list({"namespaces", "kube-system"}));
    const bool may_not_ask =
        reply.first(KubectlReason::kForbidden) != nullptr || reply.first(KubectlReason::kNotFound) != nullptr;
    if (!may_not_ask) BERTH_TRY(reply.status());
    const std::string uid = may_not_ask ? std::string() : read_kubernetes_uid(reply.output);
    BERTH_TRY(check_cluster_identity(
        context_.folder,
        {"kubectl", uid, "pods",
         uid.empty()
             ? "give Berth the right to get namespace kube-system, or set kubectl's context to the right cluster"
             : "set kubectl's context, or option 'context', to the right one"}));
    is_checked_ = true;
    return {};
  }

  std::string ours_selector() const { return fmt::format("{}={}", kPodDatabaseLabel, context_.database); }

  // Of everybody else: of all namespaces, or of ours.
  std::vector<std::string> foreign_list(bool is_of_all) const {
    std::vector<std::string> words = {"pods", fmt::format("--selector={}!={}", kPodDatabaseLabel, context_.database),
                                      "--field-selector=status.phase!=Succeeded,status.phase!=Failed"};
    if (is_of_all) words.emplace_back("--all-namespaces");
    return words;
  }

  Result<std::vector<KubernetesPod>> read_pods(const KubectlReply& reply) const {
    return read_kubernetes_pods(reply.output, settings_.gpu_resource);
  }

  // Pods whose labels somebody removed are in no list. Berth asks for a pod by name before it takes it for gone.
  Result<std::vector<KubernetesPod>> find_unlisted(std::span<const LiveTask> tasks,
                                                   const std::vector<KubernetesPod>& ours) const {
    std::set<std::string> listed;
    for (const KubernetesPod& pod : ours) listed.insert(pod.name);
    std::vector<std::vector<std::string>> lists;
    std::size_t count = 0;
    for (const LiveTask& task : tasks) {
      std::string name = print_key(context_.database, task.key);
      if (task.external.empty() || listed.contains(name)) continue;
      if (count++ % kKubectlBatch == 0) lists.push_back({"pods", "--ignore-not-found"});
      lists.back().push_back(std::move(name));
    }
    BERTH_ASSIGN(const std::vector<KubectlReply> replies, kubectl_.list_all(lists));
    std::vector<KubernetesPod> unlisted;
    for (const KubectlReply& reply : replies) {
      BERTH_TRY(reply.status());
      if (trim(reply.output).empty()) continue;
      BERTH_ASSIGN(const std::vector<KubernetesPod> some, read_pods(reply));
      unlisted.insert(unlisted.end(), some.begin(), some.end());
    }
    return unlisted;
  }

  void observe_tasks(std::span<const LiveTask> tasks, const std::vector<KubernetesPod>& ours, Observation& seen) const {
    std::map<TaskKey, const KubernetesPod*> pods;
    for (const KubernetesPod& pod : ours) {
      if (const auto key = read_task_key(context_.database, pod.name)) pods.emplace(*key, &pod);
    }
    for (const LiveTask& task : tasks) {
      const auto found = pods.find(task.key);
      if (found != pods.end()) {
        seen.tasks.push_back(observe_pod(*found->second, task.key));
        pods.erase(found);
        continue;
      }
      TaskObservation none;
      none.key = task.key;
      if (!task.external.empty()) {
        none.phase = TaskPhase::kVanished;
        none.detail = "its pod is gone";
      }
      seen.tasks.push_back(std::move(none));
    }
    for (const auto& [key, pod] : pods) {
      if (!pod->is_over() && pod->recorded < 0) seen.unknown_tasks.push_back(observe_pod(*pod, key));
    }
  }

  static void observe_nodes(std::span<const std::string> nodes, const std::vector<KubernetesNode>& cluster,
                            Observation& seen) {
    for (const std::string& name : nodes) {
      const auto found = std::ranges::lower_bound(
          cluster, name, {}, [](const KubernetesNode& node) -> const std::string& { return node.inventory.name; });
      if (found == cluster.end() || found->inventory.name != name) {
        seen.nodes.push_back({name, false, false, "the cluster has no node of that name"});
      } else {
        seen.nodes.push_back(
            {name, found->is_ready, found->is_cordoned, found->trouble, found->has_our_cordon, kPatienceWithNodes});
      }
    }
  }

  // A kubelet that refuses one pod (its device plugin restarts, something else was faster) refuses the next one, too:
  // the node gets nothing new for a while.
  void close_refusing(const std::vector<KubernetesPod>& ours, Observation& seen) const {
    for (const KubernetesPod& pod : ours) {
      const bool counts = pod.recorded < 0 || Seconds(pod.recorded) + kRefusesFor > context_.env->now();
      if (!counts || !pod.was_refused()) continue;
      const auto node = std::ranges::find(seen.nodes, pod.node, &NodeObservation::node);
      if (node == seen.nodes.end() || !node->is_ready || node->is_cordoned || node->has_our_cordon) continue;
      node->is_cordoned = true;
      node->detail = fmt::format("its kubelet refused a pod: {}", pod.trouble);
    }
  }

  Status observe_foreign(KubectlReply reply, std::span<const std::string> nodes,
                         const std::vector<KubernetesPod>& unlisted, Observation& seen) {
    if (blindness_.empty() && reply.first(KubectlReason::kForbidden) != nullptr) {
      blindness_ = "work of other namespaces is not seen: " + reply.complaint();
      BERTH_ASSIGN(reply, kubectl_.list(foreign_list(false)));
    }
    BERTH_TRY(reply.status());
    BERTH_ASSIGN(const std::vector<KubernetesPod> pods, read_pods(reply));
    const std::set<std::string_view> wanted(nodes.begin(), nodes.end());
    for (const KubernetesPod& pod : pods) {
      const bool holds = pod.cpu > MilliCpu(0) || pod.memory > MiB(0) || pod.gpu_count > 0;
      const bool is_ours = std::ranges::any_of(unlisted, [&](const KubernetesPod& each) {
        return each.name == pod.name && each.name_space == pod.name_space;
      });
      if (holds && !is_ours && wanted.contains(pod.node))
        seen.foreign.push_back(
            {pod.node, fmt::format("pod {}/{}", pod.name_space, pod.name), pod.cpu, pod.memory, pod.gpu_count, 0});
    }
    if (blindness_.empty()) return {};
    for (NodeObservation& node : seen.nodes) node.detail += (node.detail.empty() ? "" : "; ") + blindness_;
    return {};
  }

  Status note_recorded(std::span<const std::string> names) const {
    const std::string label = fmt::format("{}={}", kPodRecordedLabel, context_.env->now().value());
    BERTH_ASSIGN(const std::vector<KubectlReply> replies, label_pods(kubectl_, names, label));
    for (const KubectlReply& reply : replies) {
      const auto is_absence = [](const KubectlFailure& failure) { return failure.reason == KubectlReason::kNotFound; };
      const bool is_gone = !reply.failures.empty() && std::ranges::all_of(reply.failures, is_absence);
      if (!is_gone) BERTH_TRY(reply.status());
    }
    return {};
  }

  // Recorded long enough ago, or not ended though recorded: a lost task whose node came back, or what a sidecar keeps.
  Result<std::vector<std::string>> due_names() const {
    BERTH_ASSIGN(const std::vector<KubernetesPod> recorded,
                 list_pods(kubectl_, settings_, fmt::format("{},{}", ours_selector(), kPodRecordedLabel)));
    std::vector<std::string> names;
    for (const KubernetesPod& pod : recorded) {
      const bool is_due = Seconds(pod.recorded) + settings_.keep_pods <= context_.env->now();
      if (is_due || !pod.is_over()) names.push_back(pod.name);
    }
    return names;
  }

  ExecutorContext context_;
  KubernetesSettings settings_;
  Kubectl kubectl_;
  bool is_checked_ = false;
  std::optional<std::string> eviction_version_;
  std::string blindness_;  // why other namespaces are not seen; empty = they are, as far as is known
};

}  // namespace

Result<std::unique_ptr<Executor>> make_kubernetes_executor(const ExecutorContext& context,
                                                           const ExecutorOptions& options) {
  BERTH_ASSIGN(KubernetesSettings settings, read_kubernetes_settings(options));
  std::error_code error;
  std::filesystem::create_directories(context.folder, error);
  return std::unique_ptr<Executor>(std::make_unique<KubernetesExecutor>(context, std::move(settings)));
}

}  // namespace berth
