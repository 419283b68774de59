// Results of backtests as rows, beside what store/simulations.h keeps of them: backtests, backtest_results,
// backtest_pairs. They go with their simulation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/store/sqlite.h"

namespace berth {

struct BacktestRecord {
  std::string simulation;
  Seconds from;
  Seconds to;
  std::int64_t jobs = 0;
  std::int64_t there = 0;
  std::int64_t seeds = 0;
  std::vector<std::string> notes;
};

// Seconds, milli-GPU-seconds; see sim/backtest_summary.h.
struct BacktestRow {
  std::optional<std::string> queue = {};  // nothing = all
  double jobs = 0;
  double started = 0;
  double ended = 0;
  std::optional<double> wait_mean = {};
  std::optional<double> wait_least = {};
  std::optional<double> wait_most = {};
  std::optional<double> wait_p50 = {};
  std::optional<double> wait_p90 = {};
  std::optional<double> wait_p99 = {};
  std::optional<double> completion_mean = {};
  std::optional<double> utilisation_pct = {};
  std::optional<double> fairness = {};
  std::optional<double> satisfied_share = {};
  std::optional<double> worst_finish_ratio = {};
  double evictions = 0;
  double lost = 0;
  double delivered = 0;
  std::optional<double> never_start = {};  // jobs, those there at the beginning counted; of all queues only
};

// Of one policy: all first, then its queues.
struct BacktestPolicyRows {
  std::string policy;
  std::int64_t sequence = 0;  // 0 = what was recorded
  std::vector<BacktestRow> rows;
};

struct BacktestPairRow {
  std::string policy;
  std::string baseline;
  std::int64_t jobs = 0;
  std::int64_t earlier = 0;
  std::int64_t later = 0;
  std::int64_t same = 0;
  std::int64_t only_here = 0;
  std::int64_t only_there = 0;
  double mean = 0;
  double mean_low = 0;
  double mean_high = 0;
  double median = 0;
  double median_low = 0;
  double median_high = 0;
};

// The simulation must be there.
Status save_backtest(Database& db, const BacktestRecord& record);
Status save_backtest_policy(Database& db, const std::string& simulation, const BacktestPolicyRows& policy);
Status save_backtest_pair(Database& db, const std::string& simulation, std::int64_t sequence,
                          const BacktestPairRow& pair);

struct SavedBacktest {
  BacktestRecord record;
  std::vector<BacktestPolicyRows> policies;
  std::vector<BacktestPairRow> pairs;
};
// kNotFound with the nearest name.
Result<SavedBacktest> load_backtest(Database& db, const std::string& simulation);

}  // namespace berth
