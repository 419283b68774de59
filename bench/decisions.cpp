// Decisions per second, and how they grow with the cluster.
//
//   decisions [policy ...]     BERTH_SHARED says where the openb trace and its orders lie (default ../shared)
//
// Replays the openb default arrivals (10,866 tasks, seed 42) on its 1,213 nodes and on the list repeated 100 times with
// the arrivals repeated likewise: choose node and devices, place. "cold" starts from nothing, as a simulation or a
// fresh process does; "warm" goes on with the same Candidates after everything was undone, as a long-lived process
// does. Beside it the plain way: every node scored anew for every task. Placements of both ways are compared. Each
// measurement runs in a process of its own, so that the peak memory is its own.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "bench/openb_world.h"
#include "bench/support.h"
#include "engine/policy/feasibility.h"
#include "engine/policy/registry.h"

namespace berth::bench {
namespace {

bool place_on(Ledger& ledger, NodeIndex node, const TaskShape& shape, const NodeScore& policy) {
  const NodeView view = ledger.view(node);
  const std::optional<DeviceMask> devices = choose_devices(view, shape, policy);
  return devices && ledger.place(holding_for(shape, *view.kind, node, *devices)).ok();
}

// Keeps the ledger's undo so that it can be run again; returns where each task went, folded into one number.
std::uint64_t run_arrivals(Ledger& ledger, Candidates& candidates, const NodeScore& policy, const OpenbWorld& world) {
  std::uint64_t trail = 0;
  for (const std::int32_t index : world.order) {
    const TaskShape& shape = world.tasks.shapes[static_cast<std::size_t>(index)];
    const std::optional<NodeIndex> node = candidates.best(shape);
    if (node) place_on(ledger, *node, shape, policy);
    trail = trail * 31 + static_cast<std::uint64_t>(node.value_or(-1));
  }
  return trail;
}

std::uint64_t run_plainly(Ledger& ledger, NodeScore& policy, const OpenbWorld& world, std::size_t decisions) {
  std::vector<NodeIndex> node_at(world.rank.size());
  for (std::size_t node = 0; node < node_at.size(); ++node) {
    node_at[static_cast<std::size_t>(world.rank[node])] = static_cast<NodeIndex>(node);
  }
  std::uint64_t trail = 0;
  for (std::size_t i = 0; i < decisions; ++i) {
    const TaskShape& shape = world.tasks.shapes[static_cast<std::size_t>(world.order[i])];
    NodeIndex best = -1;
    Score best_score = kInfeasibleScore;
    policy.refresh(ledger, shape);
    for (const NodeIndex node : node_at) {
      const NodeView view = ledger.view(node);
      if (!is_feasible(view, shape)) continue;
      if (const Score score = policy.score(view, shape); score > best_score) {
        best = node;
        best_score = score;
      }
    }
    if (best >= 0) place_on(ledger, best, shape, policy);
    trail = trail * 31 + static_cast<std::uint64_t>(best);
  }
  return trail;
}

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void measure(const std::string& name, std::size_t copies) {
  const OpenbWorld world = read_openb_world(copies);
  const double memory_before = peak_memory_mib();
  const ScoreInput input{.cluster = &world.cluster, .workload = world.workload, .seed = 1, .every_task_is_new = true};
  const std::unique_ptr<NodeScore> policy = *make_score(name, input);
  const double decisions = static_cast<double>(world.order.size());

  const double start = processor_seconds();
  Ledger ledger(world.cluster);
  const Ledger::Checkpoint empty = ledger.checkpoint();
  Candidates candidates(ledger, *policy, world.rank, input.seed);
  const std::uint64_t cold_trail = run_arrivals(ledger, candidates, *policy, world);
  const double cold = processor_seconds() - start;
  const CandidateCounters counters = candidates.counters();
  const double used =
      static_cast<double>(ledger.gpu_used().value()) * 100 / static_cast<double>(ledger.gpu_capacity().value());
  const double memory = peak_memory_mib() - memory_before;

  ledger.rollback(empty);
  const double warm_start = processor_seconds();
  run_arrivals(ledger, candidates, *policy, world);
  const double warm = processor_seconds() - warm_start;

  const std::size_t few = copies == 1 ? world.order.size() : 50;
  Ledger plain_ledger(world.cluster);
  const std::unique_ptr<NodeScore> plain_policy = *make_score(name, input);
  const double plain_start = processor_seconds();
  const std::uint64_t plain_trail = run_plainly(plain_ledger, *plain_policy, world, few);
  const double plain = processor_seconds() - plain_start;
  const char* const same = copies > 1 || policy->picks_at_random() ? "-" : plain_trail == cold_trail ? "yes" : "NO";

  fmt::print("{:<18}{:>8}{:>10}{:>9.2f}{:>11.0f}{:>11.0f}{:>9.0f}{:>9.2f}{:>9.2f}{:>10.1f}{:>10}{:>8.0f}{:>6}\n", name,
             world.cluster.nodes.size(), world.order.size(), used, decisions / cold, decisions / warm,
             static_cast<double>(few) / plain, 1e6 * cold / decisions, 1e6 * warm / decisions,
             static_cast<double>(counters.scores_computed) / decisions, counters.classes, memory, same);
  std::fflush(stdout);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth::bench;
  if (!berth::test::shared_folder_exists()) {
    fmt::print("no openb trace under {}; set BERTH_SHARED\n", berth::test::shared_folder());
    return 1;
  }
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) {
    for (const berth::PolicyRow& row : berth::all_policies()) {
      if (row.kind == berth::PolicyKind::kScore) names.emplace_back(row.name);
    }
  }
  fmt::print("{:<18}{:>8}{:>10}{:>9}{:>11}{:>11}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}{:>6}\n", "policy", "nodes",
             "decisions", "used %", "cold /s", "warm /s", "plain /s", "cold us", "warm us", "scores/d", "classes",
             "MiB", "same");
  std::fflush(stdout);
  for (const std::string& name : names) {
    for (const std::size_t copies : {std::size_t{1}, std::size_t{100}}) {
      if (const pid_t child = fork(); child == 0) {
        measure(name, copies);
        return 0;
      } else {
        waitpid(child, nullptr, 0);
      }
    }
  }
  return 0;
}
