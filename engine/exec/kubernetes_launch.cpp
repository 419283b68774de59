#include "engine/exec/kubernetes_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/text.h"
#include "engine/exec/kubernetes_manifest.h"

namespace berth {

namespace {

constexpr std::size_t kLaunchesPerLook = 100;

enum class PodFate : std::uint8_t { kCreated, kExists, kRefused, kNotNow, kUnknown };
struct PodWork {
  PodOrder order;
  PodFate fate = PodFate::kUnknown;
  std::string detail;
  const KubernetesPod* seen = nullptr;  // once looked up, where it is there and ours

  bool is_there() const { return fate == PodFate::kCreated || seen != nullptr; }
  bool has_node() const { return seen != nullptr && (!seen->node.empty() || seen->is_over()); }
};
struct LaunchWork {
  const Launch* launch = nullptr;
  Delivery delivery;
  bool is_decided = false;
  std::vector<PodWork> pods;

  void decide(DeliveryState state, const std::string& detail) {
    is_decided = true;
    delivery.state = state;
    delivery.detail = detail;
  }
};

// Of a LimitRange.
bool names_a_bound(std::string_view message) {
  constexpr std::array<std::string_view, 3> kBounds = {"maximum ", "minimum ", "limit to request ratio"};
  return std::ranges::any_of(kBounds, [&](std::string_view bound) { return message.find(bound) != message.npos; });
}

// What a line of complaint says of one pod.
// A policy of the site, or something between kubectl and the API server, says no: nothing is wrong with the pod itself.
bool is_of_the_site(const std::string& message) {
  return message.find("admission webhook") != std::string::npos || message.find("unknown reason") != std::string::npos;
}

PodFate fate_of(const KubectlFailure& failure) {
  switch (failure.reason) {
    case KubectlReason::kExists: return PodFate::kExists;
    case KubectlReason::kInvalid: return is_of_the_site(failure.message) ? PodFate::kUnknown : PodFate::kRefused;
    case KubectlReason::kForbidden:
      if (failure.message.find("exceeded quota") != std::string::npos) return PodFate::kNotNow;
      // A bound for single pods is the job's to keep; all else is an admin's to mend.
      return names_a_bound(failure.message) ? PodFate::kRefused : PodFate::kUnknown;
    default: return PodFate::kUnknown;
  }
}

class PodLauncher {
 public:
  PodLauncher(const Kubectl& kubectl, const KubernetesSettings& settings, const std::string& database,
              std::span<const Launch> launches)
      : kubectl_(kubectl), settings_(settings), database_(database) {
    for (const Launch& launch : launches) works_.push_back(prepare(launch));
  }

  Result<std::vector<Delivery>> run() {
    BERTH_TRY(create());
    BERTH_TRY(look());
    for (LaunchWork& work : works_) {
      if (!work.is_decided) decide(work);
    }
    BERTH_TRY(bind());
    BERTH_TRY(withdraw());
    std::vector<Delivery> deliveries;
    for (LaunchWork& work : works_) deliveries.push_back(std::move(work.delivery));
    return deliveries;
  }

 private:
  LaunchWork prepare(const Launch& launch) const {
    LaunchWork work;
    work.launch = &launch;
    work.delivery.external = print_key(database_, launch.key);
    if (const std::string why = why_no_pods(launch, settings_); !why.empty()) work.decide(DeliveryState::kRefused, why);
    for (const LaunchTask& task : launch.tasks) {
      PodWork pod;
      pod.order = {&launch, &task, print_key(database_, launch.key_of(task)), launch.tasks.size() > 1};
      work.pods.push_back(std::move(pod));
    }
    return work;
  }

  // Those for which `pick` holds, in tens.
  template <class Pick>
  std::vector<std::vector<PodWork*>> batches(const Pick& pick) {
    std::vector<std::vector<PodWork*>> all;
    for (LaunchWork& work : works_) {
      for (PodWork& pod : work.pods) {
        if (!pick(work, pod)) continue;
        if (all.empty() || all.back().size() == kKubectlBatch) all.emplace_back();
        all.back().push_back(&pod);
      }
    }
    return all;
  }

  static std::vector<PodOrder> orders_of(const std::vector<PodWork*>& batch) {
    std::vector<PodOrder> orders;
    for (const PodWork* pod : batch) orders.push_back(pod->order);
    return orders;
  }

