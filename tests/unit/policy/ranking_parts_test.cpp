// The parts that rankings are made of: tree, set, recency, classes.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/base/env.h"
#include "engine/policy/feasible_set.h"
#include "engine/policy/node_classes.h"
#include "engine/policy/recent_nodes.h"
#include "engine/policy/score_tree.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

// The leftmost of the highest with at least `least` in `other`.
ScoreTree::Found plain_best(const std::vector<Score>& scores, const std::vector<Score>& other, Score least) {
  ScoreTree::Found best;
  for (std::size_t place = 0; place < scores.size(); ++place) {
    if (other[place] >= least && scores[place] > best.score) best = {.score = scores[place], .place = place};
  }
  return best;
}

TEST(ScoreTreeTest, FindsWhatAScanFinds) {
  for (const std::size_t places : {1UL, 2UL, 15UL, 16UL, 17UL, 255UL, 256UL, 257UL, 5000UL}) {
    Random random(places);
    std::vector<Score> scores(places, kInfeasibleScore);
    std::vector<Score> memory(places, kInfeasibleScore);
    ScoreTree tree(places);
    ScoreTree memory_tree(places);
    const auto change = [&](std::vector<Score>& values, ScoreTree& in, Score value) {
      const std::size_t place = random.below(places);
      values[place] = value;
      in.set(place, value);
    };
    for (int step = 0; step < 3000; ++step) {
      const Score score = static_cast<Score>(random.below(6)) - 3;
      change(scores, tree, random.below(3) == 0 ? kInfeasibleScore : score);
      change(memory, memory_tree, static_cast<Score>(random.below(10)));
      const Score least = static_cast<Score>(random.below(11));
      std::size_t visits = 0;
      const ScoreTree::Found found = tree.best_with(memory_tree, least, visits);
      const ScoreTree::Found expected = plain_best(scores, memory, least);
      ASSERT_EQ(found.score, expected.score) << places << " places, step " << step;
      ASSERT_EQ(found.place, expected.place) << places << " places, step " << step;
    }
    const ScoreTree built(scores);
    std::size_t visits = 0;
    EXPECT_EQ(built.best_with(memory_tree, 0, visits).score, plain_best(scores, memory, 0).score);
  }
}

TEST(ScoreTreeTest, OfNoPlacesFindsNothing) {
  std::size_t visits = 0;
  EXPECT_EQ(ScoreTree(0).best_with(ScoreTree(0), 0, visits).score, kInfeasibleScore);
}

TEST(FeasibleSetTest, MembersInOrder) {
  Random random(3);
  FeasibleSet set(10000);
  std::set<std::size_t> expected;
  for (int step = 0; step < 20000; ++step) {
    const std::size_t place = random.below(10000);
    const bool member = random.below(2) == 0;
    set.set(place, member);
    if (member) {
      expected.insert(place);
    } else {
      expected.erase(place);
    }
  }
  ASSERT_EQ(set.count(), expected.size());
  std::size_t skip = 0;
  for (const std::size_t place : expected) ASSERT_EQ(set.member(skip++), place);
}

TEST(RecentNodesTest, EachReaderSeesEachChangedPlaceOnce) {
  RecentNodes recent(5);
  const auto since = [&](RecentNodes::Moment moment) {
    std::vector<std::size_t> seen;
    recent.visit_since(moment, [&](std::size_t place) { seen.push_back(place); });
    return seen;
  };
  EXPECT_TRUE(since(0).empty());
  for (const std::int32_t place : {3, 1, 3, 3}) recent.touch(place);
  EXPECT_EQ(since(0), (std::vector<std::size_t>{3, 1}));
  const RecentNodes::Moment moment = recent.now();
  EXPECT_TRUE(since(moment).empty());
  for (const std::int32_t place : {1, 4, 0, 4}) recent.touch(place);
  EXPECT_EQ(since(moment), (std::vector<std::size_t>{4, 0, 1}));
  EXPECT_EQ(since(0), (std::vector<std::size_t>{4, 0, 1, 3}));
}

TEST(NodeClassesTest, DevicesThatMayChangePlacesDoNotMatter) {
  Cluster cluster = cluster_from("2x4:H100; 2x4:H100 links=[0 1][2 3]; 1x4:A100");
  Ledger ledger(cluster);
  NodeClasses classes(cluster, {});
  const auto class_of = [&](NodeIndex node) { return classes.intern(ledger.view(node)); };
  const auto take = [&](NodeIndex node, DeviceMask devices) {
    const TaskShape shape = group_from("gpus=0.5 cpu=1", cluster).shape;
    const NodeKind& kind = cluster.kind_of(static_cast<std::size_t>(node));
    ASSERT_TRUE(ledger.place(holding_for(shape, kind, node, devices)).ok());
  };
  EXPECT_EQ(class_of(0), class_of(1));
  EXPECT_NE(class_of(0), class_of(2));
  EXPECT_NE(class_of(0), class_of(4));
  take(0, 0b0001);
  take(1, 0b0100);
  EXPECT_EQ(class_of(0), class_of(1));
  take(2, 0b0001);
  take(3, 0b0100);
  EXPECT_NE(class_of(2), class_of(3)) << "another pair";
  take(2, 0b1000);
  take(3, 0b0010);
  EXPECT_EQ(class_of(2), class_of(3)) << "one in each pair";
  const NodeView view = classes.view(class_of(2));
  EXPECT_EQ(std::vector(view.milli.begin(), view.milli.end()), (std::vector<std::int32_t>{500, 1000, 500, 1000}));
  EXPECT_EQ(view.cpu, cluster.kinds[1].cpu - MilliCpu(2000));
}

TEST(NodeClassesTest, OnlyWhatThePolicyLooksAtCounts) {
  Cluster cluster = cluster_from("2x4:H100");
  Ledger ledger(cluster);
  Holding holding;
  holding.node = 1;
  holding.memory = MiB(1024);
  ASSERT_TRUE(ledger.place(holding).ok());
  NodeClasses without(cluster, {});
  NodeClasses with(cluster, {.memory = true});
  EXPECT_EQ(without.intern(ledger.view(0)), without.intern(ledger.view(1)));
  const ClassIndex fuller = with.intern(ledger.view(1));
  EXPECT_NE(with.intern(ledger.view(0)), fuller);
  EXPECT_EQ(with.view(fuller).memory, cluster.kinds[0].memory - MiB(1024));
}

TEST(NodeClassesTest, ManyClassesStayApart) {
  Cluster cluster = cluster_from("1x2:H100 cpu=100");
  NodeClasses classes(cluster, {});
  std::vector<std::int32_t> milli(2);
  std::vector<std::int32_t> memory(2);
  const auto intern = [&](std::int32_t first, std::int32_t second, std::int64_t cpu) {
    milli = {first, second};
    NodeView view;
    view.kind = &cluster.kinds[0];
    view.cpu = MilliCpu(cpu);
    view.milli = milli;
    view.device_memory = memory;
    return classes.intern(view);
  };
  std::vector<ClassIndex> seen;
  for (std::int32_t first = 0; first < 60; ++first) {
    for (std::int64_t cpu = 0; cpu < 50; ++cpu) seen.push_back(intern(first, 100, cpu));
  }
  EXPECT_EQ(classes.count(), 3000U);
  std::size_t at = 0;
  for (std::int32_t first = 0; first < 60; ++first) {
    for (std::int64_t cpu = 0; cpu < 50; ++cpu) ASSERT_EQ(intern(100, first, cpu), seen[at++]);
  }
}

}  // namespace
}  // namespace berth::test
