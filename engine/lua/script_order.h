// An order policy in Lua: its hook order() names a number, or a list of them, for each waiting job.
//
// Asked for all jobs when a pass begins, so the order of two jobs stands for that pass. Jobs for which it names none
// are held back. When it fails for one job, the pass goes by the built-in default for all.
#pragma once

#include <memory>
#include <string>

#include "engine/lua/policy_script.h"
#include "engine/policy/policy.h"

namespace berth {

class ScriptOrder : public QueueOrder {
 public:
  // `broken` instead of a script: every pass says so.
  explicit ScriptOrder(Result<std::unique_ptr<PolicyScript>> script);

  // Held back jobs come last.
  std::vector<std::int32_t> order(const OrderInput& input) const override;
  bool may_hold_back() const override { return true; }
  std::unique_ptr<JobSequence> begin(const OrderInput& input) const override;
  // Scripts may look at the time: while jobs are held back, a minute later.
  std::optional<Seconds> changes_at(const OrderInput& input) const override;

 private:
  Result<std::unique_ptr<PolicyScript>> script_;
  mutable bool holds_back_ = false;
};

}  // namespace berth
