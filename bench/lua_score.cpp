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

#include "bench/openb_world.h"
#include "bench/support.h"
#include "engine/lua/script_policies.h"
#include "engine/policy/candidates.h"
#include "engine/policy/device_choice.h"
#include "engine/policy/registry.h"

namespace berth::bench {
namespace {

// Where each task went, folded into one number.
std::uint64_t run_arrivals(Ledger& ledger, Candidates& candidates, const NodeScore& policy, const OpenbWorld& world) {
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
Measured measure(const OpenbWorld& world, const Make& make) {
  Measured best;
  for (int run = 0; run < 3; ++run) {
    const double start = processor_seconds();
    const std::unique_ptr<NodeScore> policy = make();
    Ledger ledger(world.cluster);
    const Ledger::Checkpoint empty = ledger.checkpoint();
    Candidates candidates(ledger, *policy, world.rank, 1);
    best.trail = run_arrivals(ledger, candidates, *policy, world);
    best.cold = std::min(best.cold, processor_seconds() - start);
    best.scores = static_cast<double>(candidates.counters().scores_computed);
    ledger.rollback(empty);
    const double warm_start = processor_seconds();
    run_arrivals(ledger, candidates, *policy, world);
    best.warm = std::min(best.warm, processor_seconds() - warm_start);
    best.failure = policy->failure();
  }
  return best;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void compare(const std::string& name, const OpenbWorld& world) {
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
}  // namespace berth::bench

int main() {
  using namespace berth::bench;
  if (!berth::test::shared_folder_exists()) {
    fmt::print("no openb trace under {}; set BERTH_SHARED\n", berth::test::shared_folder());
    return 1;
  }
  fmt::print("{:<10}{:>10}{:>12}{:>12}{:>8}{:>12}{:>12}{:>8}{:>9}{:>6}\n", "policy", "decisions", "cold /s", "lua /s",
             "ratio", "warm /s", "lua /s", "ratio", "scores/d", "same");
  const OpenbWorld world = read_openb_world(1);
  for (const std::string name : {"best_fit", "fgd"}) compare(name, world);
  return 0;
}
