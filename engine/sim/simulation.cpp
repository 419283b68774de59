#include "engine/sim/simulation.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/policy/registry.h"

namespace berth {

namespace {

constexpr std::string_view kDefaultSimulatedOrder = "fifo";
constexpr std::string_view kDefaultSimulatedScore = "berth";
constexpr std::string_view kTaskOutcomeNames[] = {"placed", "failed", "infeasible"};

std::vector<std::string> policy_names(std::optional<PolicyKind> kind) {
  std::vector<std::string> names;
  for (const PolicyRow& row : all_policies()) {
    if (kind ? row.kind == *kind : row.kind != PolicyKind::kRightsize) names.emplace_back(row.name);
  }
  return names;
}

const PolicyRow* find_policy(PolicyKind kind, std::string_view name) {
  for (const PolicyRow& row : all_policies()) {
    if (row.kind == kind && equals_ignoring_case(row.name, name)) return &row;
  }
  return nullptr;
}

Status no_such_policy(std::string_view what, std::string_view name, std::optional<PolicyKind> kind) {
  const std::vector<std::string> names = policy_names(kind);
  const std::string near = suggest(name, names);
  return Status(Code::kNotFound, fmt::format("no {} '{}'", what, name),
                near.empty() ? "there are " + join(names, ", ") : near);
}

}  // namespace

Result<PolicyChoice> read_score_choice(std::string_view text) {
  const PolicyRow* score = find_policy(PolicyKind::kScore, trim(text));
  if (score == nullptr) return no_such_policy("score policy", trim(text), PolicyKind::kScore);
  return PolicyChoice{.order = "", .score = std::string(score->name)};
}

Result<PolicyChoice> read_policy_choice(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '+');
  if (parts.size() > 2) {
    return Status(Code::kInvalid,
                  fmt::format("'{}': one order and one score policy are expected, as in 'fifo + berth'", text));
  }
  PolicyChoice choice;
  for (const std::string_view part : parts) {
    const std::string_view name = trim(part);
    const PolicyRow* order = find_policy(PolicyKind::kOrder, name);
    const PolicyRow* score = find_policy(PolicyKind::kScore, name);
    if (order == nullptr && score == nullptr) return no_such_policy("order or score policy", name, std::nullopt);
    std::string& chosen = order != nullptr ? choice.order : choice.score;
    if (!chosen.empty()) return Status(Code::kInvalid, fmt::format("'{}' names two policies of one kind", text));
    chosen = (order != nullptr ? order : score)->name;
  }
  if (choice.order.empty()) choice.order = kDefaultSimulatedOrder;
  if (choice.score.empty()) choice.score = kDefaultSimulatedScore;
  return choice;
}

std::string_view task_outcome_name(TaskOutcome outcome) { return kTaskOutcomeNames[static_cast<std::size_t>(outcome)]; }

Result<TaskOutcome> read_task_outcome(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kTaskOutcomeNames); ++i) {
    if (kTaskOutcomeNames[i] == text) return static_cast<TaskOutcome>(i);
  }
  return Status(Code::kInvalid, fmt::format("'{}' is not placed, failed or infeasible", text));
}

Result<SimulationSet> run_policies(const std::vector<PolicyChoice>& policies,
                                   const std::function<Result<SimulationResult>(const PolicyChoice&)>& one) {
  SimulationSet set;
  for (const PolicyChoice& policy : policies) {
    Result<SimulationResult> result = one(policy);
    if (!result.ok() && result.status().code() == Code::kInterrupted) {
      set.interrupted = true;
      return set;
    }
    if (!result.ok()) return std::move(result).status();
    result->row.policy = policy.name();
    set.complete.push_back(*std::move(result));
  }
  return set;
}

std::optional<std::int64_t> percentile(const std::vector<std::int64_t>& sorted, int per_mille) {
  if (sorted.empty()) return std::nullopt;
  const std::int64_t rank = divide_up(static_cast<std::int64_t>(sorted.size()) * per_mille, 1000);
  return sorted[static_cast<std::size_t>(std::max<std::int64_t>(rank, 1) - 1)];
}

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

}  // namespace berth
