#include "engine/exec/kubectl.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "engine/base/at_once.h"
#include "engine/base/text.h"
#include "engine/exec/process.h"

namespace berth {

namespace {

constexpr std::size_t kKubectlsAtOnce = 4;

struct ReasonName {
  std::string_view name;
  KubectlReason reason;
};
constexpr std::array<ReasonName, 12> kReasonNames = {{{"AlreadyExists", KubectlReason::kExists},
                                                      {"Conflict", KubectlReason::kConflict},
                                                      {"NotFound", KubectlReason::kNotFound},
                                                      {"Forbidden", KubectlReason::kForbidden},
                                                      {"Unauthorized", KubectlReason::kUnauthorized},
                                                      {"Invalid", KubectlReason::kInvalid},
                                                      {"BadRequest", KubectlReason::kInvalid},
                                                      {"RequestEntityTooLarge", KubectlReason::kInvalid},
                                                      {"TooManyRequests", KubectlReason::kTooMany},
                                                      {"Expired", KubectlReason::kExpired},
                                                      {"Gone", KubectlReason::kExpired},
                                                      {"ResourceExpired", KubectlReason::kExpired}}};

constexpr std::string_view kCommandEnded = "command terminated with exit code ";

// The server's own word for it: in brackets, "Error from server (Conflict): ...", in some places with a small e.
KubectlReason reason_of(std::string_view line) {
  for (const std::string_view opening : {"rror from server (", "logged in to the server ("}) {
    const std::size_t start = line.find(opening);
    if (start == std::string_view::npos) continue;
    const std::string_view rest = line.substr(start + opening.size());
    const auto row = std::ranges::find(kReasonNames, rest.substr(0, rest.find(')')), &ReasonName::name);
    return row == kReasonNames.end() ? KubectlReason::kOther : row->reason;
  }
  const bool is_invalid =
      line.find("is invalid:") != std::string_view::npos || line.starts_with("The request is invalid");
  if (is_invalid) return KubectlReason::kInvalid;
  for (const std::string_view said : {"in a completed pod", "container not found", "container is not running"})
    if (line.find(said) != std::string_view::npos) return KubectlReason::kNotRunning;
  return line.find(kCommandEnded) != std::string_view::npos ? KubectlReason::kCommandEnded : KubectlReason::kOther;
}

bool goes_on(std::string_view line) { return line.starts_with(' ') || line.starts_with("* "); }

// In quotes or bare, after that word.
std::string_view word_after(std::string_view text, std::string_view before) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  const std::string_view rest = text.substr(start + before.size());
  return rest.substr(0, rest.find('"'));
}

// A kubectl that ends early must not end this process: calls at the same time would undo one another's settings.
class QuietPipes {
 public:
  QuietPipes() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  QuietPipes(const QuietPipes&) = delete;
  QuietPipes& operator=(const QuietPipes&) = delete;
  ~QuietPipes() { sigaction(SIGPIPE, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

KubectlReply not_asked() {
  KubectlReply reply;
  reply.is_unreachable = true;
  reply.was_asked = false;
  reply.failures.push_back({KubectlReason::kOther, "not asked: the API server did not answer before"});
  return reply;
}

}  // namespace

std::string missing_right(std::string_view message) {
  const std::string_view user = word_after(message, "User \"");
  const std::string_view verb = word_after(message, "cannot ");
  const std::string_view resource = word_after(message, "resource \"");
  if (user.empty() || verb.empty() || resource.empty()) return {};
  const std::string_view name_space = word_after(message, "in the namespace \"");
  return fmt::format(
      "user \"{}\" may not {} {}{}: examples/kubernetes/rbac.yaml gives that right", user,
      verb.substr(0, verb.find(' ')), resource,
      name_space.empty() ? std::string(" at the cluster scope") : fmt::format(" in namespace \"{}\"", name_space));
}

std::vector<KubectlFailure> read_kubectl_failures(std::string_view error) {
  std::vector<KubectlFailure> failures;
  for (const std::string_view line : split(error, '\n')) {
    if (trim(line).empty() || line.starts_with("Warning:") || line.starts_with("warning:")) continue;
    if (goes_on(line) && !failures.empty()) {
      failures.back().message += fmt::format(" {}", trim(line));
      continue;
    }
    failures.push_back({reason_of(line), std::string(trim(line))});
  }
  return failures;
}

const KubectlFailure* KubectlReply::first(KubectlReason reason) const {
  const auto found = std::ranges::find(failures, reason, &KubectlFailure::reason);
  return found == failures.end() ? nullptr : &*found;
}

std::string KubectlReply::complaint() const {
  if (const KubectlFailure* forbidden = first(KubectlReason::kForbidden)) {
    if (std::string right = missing_right(forbidden->message); !right.empty()) return right;
  }
  if (first(KubectlReason::kUnauthorized) != nullptr)
    return "the API server does not accept these credentials (401): see the executor's options kubeconfig and context";
  return failures.empty() ? "kubectl failed and does not say why" : "kubectl: " + failures.back().message;
}

bool KubectlReply::was_command_killed() const {
  constexpr int kBySignal = 128;
  const KubectlFailure* const ended = first(KubectlReason::kCommandEnded);
  if (ended == nullptr) return false;
  const std::size_t code = ended->message.find(kCommandEnded) + kCommandEnded.size();
  return std::atoi(ended->message.c_str() + code) > kBySignal;
}

Status KubectlReply::status() const { return is_ok ? Status() : Status(Code::kUnavailable, complaint()); }

Kubectl::Kubectl(const KubernetesSettings& settings, const std::string& folder)
    : first_words_{settings.kubectl, "--namespace=" + settings.name_space, "--cache-dir=" + folder + "/kubectl"},
      pods_path_(fmt::format("/api/v1/namespaces/{}/pods/", settings.name_space)),
      timeout_(settings.timeout) {
  if (!settings.kubeconfig.empty()) first_words_.push_back("--kubeconfig=" + settings.kubeconfig);
  is_pinned_ = !settings.context.empty();
  if (is_pinned_) first_words_.push_back("--context=" + settings.context);
  first_words_.push_back(fmt::format("--request-timeout={}s", std::max<std::int64_t>(1, timeout_.value() - 1)));
}

Status Kubectl::pin_context() {
  if (is_pinned_) return {};
  BERTH_ASSIGN(const KubectlReply current, call({{"config", "current-context"}}));
  if (current.is_ok && !trim(current.output).empty())
    first_words_.push_back("--context=" + std::string(trim(current.output)));
  is_pinned_ = true;
  return {};
}

Result<KubectlReply> Kubectl::call(const KubectlCall& call) const {
  ProcessRequest request{.command = first_words_, .input = call.input};
  request.command.insert(request.command.end(), call.words.begin(), call.words.end());
  request.deadline = std::chrono::seconds(timeout_.value());
  BERTH_ASSIGN(ProcessOutput said, run_process(request));
  KubectlReply reply;
  reply.is_ok = said.ok();
  reply.output = std::move(said.output);
  if (reply.is_ok) return reply;
  reply.failures = read_kubectl_failures(said.error);
  if (said.timed_out) reply.failures.push_back({KubectlReason::kOther, said.complaint("kubectl")});
  reply.is_unreachable = std::ranges::all_of(reply.failures, [](const KubectlFailure& failure) {
    return failure.reason == KubectlReason::kOther && failure.message.find("rror from server") == std::string::npos;
  });
  return reply;
}

Result<std::vector<KubectlReply>> Kubectl::list_all(std::span<const std::vector<std::string>> lists) const {
  std::vector<KubectlCall> calls;
  for (const std::vector<std::string>& words : lists) {
    calls.push_back({{"get", "--output=json", "--chunk-size=1000"}});
    calls.back().words.insert(calls.back().words.end(), words.begin(), words.end());
  }
  BERTH_ASSIGN(std::vector<KubectlReply> replies, call_all(calls));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (replies[i].first(KubectlReason::kExpired) == nullptr) continue;
    calls[i].words[2] = "--chunk-size=0";
    BERTH_ASSIGN(replies[i], call(calls[i]));
  }
  return replies;
}

Result<KubectlReply> Kubectl::list(const std::vector<std::string>& words) const {
  BERTH_ASSIGN(std::vector<KubectlReply> replies, list_all(std::span(&words, 1)));
  return std::move(replies.front());
}

Result<std::vector<KubectlReply>> Kubectl::call_all(std::span<const KubectlCall> calls) const {
  std::vector<std::optional<Result<KubectlReply>>> answers(calls.size());
  std::atomic<bool> is_silent = false;
  const QuietPipes quiet_pipes;
  for_each_at_once(calls.size(), kKubectlsAtOnce, [&](std::size_t i) {
    answers[i] = is_silent ? Result<KubectlReply>(not_asked()) : call(calls[i]);
    if (!answers[i]->ok() || (**answers[i]).is_unreachable) is_silent = true;
  });
  std::vector<KubectlReply> replies;
  for (std::optional<Result<KubectlReply>>& answer : answers) {
    BERTH_ASSIGN(KubectlReply reply, *std::move(answer));
    replies.push_back(std::move(reply));
  }
  return replies;
}

}  // namespace berth
