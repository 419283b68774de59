// All nodes ranked for one task shape, kept up to date lazily.
//
// Scores are memoised by node class. A tournament tree over the nodes in rank order holds the best score of every
// subtree; before a question it is repaired at the nodes that changed since the last one. For a policy that draws at
// random a counted set of the feasible nodes stands in its place.
//
// Node memory, unless the class holds it, is not part of the shape: tasks that differ only in it share a ranking. Nodes
// with less free than `least_memory` count as infeasible; what a task asks beyond that is a condition of the search.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/base/env.h"
#include "engine/policy/candidates.h"
#include "engine/policy/feasible_set.h"
#include "engine/policy/node_states.h"
#include "engine/policy/score_memo.h"
#include "engine/policy/score_tree.h"

namespace berth {

// A score found in a pass over all nodes. Passes meet each class many times and have this memo, small and without
// misses, to themselves: `serial` says whose pass it was.
struct PassScore {
  std::uint32_t serial = ~std::uint32_t{0};
  Score score = 0;
};

// What all rankings share; must outlive them.
struct RankingContext {
  const NodeStates& nodes;
  const NodeScore& policy;
  ScoreMemo& memo;
  CandidateCounters& counters;
  std::vector<PassScore> pass_scores{};  // by class
  std::uint32_t generation = 0;          // of the policy's scores and the class numbers: older memos are void
  std::uint32_t next_serial = 0;         // tells the scores of a ranking and generation from all others in the memo
};

class ShapeRanking {
 public:
  // shape.memory counts only where the node class holds memory; `least_memory` is
  // what tasks will ask at least, a guess that a task asking less corrects at the cost of one look at every node.
  ShapeRanking(const TaskShape& shape, Score least_memory, RankingContext& context);

  // Memoised score by class; kInfeasibleScore also when the node has less than `memory` free.
  Score score_at(std::size_t place, Score memory);

  struct Answer {
    std::optional<std::size_t> place;
    std::size_t visits = 0;  // nodes, or subtrees, looked at because the first choice lacked memory
  };
  // The place with the highest score and at least `memory` free, leftmost on ties.
  Answer best(Score memory);
  // Any feasible place with at least `memory` free, with equal chance.
  Answer draw(Score memory, Random& random);

  std::size_t bytes() const;

 private:
  bool may_fit(const PlaceState& state) const;
  Score compute_score(ClassIndex node_class);
  Score class_score(ClassIndex node_class);
  Score pass_score(std::size_t place);
  bool is_ranked() const { return tree_ != nullptr || feasible_ != nullptr; }
  void catch_up(Score memory);
  void rank_all();
  void follow_generation();
  void admit_memory(Score memory);
  void set(std::size_t place, Score score);

  TaskShape shape_;
  RankingContext& context_;
  std::uint32_t generation_;
  std::uint32_t serial_;
  Score least_memory_;
  RecentNodes::Moment seen_ = 0;
  std::unique_ptr<ScoreTree> tree_;
  std::unique_ptr<FeasibleSet> feasible_;
  std::vector<std::size_t> changed_;
};

}  // namespace berth
