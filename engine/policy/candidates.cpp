#include "engine/policy/candidates.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "engine/base/env.h"
#include "engine/policy/feasibility.h"
#include "engine/policy/feasible_set.h"
#include "engine/policy/node_classes.h"
#include "engine/policy/recent_nodes.h"
#include "engine/policy/score_tree.h"

namespace berth {

namespace {

// What is kept for the shapes asked about least recently is dropped beyond this.
constexpr std::size_t kMostFamilyBytes = std::size_t{256} << 20;
// Node classes are numbered anew when there are more than this, and than twice the nodes.
constexpr std::size_t kMostClasses = 65536;

constexpr ClassIndex kClosedClass = -1;  // of nodes that take no new tasks
constexpr Score kUnknownScore = kInfeasibleScore + 1;

Score memory_entry(MiB memory) {
  return static_cast<Score>(std::min<std::int64_t>(memory.value(), std::numeric_limits<Score>::max()));
}

}  // namespace

// Nodes are known by their place in rank order throughout.
struct Candidates::Impl {
  // The shapes that differ only in what a node class leaves out (node memory), and how they rank the nodes.
  struct ShapeFamily {
    TaskShape shape;         // memory 0, unless it is part of the class
    Score least_memory = 0;  // least that one of them asked for; nodes with less free count as infeasible
    std::int64_t last_query = 0;
    RecentNodes::Moment seen = 0;  // up to when the ranking follows the nodes
    std::vector<Score> memo;       // by class
    std::unique_ptr<ScoreTree> tree;
    std::unique_ptr<FeasibleSet> feasible;  // in place of the tree when the policy draws at random

    bool is_ranked() const { return tree != nullptr || feasible != nullptr; }
    void set(std::size_t place, Score score) {
      if (tree != nullptr) {
        tree->set(place, score);
      } else {
        feasible->set(place, score != kInfeasibleScore);
      }
    }
    std::size_t bytes() const {
      return sizeof *this + memo.capacity() * sizeof(Score) + (tree ? tree->bytes() : 0) +
             (feasible ? feasible->bytes() : 0);
    }
  };

  Impl(const Ledger& given_ledger, NodeScore& given_policy, std::span<const std::int32_t> rank, std::uint64_t seed);

  void follow_ledger();
  void read_node(std::int32_t place);
  void renumber_classes();

  ShapeFamily& family_of(const TaskShape& shape);
  void ask_for_memory(ShapeFamily& family, Score memory);
  void drop_idle_families(const ShapeFamily& kept);
  void rank_nodes(ShapeFamily& family);
  void rank_all_nodes(ShapeFamily& family);

  Score class_score(ShapeFamily& family, ClassIndex node_class);
  Score place_score(ShapeFamily& family, std::size_t place);
  ShapeFamily& prepare(const TaskShape& shape);
  Score fitting_score(ShapeFamily& family, const TaskShape& shape, NodeIndex node);
  std::optional<NodeIndex> draw(const ShapeFamily& family, Score least_memory);

  Score memory_asked(const TaskShape& shape) const { return memory_in_class ? 0 : memory_entry(shape.memory); }

  const Ledger& ledger;
  NodeScore& policy;
  const bool memory_in_class;
  const bool draws_at_random;
  Random random;
  CandidateCounters counters;

  std::vector<NodeIndex> node_at;      // by place
  std::vector<std::int32_t> place_of;  // by node
  std::vector<ClassIndex> class_at;    // by place
  NodeClasses classes;
  ScoreTree memory;  // free node memory
  RecentNodes recent;
  std::size_t ledger_position = 0;

