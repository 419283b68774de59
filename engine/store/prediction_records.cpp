#include "engine/store/prediction_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr std::size_t kMostKeptKeys = 100000;  // then they are written and read again when needed

std::string sorted_models(std::string_view models) {
  if (models.empty()) return "any";
  std::vector<std::string> names;
  for (const std::string_view name : split(models, '|')) names.emplace_back(trim(name));
  std::sort(names.begin(), names.end());
  return join(names, "|");
}

std::string request_text(std::int64_t tasks, const TaskShape& asked) {
  std::vector<std::string> parts;
  if (asked.gpu_count > 0) {
    parts.push_back(print_gpu(asked.gpu_total()) + " GPU");
    if (asked.is_fraction() && asked.gpu_memory > MiB(0)) parts.back() += " of " + print_memory(asked.gpu_memory);
  }
  if (asked.cpu > MilliCpu(0)) parts.push_back(print_cpu(asked.cpu) + " CPU");
  if (asked.memory > MiB(0)) parts.push_back(print_memory(asked.memory));
  return fmt::format("{} x ({})", tasks, join(parts, ", "));
}

std::string samples_text(const DurationHistory& history) {
  nlohmann::json samples = nlohmann::json::array();
  for (const DurationSample& sample : history.samples()) {
    samples.push_back({sample.duration.value(), sample.end.value()});
  }
  return samples.dump();
}

bool looks_at_tag(PredictionLevel level) { return level <= PredictionLevel::kTag; }
bool looks_at_user(PredictionLevel level) {
  return level <= PredictionLevel::kTagUser || level == PredictionLevel::kUserRequest ||
         level == PredictionLevel::kUser;
}
bool looks_at_models(PredictionLevel level) { return level == PredictionLevel::kTagUserModelsRequest; }
bool looks_at_request(PredictionLevel level) {
  return level == PredictionLevel::kTagUserModelsRequest || level == PredictionLevel::kUserRequest ||
         level == PredictionLevel::kRequest;
}

std::optional<std::string_view> shown(bool is_looked_at, const std::string& word) {
  return is_looked_at ? std::optional<std::string_view>(word) : std::nullopt;
}

// SQLite's integers are signed; the bits are what counts.
std::int64_t signed_key(std::uint64_t key) { return static_cast<std::int64_t>(key); }

}  // namespace

Result<DurationHistory> read_history(std::string_view text) {
  const nlohmann::json samples = nlohmann::json::parse(text, nullptr, false);
  DurationHistory history;
  const auto is_pair = [](const nlohmann::json& each) {
    return each.is_array() && each.size() == 2 && each[0].is_number_integer() && each[1].is_number_integer();
  };
  if (!samples.is_array() || !std::all_of(samples.begin(), samples.end(), is_pair)) {
    return Status(Code::kCorrupt, "the samples of a prediction key are not pairs of seconds and end",
                  "REBUILD PREDICTIONS learns them anew");
  }
  for (const nlohmann::json& each : samples) {
    history.observe(Seconds(each[0].get<std::int64_t>()), Seconds(each[1].get<std::int64_t>()));
  }
  return history;
}

void JobFeatures::add_group(std::int64_t tasks, const TaskShape& asked, std::string_view allowed_models) {
  const std::string_view separator = request.empty() ? "" : " + ";
  request += separator;
  request += request_text(tasks, asked);
  if (asked.gpu_count == 0) return;
  if (!models.empty()) models += " + ";
  models += sorted_models(allowed_models);
}

DurationFeatures JobFeatures::hashed() const {
  return {feature_of(tag), feature_of(user), feature_of(models), feature_of(request)};
}

