#include "engine/runtime/prediction.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/store/prediction_records.h"
#include "engine/store/settings.h"

namespace berth {

Result<std::vector<PredictionKey>> list_predictions(Database& db, const PredictionFilter& filter, Seconds now) {
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT level, coalesce(tag, ''), coalesce(user_name, ''), coalesce(models, ''), "
                          "coalesce(request, ''), runs, last_end, samples FROM prediction_keys k "
                          "WHERE (?1 IS NULL OR k.tag = ?1) AND (?2 IS NULL OR "
                          "EXISTS (SELECT 1 FROM jobs j WHERE j.queue_id = ?2 AND (k.tag IS NOT NULL OR k.user_name IS "
                          "NOT NULL) AND (k.tag IS NULL OR j.tag = k.tag) AND "
                          "(k.user_name IS NULL OR j.user_name = k.user_name))) "
                          "ORDER BY last_end DESC, level, key LIMIT ?3"));
  rows.with(filter.tag, filter.queue, filter.most);
  std::vector<PredictionKey> keys;
  while (rows.next()) {
    PredictionKey key;
    key.level = find_prediction_level(rows.text(0)).value_or(PredictionLevel::kUnknown);
    key.tag = rows.text(1);
    key.user = rows.text(2);
    key.models = rows.text(3);
    key.request = rows.text(4);
    key.runs = rows.integer(5);
    key.last_end = rows.quantity<Seconds>(6);
    BERTH_ASSIGN(const DurationHistory history, read_history(rows.text(7)));
    key.prediction.level = key.level;
    key.prediction.count = history.count(now, settings.predictor.half_life);
    key.prediction.estimate = estimate_of_key(key.level, history, settings.predictor, now);
    keys.push_back(std::move(key));
  }
  BERTH_TRY(rows.status());
  std::stable_sort(keys.begin(), keys.end(),
                   [](const PredictionKey& a, const PredictionKey& b) { return a.level < b.level; });
  return keys;
}

Result<std::vector<LevelAccuracy>> measured_accuracy(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT level, error_percent, runs, p90_held FROM prediction_errors"));
  std::vector<LevelAccuracy> levels(kPredictionLevels);
  while (rows.next()) {
    const std::optional<PredictionLevel> level = find_prediction_level(rows.text(0));
    if (!level) return Status(Code::kCorrupt, fmt::format("measured errors of an unknown level '{}'", rows.text(0)));
    PredictionAccuracy& accuracy = levels[static_cast<std::size_t>(*level)].accuracy;
    const auto percent = static_cast<std::size_t>(std::clamp<std::int64_t>(rows.integer(1), 0, kMostErrorPercent));
    accuracy.by_error[percent] += rows.integer(2);
    accuracy.held_by_error[percent] += rows.integer(3);
    accuracy.runs += rows.integer(2);
    accuracy.p90_held += rows.integer(3);
  }
  BERTH_TRY(rows.status());
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i].level = static_cast<PredictionLevel>(i);
  std::erase_if(levels, [](const LevelAccuracy& level) { return level.accuracy.runs == 0; });
  return levels;
}

}  // namespace berth