  std::unordered_map<TaskShape, std::unique_ptr<ShapeFamily>, TaskShapeHash> families;
  std::size_t family_bytes = 0;
};

Candidates::Impl::Impl(const Ledger& given_ledger, NodeScore& given_policy, std::span<const std::int32_t> rank,
                       std::uint64_t seed)
    : ledger(given_ledger),
      policy(given_policy),
      memory_in_class(given_policy.sensitivity().memory),
      draws_at_random(given_policy.picks_at_random()),
      random(seed),
      node_at(given_ledger.node_count()),
      place_of(given_ledger.node_count()),
      class_at(given_ledger.node_count(), kClosedClass),
      classes(given_ledger.cluster(), given_policy.sensitivity()),
      memory(given_ledger.node_count()),
      recent(given_ledger.node_count()),
      ledger_position(given_ledger.change_count()) {
  if (rank.empty()) {
    std::iota(place_of.begin(), place_of.end(), 0);
  } else {
    place_of.assign(rank.begin(), rank.end());
  }
  for (std::size_t node = 0; node < place_of.size(); ++node) {
    node_at[static_cast<std::size_t>(place_of[node])] = static_cast<NodeIndex>(node);
  }
  for (std::int32_t place = 0; place < static_cast<std::int32_t>(node_at.size()); ++place) read_node(place);
}

void Candidates::Impl::read_node(std::int32_t place) {
  const std::size_t at = static_cast<std::size_t>(place);
  const NodeIndex node = node_at[at];
  if (!ledger.accepts_tasks(node)) return;
  class_at[at] = classes.intern(ledger.view(node));
  memory.set(at, memory_entry(ledger.free_memory(node)));
}

void Candidates::Impl::follow_ledger() {
  for (const NodeIndex node : ledger.changes_since(ledger_position)) {
    const std::int32_t place = place_of[static_cast<std::size_t>(node)];
    read_node(place);
    recent.touch(place);
  }
  ledger_position = ledger.change_count();
  if (classes.count() > std::max(kMostClasses, 2 * node_at.size())) renumber_classes();
}

void Candidates::Impl::renumber_classes() {
  classes.clear();
  for (auto& [shape, family] : families) std::ranges::fill(family->memo, kUnknownScore);
  for (std::int32_t place = 0; place < static_cast<std::int32_t>(node_at.size()); ++place) read_node(place);
}

Candidates::Impl::ShapeFamily& Candidates::Impl::family_of(const TaskShape& shape) {
  TaskShape key = shape;
  if (!memory_in_class) key.memory = MiB(0);
  std::unique_ptr<ShapeFamily>& family = families[key];
  if (family == nullptr) {
    family = std::make_unique<ShapeFamily>();
    family->shape = key;
    family->least_memory = memory_asked(shape);
    family_bytes += family->bytes();
  }
  family->last_query = counters.queries;
  return *family;
}

void Candidates::Impl::ask_for_memory(ShapeFamily& family, Score asked) {
  if (asked >= family.least_memory) return;
  const Score before = family.least_memory;
  family.least_memory = asked;
  if (!family.is_ranked()) return;
  for (std::size_t place = 0; place < node_at.size(); ++place) {
    const bool is_new = memory.get(place) >= asked && memory.get(place) < before;
    if (is_new) family.set(place, class_score(family, class_at[place]));
  }
}

void Candidates::Impl::drop_idle_families(const ShapeFamily& kept) {
  while (family_bytes > kMostFamilyBytes && families.size() > 1) {
    auto idle = families.end();
    for (auto it = families.begin(); it != families.end(); ++it) {
      if (it->second.get() == &kept) continue;
      if (idle == families.end() || it->second->last_query < idle->second->last_query) idle = it;
    }
    family_bytes -= idle->second->bytes();
    families.erase(idle);
  }
}

Score Candidates::Impl::class_score(ShapeFamily& family, ClassIndex node_class) {
  if (node_class == kClosedClass) return kInfeasibleScore;
  const std::size_t index = static_cast<std::size_t>(node_class);
  if (index >= family.memo.size()) {
    family_bytes -= family.bytes();
    family.memo.resize(classes.count() + classes.count() / 2, kUnknownScore);
    family_bytes += family.bytes();
  }
  Score& known = family.memo[index];
  if (known != kUnknownScore) {
    ++counters.scores_reused;
    return known;
  }
  const NodeView view = classes.view(node_class);
  if (!is_feasible(view, family.shape)) return known = kInfeasibleScore;
  ++counters.scores_computed;
  return known = policy.score(view, family.shape);
}

Score Candidates::Impl::place_score(ShapeFamily& family, std::size_t place) {
  if (memory.get(place) < family.least_memory) return kInfeasibleScore;
  return class_score(family, class_at[place]);
}

void Candidates::Impl::rank_all_nodes(ShapeFamily& family) {
  family_bytes -= family.bytes();
  std::vector<Score> scores(node_at.size());
  for (std::size_t place = 0; place < scores.size(); ++place) scores[place] = place_score(family, place);
  if (draws_at_random) {
    family.feasible = std::make_unique<FeasibleSet>(scores.size());
    for (std::size_t place = 0; place < scores.size(); ++place) family.set(place, scores[place]);
  } else {
    family.tree = std::make_unique<ScoreTree>(scores);
  }
  family_bytes += family.bytes();
}

// Brings the family's ranking up to date with the nodes.
void Candidates::Impl::rank_nodes(ShapeFamily& family) {
  if (family.is_ranked()) {
    recent.visit_since(family.seen, [&](std::size_t place) { family.set(place, place_score(family, place)); });
  } else {
    rank_all_nodes(family);
  }
  family.seen = recent.now();
}

std::optional<NodeIndex> Candidates::Impl::draw(const ShapeFamily& family, Score least_memory) {
  const FeasibleSet& feasible = *family.feasible;
  if (feasible.count() == 0) return std::nullopt;
  // Nearly every feasible node has the memory too: draw until one does, and count them only if that fails for long.
  for (int attempt = 0; attempt < 32; ++attempt) {
    const std::size_t place = feasible.member(random.below(feasible.count()));
    if (memory.get(place) >= least_memory) return node_at[place];
  }
  std::vector<NodeIndex> fitting;
  for (std::size_t skip = 0; skip < feasible.count(); ++skip) {
    const std::size_t place = feasible.member(skip);
    if (memory.get(place) >= least_memory) fitting.push_back(node_at[place]);
  }
  if (fitting.empty()) return std::nullopt;
  return fitting[random.below(fitting.size())];
}

// What every question starts with: the nodes as they are now, and the family of the shape.
Candidates::Impl::ShapeFamily& Candidates::Impl::prepare(const TaskShape& shape) {
  ++counters.queries;
  if (policy.refresh(ledger)) {
    families.clear();
    family_bytes = 0;
  }
  follow_ledger();
  return family_of(shape);
}

Score Candidates::Impl::fitting_score(ShapeFamily& family, const TaskShape& shape, NodeIndex node) {
  const std::size_t place = static_cast<std::size_t>(place_of[static_cast<std::size_t>(node)]);
  if (memory.get(place) < memory_asked(shape)) return kInfeasibleScore;
  return class_score(family, class_at[place]);
}

Candidates::Candidates(const Ledger& ledger, NodeScore& policy, std::span<const std::int32_t> rank, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(ledger, policy, rank, seed)) {}

Candidates::~Candidates() = default;

std::optional<NodeIndex> Candidates::best(const TaskShape& shape) {
  Impl& impl = *impl_;
  Impl::ShapeFamily& family = impl.prepare(shape);
  const Score memory = impl.memory_asked(shape);
  impl.ask_for_memory(family, memory);
  impl.rank_nodes(family);
  impl.drop_idle_families(family);
  if (impl.draws_at_random) return impl.draw(family, memory);
  const ScoreTree::Found found = family.tree->best_with(impl.memory, memory);
  if (found.score == kInfeasibleScore) return std::nullopt;
  return impl.node_at[found.place];
}

std::optional<NodeIndex> Candidates::best_among(const TaskShape& shape, std::span<const NodeIndex> nodes) {
  Impl& impl = *impl_;
  Impl::ShapeFamily& family = impl.prepare(shape);
  const auto place_of = [&](NodeIndex node) { return impl.place_of[static_cast<std::size_t>(node)]; };
  std::optional<NodeIndex> best;
  Score best_score = kInfeasibleScore;
  std::uint64_t feasible = 0;
  for (const NodeIndex node : nodes) {
    const Score score = impl.fitting_score(family, shape, node);
    if (score == kInfeasibleScore) continue;
    ++feasible;
    const bool better = impl.draws_at_random
                            ? impl.random.below(feasible) == 0
                            : !best || score > best_score || (score == best_score && place_of(node) < place_of(*best));
    if (!better) continue;
    best = node;
    best_score = score;
  }
  return best;
}

Score Candidates::score_of(const TaskShape& shape, NodeIndex node) {
  return impl_->fitting_score(impl_->prepare(shape), shape, node);
}

const CandidateCounters& Candidates::counters() const {
  impl_->counters.classes = static_cast<std::int64_t>(impl_->classes.count());
  return impl_->counters;
}

}  // namespace berth
