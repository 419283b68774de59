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

// Built-in ones, then scripts.
std::vector<std::string> names_of_kind(PolicyKind kind, const ScriptNames& scripts) {
  std::vector<std::string> names;
  for (const PolicyRow& row : all_policies()) {
    if (row.kind == kind) names.emplace_back(row.name);
  }
  const std::vector<std::string>& more = kind == PolicyKind::kOrder ? scripts.orders : scripts.scores;
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

// As it is written there; empty = it is not among them.
std::string known_name(std::string_view name, const std::vector<std::string>& names) {
  const auto found =
      std::ranges::find_if(names, [&](const std::string& each) { return equals_ignoring_case(each, name); });
  return found == names.end() ? std::string() : *found;
}

Status no_such_policy(std::string_view what, std::string_view name, const std::vector<std::string>& names) {
  const std::string near = suggest(name, names);
  return Status(Code::kNotFound, fmt::format("no {} '{}'", what, name),
                near.empty() ? "there are " + join(names, ", ") : near)
      .about(what, name);
}

}  // namespace

Result<PolicyChoice> read_score_choice(std::string_view text, const ScriptNames& scripts) {
  const std::vector<std::string> scores = names_of_kind(PolicyKind::kScore, scripts);
  std::string score = known_name(trim(text), scores);
  if (score.empty()) return no_such_policy("score policy", trim(text), scores);
  return PolicyChoice{.order = "", .score = std::move(score)};
}

Result<PolicyChoice> read_policy_choice(std::string_view text, const ScriptNames& scripts) {
  const std::vector<std::string_view> parts = split(text, '+');
  if (parts.size() > 2) {
    return Status(Code::kInvalid,
                  fmt::format("'{}': one order and one score policy are expected, as in 'fifo + berth'", text));
  }
  const std::vector<std::string> orders = names_of_kind(PolicyKind::kOrder, scripts);
  const std::vector<std::string> scores = names_of_kind(PolicyKind::kScore, scripts);
  std::vector<PolicyChoice> able;  // what each part could be
  for (const std::string_view part : parts) {
    const std::string_view name = trim(part);
    able.push_back({.order = known_name(name, orders), .score = known_name(name, scores)});
    if (!able.back().order.empty() || !able.back().score.empty()) continue;
    std::vector<std::string> all = orders;
    all.insert(all.end(), scores.begin(), scores.end());
    return no_such_policy("order or score policy", name, all);
  }
  PolicyChoice choice = able.front();
  if (able.size() == 2) {
    // One that could be both is what the other cannot be; of two such the first is the order.
    const bool second_is_order = able[0].order.empty() || able[1].score.empty();
    choice = {.order = able[second_is_order ? 1 : 0].order, .score = able[second_is_order ? 0 : 1].score};
    if (choice.order.empty() || choice.score.empty())
      return Status(Code::kInvalid, fmt::format("'{}' names two policies of one kind", text));
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
