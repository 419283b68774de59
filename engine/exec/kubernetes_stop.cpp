#include "engine/exec/kubernetes_stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "engine/base/text.h"
#include "engine/exec/kubernetes_json.h"
#include "engine/exec/kubernetes_launch.h"
#include "engine/exec/kubernetes_manifest.h"
#include "engine/exec/kubernetes_pod.h"

namespace berth {

namespace {

struct StopWork {
  std::size_t request = 0;
  std::string pod;
  const StopRequest* of = nullptr;
};

// Of 0 the API server would forget the pod while it runs on.
Seconds grace_of(const StopRequest& request) { return std::max(*request.grace, Seconds(1)); }

class PodStopper {
 public:
  PodStopper(const Kubectl& kubectl, std::optional<std::string>& eviction_version, std::size_t count)
      : kubectl_(kubectl), eviction_version_(eviction_version), deliveries_(count) {}

  Status end(std::vector<StopWork> all) {
    BERTH_TRY(leave_ended(all));
    if (all.empty()) return {};
    BERTH_TRY(discover());
    if (eviction_version_->empty()) return erase(all);
    std::vector<KubectlCall> calls;
    for (const StopWork& work : all) {
      calls.push_back({{"create", "--raw", kubectl_.pods_path() + work.pod + "/eviction", "--filename=-"},
                       write_eviction(work.pod, *eviction_version_, grace_of(*work.of))});
    }
    BERTH_ASSIGN(const std::vector<KubectlReply> replies, kubectl_.call_all(calls));
    std::vector<StopWork> to_erase;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const KubectlReply& reply = replies[i];
      if (reply.is_ok || reply.first(KubectlReason::kNotFound) != nullptr) continue;
      if (reply.first(KubectlReason::kForbidden) != nullptr || reply.first(KubectlReason::kInvalid) != nullptr) {
        to_erase.push_back(all[i]);
      } else {
        note(all[i], DeliveryState::kUnknown, reply.complaint());
      }
    }
    return erase(to_erase);
  }

  Status signal(std::vector<StopWork> all) {
    BERTH_TRY(leave_ended(all));
    std::vector<StopWork> to_tell;
    std::vector<StopWork> to_label;
    for (const StopWork& work : all) (labelled_before_.contains(work.pod) ? to_tell : to_label).push_back(work);
    const std::set<std::string> labelled = label(to_label);
    std::ranges::copy_if(to_label, std::back_inserter(to_tell),
                         [&](const auto& work) { return labelled.contains(work.pod); });
    std::vector<KubectlCall> calls;
    for (const StopWork& work : to_tell) {
      calls.push_back({{"exec", work.pod, fmt::format("--container={}", kPodContainer), "--", "/bin/sh", "-c",
                        pod_marked_signal_command(work.of->signal)}});
    }
    BERTH_ASSIGN(const std::vector<KubectlReply> replies, kubectl_.call_all(calls));
    std::vector<std::string> told;
    std::vector<std::string> untold;
    for (std::size_t i = 0; i < to_tell.size(); ++i) {
      // A program that ends at once takes the command with it.
      if (replies[i].is_ok || replies[i].was_command_killed()) {
        told.push_back(to_tell[i].pod);
        continue;
      }
      // Where it could not be heard of, it may have been sent; and so may one before it.
      const bool was_not_sent = !replies[i].is_unreachable || !replies[i].was_asked;
      if (was_not_sent && labelled.contains(to_tell[i].pod)) untold.push_back(to_tell[i].pod);
      const bool had_ended = replies[i].first(KubectlReason::kNotRunning) != nullptr;
      if (!had_ended) note_unsent(to_tell[i], replies[i]);
    }
    // Should either fail, the pods stay asked.
    (void)label_pods(kubectl_, told, fmt::format("{}=true", kPodSignalledLabel)).status();
    (void)label_pods(kubectl_, untold, fmt::format("{}-", kPodSignalledLabel)).status();
    return {};
  }

  std::vector<Delivery> take() { return std::move(deliveries_); }

