#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/runtime/simulate.h"

namespace berth {

namespace {

Result<std::vector<std::string>> texts_of(Statement rows) {
  std::vector<std::string> texts;
  while (rows.next()) texts.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return texts;
}

Result<std::vector<std::string>> policies_of(Runtime& runtime, const std::string& name) {
  BERTH_ASSIGN(Statement rows,
               runtime.db().prepare("SELECT policy FROM simulation_results WHERE simulation = ?1 ORDER BY policy"));
  BERTH_ASSIGN(std::vector<std::string> policies, texts_of(std::move(rows.with(name))));
  if (!policies.empty()) return policies;
  BERTH_ASSIGN(Statement all, runtime.db().prepare("SELECT name FROM simulations ORDER BY name"));
  BERTH_ASSIGN(const std::vector<std::string> names, texts_of(std::move(all.with())));
  return Status(Code::kNotFound, fmt::format("no simulation '{}'", name), suggest(name, names))
      .about("simulation", name);
}

Result<std::string> chosen_policy(Runtime& runtime, const std::string& name, const std::string& policy) {
  BERTH_ASSIGN(const std::vector<std::string> policies, policies_of(runtime, name));
  if (policy.empty()) {
    if (policies.size() == 1) return policies.front();
    return Status(Code::kInvalid, fmt::format("simulation {} has {} policies", name, policies.size()),
                  fmt::format("name one: {}", join(policies, ", ")))
        .about("simulation", name);
  }
  std::vector<std::string> matches;  // "fifo + berth" is also called fifo
  for (const std::string& candidate : policies) {
    if (equals_ignoring_case(candidate, policy)) return candidate;
    if (equals_ignoring_case(trim(split(candidate, '+').front()), policy)) matches.push_back(candidate);
  }
  if (matches.size() == 1) return matches.front();
  return Status(Code::kNotFound, fmt::format("simulation {} has no policy '{}'", name, policy),
                fmt::format("it has {}", join(policies, ", ")))
      .about("policy", policy);
}

std::optional<Seconds> moment(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(Seconds(row.integer(column)));
}

std::optional<double> real_or_null(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.real(column));
}

std::optional<std::int64_t> integer_or_null(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(static_cast<std::int64_t>(row.real(column)));
}

Result<std::vector<TaskResult>> saved_tasks(Runtime& runtime, const std::string& name, const std::string& policy) {
  BERTH_ASSIGN(Statement rows,
               runtime.db().prepare(
                   "SELECT sequence, task, coalesce(node, ''), coalesce(devices, ''), state, submit, start, \"end\" "
                   "FROM simulation_tasks WHERE simulation = ?1 AND policy = ?2 ORDER BY sequence"));
  rows.with(name, policy);
  std::vector<TaskResult> tasks;
  while (rows.next()) {
    TaskResult task;
    task.sequence = rows.integer(0);
    task.task = rows.text(1);
    task.node = rows.text(2);
    BERTH_ASSIGN(task.devices, read_device_mask(rows.text(3)));
    BERTH_ASSIGN(task.state, read_task_outcome(rows.text(4)));
    task.submit = moment(rows, 5);
    task.start = moment(rows, 6);
    task.end = moment(rows, 7);
    tasks.push_back(std::move(task));
  }
  BERTH_TRY(rows.status());
  return tasks;
}

std::optional<std::int64_t> whole_or_null(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.integer(column));
}