Result<JobFeatures> read_job_features(Database& db, std::int64_t job) {
  JobFeatures features;
  BERTH_ASSIGN(Statement row, db.prepare("SELECT tag, user_name FROM jobs WHERE id = ?1"));
  if (!row.with(job).next()) {
    BERTH_TRY(row.status());
    return Status(Code::kNotFound, fmt::format("no job {}", job));
  }
  features.tag = row.text(0);
  features.user = row.text(1);
  BERTH_ASSIGN(Statement groups,
               db.prepare("SELECT g.task_count, coalesce(r.cpu_milli, g.cpu_milli), "
                          "coalesce(r.memory_mib, g.memory_mib), coalesce(r.gpu_count, g.gpu_count), "
                          "coalesce(r.gpu_milli, g.gpu_milli), coalesce(r.gpu_memory_mib, g.gpu_memory_mib), g.models "
                          "FROM task_groups g LEFT JOIN requested_amounts r USING (job_id, group_index) "
                          "WHERE g.job_id = ?1 ORDER BY g.group_index"));
  groups.with(job);
  while (groups.next()) {
    TaskShape asked;
    asked.cpu = groups.quantity<MilliCpu>(1);
    asked.memory = groups.quantity<MiB>(2);
    asked.gpu_count = static_cast<std::int32_t>(groups.integer(3));
    asked.gpu_milli = groups.quantity<MilliGpu>(4);
    asked.gpu_memory = groups.quantity<MiB>(5);
    features.add_group(groups.integer(0), asked, groups.text(6));
  }
  BERTH_TRY(groups.status());
  return features;
}

Result<PredictionRecords> PredictionRecords::open(Database& db) {
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  return PredictionRecords(db, settings.predictor);
}

Result<PredictionRecords::Kept*> PredictionRecords::find(PredictionLevel level, std::uint64_t key) {
  if (const auto found = kept_.find({level, key}); found != kept_.end()) return &found->second;
  Kept kept;
  BERTH_ASSIGN(Statement row, db_->prepare("SELECT samples, runs FROM prediction_keys WHERE level = ?1 AND key = ?2"));
  if (row.with(prediction_level_name(level), signed_key(key)).next()) {
    BERTH_ASSIGN(kept.history, read_history(row.text(0)));
    kept.runs = row.integer(1);
  }
  BERTH_TRY(row.status());
  return &(kept_[{level, key}] = std::move(kept));
}

Result<Prediction> PredictionRecords::predict(const JobFeatures& features, Seconds now, Seconds time_limit) {
  Status failed;
  const Prediction made = predict_from(
      features.hashed(),
      [&](PredictionLevel level, std::uint64_t key) -> const DurationHistory* {
        Result<Kept*> kept = find(level, key);
        if (!kept.ok()) failed = std::move(kept).status();
        return failed.ok() ? &(*kept)->history : nullptr;
      },
      knobs_, now, time_limit);
  BERTH_TRY(std::move(failed));
  return made;
}

Status PredictionRecords::observe(const JobFeatures& features, Seconds duration, Seconds end) {
  if (kept_.size() > kMostKeptKeys) {
    BERTH_TRY(flush());
    kept_.clear();
  }
  const auto keys = prediction_keys(features.hashed());
  for (std::size_t i = 0; i < kHistoryLevels; ++i) {
    if (!keys[i]) continue;
    BERTH_ASSIGN(Kept * kept, find(static_cast<PredictionLevel>(i), *keys[i]));
    kept->history.observe(duration, end);
    kept->words = features;
    kept->changed = true;
    ++kept->runs;
  }
  return {};
}

void PredictionRecords::compare(const Prediction& made, Seconds actual) {
  accuracy_[static_cast<std::size_t>(made.level)].add(made.estimate, actual);
}

Status PredictionRecords::write(const KeyName& name, const Kept& kept) {
  const PredictionLevel level = name.first;
  BERTH_ASSIGN(Statement put,
               db_->prepare("INSERT INTO prediction_keys (level, key, tag, user_name, models, request, runs, last_end, "
                            "samples) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (level, key) DO UPDATE "
                            "SET runs = excluded.runs, last_end = excluded.last_end, samples = excluded.samples"));
  return put.run(prediction_level_name(level), signed_key(name.second), shown(looks_at_tag(level), kept.words.tag),
                 shown(looks_at_user(level), kept.words.user), shown(looks_at_models(level), kept.words.models),
                 shown(looks_at_request(level), kept.words.request), kept.runs, kept.history.samples().back().end,
                 samples_text(kept.history));
}

Status PredictionRecords::flush() {
  for (auto& [name, kept] : kept_) {
    if (!kept.changed) continue;
    BERTH_TRY(write(name, kept));
    kept.changed = false;
  }
  BERTH_ASSIGN(Statement add, db_->prepare("INSERT INTO prediction_errors (level, error_percent, runs, p90_held) "
                                           "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (level, error_percent) DO UPDATE SET "
                                           "runs = runs + excluded.runs, p90_held = p90_held + excluded.p90_held"));
  for (std::size_t i = 0; i < kPredictionLevels; ++i) {
    PredictionAccuracy& accuracy = accuracy_[i];
    for (std::size_t percent = 0; percent < accuracy.by_error.size() && accuracy.runs > 0; ++percent) {
      if (accuracy.by_error[percent] == 0) continue;
      BERTH_TRY(add.run(prediction_level_name(static_cast<PredictionLevel>(i)), percent, accuracy.by_error[percent],
                        accuracy.held_by_error[percent]));
    }
    accuracy = {};
  }
  return {};
}