 private:
  // Leaves out pods that have ended: a deletion would take away how they ended, and a signal comes too late. Notes
  // which have the label of a signal.
  Status leave_ended(std::vector<StopWork>& all) {
    std::vector<KubectlCall> calls;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % kKubectlBatch == 0) {
        calls.push_back(
            {{"get", "pods", "--ignore-not-found", "--no-headers",
              fmt::format("--output=custom-columns=NAME:.metadata.name,PHASE:.status.phase,SIGNALLED:.metadata."
                          "labels.{}",
                          kPodSignalledLabel)}});
      }
      calls.back().words.push_back(all[i].pod);
    }
    BERTH_ASSIGN(const std::vector<KubectlReply> replies, kubectl_.call_all(calls));
    std::set<std::string> ended;
    for (const KubectlReply& reply : replies) {
      BERTH_TRY(reply.status());
      for (const std::string_view line : split(reply.output, '\n')) {
        std::vector<std::string_view> words = split(line, ' ');
        std::erase_if(words, [](std::string_view word) { return word.empty(); });
        if (words.size() < 2) continue;
        if (words[1] == "Succeeded" || words[1] == "Failed") ended.emplace(words[0]);
        if (words.size() > 2 && words[2] != "<none>") labelled_before_.emplace(words[0]);
      }
    }
    std::erase_if(all, [&](const StopWork& work) { return ended.contains(work.pod); });
    return {};
  }

  // Labels pods before the signal is sent, so nobody has told a pod without the label. Returns the labelled pods.
  std::set<std::string> label(const std::vector<StopWork>& all) {
    std::vector<std::string> names;
    for (const StopWork& work : all) names.push_back(work.pod);
    const Result<std::vector<KubectlReply>> replies =
        label_pods(kubectl_, names, fmt::format("{}={}", kPodSignalledLabel, kPodSignalAsked));
    std::set<std::string> labelled;
    if (!replies.ok()) return labelled;
    for (const KubectlReply& reply : *replies) {
      for (const std::string_view line : split(reply.output, '\n')) labelled.emplace(line.substr(line.find('/') + 1));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!labelled.contains(all[i].pod)) note_unsent(all[i], (*replies)[i / kPodsPerLabelCall]);
    }
    return labelled;
  }

  Status discover() {
    if (eviction_version_) return {};
    BERTH_ASSIGN(const KubectlReply reply, kubectl_.call({{"get", "--raw", "/api/v1"}}));
    BERTH_TRY(reply.status());
    eviction_version_ = read_eviction_version(reply.output);
    return {};
  }

  Status erase(const std::vector<StopWork>& all) {
    std::map<Seconds, std::vector<StopWork>> by_grace;
    for (const StopWork& work : all) by_grace[grace_of(*work.of)].push_back(work);
    for (const auto& [grace, works] : by_grace) {
      std::vector<std::string> names;
      for (const StopWork& work : works) names.push_back(work.pod);
      BERTH_ASSIGN(const std::vector<KubectlReply> replies,
                   delete_pods(kubectl_, names, {fmt::format("--grace-period={}", grace.value())}));
      for (std::size_t i = 0; i < works.size(); ++i) {
        const KubectlReply& reply = replies[i / kKubectlBatch];
        if (!reply.is_ok) note(works[i], DeliveryState::kUnknown, reply.complaint());
      }
    }
    return {};
  }

  void note_unsent(const StopWork& work, const KubectlReply& reply) {
    note(work, reply.is_unreachable ? DeliveryState::kUnknown : DeliveryState::kRefused,
         fmt::format("SIG{} was not sent: {}", work.of->signal, reply.complaint()));
  }

  // The worst of a request's pods speaks for it.
  void note(const StopWork& work, DeliveryState state, const std::string& detail) {
    Delivery& delivery = deliveries_[work.request];
    if (delivery.state == DeliveryState::kUnknown) return;
    delivery.state = state;
    delivery.detail = fmt::format("pod {}: {}", work.pod, detail);
  }

  const Kubectl& kubectl_;
  std::optional<std::string>& eviction_version_;
  std::vector<Delivery> deliveries_;
  std::set<std::string> labelled_before_;  // by an earlier call
};

}  // namespace

std::string read_eviction_version(std::string_view resources) {
  const nlohmann::json json = nlohmann::json::parse(resources, nullptr, false);
  for (const nlohmann::json& resource : kubernetes::value_at(json, {"resources"})) {
    if (kubernetes::text_at(resource, {"name"}) == "pods/eviction") return kubernetes::text_at(resource, {"version"});
  }
  return {};
}

Result<std::vector<Delivery>> stop_pods(const Kubectl& kubectl, const std::string& database,
                                        std::span<const StopRequest> requests,
                                        std::optional<std::string>& eviction_version) {
  std::vector<StopWork> to_end;
  std::vector<StopWork> to_signal;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (const LiveTask& task : requests[i].tasks)
      (requests[i].grace ? to_end : to_signal).push_back({i, print_key(database, task.key), &requests[i]});
  }
  PodStopper stopper(kubectl, eviction_version, requests.size());
  BERTH_TRY(stopper.signal(to_signal));
  BERTH_TRY(stopper.end(to_end));
  return stopper.take();
}

}  // namespace berth
