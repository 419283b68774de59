// Durations of past runs as rows, and predictions from them: the memory of policy/duration_predictor.h.
//
// Rows are read when a key is first asked for, kept, and written by flush(): a submission reads at most seven of them,
// a run that finishes writes at most seven and one of measured error, and an import of a hundred thousand runs writes
// each key once. All of it happens inside the caller's transaction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/policy/duration_predictor.h"
#include "engine/store/change.h"

namespace berth {

// What is known of a job before it runs, in words that a person can read; equal words are equal features.
struct JobFeatures {
  std::string tag;  // empty = none
  std::string user;
  std::string models;   // "any", "A100|T4", of several groups "A100 + any"
  std::string request;  // "8 x (1 GPU, 16 CPU, 64GiB)", of several groups joined by " + "

  // One more task group. `models` as the column of task_groups has it, empty = any.
  void add_group(std::int64_t tasks, const TaskShape& asked, std::string_view allowed_models);
  DurationFeatures hashed() const;
};
// Of a job in the tables, by what it asked for (not what right-sizing made of that).
Result<JobFeatures> read_job_features(Database& db, std::int64_t job);

class PredictionRecords {
 public:
  // With the settings predict_durations, prediction_min_count and prediction_half_life. `db` must outlive it.
  static Result<PredictionRecords> open(Database& db);
  PredictionRecords(Database& db, PredictorKnobs knobs) : db_(&db), knobs_(knobs) {}

  Result<Prediction> predict(const JobFeatures& features, Seconds now, Seconds time_limit);
  // A run that finished.
  Status observe(const JobFeatures& features, Seconds duration, Seconds end);
  // What had been predicted for it at its submission.
  void compare(const Prediction& made, Seconds actual);
  // Writes what has changed since the last flush.
  Status flush();

 private:
  struct Kept {
    DurationHistory history;
    std::int64_t runs = 0;
    bool changed = false;
    JobFeatures words;  // to write a key that is new
  };
  using KeyName = std::pair<PredictionLevel, std::uint64_t>;
  Result<Kept*> find(PredictionLevel level, std::uint64_t key);
  Status write(const KeyName& name, const Kept& kept);

  Database* db_;
  PredictorKnobs knobs_;
  std::map<KeyName, Kept> kept_;
  std::array<PredictionAccuracy, kPredictionLevels> accuracy_ = {};  // since the last flush
};

// The column prediction_keys.samples; kCorrupt when it is not pairs of seconds and end.
Result<DurationHistory> read_history(std::string_view samples);

// One run of the past that teaches, for learning from many at once.
struct PastRun {
  JobFeatures features;
  Seconds submit;
  Seconds end;
  Seconds duration;
  Seconds time_limit;  // 0 = none
};
// Learns from `runs` as if they had ended one after the other: each is predicted from those that ended before it was
// submitted, so the measured error is honest. Any order.
Status learn_runs(PredictionRecords& records, std::vector<PastRun> runs);

// A job that runs has ended so at that moment: if that teaches, its duration is learnt and compared with what was
// predicted at its submission. Nothing is learnt of a run that went on from a checkpoint: it is only a part.
Status learn_ended_job(Change& change, std::int64_t job, JobState end, Seconds ended);

// Forgets every key and measured error and learns them anew from the runs in the database. How many.
Result<std::int64_t> rebuild_predictions(Change& change);

}  // namespace berth