  Result<std::vector<KubectlReply>> send(const std::vector<std::vector<PodWork*>>& all, bool are_bindings) const {
    std::vector<KubectlCall> calls;
    for (const std::vector<PodWork*>& batch : all) {
      const std::vector<PodOrder> orders = orders_of(batch);
      calls.push_back({{"create", "--validate=false", "--output=name", "--filename=-"},
                       are_bindings ? write_bindings(orders) : write_pods(orders, database_, settings_)});
    }
    return kubectl_.call_all(calls);
  }

  // The line that names the pod; else one that names none of the batch, rather one that leaves it open than a refusal.
  static const KubectlFailure* failure_of(const PodWork& pod, const std::vector<PodWork*>& batch,
                                          const KubectlReply& reply) {
    const auto names = [](const KubectlFailure& failure, const PodWork& each) {
      return failure.message.find("\"" + each.order.name + "\"") != std::string::npos;
    };
    const KubectlFailure* general = nullptr;
    for (const KubectlFailure& failure : reply.failures) {
      if (names(failure, pod)) return &failure;
      const bool is_anothers = std::ranges::any_of(batch, [&](const PodWork* each) { return names(failure, *each); });
      if (!is_anothers && (general == nullptr || fate_of(failure) == PodFate::kUnknown)) general = &failure;
    }
    return general;
  }

  Status create() {
    const auto all = batches([](const LaunchWork& work, const PodWork&) { return !work.is_decided; });
    BERTH_ASSIGN(const std::vector<KubectlReply> replies, send(all, false));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::vector<std::string_view> created = split(replies[i].output, '\n');
      for (PodWork* pod : all[i]) {
        if (replies[i].is_ok || std::ranges::find(created, "pod/" + pod->order.name) != created.end()) {
          pod->fate = PodFate::kCreated;
        } else if (const KubectlFailure* failure = failure_of(*pod, all[i], replies[i])) {
          pod->fate = fate_of(*failure);
          pod->detail = pod->fate == PodFate::kUnknown ? replies[i].complaint() : failure->message;
        }
      }
    }
    return {};
  }

  // Finds out what is there of every launch that is not wholly created.
  Status look() {
    std::vector<LaunchWork*> open;
    for (LaunchWork& work : works_) {
      const bool is_clear =
          std::ranges::all_of(work.pods, [](const PodWork& pod) { return pod.fate == PodFate::kCreated; });
      if (!work.is_decided && !is_clear) open.push_back(&work);
    }
    for (std::size_t from = 0; from < open.size(); from += kLaunchesPerLook) {
      const std::span<LaunchWork*> some = std::span(open).subspan(from, std::min(kLaunchesPerLook, open.size() - from));
      if (Status failed = look_at(some); !failed.ok()) {
        if (open.size() == works_.size()) return failed;
        for (LaunchWork* work : some) work->decide(DeliveryState::kUnknown, failed.message());
      }
    }
    return {};
  }

  Status look_at(std::span<LaunchWork* const> some) {
    std::vector<std::string> keys;
    for (const LaunchWork* work : some) keys.push_back(work->delivery.external);
    const std::string selector =
        fmt::format("{}={},{} in ({})", kPodDatabaseLabel, database_, kPodLaunchLabel, join(keys, ","));
    BERTH_ASSIGN(std::vector<KubernetesPod> pods, list_pods(kubectl_, settings_, selector));
    for (KubernetesPod& pod : pods) {
      std::string name = pod.name;
      seen_.insert_or_assign(std::move(name), std::move(pod));
    }
    for (LaunchWork* work : some) {
      for (PodWork& pod : work->pods) {
        const auto found = seen_.find(pod.order.name);
        if (found != seen_.end()) pod.seen = &found->second;
        if (pod.seen == nullptr && pod.fate == PodFate::kExists) BERTH_TRY(look_who_has_the_name(pod));
      }
    }
    return {};
  }

  // It existed a moment ago and is none of this launch's: somebody else's, or gone since.
  Status look_who_has_the_name(PodWork& pod) const {
    BERTH_ASSIGN(const KubectlReply reply, kubectl_.list({"pods", "--ignore-not-found", pod.order.name}));
    BERTH_TRY(reply.status());
    const bool is_gone = trim(reply.output).empty();
    pod.fate = is_gone ? PodFate::kUnknown : PodFate::kRefused;
    pod.detail = is_gone ? "its pod was there, and was deleted meanwhile"
                         : fmt::format("pod {} is there already and is not Berth's", pod.order.name);
    return {};
  }

