// Results of simulations as rows: simulations, simulation_results, simulation_curves, simulation_tasks,
// simulation_utilisation, simulation_queues.
//
// Plain rows in, one transaction a policy, so that what is complete stays when a simulation is interrupted. Simulations
// are no part of the cluster's state: the state version does not move.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/store/sqlite.h"

namespace berth {

struct SimulationRecord {
  std::string name;
  std::string kind;       // "arrivals" | "jobs"
  std::string statement;  // as typed
  std::uint64_t seed = 0;
  Seconds created_at;
};

struct SimulationResultRow {
  std::string policy;
  std::int64_t tasks = 0;
  std::int64_t placed = 0;
  std::int64_t failed = 0;
  std::optional<double> allocated_pct_at_100;
  std::optional<double> allocated_pct_at_130;
  std::optional<double> fragmented_pct;
  std::optional<double> wait_mean;  // seconds, as are the next
  std::optional<double> wait_p50;
  std::optional<double> wait_p90;
  std::optional<double> wait_p99;
  std::optional<double> completion_mean;
  std::optional<double> makespan;
  std::int64_t decisions = 0;
  double decisions_per_second = 0;
  double peak_memory_mib = 0;
};

struct SimulationCurveRow {
  double arrived_pct = 0;
  double allocated_pct = 0;
  std::optional<double> fragmented_pct;
};

struct SimulationTaskRow {
  std::int64_t sequence = 0;
  std::string task;
  std::string node;     // empty = none
  std::string devices;  // "0-1"; empty = none
  std::string state;    // "placed", "failed", "finished", "waiting", ...
  std::optional<std::int64_t> submit;
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> end;
};

struct SimulationUtilisationRow {
  std::int64_t time = 0;  // seconds since the first submission
  double allocated_pct = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
};

struct SimulationQueueRow {
  std::optional<std::string> queue = {};  // "" = jobs without a queue; nothing = all jobs
  std::int64_t jobs = 0;
  std::int64_t started = 0;
  std::optional<double> wait_mean = {};  // seconds, as are the next
  std::optional<std::int64_t> wait_p50 = {};
  std::optional<std::int64_t> wait_p90 = {};
  std::optional<std::int64_t> wait_p99 = {};
  std::optional<std::int64_t> wait_most = {};
  std::optional<double> completion_mean = {};
  std::optional<double> worst_finish_ratio = {};
  std::int64_t evictions = 0;
  std::int64_t lost = 0;       // milli-GPU-seconds
  std::int64_t delivered = 0;  // milli-GPU-seconds
  std::int64_t starts_within_quota = 0;
  std::int64_t starts_borrowing = 0;
  std::int64_t entitled_jobs = 0;
  std::optional<double> entitled_wait_mean = {};
  Seconds longest_denied = {};
};

struct SimulationPolicyRows {
  SimulationResultRow result;
  std::span<const SimulationCurveRow> curve;
  std::span<const SimulationTaskRow> tasks;
  std::span<const SimulationUtilisationRow> utilisation;
  std::span<const SimulationQueueRow> queues = {};
};

// kExists when the name is taken and `replace` is false; with `replace` the old rows go.
Status start_simulation(Database& db, const SimulationRecord& record, bool replace = false);
// Adds one policy's rows; kExists when that simulation has the policy already.
Status save_simulation_policy(Database& db, const std::string& simulation, const SimulationPolicyRows& rows);
Status drop_simulation(Database& db, const std::string& simulation);

}  // namespace berth
