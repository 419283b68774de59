// How long will this job run? As long as jobs like it ran.
//
// Most jobs of a training cluster come again (65 % of PAI's tasks at least five times, NSDI'22), so the past durations
// of the same work are the prediction. "Like it" has levels, from the narrowest to the widest; the first level whose
// key has seen at least `min_count` runs lately answers (algorithms.md 3.3; the paper grows a regression tree over the
// same features, which on such keys comes to nearly the same, but cannot learn from one job at a time):
//
//   tag+user+models+request, tag+user, tag, user+request, user, request, all
//
// A job without a tag skips the levels that need one. Fewer runs than that of the job's own tag still say more than
// many runs of other work: they answer before the levels without a tag, with a p80 and p90 widened to 5/4 and 3/2 of
// the p50, since so few do not show how runs vary. Only runs that finished are observed, and those that their time
// limit ended (teaches_duration): one that failed, was cancelled or evicted says little about how long it would have
// taken. The job's time limit caps the answer, and is the answer when nothing is known.
//
// A p90 is a belief; what is promised to others must not rest on one that runs do not bear out. Where they do, the p90
// is at least DurationHistory::bound(), which says when; else it is rough (DurationEstimate::is_rough), and a
// job's time limit bounds it.
//
// DurationPredictor keeps everything in memory (simulations, bulk imports); the database keeps the same histories as
// rows (store/prediction_records.h) and asks through predict_from(). Pure and deterministic; a prediction and an
// observation cost the same however much was seen. At most `max_keys` keys: the one longest without an observation
// goes first.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/model/job.h"
#include "engine/policy/duration_history.h"

namespace berth {

enum class PredictionLevel : std::uint8_t {
  kTagUserModelsRequest,
  kTagUser,
  kTag,
  kUserRequest,
  kUser,
  kRequest,
  kAll,
  kTimeLimit,  // no history: the job's time limit
  kUnknown,    // no history, no limit
};
inline constexpr std::size_t kHistoryLevels = 7;  // those above kTimeLimit
inline constexpr std::size_t kPredictionLevels = 9;
std::string_view prediction_level_name(PredictionLevel level);  // "tag+user", "time_limit", ...
std::optional<PredictionLevel> find_prediction_level(std::string_view name);

// What is known of a job before it runs, as hashes (feature_of).
struct DurationFeatures {
  std::uint64_t tag = 0;      // of the recurrence group; 0 = none
  std::uint64_t user = 0;     // 0 = not known
  std::uint64_t models = 0;   // allowed device models
  std::uint64_t request = 0;  // what its groups ask for, request_feature()

  bool operator==(const DurationFeatures&) const = default;
};
// Never 0 unless the text is empty; the same on every machine.
std::uint64_t feature_of(std::string_view text);
// Of the groups' sizes and shapes, device models aside.
std::uint64_t request_feature(std::span<const TaskGroup> groups);

// The key of each history level; nothing where the level needs a tag or a user the job does not have.
std::array<std::optional<std::uint64_t>, kHistoryLevels> prediction_keys(const DurationFeatures& features);

// What ends so tells how long such work runs: it finished, or its time limit ended it.
bool teaches_duration(JobState end, Seconds duration, Seconds time_limit);

struct PredictorKnobs {
  bool is_on = true;               // else time limits are all that is known
  std::int64_t min_count = 3;      // runs a level must have seen to be asked first
  Seconds half_life{30 * 86400};   // of a run's weight
  std::size_t max_keys = 1000000;  // kept in memory
};

struct Prediction {
  DurationEstimate estimate;  // p50 <= p80 <= p90; all 0 at kUnknown
  PredictionLevel level = PredictionLevel::kUnknown;
  std::int64_t count = 0;  // runs it rests on, decayed

  bool operator==(const Prediction&) const = default;
};
// What a key of that level would answer, uncapped; all 0 where it knows too little to be asked. is_on is not asked.
DurationEstimate estimate_of_key(PredictionLevel level, const DurationHistory& history, const PredictorKnobs& knobs,
                                 Seconds now);
// `history_of` finds the history of a key at a level, or null; asked level by level until one answers.
Prediction predict_from(const DurationFeatures& features,
                        const std::function<const DurationHistory*(PredictionLevel, std::uint64_t key)>& history_of,
                        const PredictorKnobs& knobs, Seconds now, Seconds time_limit);

// |predicted - actual| of the p50 in percent of the actual duration, cut at kMostErrorPercent.
inline constexpr std::int64_t kMostErrorPercent = 200;
std::int64_t prediction_error_percent(Seconds predicted, Seconds actual);

// How good the predictions of one level were.
struct PredictionAccuracy {
  std::array<std::int64_t, kMostErrorPercent + 1> by_error = {};       // runs by error in percent
  std::array<std::int64_t, kMostErrorPercent + 1> held_by_error = {};  // those that took no longer than their p90
  std::int64_t runs = 0;
  std::int64_t p90_held = 0;

  void add(const DurationEstimate& predicted, Seconds actual);
  std::int64_t within(std::int64_t percent) const;  // runs with an error of at most so much
  std::int64_t median_error() const;                // percent; 0 when there is none
};

class DurationPredictor {
 public:
  explicit DurationPredictor(PredictorKnobs knobs = {}) : knobs_(knobs) {}

  // At submission. `time_limit` 0 = none.
  Prediction predict(const DurationFeatures& features, Seconds now, Seconds time_limit = Seconds(0)) const;
  // At the end of a run that finished.
  void observe(const DurationFeatures& features, Seconds duration, Seconds now);
  // At the same end, for the measured error: what had been predicted at submission, and how long it was.
  void compare(const Prediction& made, Seconds actual);

  const PredictionAccuracy& accuracy(PredictionLevel level) const { return accuracy_[static_cast<std::size_t>(level)]; }
  std::size_t key_count() const { return entries_.size(); }

  // What is kept, longest without an observation first: put() of each in that order makes an equal predictor.
  struct Entry {
    PredictionLevel level = PredictionLevel::kAll;
    std::uint64_t key = 0;
    DurationHistory history;
  };
  const std::list<Entry>& entries() const { return entries_; }
  void put(Entry entry);

 private:
  using Index = std::unordered_map<std::uint64_t, std::list<Entry>::iterator>;
  DurationHistory& touch(PredictionLevel level, std::uint64_t key);

  PredictorKnobs knobs_;
  std::list<Entry> entries_;  // the last observed at the end
  std::array<Index, kHistoryLevels> index_;
  std::array<PredictionAccuracy, kPredictionLevels> accuracy_;
};

}  // namespace berth