Status load_queues(Runtime& runtime, const std::string& name, const std::string& policy, SimulationResult& result) {
  BERTH_ASSIGN(Statement row,
               runtime.db().prepare(
                   "SELECT queue, jobs, started, wait_mean, wait_p50, wait_p90, wait_p99, wait_most, completion_mean, "
                   "worst_finish_ratio, evictions, lost_gpu_milli_s, gpu_milli_s, starts_within_quota, "
                   "starts_borrowing, entitled_jobs, entitled_wait_mean, longest_denied_s FROM simulation_queues "
                   "WHERE simulation = ?1 AND policy = ?2 ORDER BY seq"));
  row.with(name, policy);
  while (row.next()) {
    QueueResult& queue = row.is_null(0) ? result.all_queues : result.queues.emplace_back();
    queue.queue = row.text(0);
    queue.jobs = row.integer(1);
    queue.started = row.integer(2);
    queue.wait_mean = real_or_null(row, 3);
    queue.wait_p50 = whole_or_null(row, 4);
    queue.wait_p90 = whole_or_null(row, 5);
    queue.wait_p99 = whole_or_null(row, 6);
    queue.wait_most = whole_or_null(row, 7);
    queue.completion_mean = real_or_null(row, 8);
    queue.worst_finish_ratio = real_or_null(row, 9);
    queue.evictions = row.integer(10);
    queue.lost = row.integer(11);
    queue.delivered = row.integer(12);
    queue.starts_within_quota = row.integer(13);
    queue.starts_borrowing = row.integer(14);
    queue.entitled_jobs = row.integer(15);
    queue.entitled_wait_mean = real_or_null(row, 16);
    queue.longest_denied = Seconds(row.integer(17));
  }
  return row.status();
}

}  // namespace

Result<Comparison> compare_saved_simulations(Runtime& runtime, const std::string& a, const std::string& policy_a,
                                             const std::string& b, const std::string& policy_b) {
  BERTH_ASSIGN(const std::string chosen_a, chosen_policy(runtime, a, policy_a));
  BERTH_ASSIGN(const std::string chosen_b, chosen_policy(runtime, b, policy_b));
  BERTH_ASSIGN(const std::vector<TaskResult> tasks_a, saved_tasks(runtime, a, chosen_a));
  BERTH_ASSIGN(const std::vector<TaskResult> tasks_b, saved_tasks(runtime, b, chosen_b));
  return compare_simulations(tasks_a, tasks_b);
}

Result<std::vector<SimulationResult>> load_saved_simulation(Runtime& runtime, const std::string& name) {
  BERTH_ASSIGN(const std::vector<std::string> policies, policies_of(runtime, name));
  std::vector<SimulationResult> results;
  for (const std::string& policy : policies) {
    SimulationResult result;
    BERTH_ASSIGN(Statement row,
                 runtime.db().prepare("SELECT tasks, placed, failed, allocated_pct_at_100, allocated_pct_at_130, "
                                      "fragmented_pct, wait_mean, wait_p50, wait_p90, "
                                      "wait_p99, completion_mean, makespan, decisions, decisions_per_second, "
                                      "peak_memory_mib FROM simulation_results "
                                      "WHERE simulation = ?1 AND policy = ?2"));
    row.with(name, policy);
    if (!row.next())
      return row.status().ok() ? Status(Code::kInternal, "a simulation result disappeared") : row.status();
    SimulationRow& r = result.row;
    r.simulation = name;
    r.policy = policy;
    r.tasks = row.integer(0);
    r.placed = row.integer(1);
    r.failed = row.integer(2);
    r.allocated_pct_at_100 = real_or_null(row, 3);
    r.allocated_pct_at_130 = real_or_null(row, 4);
    r.fragmented_pct = real_or_null(row, 5);
    r.wait_mean = real_or_null(row, 6);
    r.wait_p50 = integer_or_null(row, 7);
    r.wait_p90 = integer_or_null(row, 8);
    r.wait_p99 = integer_or_null(row, 9);
    r.completion_mean = real_or_null(row, 10);
    r.makespan = integer_or_null(row, 11);
    r.decisions = row.integer(12);
    r.decisions_per_second = row.real(13);
    r.peak_memory_mib = row.real(14);

    BERTH_ASSIGN(Statement curve,
                 runtime.db().prepare("SELECT arrived_pct, allocated_pct, fragmented_pct FROM simulation_curves "
                                      "WHERE simulation = ?1 AND policy = ?2 ORDER BY arrived_pct"));
    curve.with(name, policy);
    while (curve.next())
      result.curves.push_back({static_cast<std::int32_t>(curve.real(0)), curve.real(1), real_or_null(curve, 2)});
    BERTH_TRY(curve.status());
    BERTH_TRY(load_queues(runtime, name, policy, result));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace berth
