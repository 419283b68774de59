// BACKTEST: the database's own past under other policies, side by side with what really happened.
//
// The jobs submitted between two moments come again as they came (runtime/backtest_history.h), on today's nodes and
// quotas, beginning with what was there at the first moment; the timed simulator (sim/timed.h) plays each candidate. A
// candidate is a policy as SIMULATE names it, or `live`: what the settings say. All else that a round goes by is as the
// settings say, too, unless the candidate says otherwise. Durations are predicted as a live round would have known
// them.
//
// Results are saved like those of simulations, each candidate as soon as it is complete. Saved and fresh ones are the
// same rows: what is shown is what was kept.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/backtest_history.h"
#include "engine/runtime/simulate.h"
#include "engine/runtime/simulated_cluster.h"
#include "engine/store/backtest_records.h"
#include "engine/store/settings.h"

namespace berth {

inline constexpr std::string_view kLivePolicy = "live";
inline constexpr std::string_view kRecordedPolicy = "recorded";

struct BacktestCandidate {
  std::string policy;          // "live", "fair_share + berth"
  SettingOverrides overrides;  // of it alone
};

struct BacktestRequest {
  std::vector<BacktestCandidate> candidates;
  Seconds from;
  Seconds to;
  SimulationTarget target;
  ClusterSource cluster;
  SettingOverrides overrides;  // of all candidates
  Unfinished unfinished = Unfinished::kPredicted;
  bool knows_durations = false;  // rounds know how long each job will run, instead of predicting it
  Seconds round_interval{60};    // between rounds while jobs wait
  std::int64_t seeds = 1;
  std::uint64_t seed = 42;
  SimulationControl control;
};

struct BacktestReport {
  SavedBacktest told;  // the first of its policies is what was recorded, where the database knows the waits
  bool interrupted = false;
  std::vector<std::string> infeasible;  // a sentence per job that can never start, for the first of them
  std::int64_t infeasible_jobs = 0;
  std::int64_t events = 0;  // of all runs, and the processor time they took
  double run_seconds = 0;
  double read_seconds = 0;  // wall time, of reading the history
};

// kInvalid when there is nothing to go by; kInterrupted when no candidate was complete.
Result<BacktestReport> backtest(Runtime& runtime, const BacktestRequest& request);

}  // namespace berth
