// What the database knows about how long jobs run, and how well it predicted: SHOW PREDICTIONS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/policy/duration_predictor.h"
#include "engine/store/sqlite.h"

namespace berth {

// One key: what its runs have in common, and what is predicted for the next. Words a level does not look at are empty.
struct PredictionKey {
  PredictionLevel level = PredictionLevel::kAll;
  std::string tag;
  std::string user;
  std::string models;
  std::string request;
  std::int64_t runs = 0;  // ever observed
  Prediction prediction;  // count: runs it rests on now; no estimate where they are too few
  Seconds last_end;
};

struct PredictionFilter {
  std::optional<std::int64_t> queue = {};  // keys with the tag or the user of one of its jobs
  std::optional<std::string> tag = {};
  std::int64_t most = 20;  // those that a run ended under last
};
// The narrowest level first, within a level the latest end first.
Result<std::vector<PredictionKey>> list_predictions(Database& db, const PredictionFilter& filter, Seconds now);

struct LevelAccuracy {
  PredictionLevel level = PredictionLevel::kAll;
  PredictionAccuracy accuracy;
};
// Levels that ever answered for a run that finished.
Result<std::vector<LevelAccuracy>> measured_accuracy(Database& db);

}  // namespace berth
