#include "engine/policy/shape_ranking.h"

#include <algorithm>
#include <bit>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

// Rounded down to four leading bits, so that a ranking meets few different least amounts.
Score rounded_memory(Score memory) {
  const int dropped = std::max(0, static_cast<int>(std::bit_width(static_cast<unsigned>(memory))) - 4);
  return memory >> dropped << dropped;
}

}  // namespace

ShapeRanking::ShapeRanking(const TaskShape& shape, Score least_memory, RankingContext& context)
    : shape_(shape),
      context_(context),
      generation_(context.generation),
      serial_(context.next_serial++),
      least_memory_(least_memory) {}

std::size_t ShapeRanking::bytes() const {
  return sizeof *this + (tree_ ? tree_->bytes() : 0) + (feasible_ ? feasible_->bytes() : 0);
}

Score ShapeRanking::compute_score(ClassIndex node_class) {
  const NodeView view = context_.nodes.classes().view(node_class);
  if (!is_feasible(view, shape_)) return kInfeasibleScore;
  ++context_.counters.scores_computed;
  return context_.policy.score(view, shape_);
}

Score ShapeRanking::class_score(ClassIndex node_class) {
  const std::uint64_t key = ScoreMemo::key_of(serial_, node_class);
  ScoreMemo::Slot& slot = context_.memo.slot_of(key);
  if (slot.key == key) {
    ++context_.counters.scores_reused;
    return slot.score;
  }
  slot.key = key;
  return slot.score = compute_score(node_class);
}

// What score_at() would say with least_memory_, for a pass over all nodes; context_.pass_scores must have room for all
// classes.
Score ShapeRanking::pass_score(std::size_t place) {
  const PlaceState& state = context_.nodes.at(place);
  if (state.memory < least_memory_ || !may_fit(state)) return kInfeasibleScore;
  PassScore& known = context_.pass_scores[static_cast<std::size_t>(state.node_class)];
  if (known.serial == serial_) {
    ++context_.counters.scores_reused;
  } else {
    known = {.serial = serial_, .score = compute_score(state.node_class)};
  }
  return known.score;
}

Score ShapeRanking::score_at(std::size_t place, Score memory) {
  if (generation_ != context_.generation) follow_generation();
  const PlaceState& state = context_.nodes.at(place);
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
  context_.pass_scores.resize(std::max(context_.pass_scores.size(), context_.nodes.classes().count()));
  std::vector<Score> scores(context_.nodes.size());
  for (std::size_t place = 0; place < scores.size(); ++place) scores[place] = pass_score(place);
  if (context_.policy.picks_at_random()) {
    feasible_ = std::make_unique<FeasibleSet>(scores.size());
    for (std::size_t place = 0; place < scores.size(); ++place) set(place, scores[place]);
  } else {
    tree_ = std::make_unique<ScoreTree>(scores);
  }
}

// All scores are void, or all class numbers: the feasible nodes are the same, what is known of them is not.
void ShapeRanking::follow_generation() {
  generation_ = context_.generation;
  serial_ = context_.next_serial++;
  if (!tree_) return;
  context_.pass_scores.resize(std::max(context_.pass_scores.size(), context_.nodes.classes().count()));
  tree_->transform([&](std::size_t place) { return pass_score(place); });
}

// Nodes with less memory than any task asked for so far become feasible.
void ShapeRanking::admit_memory(Score memory) {
  const Score before = least_memory_;
  least_memory_ = memory;
  for (std::size_t place = 0; place < context_.nodes.size(); ++place) {
    if (context_.nodes.at(place).memory < before) set(place, score_at(place, least_memory_));
  }
}

void ShapeRanking::catch_up(Score memory) {
  if (generation_ != context_.generation) follow_generation();
  if (is_ranked()) {
    changed_.clear();
    context_.nodes.recent().visit_since(seen_, [&](std::size_t place) {
      if (tree_) tree_->prefetch(place);
      __builtin_prefetch(&context_.memo.slot_of(ScoreMemo::key_of(serial_, context_.nodes.at(place).node_class)));
      changed_.push_back(place);
    });
    for (const std::size_t place : changed_) set(place, score_at(place, least_memory_));
    if (memory < least_memory_) admit_memory(rounded_memory(memory));
  } else {
    least_memory_ = std::min(least_memory_, memory);
    rank_all();
  }
  seen_ = context_.nodes.recent().now();
}

ShapeRanking::Answer ShapeRanking::best(Score memory) {
  catch_up(memory);
  Answer answer;
  const ScoreTree::Found found = tree_->best_with(context_.nodes.memory(), memory, answer.visits);
  if (found.score != kInfeasibleScore) answer.place = found.place;
  return answer;
}

ShapeRanking::Answer ShapeRanking::draw(Score memory, Random& random) {
  catch_up(memory);
  const std::size_t count = feasible_->count();
  const auto has_memory = [&](std::size_t place) { return context_.nodes.at(place).memory >= memory; };
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
