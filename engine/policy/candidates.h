// The best node for a task, at a cost that does not grow with the cluster.
//
// Scores are pure functions of (node class, shape), where a node class is a node's kind and what is free on it, devices
// in canonical order, reduced to what the policy is sensitive to (node_classes.h). Each shape has a ranking of the
// nodes: a tournament tree in rank order, best score of every subtree, leftmost on ties. Before a question it is
// repaired at the nodes that changed since that shape's last one (recent_nodes.h), so a placement costs one look-up of
// a memoised score per shape that asks again, and a question one descent. Node memory is rarely part of the class:
// tasks that differ only in memory share a ranking, and the descent passes by subtrees whose nodes have less; a shape
// for which that gets expensive is given a ranking of its own (shape_ranking.h).
//
// Memory is bounded: rankings by a budget beyond which all are dropped and built again as needed, memos by their table
// size, classes by numbering them anew. Measured with bench/decisions.
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
  std::int64_t classes = 0;          // node classes known
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

  // Reads what the ledger's log of changes has for it: the log may be forgotten up to now.
  void catch_up();

  const CandidateCounters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
