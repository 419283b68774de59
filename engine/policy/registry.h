// The one table of policies: name, what it is, how it is made.
//
// HELP, SHOW POLICIES, completion, SET and SIMULATE read it. Registration is explicit: a row here, nothing at start-up.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/policy/policy.h"
#include "engine/policy/rightsizing.h"

namespace berth {

// Built-in policies are of the first three kinds; scripts of all but kRightsize.
enum class PolicyKind : std::uint8_t { kOrder, kScore, kRightsize, kFilter, kVictim, kAdmit };
std::string_view policy_kind_name(PolicyKind kind);

// What stands in for a script that fails.
inline constexpr std::string_view kDefaultOrder = "priority";
inline constexpr std::string_view kDefaultScore = "berth";

struct PolicyRow {
  PolicyKind kind;
  std::string_view name;
  std::string_view summary;  // one sentence
  std::string_view source;   // paper, article, or "Berth"
  std::unique_ptr<QueueOrder> (*make_order)() = nullptr;
  std::unique_ptr<NodeScore> (*make_score)(const ScoreInput& input) = nullptr;
  std::unique_ptr<RightsizePolicy> (*make_rightsize)(const RightsizeKnobs& knobs) = nullptr;
};

std::span<const PolicyRow> all_policies();

// kNotFound with the nearest name.
Result<std::unique_ptr<QueueOrder>> make_order(std::string_view name);
Result<std::unique_ptr<NodeScore>> make_score(std::string_view name, const ScoreInput& input);
// The same of a script, where there is one of that name.
Result<std::unique_ptr<QueueOrder>> make_order(std::string_view name, const ScriptPolicies& scripts);
Result<std::unique_ptr<NodeScore>> make_score(std::string_view name, const ScoreInput& input,
                                              const ScriptPolicies& scripts);
// The score of a snapshot: that of its score policy, where its filter policy lets tasks run.
Result<std::unique_ptr<NodeScore>> score_of(const Snapshot& snapshot);
// That of its victim policy; null when it has none.
Result<std::unique_ptr<VictimCost>> victim_cost_of(const Snapshot& snapshot);
Result<std::unique_ptr<RightsizePolicy>> make_rightsize(std::string_view name, const RightsizeKnobs& knobs);
Status check_policy_name(PolicyKind kind, std::string_view name);

}  // namespace berth
