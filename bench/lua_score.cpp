// What a score in Lua costs beside the built-in one that it is a twin of.
//
//   lua_score     BERTH_SHARED says where the openb trace and its orders lie (default ../shared)
//
// The arrivals of openb default (10,866 tasks, seed 42) on its 1,213 nodes: choose node and devices, place. "cold"
// starts from nothing; "warm" goes on with the same rankings after everything was undone, as a long-lived process does.
// Best of three runs, of this process's time on its core. "same" compares where every task went, to the device. The
// goals: at most 3 times the native time, and 30,000 decisions a second for fgd.

#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <iterator>

#include "engine/lua/script_policies.h"
#include "engine/policy/candidates.h"
#include "engine/policy/device_choice.h"
#include "engine/policy/registry.h"
#include "tests/reference/openb_files.h"

namespace berth::test {
namespace {

struct World {
  Cluster cluster;
  OpenbTasks tasks;
  std::vector<std::int32_t> order;
  std::vector<std::int32_t> rank;
  std::vector<WorkloadShape> workload;
};

World read_world() {
  World world;
  world.cluster = openb_cluster(1);
  world.tasks = openb_workload_tasks("default", world.cluster);
  world.workload = world.tasks.workload();
  const std::string base = shared_folder() + "/golden/fgd/orders/default_s42";
  world.order = read_numbers(base + ".order");
  world.rank = read_numbers(base + ".rank");
  return world;
}

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Where each task went, folded into one number.
std::uint64_t run_arrivals(Ledger& ledger, Candidates& candidates, const NodeScore& policy, const World& world) {
  std::uint64_t trail = 0;
  for (const std::int32_t index : world.order) {
    const TaskShape& shape = world.tasks.shapes[static_cast<std::size_t>(index)];
    const std::optional<NodeIndex> node = candidates.best(shape);
    DeviceMask devices = 0;
    if (node) {
      const NodeView view = ledger.view(*node);
      devices = choose_devices(view, shape, policy).value_or(0);
      (void)ledger.place(holding_for(shape, *view.kind, *node, devices)).ok();
    }
    trail = (trail * 31 + static_cast<std::uint64_t>(node.value_or(-1))) * 31 + devices;
  }
  return trail;
}

struct Measured {
  double cold = 1e9;
  double warm = 1e9;
  double scores = 0;
  std::uint64_t trail = 0;
  std::string failure;
};

template <class Make>
Measured measure(const World& world, const Make& make) {
  Measured best;
  for (int run = 0; run < 3; ++run) {
    const double start = seconds_now();
    const std::unique_ptr<NodeScore> policy = make();
    Ledger ledger(world.cluster);
    const Ledger::Checkpoint empty = ledger.checkpoint();
    Candidates candidates(ledger, *policy, world.rank, 1);
    best.trail = run_arrivals(ledger, candidates, *policy, world);
    best.cold = std::min(best.cold, seconds_now() - start);
    best.scores = static_cast<double>(candidates.counters().scores_computed);
    ledger.rollback(empty);
    const double warm_start = seconds_now();
    run_arrivals(ledger, candidates, *policy, world);
    best.warm = std::min(best.warm, seconds_now() - warm_start);
    best.failure = policy->failure();
  }
  return best;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void compare(const std::string& name, const World& world) {
  const ScoreInput input{.cluster = &world.cluster, .workload = world.workload, .seed = 1, .every_task_is_new = true};
  const ScriptPolicy script{
      .name = name + ".lua", .version = 1, .source = read_text("scripts/policies/" + name + ".lua"), .knobs = {}};
  const Measured native = measure(world, [&] { return *make_score(name, input); });
  const Measured lua = measure(world, [&] { return script_policy_maker().make_score(script, input); });
  const double decisions = static_cast<double>(world.order.size());
  if (!lua.failure.empty()) fmt::print("{}: {}\n", name, lua.failure);
  fmt::print("{:<10}{:>10.0f}{:>12.0f}{:>12.0f}{:>8.2f}{:>12.0f}{:>12.0f}{:>8.2f}{:>9.2f}{:>6}\n", name, decisions,
             decisions / native.cold, decisions / lua.cold, lua.cold / native.cold, decisions / native.warm,
             decisions / lua.warm, lua.warm / native.warm, lua.scores / decisions,
             lua.trail == native.trail ? "yes" : "NO");
}

}  // namespace
}  // namespace berth::test

int main() {
  using namespace berth::test;
  if (!shared_folder_exists()) {
    fmt::print("no openb trace under {}; set BERTH_SHARED\n", shared_folder());
    return 1;
  }
  fmt::print("{:<10}{:>10}{:>12}{:>12}{:>8}{:>12}{:>12}{:>8}{:>9}{:>6}\n", "policy", "decisions", "cold /s", "lua /s",
             "ratio", "warm /s", "lua /s", "ratio", "scores/d", "same");
  const World world = read_world();
  for (const std::string name : {"best_fit", "fgd"}) compare(name, world);
  return 0;
}
