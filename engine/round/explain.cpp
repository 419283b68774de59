#include "engine/round/explain.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::kKeptOut) + 1;

double relative(std::int64_t missing, std::int64_t asked) {
  return asked == 0 ? 0.0 : static_cast<double>(missing) / static_cast<double>(asked);
}

double distance(const Shortfall& lacks, const TaskShape& shape) {
  return relative(lacks.cpu.value(), shape.cpu.value()) + relative(lacks.memory.value(), shape.memory.value()) +
         relative(lacks.devices, shape.gpu_count) + relative(lacks.gpu.value(), shape.gpu_milli.value()) +
         relative(lacks.gpu_memory.value(), shape.gpu_memory.value());
}

}  // namespace

Reason reason_on_node(const Ledger& ledger, const TaskShape& shape, NodeIndex node) {
  return reason_against(ledger.view(node), shape, ledger.accepts_tasks(node),
                        ledger.cluster().nodes[static_cast<std::size_t>(node)].unhealthy);
}

Shortfall shortfall_on(const NodeView& view, const TaskShape& shape) {
  Shortfall lacks;
  lacks.cpu = std::max(MilliCpu(0), shape.cpu - view.cpu);
  lacks.memory = std::max(MiB(0), shape.memory - view.memory);
  if (shape.gpu_count == 0) return lacks;
  if (!shape.is_fraction()) {
    const auto free = std::count(view.milli.begin(), view.milli.end(), static_cast<std::int32_t>(kWholeDevice.value()));
    lacks.devices = std::max(0, shape.gpu_count - static_cast<std::int32_t>(free));
    return lacks;
  }
  const std::int32_t most_milli = view.milli.empty() ? 0 : *std::max_element(view.milli.begin(), view.milli.end());
  const std::int32_t most_memory =
      view.device_memory.empty() ? 0 : *std::max_element(view.device_memory.begin(), view.device_memory.end());
  lacks.gpu = std::max(MilliGpu(0), shape.gpu_milli - MilliGpu(most_milli));
  lacks.gpu_memory = std::max(MiB(0), device_memory_for(shape, view.kind->device_memory) - MiB(most_memory));
  return lacks;
}

ShapeExplanation explain_shape(const Ledger& ledger, const TaskShape& shape) {
  ShapeExplanation explanation;
  std::array<ReasonCount, kReasons> counts;
  std::vector<char> kind_is_eligible;
  for (const NodeKind& kind : ledger.cluster().kinds)
    kind_is_eligible.push_back(is_feasible_when_empty(kind, shape) ? 1 : 0);

  double nearest_distance = 0;
  std::array<double, kReasons> distances{};
  for (std::size_t n = 0; n < ledger.node_count(); ++n) {
    const NodeIndex node = static_cast<NodeIndex>(n);
    const bool eligible = kind_is_eligible[static_cast<std::size_t>(ledger.cluster().nodes[n].kind)] != 0;
    const Reason reason = reason_on_node(ledger, shape, node);
    ReasonCount& count = counts[static_cast<std::size_t>(reason)];
    ++count.nodes;
    ++explanation.nodes;
    if (!eligible) continue;
    ++count.eligible_nodes;
    ++explanation.eligible;
    if (!ledger.accepts_tasks(node)) continue;
    const Shortfall lacks = shortfall_on(ledger.view(node), shape);
    const double away = distance(lacks, shape);
    if (count.nearest < 0 || away < distances[static_cast<std::size_t>(reason)]) {
      count.nearest = node;
      count.lacks = lacks;
      distances[static_cast<std::size_t>(reason)] = away;
    }
    if (explanation.nearest < 0 || away < nearest_distance) {
      explanation.nearest = node;
      explanation.lacks = lacks;
      nearest_distance = away;
    }
  }

  for (std::size_t r = 0; r < kReasons; ++r) {
    counts[r].reason = static_cast<Reason>(r);
    if (counts[r].nodes > 0) explanation.reasons.push_back(counts[r]);
  }
  if (counts[static_cast<std::size_t>(Reason::kNone)].nodes == 0) {
    for (const ReasonCount& count : explanation.reasons) {
      const bool first = explanation.dominant == Reason::kNone;
      const ReasonCount& best = counts[static_cast<std::size_t>(explanation.dominant)];
      if (explanation.eligible > 0 ? count.eligible_nodes > (first ? 0 : best.eligible_nodes)
                                   : first || count.reason > best.reason) {
        explanation.dominant = count.reason;
      }
    }
  }
  std::stable_sort(explanation.reasons.begin(), explanation.reasons.end(),
                   [](const ReasonCount& a, const ReasonCount& b) { return a.nodes > b.nodes; });
  return explanation;
}

namespace {

bool holds_eligible_node(const RoundState& state, const RunningTask& task, const TaskShape& shape) {
  return is_feasible_when_empty(state.cluster().kind_of(static_cast<std::size_t>(task.holding.node)), shape);
}

}  // namespace

std::vector<QueueHolding> holders_of(const RoundState& state, const TaskShape& shape) {
  std::map<std::int32_t, QueueHolding> by_queue;
  for (const RunningJob& run : state.running().all()) {
    QueueHolding held;
    for (const RunningTask& task : run.tasks) {
      if (!holds_eligible_node(state, task, shape)) continue;
      held.gpu += task.holding.gpu_milli * std::popcount(task.holding.devices);
      held.cpu += task.holding.cpu;
    }
    if (shape.gpu_count > 0 ? held.gpu == MilliGpu(0) : held.cpu == MilliCpu(0)) continue;
    QueueHolding& total = by_queue[run.job.queue];
    total.queue = run.job.queue;
    total.jobs += 1;
    total.gpu += held.gpu;
    total.cpu += held.cpu;
  }
  std::vector<QueueHolding> holders;
  for (const auto& [queue, held] : by_queue) holders.push_back(held);
  std::ranges::stable_sort(holders, std::greater<>(), [&](const QueueHolding& held) {
    return shape.gpu_count > 0 ? held.gpu.value() : held.cpu.value();
  });
  return holders;
}

const RunningJob* next_to_end(const RoundState& state, const TaskShape& shape, Seconds now) {
  const RunningJob* first = nullptr;
  Seconds first_end;
  for (const RunningJob& run : state.running().all()) {
    const bool is_there = std::ranges::any_of(
        run.tasks, [&](const RunningTask& task) { return holds_eligible_node(state, task, shape); });
    if (!is_there) continue;
    const Seconds end = expected_end_of(run, state.rules(), now);
    if (first != nullptr && std::pair(end, run.job.id) >= std::pair(first_end, first->job.id)) continue;
    first = &run;
    first_end = end;
  }
  return first;
}

}  // namespace berth
