// Calls of kubectl: the same words before each, bounded in time, and what went wrong as the server named it.
//
// kubectl knows kubeconfig files, certificates, tokens and login plugins, so Berth need not. It holds itself to five
// requests a second after the first ten, so work on many pods goes in batches of ten to several processes at a time.
// A server that asks for patience (429) is given it by kubectl itself, within the time of the call.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/exec/kubernetes_settings.h"

namespace berth {

enum class KubectlReason : std::uint8_t {
  kNone,
  kExists,        // 409 AlreadyExists
  kConflict,      // 409 Conflict: "already assigned to node"
  kNotFound,      // 404
  kForbidden,     // 403
  kUnauthorized,  // 401
  kInvalid,       // 400, 422: as it is written, never
  kTooMany,       // 429: not now
  kExpired,       // 410: the list went on for too long
  kCommandEnded,  // of exec: the command ran in the pod, and did not end with 0
  kNotRunning,    // of exec: the pod or its container has ended
  kOther,         // whatever else; whether it was done is not known
};
struct KubectlFailure {
  KubectlReason reason = KubectlReason::kOther;
  std::string message;
};

struct KubectlReply {
  bool is_ok = false;
  bool is_unreachable = false;  // nobody answered, or not in time, or it was not even asked
  bool was_asked = true;        // false: nobody answered a call beside it
  std::string output;
  std::vector<KubectlFailure> failures;  // a line of its complaints each

  const KubectlFailure* first(KubectlReason reason) const;
  // For a person; names the right that is missing.
  std::string complaint() const;
  // Of exec: a signal ended the command in the pod.
  bool was_command_killed() const;
  Status status() const;
};

struct KubectlCall {
  std::vector<std::string> words;  // "get", "pods", ...
  std::string input = {};
};

class Kubectl {
 public:
  // `folder`: where it keeps what it learns of the server.
  Kubectl(const KubernetesSettings& settings, const std::string& folder);

  // From now on it asks the cluster that is kubectl's current one, whatever becomes that later. Without a configuration
  // file there is no choice. kNotFound when there is no kubectl.
  Status pin_context();

  // kNotFound when there is no kubectl.
  Result<KubectlReply> call(const KubectlCall& call) const;
  // `kubectl get` with these words each: JSON, in chunks; a list that took too long for that (410) is asked for again
  // in one piece.
  Result<std::vector<KubectlReply>> list_all(std::span<const std::vector<std::string>> lists) const;
  Result<KubectlReply> list(const std::vector<std::string>& words) const;
  // Several at a time; one reply each, in order. Once nobody answers, those left are not tried.
  Result<std::vector<KubectlReply>> call_all(std::span<const KubectlCall> calls) const;

  // "/api/v1/namespaces/NAMESPACE/pods/", for raw requests.
  const std::string& pods_path() const { return pods_path_; }

 private:
  std::vector<std::string> first_words_;
  std::string pods_path_;
  Seconds timeout_;
  bool is_pinned_ = false;
};

inline constexpr std::size_t kKubectlBatch = 10;

// The failures in what kubectl wrote to standard error; warnings are none.
std::vector<KubectlFailure> read_kubectl_failures(std::string_view error);
// 'user "ann" may not list nodes' and so on, with the way to change it; empty when the message is of another kind.
std::string missing_right(std::string_view message);

}  // namespace berth
