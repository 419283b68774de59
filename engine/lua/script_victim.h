// A victim policy in Lua: its hook victim_cost() says what ending a running job costs beside the work that is lost.
#pragma once

#include <memory>
#include <string>

#include "engine/lua/policy_script.h"
#include "engine/policy/policy.h"

namespace berth {

class ScriptVictimCost : public VictimCost {
 public:
  explicit ScriptVictimCost(Result<std::unique_ptr<PolicyScript>> script);

  std::int64_t cost(const VictimView& victim) override;
  std::string failure() const override { return failure_; }

 private:
  void fail(const Status& status);

  std::unique_ptr<PolicyScript> script_;
  std::string failure_;
};

}  // namespace berth
