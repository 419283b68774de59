// What orders that compare queues share: a walk down the queue tree that stops at the next job.
//
// At every level the child goes first that ranks first among those with jobs left; in the queue that it ends at, jobs
// go by higher class, then those evicted once (that is made up for by going first among equals), then
// (Job::in_line_since, id). Ranks may move while the walk goes on: they are asked anew after every change of usage.
// Jobs of an inner queue itself go before those of the queues below it; jobs without a queue are those of one more
// root.
//
// A step costs the number of children on the way down after a change of usage, else nothing to speak of.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/policy/own_quota_first.h"

namespace berth {

class QueueRanking {
 public:
  virtual ~QueueRanking() = default;
  // The usage has changed since the last question.
  virtual void usage_changed() = 0;
  // Does `a` go before `b`? Siblings; -1 = the jobs without a queue. A strict order.
  virtual bool goes_before(std::int32_t a, std::int32_t b) = 0;
};

// `input` and `usage` must outlive the sequence.
std::unique_ptr<RewindableSequence> walk_queues(const OrderInput& input, const QuotaLedger& usage,
                                                std::unique_ptr<QueueRanking> ranking);

// The usage that an order sees: that of the input, or one in which nobody uses anything.
class OrderUsage {
 public:
  explicit OrderUsage(const OrderInput& input);
  const QuotaLedger& operator*() const { return *ledger_; }

 private:
  std::unique_ptr<QuotaLedger> idle_;
  const QuotaLedger* ledger_;
};

// The sequence of an order that ranks queues by `Ranking`, made from an input and its usage.
template <class Ranking>
class RankedQueues : public RewindableSequence {
 public:
  explicit RankedQueues(const OrderInput& input)
      : usage_(input), walk_(walk_queues(input, *usage_, std::make_unique<Ranking>(input, *usage_))) {}
  std::optional<std::int32_t> next() override { return walk_->next(); }
  void rewind() override { walk_->rewind(); }

 private:
  OrderUsage usage_;
  std::unique_ptr<RewindableSequence> walk_;
};

// By queue, last those of jobs without one: what the jobs that wait still want; of each model that they may take.
std::vector<Amounts> waiting_amounts(const OrderInput& input, const QuotaLedger& usage);

// How the walk names two jobs of one queue.
bool goes_first_in_queue(const Job& one, const Job& other, const OrderInput& input);

// All of a sequence, as long as nothing changes: the order in which jobs may take anything.
std::vector<std::int32_t> read_to_end(JobSequence& sequence);

}  // namespace berth
