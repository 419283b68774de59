#include "engine/policy/candidates.h"

#include <algorithm>
#include <unordered_map>

#include "engine/policy/node_states.h"
#include "engine/policy/shape_ranking.h"

namespace berth {

namespace {

// Rankings are all dropped, and built again as they are asked for, when together they take more than this much, and
// more than this much a node.
constexpr std::size_t kMostRankingBytes = std::size_t{256} << 20;
constexpr std::size_t kMostRankingBytesPerNode = 4096;
constexpr std::size_t kLookupBytes = 128;  // of one map entry, about

// Scores remembered.
constexpr std::size_t kMemoPerNode = 32;
constexpr std::size_t kLeastMemo = std::size_t{1} << 12;
constexpr std::size_t kMostMemo = std::size_t{1} << 22;

}  // namespace

struct Candidates::Impl {
  // Which ranking answers for a shape, and how many nodes its searches there had to look at.
  struct Lookup {
    ShapeRanking* ranking = nullptr;
    std::size_t visits = 0;
  };

  Impl(const Ledger& given_ledger, NodeScore& given_policy, std::span<const std::int32_t> rank, std::uint64_t seed)
      : ledger(given_ledger),
        policy(given_policy),
        memory_in_class(given_policy.sensitivity().memory),
        random(seed),
        nodes(given_ledger, given_policy.sensitivity(), rank),
        memo(std::clamp(given_ledger.node_count() * kMemoPerNode, kLeastMemo, kMostMemo)),
        context{.nodes = nodes, .policy = given_policy, .memo = memo, .counters = counters} {}

  Lookup& look_up(const TaskShape& shape);
  void follow() {
    if (nodes.follow()) ++context.generation;
  }
  ShapeRanking* add_ranking(const TaskShape& shape, Score least_memory);
  void forget_rankings();

  // What a search has to ask of a node's memory.
  Score memory_asked(const TaskShape& shape) const { return memory_entry(shape.memory); }

  const Ledger& ledger;
  NodeScore& policy;
  const bool memory_in_class;
  Random random;
  CandidateCounters counters;
  NodeStates nodes;
  ScoreMemo memo;
  RankingContext context;
  std::vector<std::unique_ptr<ShapeRanking>> rankings;
  std::unordered_map<TaskShape, Lookup, TaskShapeHash> lookups;
  std::size_t ranking_bytes = 0;
};

ShapeRanking* Candidates::Impl::add_ranking(const TaskShape& shape, Score least_memory) {
  rankings.push_back(std::make_unique<ShapeRanking>(shape, least_memory, context));
  return rankings.back().get();
}

void Candidates::Impl::forget_rankings() {
  lookups.clear();
  rankings.clear();
  ranking_bytes = 0;
}

// What every question starts with: the nodes as they are now, and the ranking for the shape. Tasks that differ only in
// memory share one at first.
Candidates::Impl::Lookup& Candidates::Impl::look_up(const TaskShape& shape) {
  ++counters.queries;
  const std::size_t most_bytes = std::max(kMostRankingBytes, nodes.size() * kMostRankingBytesPerNode);
  if (ranking_bytes + lookups.size() * kLookupBytes > most_bytes) forget_rankings();
  follow();
  Lookup& lookup = lookups[shape];
  if (lookup.ranking != nullptr) return lookup;
  TaskShape shared_shape = shape;
  if (!memory_in_class) shared_shape.memory = MiB(0);
  Lookup& shared = lookups[shared_shape];
  if (shared.ranking == nullptr) shared.ranking = add_ranking(shared_shape, memory_asked(shape));
  lookup.ranking = shared.ranking;
  return lookup;
}

void Candidates::catch_up() { impl_->follow(); }

Candidates::Candidates(const Ledger& ledger, NodeScore& policy, std::span<const std::int32_t> rank, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(ledger, policy, rank, seed)) {}

Candidates::~Candidates() = default;

std::optional<NodeIndex> Candidates::best(const TaskShape& shape) {
  Impl& impl = *impl_;
  if (impl.policy.refresh(impl.ledger, shape)) {
    impl.nodes.renumber_classes();
    ++impl.context.generation;
  }
  Impl::Lookup& lookup = impl.look_up(shape);
  ShapeRanking& ranking = *lookup.ranking;
  const Score memory = impl.memory_asked(shape);
  const std::size_t bytes_before = ranking.bytes();
  const ShapeRanking::Answer answer =
      impl.policy.picks_at_random() ? ranking.draw(memory, impl.random) : ranking.best(memory);
  impl.ranking_bytes += ranking.bytes() - bytes_before;
  lookup.visits += answer.visits;
  if (lookup.visits > impl.nodes.size()) {
    // Getting past nodes that lack only memory has cost more than a ranking without them does.
    lookup.ranking = impl.add_ranking(shape, memory);
    lookup.visits = 0;
  }
  if (!answer.place) return std::nullopt;
  return impl.nodes.node_at(*answer.place);
}

std::optional<NodeIndex> Candidates::best_among(const TaskShape& shape, std::span<const NodeIndex> nodes) {
  Impl& impl = *impl_;
  ShapeRanking& ranking = *impl.look_up(shape).ranking;
  const Score memory = impl.memory_asked(shape);
  const bool draws = impl.policy.picks_at_random();
  std::optional<std::size_t> best;
  Score best_score = kInfeasibleScore;
  std::uint64_t feasible = 0;
  for (const NodeIndex node : nodes) {
    const std::size_t place = impl.nodes.place_of(node);
    const Score score = ranking.score_at(place, memory);
    if (score == kInfeasibleScore) continue;
    ++feasible;
    const bool better = draws ? impl.random.below(feasible) == 0
                              : !best || score > best_score || (score == best_score && place < *best);
    if (!better) continue;
    best = place;
    best_score = score;
  }
  if (!best) return std::nullopt;
  return impl.nodes.node_at(*best);
}

Score Candidates::score_of(const TaskShape& shape, NodeIndex node) {
  const Impl::Lookup& lookup = impl_->look_up(shape);
  return lookup.ranking->score_at(impl_->nodes.place_of(node), impl_->memory_asked(shape));
}

const CandidateCounters& Candidates::counters() const {
  impl_->counters.classes = static_cast<std::int64_t>(impl_->nodes.classes().count());
  return impl_->counters;
}

}  // namespace berth
