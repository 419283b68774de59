#include "engine/lua/script_policies.h"

#include <fmt/format.h>

#include "engine/lua/script_order.h"
#include "engine/lua/script_score.h"
#include "engine/lua/script_victim.h"

namespace berth {

namespace {

Result<std::unique_ptr<PolicyScript>> load_with_hook(const ScriptPolicy& script, Hook hook,
                                                     const ScriptLimits& limits) {
  BERTH_ASSIGN(std::unique_ptr<PolicyScript> loaded, PolicyScript::load(script, limits));
  if (!loaded->has(hook))
    return Status(Code::kInvalid, fmt::format("policy {} defines no {}()", script.name, hook_name(hook)));
  return loaded;
}

// Scores are asked for a whole simulation, too: the budget is each call's.
ScriptLimits score_limits() {
  ScriptLimits limits = policy_limits();
  limits.instructions_in_all = INT64_MAX;
  return limits;
}

class ScriptPolicyMaker : public PolicyMaker {
 public:
  std::unique_ptr<QueueOrder> make_order(const ScriptPolicy& script) const override {
    return std::make_unique<ScriptOrder>(load_with_hook(script, Hook::kOrder, policy_limits()));
  }
  std::unique_ptr<NodeScore> make_score(const ScriptPolicy& script, const ScoreInput& input) const override {
    return std::make_unique<ScriptScore>(load_with_hook(script, Hook::kScore, score_limits()), input);
  }
  std::unique_ptr<NodeScore> make_filter(const ScriptPolicy& script, const ScoreInput& input,
                                         std::unique_ptr<NodeScore> score) const override {
    return std::make_unique<ScriptFilter>(load_with_hook(script, Hook::kFeasible, score_limits()), input,
                                          std::move(score));
  }
  std::unique_ptr<VictimCost> make_victim_cost(const ScriptPolicy& script) const override {
    return std::make_unique<ScriptVictimCost>(load_with_hook(script, Hook::kVictimCost, policy_limits()));
  }
};

}  // namespace

const PolicyMaker& script_policy_maker() {
  static const ScriptPolicyMaker maker;
  return maker;
}

}  // namespace berth
