// Candidates against a scan over all nodes, on random clusters under random placing, releasing and undoing.

#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "engine/policy/candidates.h"
#include "engine/policy/device_choice.h"
#include "engine/policy/feasibility.h"
#include "engine/policy/registry.h"

namespace berth {
namespace {

template <class T>
T one_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.below(values.size())];
}

Cluster random_cluster(Random& random) {
  Cluster cluster;
  for (int model = 0; model < 3; ++model) {
    const MiB memory(one_of<std::int64_t>(random, {0, 40960, 81920}));
    cluster.models.push_back({.id = model + 1, .name = "model" + std::to_string(model), .memory = memory});
  }
  cluster.pools = {"train", "serve"};
  const std::size_t count = 1 + random.below(60);
  const std::size_t kinds = 1 + random.below(5);
  for (std::size_t i = 0; i < kinds; ++i) {
    NodeKind kind;
    kind.cpu = MilliCpu(one_of<std::int64_t>(random, {8000, 64000, 96000}));
    kind.memory = MiB(one_of<std::int64_t>(random, {32768, 262144}));
    kind.device_count = one_of(random, {0, 1, 2, 4, 8});
    if (kind.device_count > 0) {
      kind.model = static_cast<std::int32_t>(random.below(3));
      kind.device_memory = cluster.models[static_cast<std::size_t>(kind.model)].memory;
    }
    if (kind.device_count == 8) {
      kind.link_groups = one_of<std::vector<DeviceMask>>(
          random, {{}, {0x0F, 0xF0}, {0x03, 0x0C, 0x30, 0xC0}, {0x03, 0x0C, 0x30, 0xC0, 0x0F, 0xF0}, {0x55, 0xAA}});
    }
    kind.pool = static_cast<std::int32_t>(random.below(3)) - 1;
    cluster.add_kind(kind);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Node node;
    node.id = static_cast<std::int64_t>(i + 1);
    node.kind = static_cast<std::int32_t>(random.below(cluster.kinds.size()));
    if (random.below(12) == 0) node.state = one_of(random, {NodeState::kDraining, NodeState::kDown});
    if (random.below(8) == 0) node.unhealthy = random.below(256);
    node.unhealthy &= (DeviceMask{1} << cluster.kinds[static_cast<std::size_t>(node.kind)].device_count) - 1;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

TaskShape random_shape(Random& random) {
  TaskShape shape;
  shape.cpu = MilliCpu(one_of<std::int64_t>(random, {0, 1000, 4000, 12000}));
  shape.memory = MiB(one_of<std::int64_t>(random, {0, 1000, 8192, 20000, 60000}));
  shape.gpu_count = one_of(random, {0, 1, 1, 1, 1, 2, 4, 8});
  if (shape.gpu_count > 0) shape.gpu_milli = kWholeDevice;
  if (shape.gpu_count == 1 && random.below(3) != 0) {
    shape.gpu_milli = MilliGpu(one_of<std::int64_t>(random, {50, 250, 333, 500, 810}));
    shape.gpu_memory = MiB(one_of<std::int64_t>(random, {0, 0, 10000, 30000, 60000}));
  }
  if (random.below(4) == 0) shape.models = 1 + random.below(7);
  if (random.below(6) == 0) shape.pool = static_cast<std::int32_t>(random.below(2));
  shape.within_link_group = random.below(4) == 0;
  return shape;
}

class Trial {
 public:
  Trial(std::string_view policy_name, std::uint64_t seed)
      : random_(seed), cluster_(random_cluster(random_)), ledger_(cluster_) {
    for (int i = 0; i < 14; ++i) shapes_.push_back(random_shape(random_));
    for (const TaskShape& shape : shapes_) workload_.push_back({.shape = shape, .popularity = 1.0 / 14});
    policy_ = *make_score(policy_name, {.cluster = &cluster_, .workload = workload_, .seed = seed});
    rank_.resize(cluster_.nodes.size());
    for (std::size_t i = 0; i < rank_.size(); ++i) rank_[i] = static_cast<std::int32_t>(i);
    random_.shuffle(rank_);
    candidates_ = std::make_unique<Candidates>(ledger_, *policy_, rank_, seed);
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      const TaskShape& shape = shapes_[random_.below(shapes_.size())];
      switch (random_.below(10)) {
        case 0: release_one(); break;
        case 1: begin_trial(); break;
        case 2: undo_trial(); break;
        case 3: compare_among(shape); break;
        case 4: compare_score(shape); break;
        default: compare_best(shape);
      }
      ASSERT_TRUE(ledger_.violations().empty()) << ledger_.violations().front();
    }
  }

 private:
  bool is_free_for(NodeIndex node, const TaskShape& shape) const {
    const DeviceMask unhealthy = cluster_.nodes[static_cast<std::size_t>(node)].unhealthy;
    return reason_against(ledger_.view(node), shape, ledger_.accepts_tasks(node), unhealthy) == Reason::kNone;
  }
  Score plain_score(NodeIndex node, const TaskShape& shape) const {
    return is_free_for(node, shape) ? policy_->score(ledger_.view(node), shape) : kInfeasibleScore;
  }
  std::optional<NodeIndex> plain_best(const std::vector<NodeIndex>& nodes, const TaskShape& shape) const {
    std::optional<NodeIndex> best;
    Score best_score = kInfeasibleScore;
    for (const NodeIndex node : nodes) {
      const Score score = plain_score(node, shape);
      if (score == kInfeasibleScore) continue;
      const auto rank = [&](NodeIndex n) { return rank_[static_cast<std::size_t>(n)]; };
      if (best && (score < best_score || (score == best_score && rank(node) >= rank(*best)))) continue;
      best = node;
      best_score = score;
    }
    return best;
  }
  void compare(std::optional<NodeIndex> got, const std::vector<NodeIndex>& nodes, const TaskShape& shape) {
    const std::optional<NodeIndex> expected = plain_best(nodes, shape);
    if (policy_->picks_at_random()) {
      ASSERT_EQ(got.has_value(), expected.has_value());
      ASSERT_TRUE(!got || is_free_for(*got, shape));
    } else {
      ASSERT_EQ(got, expected);
    }
  }
  void compare_best(const TaskShape& shape) {
    std::vector<NodeIndex> all(cluster_.nodes.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<NodeIndex>(i);
    const std::optional<NodeIndex> node = candidates_->best(shape);
    ASSERT_NO_FATAL_FAILURE(compare(node, all, shape));
    if (!node) return;
    const NodeView view = ledger_.view(*node);
    const std::optional<DeviceMask> devices = choose_devices(view, shape, *policy_);
    ASSERT_TRUE(devices);
    const Holding holding = holding_for(shape, *view.kind, *node, *devices);
    ASSERT_TRUE(ledger_.place(holding).ok());
    held_.push_back(holding);
  }
  void compare_among(const TaskShape& shape) {
    std::vector<NodeIndex> some;
    for (std::size_t i = random_.below(8); i > 0; --i) {
      some.push_back(static_cast<NodeIndex>(random_.below(cluster_.nodes.size())));
    }
    compare(candidates_->best_among(shape, some), some, shape);
  }
  void compare_score(const TaskShape& shape) {
    const NodeIndex node = static_cast<NodeIndex>(random_.below(cluster_.nodes.size()));
    ASSERT_EQ(candidates_->score_of(shape, node), plain_score(node, shape));
  }
  void release_one() {
    if (held_.empty()) return;
    std::swap(held_[random_.below(held_.size())], held_.back());
    ASSERT_TRUE(ledger_.release(held_.back()).ok());
    held_.pop_back();
  }
  void begin_trial() { marks_.push_back({ledger_.checkpoint(), held_}); }
  void undo_trial() {
    if (marks_.empty()) return;
    ledger_.rollback(marks_.back().first);
    held_ = marks_.back().second;
    marks_.pop_back();
  }

  Random random_;
  Cluster cluster_;
  Ledger ledger_;
  std::vector<TaskShape> shapes_;
  std::vector<WorkloadShape> workload_;
  std::unique_ptr<NodeScore> policy_;
  std::vector<std::int32_t> rank_;
  std::unique_ptr<Candidates> candidates_;
  std::vector<Holding> held_;
  std::vector<std::pair<Ledger::Checkpoint, std::vector<Holding>>> marks_;
};

TEST(CandidatesPropertyTest, BestIsWhatAScanFinds) {
  for (const PolicyRow& row : all_policies()) {
    if (row.kind != PolicyKind::kScore) continue;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      SCOPED_TRACE(std::string(row.name) + " seed " + std::to_string(seed));
      Trial(row.name, seed).run(300);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace berth
