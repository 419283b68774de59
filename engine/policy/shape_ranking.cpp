#include "engine/policy/shape_ranking.h"

#include <algorithm>
#include <bit>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

constexpr Score kUnknownScore = kInfeasibleScore + 1;

// Rounded down to four leading bits, so that a ranking meets few different least amounts.
Score rounded_memory(Score memory) {
  const int dropped = std::max(0, static_cast<int>(std::bit_width(static_cast<unsigned>(memory))) - 4);
  return memory >> dropped << dropped;
}

}  // namespace

ShapeRanking::ShapeRanking(const TaskShape& shape, Score least_memory, const NodeStates& nodes, const NodeScore& policy,
                           CandidateCounters& counters)
    : shape_(shape),
      nodes_(&nodes),
      policy_(&policy),
      counters_(&counters),
      least_memory_(least_memory),
      numbering_(nodes.numbering()) {}

std::size_t ShapeRanking::bytes() const {
  return sizeof *this + memo_.capacity() * sizeof(Score) + (tree_ ? tree_->bytes() : 0) +
         (feasible_ ? feasible_->bytes() : 0);
}

Score ShapeRanking::class_score(ClassIndex node_class) {
  if (numbering_ != nodes_->numbering()) {
    memo_.clear();
    numbering_ = nodes_->numbering();
  }
  const NodeClasses& classes = nodes_->classes();
  const std::size_t index = static_cast<std::size_t>(node_class);
  if (index >= memo_.size()) memo_.resize(classes.count() + classes.count() / 4, kUnknownScore);
  Score& known = memo_[index];
  if (known != kUnknownScore) {
    ++counters_->scores_reused;
    return known;
  }
  const NodeView view = classes.view(node_class);
  if (!is_feasible(view, shape_)) return known = kInfeasibleScore;
  ++counters_->scores_computed;
  return known = policy_->score(view, shape_);
}

Score ShapeRanking::score_at(std::size_t place, Score memory) {
  const PlaceState& state = nodes_->at(place);
  return state.memory < memory || !may_fit(state) ? kInfeasibleScore : class_score(state.node_class);
}

// False only if no task of this shape can be placed there.
bool ShapeRanking::may_fit(const PlaceState& state) const {
  return state.memory >= 0 && state.cpu >= shape_.cpu.value() && state.most_milli >= shape_.gpu_milli.value() &&
         (shape_.is_fraction() || state.whole_devices >= shape_.gpu_count);
}

void ShapeRanking::set(std::size_t place, Score score) {
  if (tree_) {
    tree_->set(place, score);
  } else {
    feasible_->set(place, score != kInfeasibleScore);
  }
}

void ShapeRanking::rank_all() {
  std::vector<Score> scores(nodes_->size());
  for (std::size_t place = 0; place < scores.size(); ++place) scores[place] = score_at(place, least_memory_);
  if (policy_->picks_at_random()) {
    feasible_ = std::make_unique<FeasibleSet>(scores.size());
    for (std::size_t place = 0; place < scores.size(); ++place) set(place, scores[place]);
  } else {
    tree_ = std::make_unique<ScoreTree>(scores);
  }
}

// Nodes with less memory than any task asked for so far become feasible.
void ShapeRanking::admit_memory(Score memory) {
  const Score before = least_memory_;
  least_memory_ = memory;
  for (std::size_t place = 0; place < nodes_->size(); ++place) {
    if (nodes_->at(place).memory < before) set(place, score_at(place, least_memory_));
  }
}

void ShapeRanking::catch_up(Score memory) {
  if (is_ranked()) {
    changed_.clear();
    nodes_->recent().visit_since(seen_, [&](std::size_t place) {
      if (tree_) tree_->prefetch(place);
      const std::size_t node_class = static_cast<std::size_t>(nodes_->at(place).node_class);
      if (node_class < memo_.size()) __builtin_prefetch(&memo_[node_class]);
      changed_.push_back(place);
    });
    for (const std::size_t place : changed_) set(place, score_at(place, least_memory_));
    if (memory < least_memory_) admit_memory(rounded_memory(memory));
  } else {
    least_memory_ = std::min(least_memory_, memory);
    rank_all();
  }
  seen_ = nodes_->recent().now();
}

ShapeRanking::Answer ShapeRanking::best(Score memory) {
  catch_up(memory);
  Answer answer;
  const ScoreTree::Found found = tree_->best_with(nodes_->memory(), memory, answer.visits);
  if (found.score != kInfeasibleScore) answer.place = found.place;
  return answer;
}

ShapeRanking::Answer ShapeRanking::draw(Score memory, Random& random) {
  catch_up(memory);
  const std::size_t count = feasible_->count();
  const auto has_memory = [&](std::size_t place) { return nodes_->at(place).memory >= memory; };
  if (count == 0) return {};
  // Nearly every feasible node has the memory too: draw until one does, and count them only if that fails for long.
  constexpr std::size_t kMostDraws = 32;
  for (std::size_t draws = 0; draws < kMostDraws; ++draws) {
    const std::size_t place = feasible_->member(random.below(count));
    if (has_memory(place)) return {.place = place};
  }
  std::vector<std::size_t> fitting;
  for (std::size_t skip = 0; skip < count; ++skip) {
    if (const std::size_t place = feasible_->member(skip); has_memory(place)) fitting.push_back(place);
  }
  if (fitting.empty()) return {.place = std::nullopt, .visits = count};
  return {.place = fitting[random.below(fitting.size())], .visits = count};
}

}  // namespace berth
