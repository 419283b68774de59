// Order policies on random queues: a permutation that depends on nothing but the jobs, and priority's bound on waiting.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/policy/registry.h"
#include "tests/builders.h"
#include "tests/property/world.h"

namespace berth::test {
namespace {

// Job ids, first to try first.
std::vector<std::int64_t> ids_in_order(std::string_view policy, const Snapshot& snapshot) {
  std::vector<std::int64_t> ids;
  const std::unique_ptr<QueueOrder> order = must(make_order(policy));
  for (const std::int32_t index : order->order({.now = snapshot.now,
                                  .seed = snapshot.seed,
                                  .jobs = snapshot.jobs,
                                  .priority_classes = snapshot.priority_classes,
                                  .queues = snapshot.queues,
                                  .aging_interval = snapshot.aging_interval})) {
    ids.push_back(snapshot.jobs[static_cast<std::size_t>(index)].id);
  }
  return ids;
}

TEST(OrderProperty, APermutationWhateverTheRowsOrder) {
  for (const PolicyRow& row : all_policies()) {
    if (row.kind != PolicyKind::kOrder) continue;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(std::string(row.name) + " seed " + std::to_string(seed));
      Random random(seed);
      Snapshot snapshot = random_snapshot(random, {}, 60);
      const std::vector<std::int64_t> ids = ids_in_order(row.name, snapshot);
      ASSERT_EQ(std::set<std::int64_t>(ids.begin(), ids.end()).size(), snapshot.jobs.size());
      random.shuffle(snapshot.jobs);
      ASSERT_EQ(ids_in_order(row.name, snapshot), ids);
    }
  }
}

// The bound of policy/priority_order.h: behind a newer job of a class higher by d only if that one came less than d
// aging intervals later. So work of higher classes that keeps coming cannot keep a job waiting for ever.
TEST(OrderProperty, PriorityBoundsWaitingBehindNewerWorkOfAHigherClass) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Snapshot snapshot = random_snapshot(random, {}, 80);
    snapshot.aging_interval = Seconds(1 + static_cast<std::int64_t>(random.below(5000)));
    for (PriorityClass& one : snapshot.priority_classes) one.value = static_cast<std::int64_t>(random.below(20)) - 10;
    const auto value_of = [&](const Job& job) {
      return job.priority_class < 0 ? 0 : snapshot.priority_classes[static_cast<std::size_t>(job.priority_class)].value;
    };
    std::vector<const Job*> ahead;
    for (const std::int64_t id : ids_in_order("priority", snapshot)) {
      const Job& job = *std::ranges::find(snapshot.jobs, id, &Job::id);
      for (const Job* other : ahead) {
        const std::int64_t steps = value_of(*other) - value_of(job);
        if (other->submit <= job.submit) continue;
        ASSERT_GT(steps, 0) << "behind a newer job of no higher class";
        ASSERT_LT((other->submit - job.submit).value(), steps * snapshot.aging_interval.value());
      }
      ahead.push_back(&job);
    }
  }
}

}  // namespace
}  // namespace berth::test
