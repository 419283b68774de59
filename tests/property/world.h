// Random clusters and job mixes for the property tests, the judge of a plan, and a brute-force planner.
//
// Everything follows from a seed. The judge and the brute force count for themselves, from rows and shapes: they share
// no code with the ledger, the policies and the placer that they look at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/env.h"
#include "engine/model/ledger.h"
#include "engine/model/plan.h"

namespace berth::test {

template <class T>
T one_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.below(values.size())];
}

struct WorldSize {
  std::size_t most_nodes = 24;
  std::int32_t most_devices = 8;  // 4 or 8 a node
  std::int32_t most_tasks = 8;    // of a group
};
inline constexpr WorldSize kSmallWorld{.most_nodes = 4, .most_devices = 4, .most_tasks = 3};

// Kinds with and without devices, link groups, pools, racks, nodes that are not up, unhealthy devices.
Cluster random_cluster(Random& random, const WorldSize& size);
TaskGroup random_group(Random& random, const WorldSize& size);
// One to three groups, a class or none, submitted before `now`.
Job random_job(Random& random, const WorldSize& size, std::int64_t id, Seconds now);
// A cluster with `jobs` waiting and nothing running.
Snapshot random_snapshot(Random& random, const WorldSize& size, std::size_t jobs);

// What the snapshot becomes when the plan is carried out and time goes on: allocations added, jobs grown or gone.
// The plan ends it at once: a job that is evicted, or a task of its surplus.
bool is_evicted(const Plan& plan, const Allocation& allocation);

Snapshot after_plan(const Snapshot& before, const Plan& plan);
// Some of the running jobs end.
void end_some_jobs(Snapshot& snapshot, Random& random);

// Promises that the plan would break, one sentence each: over-allocation, places that a task may not take, a task
// twice, gangs started in part, required locality, jobs without an answer.
std::vector<std::string> broken_promises(const Snapshot& snapshot, const Plan& plan);

// Could `job`, of one group, start when all of `plan` runs? Tries every node and every set of devices.
bool could_start(const Snapshot& snapshot, const Plan& plan, const Job& job);

// What is free, node by node and device by device, as text.
std::string print_free(const Ledger& ledger);

}  // namespace berth::test