Status learn_runs(PredictionRecords& records, std::vector<PastRun> runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const PastRun& a, const PastRun& b) { return a.submit < b.submit; });
  std::vector<std::size_t> by_end(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) by_end[i] = i;
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](std::size_t a, std::size_t b) { return runs[a].end < runs[b].end; });
  std::vector<Prediction> made(runs.size());
  std::size_t submitted = 0;
  for (const std::size_t ended : by_end) {
    const PastRun& run = runs[ended];
    // Whoever was submitted before this end was predicted without it.
    for (; submitted < runs.size() && (runs[submitted].submit < run.end || submitted <= ended); ++submitted) {
      const PastRun& next = runs[submitted];
      BERTH_ASSIGN(made[submitted], records.predict(next.features, next.submit, next.time_limit));
    }
    records.compare(made[ended], run.duration);
    BERTH_TRY(records.observe(run.features, run.duration, run.end));
  }
  return records.flush();
}

Status learn_ended_job(Change& change, std::int64_t job, JobState end, Seconds ended) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement row, db.prepare("SELECT start_time, predicted_p50_s, predicted_p80_s, predicted_p90_s, "
                                         "predicted_level, evictions > 0 AND (checkpoint_interval_s > 0 OR "
                                         "checkpoint_grace_s > 0), time_limit_s "
                                         "FROM jobs WHERE id = ?1"));
  if (!row.with(job).next()) return row.status();
  if (row.integer(5) != 0 || row.is_null(0)) return {};
  const Seconds duration = ended - row.quantity<Seconds>(0);
  if (duration <= Seconds(0)) return {};  // the clock was set back, or it did nothing
  if (!teaches_duration(end, duration, row.quantity<Seconds>(6))) return {};
  Prediction made;
  made.estimate = {row.quantity<Seconds>(1), row.quantity<Seconds>(2), row.quantity<Seconds>(3)};
  made.level = find_prediction_level(row.text(4)).value_or(PredictionLevel::kUnknown);
  BERTH_ASSIGN(const JobFeatures features, read_job_features(db, job));
  BERTH_ASSIGN(PredictionRecords records, PredictionRecords::open(db));
  records.compare(made, duration);
  BERTH_TRY(records.observe(features, duration, ended));
  return records.flush();
}

Result<std::int64_t> rebuild_predictions(Change& change) {
  Database& db = change.db();
  BERTH_TRY(db.execute("DELETE FROM prediction_keys; DELETE FROM prediction_errors"));
  std::vector<PastRun> runs;
  BERTH_ASSIGN(
      Statement rows,
      db.prepare(
          "SELECT j.id, j.submit_time, r.end_time, r.end_time - r.start_time, j.time_limit_s, r.state = 'succeeded' "
          "FROM runs r JOIN jobs j ON j.id = r.job_id WHERE r.state IN ('succeeded', 'failed') AND "
          "r.end_time > r.start_time "
          "AND NOT (j.evictions > 0 AND (j.checkpoint_interval_s > 0 OR j.checkpoint_grace_s > 0)) ORDER BY r.id"));
  while (rows.next()) {
    const JobState end = rows.integer(5) != 0 ? JobState::kFinished : JobState::kFailed;
    if (!teaches_duration(end, rows.quantity<Seconds>(3), rows.quantity<Seconds>(4))) continue;
    BERTH_ASSIGN(JobFeatures features, read_job_features(db, rows.integer(0)));
    runs.push_back({std::move(features), rows.quantity<Seconds>(1), rows.quantity<Seconds>(2),
                    rows.quantity<Seconds>(3), rows.quantity<Seconds>(4)});
  }
  BERTH_TRY(rows.status());
  const auto count = static_cast<std::int64_t>(runs.size());
  BERTH_ASSIGN(PredictionRecords records, PredictionRecords::open(db));
  BERTH_TRY(learn_runs(records, std::move(runs)));
  BERTH_TRY(change.record("rebuild predictions", "", print_counted(count, "run")));
  return count;
}

}  // namespace berth
