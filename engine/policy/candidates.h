// The best node for a task, at a cost that does not grow with the cluster.
//
// Scores are pure functions of (node class, shape), where a node class is a node's kind and free amounts with devices
// in canonical order (sorted inside their link groups), reduced to what the policy is sensitive to. Classes are
// interned; scores are memoised per (class, shape). Per shape a tournament tree over the nodes in rank order keeps the
// best score of every subtree, leftmost on ties; before a query it is repaired from the ledger's log of changed nodes,
// so one placement costs one re-score per shape that asks again. What is not part of the class (node memory, for most
// policies) prunes the search by a second tree of the most free memory per subtree. See design.md section 5.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/policy/policy.h"

namespace berth {

struct CandidateCounters {
  std::int64_t queries = 0;
  std::int64_t scores_computed = 0;  // calls of NodeScore::score
  std::int64_t scores_reused = 0;    // answered by the memo
  std::int64_t classes = 0;          // distinct node classes seen
};

class Candidates {
 public:
  // `ledger` and `policy` must outlive this. rank[node] = place in the tie-break order, a permutation; empty = node
  // order.
  Candidates(const Ledger& ledger, NodeScore& policy, std::span<const std::int32_t> rank = {}, std::uint64_t seed = 0);
  ~Candidates();
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;

  // The feasible node with the highest score, lowest rank on ties; nothing when no node can take one task of `shape`
  // now.
  std::optional<NodeIndex> best(const TaskShape& shape);
  // The same among `nodes` only; costs one look at each of them.
  std::optional<NodeIndex> best_among(const TaskShape& shape, std::span<const NodeIndex> nodes);
  // Memoised score of one node, kInfeasibleScore when it cannot take the task now.
  Score score_of(const TaskShape& shape, NodeIndex node);

  const CandidateCounters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
