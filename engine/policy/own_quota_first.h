// Own quota before surplus, where quotas divide the device models.
//
// What a job that may choose between models counts for depends on where it is placed: of one model its queue has quota
// left, of another it would borrow what others wait for. So an order that serves quotas (fair_share, wpai) names the
// jobs several times there. First each may take only models of which every queue on its path has quota left; then, once
// for each level of the tree, those of which the queues further up have, for what a queue borrows from its sibling is
// still its parent's own; last it may take anything. Where quotas do not divide the models it names each job once.
//
// A job that started is named again all the same; who asks passes it by. Costs one walk per level of the tree; a queue
// without quota left costs one look at it and a step per job.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/policy/policy.h"

namespace berth {

// A sequence that can begin again. What it ranks by stays as it was at the beginning.
class RewindableSequence : public JobSequence {
 public:
  virtual void rewind() = 0;
};

class OwnQuotaFirst : public JobSequence {
 public:
  // `input` must outlive it.
  OwnQuotaFirst(const OrderInput& input, std::unique_ptr<RewindableSequence> sequence);

  std::optional<std::int32_t> next() override;
  int levels_within_quota() const override { return levels_; }

 private:
  // Models of which quota is left, as of a change of the usage.
  struct Known {
    std::uint64_t print = 0;
    int levels = 0;
    ModelSet models = 0;
  };
  bool may_be_own(const Job& job);

  std::span<const Job> jobs_;
  const QuotaLedger* usage_;  // null: nobody has a quota
  std::unique_ptr<RewindableSequence> sequence_;
  int levels_ = 0;
  std::vector<Known> known_;  // by queue
};

}  // namespace berth
