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

enum class PolicyKind : std::uint8_t { kOrder, kScore, kRightsize };
std::string_view policy_kind_name(PolicyKind kind);

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
Result<std::unique_ptr<RightsizePolicy>> make_rightsize(std::string_view name, const RightsizeKnobs& knobs);
Status check_policy_name(PolicyKind kind, std::string_view name);

}  // namespace berth
