#include "engine/sim/relaxation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/env.h"
#include "engine/policy/feasibility.h"
#include "engine/sim/arrivals.h"
#include "engine/sim/generator.h"
#include "engine/sim/trace_model.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

TaskShape shape_of(std::int64_t cores, std::int32_t gpus, std::int64_t milli = 1000, ModelSet models = 0) {
  TaskShape shape;
  shape.cpu = MilliCpu(cores * 1000);
  shape.gpu_count = gpus;
  shape.gpu_milli = MilliGpu(milli);
  shape.models = models;
  return shape;
}

TEST(Relaxation, SeesWhatIsInTheWay) {
  const Cluster six = test::cluster_from("2x6:T4 cpu=64");
  const auto bound = [](const Cluster& cluster, const std::vector<ShapeDemand>& demand) {
    return allocation_bound(cluster, demand) / 1000.0;
  };
  EXPECT_NEAR(bound(six, {{shape_of(1, 4), 2}}), 8.0, 1e-6) << "no more than is asked for";
  EXPECT_NEAR(bound(six, {{shape_of(1, 4), 50}}), 8.0, 0.1) << "two devices of each node are of no use to fours";
  EXPECT_NEAR(bound(six, {{shape_of(1, 4), 50}, {shape_of(1, 2), 50}}), 12.0, 1e-6) << "but to pairs";
  EXPECT_NEAR(bound(six, {{shape_of(32, 1), 50}}), 4.0, 0.1) << "CPU for two tasks a node";
  EXPECT_NEAR(bound(six, {{shape_of(1, 1, 600), 50}}), 7.2, 0.1) << "0.4 of each device is of no use";
  EXPECT_NEAR(bound(six, {{shape_of(1, 1, 1000, 2), 50}}), 0.0, 1e-6) << "no node has that model";
  EXPECT_NEAR(bound(six, {{shape_of(0, 1, 5), 100000}}), 12.0, 1e-6) << "tiny fractions fill everything";
}

// Most milli-GPU of the tasks from `next` on that can be added to what the ledger holds.
std::int64_t best_packing(Ledger& ledger, const std::vector<TaskShape>& tasks, std::size_t next) {
  if (next == tasks.size()) return ledger.gpu_used().value();
  std::int64_t best = best_packing(ledger, tasks, next + 1);
  const TaskShape& shape = tasks[next];
  for (NodeIndex node = 0; node < static_cast<NodeIndex>(ledger.node_count()); ++node) {
    const NodeView view = ledger.view(node);
    if (!is_feasible(view, shape)) continue;
    const DeviceMask feasible = feasible_devices(view, shape);
    for (DeviceMask devices = 1; devices <= feasible; ++devices) {
      if ((devices & ~feasible) != 0 || std::popcount(devices) != shape.gpu_count) continue;
      const Ledger::Checkpoint mark = ledger.checkpoint();
      if (!ledger.place(holding_for(shape, *view.kind, node, devices)).ok()) continue;
      best = std::max(best, best_packing(ledger, tasks, next + 1));
      ledger.rollback(mark);
    }
  }
  return best;
}

TEST(Relaxation, IsNeverBelowTheBestPackingOfSmallCases) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const Cluster cluster = test::cluster_from(random.below(2) == 0 ? "1x2:T4 cpu=8; 1x2:A10 cpu=13" : "2x2:T4 cpu=9");
    std::vector<TaskShape> tasks;
    std::vector<ShapeDemand> demand;
    for (int i = 0; i < 6; ++i) {
      const std::int64_t milli = 100 * static_cast<std::int64_t>(1 + random.below(10));
      const auto gpus = static_cast<std::int32_t>(milli == 1000 ? 1 + random.below(2) : 1);
      tasks.push_back(shape_of(static_cast<std::int64_t>(random.below(7)), gpus, milli, random.below(4)));
      demand.push_back({tasks.back(), 1});
    }
    Ledger ledger(cluster);
    const double best = static_cast<double>(best_packing(ledger, tasks, 0));
    const double bound = allocation_bound(cluster, demand, 150);
    EXPECT_GE(bound, best - 1e-6) << "seed " << seed;
    EXPECT_LE(bound, best * 1.5 + 500) << "seed " << seed << ": valid, but useless";
  }
}

TEST(Relaxation, NoPolicyExceedsIt) {
  const GeneratorOptions made{.seed = 3, .gpus = 64, .jobs = 200};
  const Cluster cluster = must(cluster_from(generate_nodes(made)));
  const ArrivalInput input = must(arrivals_from(cluster, generate_jobs(made)));
  std::vector<ShapeDemand> demand;
  for (const ArrivalTask& task : input.tasks) demand.push_back({task.shape, 1});
  const double bound = allocation_bound(cluster, demand, 100);
  for (const std::string_view score : {"fgd", "best_fit", "worst_fit"}) {
    const SimulationResult result = must(simulate_arrivals(input, score, {}));
    EXPECT_LE(result.curves.back().allocated_pct / 100.0 * static_cast<double>(Ledger(cluster).gpu_capacity().value()),
              bound + 50);
  }
}

}  // namespace
}  // namespace berth
