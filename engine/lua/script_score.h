// Score and filter policies in Lua: score(), device() and feasible() of a node's state and a task's shape.
//
// What they say is remembered by the rankings (policy/candidates.h), so a script is asked once for each state of a node
// and shape. When it fails, best_fit answers from there on and failure() says why.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/lua/policy_script.h"
#include "engine/model/shape.h"
#include "engine/policy/policy.h"

namespace berth {

// A script with the cluster that its views name, or why there is none.
class BoundScript {
 public:
  BoundScript(Result<std::unique_ptr<PolicyScript>> script, const ScoreInput& input);

  // Null after it has failed.
  PolicyScript* script() const { return failure_.empty() ? script_.get() : nullptr; }
  const std::string& failure() const { return failure_; }
  void fail(const Status& status);
  // Once after it has failed: what was remembered is void.
  bool take_news();

 private:
  std::unique_ptr<PolicyScript> script_;
  std::string failure_;
  bool has_news_ = false;
};

class ScriptScore : public NodeScore {
 public:
  ScriptScore(Result<std::unique_ptr<PolicyScript>> script, const ScoreInput& input);

  ScoreSensitivity sensitivity() const override { return needs_; }
  Score score(const NodeView& node, const TaskShape& shape) const override;
  int choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const override;
  bool refresh(const Ledger& ledger, const TaskShape& asked) override;
  std::string failure() const override { return script_.failure(); }

 private:
  ScoreSensitivity needs_;
  mutable BoundScript script_;
};

// Another score, where feasible() lets a task run.
class ScriptFilter : public NodeScore {
 public:
  ScriptFilter(Result<std::unique_ptr<PolicyScript>> script, const ScoreInput& input, std::unique_ptr<NodeScore> score);

  ScoreSensitivity sensitivity() const override;
  Score score(const NodeView& node, const TaskShape& shape) const override;
  // Asked once for each kind and shape.
  bool allows(const NodeKind& kind, const TaskShape& shape) const override;
  int choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const override {
    return score_->choose_device(node, shape, feasible);
  }
  bool picks_at_random() const override { return score_->picks_at_random(); }
  bool refresh(const Ledger& ledger, const TaskShape& asked) override;
  // Of the filter, then of the score.
  std::string failure() const override;
  std::string filter_failure() const override { return script_.failure(); }

 private:
  bool lets(const NodeView& node, const TaskShape& shape) const;

  ScoreSensitivity needs_;
  mutable BoundScript script_;
  mutable std::map<const NodeKind*, std::unordered_map<TaskShape, bool, TaskShapeHash>> allowed_;
  std::unique_ptr<NodeScore> score_;
};

}  // namespace berth
