#include "engine/store/simulations.h"

#include <fmt/format.h>

namespace berth {

namespace {

Result<bool> has_row(Statement row) {
  const bool found = row.next();
  BERTH_TRY(row.status());
  return found;
}

Result<bool> has_simulation(Database& db, const std::string& name) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT 1 FROM simulations WHERE name = ?1"));
  row.with(name);
  return has_row(std::move(row));
}

Status remove_simulation(Database& db, const std::string& name) {
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM simulations WHERE name = ?1"));
  return remove.run(name);  // its other rows follow by their foreign keys
}

std::optional<std::string_view> null_without(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

Status insert_result(Database& db, const std::string& simulation, const SimulationResultRow& row) {
  BERTH_ASSIGN(
      Statement insert,
      db.prepare(
          "INSERT INTO simulation_results (simulation, policy, tasks, placed, failed, allocated_pct_at_100, "
          "allocated_pct_at_130, "
          "fragmented_pct, wait_mean, wait_p50, wait_p90, wait_p99, completion_mean, makespan, decisions, "
          "decisions_per_second, "
          "peak_memory_mib) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"));
  return insert.run(simulation, row.policy, row.tasks, row.placed, row.failed, row.allocated_pct_at_100,
                    row.allocated_pct_at_130, row.fragmented_pct, row.wait_mean, row.wait_p50, row.wait_p90,
                    row.wait_p99, row.completion_mean, row.makespan, row.decisions, row.decisions_per_second,
                    row.peak_memory_mib);
}

Status insert_details(Database& db, const std::string& simulation, const SimulationPolicyRows& rows) {
  const std::string& policy = rows.result.policy;
  BERTH_ASSIGN(Statement curve, db.prepare("INSERT INTO simulation_curves VALUES (?1, ?2, ?3, ?4, ?5)"));
  for (const SimulationCurveRow& row : rows.curve) {
    BERTH_TRY(curve.run(simulation, policy, row.arrived_pct, row.allocated_pct, row.fragmented_pct));
  }
  BERTH_ASSIGN(Statement task,
               db.prepare("INSERT INTO simulation_tasks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  for (const SimulationTaskRow& row : rows.tasks) {
    BERTH_TRY(task.run(simulation, policy, row.sequence, row.task, null_without(row.node), null_without(row.devices),
                       row.state, row.submit, row.start, row.end));
  }
  BERTH_ASSIGN(Statement utilisation, db.prepare("INSERT INTO simulation_utilisation VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  for (const SimulationUtilisationRow& row : rows.utilisation) {
    BERTH_TRY(utilisation.run(simulation, policy, row.time, row.allocated_pct, row.running, row.waiting));
  }
  BERTH_ASSIGN(Statement queue,
               db.prepare("INSERT INTO simulation_queues VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
                          "?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)"));
  std::int64_t seq = 0;
  for (const SimulationQueueRow& row : rows.queues) {
    BERTH_TRY(queue.run(simulation, policy, seq++, row.queue, row.jobs, row.started, row.wait_mean, row.wait_p50,
                        row.wait_p90, row.wait_p99, row.wait_most, row.completion_mean, row.worst_finish_ratio,
                        row.evictions, row.lost, row.delivered, row.starts_within_quota, row.starts_borrowing,
                        row.entitled_jobs, row.entitled_wait_mean, row.longest_denied));
  }
  return {};
}

}  // namespace

Status start_simulation(Database& db, const SimulationRecord& record, bool replace) {
  if (record.name.empty()) return Status(Code::kInvalid, "a simulation needs a name");
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(const bool taken, has_simulation(db, record.name));
  if (taken && !replace) {
    return Status(Code::kExists, fmt::format("simulation '{}' exists already", record.name)).about("into", record.name);
  }
  if (taken) BERTH_TRY(remove_simulation(db, record.name));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO simulations (name, kind, statement, seed, created_at) "
                                            "VALUES (?1, ?2, ?3, ?4, ?5)"));
  BERTH_TRY(insert.run(record.name, record.kind, record.statement, static_cast<std::int64_t>(record.seed),
                       record.created_at));
  return transaction.commit();
}

Status save_simulation_policy(Database& db, const std::string& simulation, const SimulationPolicyRows& rows) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(const bool known, has_simulation(db, simulation));
  if (!known)
    return Status(Code::kNotFound, fmt::format("no simulation '{}'", simulation)).about("simulation", simulation);
  BERTH_ASSIGN(Statement same, db.prepare("SELECT 1 FROM simulation_results WHERE simulation = ?1 AND policy = ?2"));
  same.with(simulation, rows.result.policy);
  BERTH_ASSIGN(const bool taken, has_row(std::move(same)));
  if (taken) {
    return Status(Code::kExists,
                  fmt::format("simulation '{}' has policy '{}' already", simulation, rows.result.policy));
  }
  BERTH_TRY(insert_result(db, simulation, rows.result));
  BERTH_TRY(insert_details(db, simulation, rows));
  return transaction.commit();
}

Status drop_simulation(Database& db, const std::string& simulation) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(const bool known, has_simulation(db, simulation));
  if (!known)
    return Status(Code::kNotFound, fmt::format("no simulation '{}'", simulation)).about("simulation", simulation);
  BERTH_TRY(remove_simulation(db, simulation));
  return transaction.commit();
}

}  // namespace berth