  void decide(LaunchWork& work) {
    const auto with = [&](auto holds) { return std::ranges::find_if(work.pods, holds); };
    const auto end = work.pods.end();
    const bool was_bound = work.pods.size() > 1 && with([](const PodWork& pod) { return pod.has_node(); }) != end;
    const bool has_new = with([](const PodWork& pod) { return pod.fate == PodFate::kCreated; }) != end;
    const auto gone = with([](const PodWork& pod) { return !pod.is_there(); });
    if (was_bound && (has_new || gone != end)) {
      work.decide(DeliveryState::kDone, "");
      for (PodWork& pod : work.pods) {
        if (pod.fate == PodFate::kCreated) withdrawn_.push_back(pod.order.name);
      }
      return;
    }
    if (gone == end) return;
    const auto refused = with([](const PodWork& pod) { return !pod.is_there() && pod.fate == PodFate::kRefused; });
    const auto not_now = with([](const PodWork& pod) { return !pod.is_there() && pod.fate == PodFate::kNotNow; });
    if (refused != end) {
      work.decide(DeliveryState::kRefused, refused->detail);
    } else {
      work.decide(DeliveryState::kUnknown, not_now != end ? not_now->detail : gone->detail);
      if (not_now == end) return;  // what is there stays: the next delivery goes on with it
    }
    for (const PodWork& pod : work.pods) {
      if (pod.is_there()) withdrawn_.push_back(pod.order.name);
    }
  }

  // Gangs that are all there.
  Status bind() {
    const auto all = batches([](const LaunchWork& work, const PodWork& pod) {
      return !work.is_decided && pod.order.is_bound_later && !pod.has_node();
    });
    BERTH_ASSIGN(const std::vector<KubectlReply> replies, send(all, true));
    std::map<const Launch*, std::string> open;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const PodWork* pod : all[i]) {
        if (replies[i].is_ok) continue;
        // A second binding is a conflict with the first, which is then true. Of what is not named nothing is known: the
        // call may have ended before its turn.
        const KubectlFailure* failure = failure_of(*pod, all[i], replies[i]);
        if (failure == nullptr || failure->reason != KubectlReason::kConflict)
          open.emplace(pod->order.launch, replies[i].complaint());
      }
    }
    for (LaunchWork& work : works_) {
      const auto found = open.find(work.launch);
      if (found != open.end()) work.decide(DeliveryState::kUnknown, found->second);
    }
    return {};
  }

  Status withdraw() const { return delete_pods(kubectl_, withdrawn_, {"--grace-period=1"}).status(); }

  const Kubectl& kubectl_;
  const KubernetesSettings& settings_;
  const std::string& database_;
  std::vector<LaunchWork> works_;
  std::map<std::string, KubernetesPod, std::less<>> seen_;
  std::vector<std::string> withdrawn_;
};

}  // namespace

Result<std::vector<Delivery>> launch_pods(const Kubectl& kubectl, const KubernetesSettings& settings,
                                          const std::string& database, std::span<const Launch> launches) {
  return PodLauncher(kubectl, settings, database, launches).run();
}

Result<std::vector<KubernetesPod>> list_pods(const Kubectl& kubectl, const KubernetesSettings& settings,
                                             const std::string& selector) {
  BERTH_ASSIGN(const KubectlReply reply, kubectl.list({"pods", "--selector=" + selector}));
  BERTH_TRY(reply.status());
  return read_kubernetes_pods(reply.output, settings.gpu_resource);
}

Result<std::vector<KubectlReply>> delete_pods(const Kubectl& kubectl, std::span<const std::string> names,
                                              std::vector<std::string> words) {
  words.insert(words.begin(), {"delete", "pods", "--ignore-not-found", "--wait=false", "--output=name"});
  std::vector<KubectlCall> calls;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i % kKubectlBatch == 0) calls.push_back({words});
    calls.back().words.push_back(names[i]);
  }
  return kubectl.call_all(calls);
}

Result<std::vector<KubectlReply>> label_pods(const Kubectl& kubectl, std::span<const std::string> names,
                                             const std::string& label) {
  std::vector<KubectlCall> calls;
  for (std::size_t from = 0; from < names.size(); from += kPodsPerLabelCall) {
    KubectlCall& call = calls.emplace_back(KubectlCall{{"label", "pods", "--overwrite", "--output=name"}});
    const auto some = names.subspan(from, std::min(kPodsPerLabelCall, names.size() - from));
    call.words.insert(call.words.end(), some.begin(), some.end());
    call.words.push_back(label);
  }
  return kubectl.call_all(calls);
}

}  // namespace berth
