#include "engine/round/reserved_room.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/round/loan_trial.h"

namespace berth {

namespace {

// The tasks of a group on these nodes lie as near each other, and to those that run, as it must.
bool keeps_locality(const TaskGroup& group, std::int32_t index, const Reservation& reservation,
                    const Cluster& cluster) {
  if (!group.locality_required || group.locality == Locality::kAny) return true;
  NodeIndex first = group.anchor;
  for (const ReservedTask& task : reservation.tasks) {
    if (task.group != index) continue;
    const NodeIndex node = task.holding.node;
    if (first < 0) first = node;
    const auto rack = [&](NodeIndex n) { return cluster.nodes[static_cast<std::size_t>(n)].rack; };
    if (group.locality == Locality::kRack ? rack(node) != rack(first) : node != first) return false;
  }
  return true;
}

}  // namespace

std::int32_t tasks_needed(const TaskGroup& group) { return std::max(0, group.min_tasks - group.placed); }

bool is_room_for(const Reservation& reservation, const Job& job, const RoundState& state) {
  const Ledger& ledger = state.ledger();
  std::vector<std::int32_t> reserved(job.groups.size(), 0);
  for (const ReservedTask& task : reservation.tasks) {
    if (task.group < 0 || static_cast<std::size_t>(task.group) >= job.groups.size()) return false;
    if (!may_use_node(ledger, task.holding)) return false;
    const TaskShape& shape = job.groups[static_cast<std::size_t>(task.group)].shape;
    const NodeKind& kind = ledger.cluster().kind_of(static_cast<std::size_t>(task.holding.node));
    if (!state.may_ever_run(kind, shape)) return false;
    if (task.holding != holding_for(shape, kind, task.holding.node, task.holding.devices)) return false;
    ++reserved[static_cast<std::size_t>(task.group)];
  }
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    if (reserved[g] < tasks_needed(job.groups[g])) return false;
    if (!keeps_locality(job.groups[g], static_cast<std::int32_t>(g), reservation, ledger.cluster())) return false;
  }
  return true;
}

std::optional<std::vector<TaskPlace>> surplus_in_the_way(RoundState& state, const Reservation& promise,
                                                         const std::function<bool(const RunningJob&)>& may_take) {
  std::set<NodeIndex> nodes;
  for (const ReservedTask& task : promise.tasks) nodes.insert(task.holding.node);
  const auto leaves = [&](const RunningJob& run) {
    return run.makes_room_for(promise.job) || run.is_told_to_end() ||
           (run.is_told_to_stop() && run.stop_at <= promise.expected);
  };
  std::set<std::int64_t> there;
  for (const NodeIndex node : nodes) {
    const std::vector<std::int64_t> jobs = state.running().jobs_on(node);
    there.insert(jobs.begin(), jobs.end());
  }
  std::vector<TaskPlace> surplus;
  Ledger& ledger = state.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  for (const std::int64_t job : there) {
    const RunningJob& run = *state.running().find(job);
    if (leaves(run)) {
      for (const RunningTask& task : run.tasks) (void)ledger.release(task.holding);
    } else if (may_take(run)) {
      for (const std::size_t task : surplus_tasks(run)) {
        if (!nodes.contains(run.tasks[task].holding.node)) continue;
        surplus.push_back({&run, task});
        (void)ledger.release(run.tasks[task].holding);
      }
    }
  }
  bool fits = true;
  for (const ReservedTask& task : promise.tasks) fits = fits && ledger.place(task.holding).ok();
  // What fits beside it stays: of one job the tasks that go last.
  for (std::size_t i = surplus.size(); fits && i-- > 0;) {
    if (ledger.place(surplus[i].run->tasks[surplus[i].task].holding).ok())
      surplus.erase(surplus.begin() + static_cast<std::ptrdiff_t>(i));
  }
  ledger.rollback(before);
  return fits ? std::optional(std::move(surplus)) : std::nullopt;
}

std::vector<TaskPlace> surplus_left_for(RoundState& state, const Reservation& promise) {
  const auto runs_on = [](const RunningJob& run) { return !run.is_told_to_stop() && run.job.eviction.preemptible; };
  return surplus_in_the_way(state, promise, runs_on).value_or(std::vector<TaskPlace>());
}

std::optional<QuotaLedger> quotas_then(const RoundState& state, Seconds then) {
  const QuotaTable& table = state.quotas().table();
  const auto later = std::ranges::upper_bound(table.at_ends, then, {}, &QuotaAtEnd::from);
  if (later == table.at_ends.begin()) return std::nullopt;
  QuotaLedger quotas(state.cluster(), state.setup().queues, quotas_at(table, std::prev(later)->from), then);
  for (const RunningJob& run : state.running().all()) {
    if (state.lasts_until(run) > then) quotas.take(run.job.queue, state.held_by(run).all, state.lasts_until(run));
  }
  return quotas;
}

bool may_take_surplus(const RoundState& state, const QuotaLedger& quotas, const Job& job, const Amounts& amounts,
                      const RunningJob& run, Seconds end) {
  if (run.is_told_to_stop() || !run.job.eviction.preemptible) return false;
  if (run.job.queue == job.queue) return state.class_value(run.job) < state.class_value(job);
  return quotas.may_reclaim(job.queue, amounts, run.job.queue, run.quota_mark >> kMarkedDepths, end,
                            QuotaLedger::Beside::kMarked);
}

QuotaLedger marked_without_leaving(const RoundState& state, const Job& job) {
  QuotaLedger marked = state.quotas();
  for (const RunningJob& run : state.running().all()) {
    const std::uint32_t surplus_marks = run.quota_mark >> kMarkedDepths;
    if (run.makes_room_for(job.id)) {
      RoundState::count_marks(marked, run.job.queue, state.held_by(run), run.quota_mark, -1);
      continue;
    }
    const int fork = marked.fork_depth(job.queue, run.job.queue);
    const bool is_taken = run.job.queue == job.queue ? state.class_value(run.job) < state.class_value(job)
                                                     : fork >= 0 && (surplus_marks >> fork & 1) == 0;
    if (run.is_told_to_stop() || !run.job.eviction.preemptible || !is_taken) continue;
    marked.unmark(run.job.queue, state.held_by(run).surplus, surplus_marks);
  }
  return marked;
}

std::vector<ReservedTask> reserved_tasks(std::span<const PlacedTask> placed, const Cluster& cluster) {
  std::vector<ReservedTask> tasks;
  for (const PlacedTask& task : placed) {
    const std::int64_t node_id = cluster.nodes[static_cast<std::size_t>(task.holding.node)].id;
    tasks.push_back({.group = task.group, .task = task.task, .node_id = node_id, .holding = task.holding});
  }
  return tasks;
}

bool may_use_node(const Ledger& ledger, const Holding& holding) {
  if (holding.node < 0 || static_cast<std::size_t>(holding.node) >= ledger.node_count()) return false;
  const Node& node = ledger.cluster().nodes[static_cast<std::size_t>(holding.node)];
  return ledger.accepts_tasks(holding.node) && (holding.devices & node.unhealthy) == 0;
}

}  // namespace berth
