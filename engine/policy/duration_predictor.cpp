#include "engine/policy/duration_predictor.h"

#include <algorithm>

#include "engine/model/hash.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, kPredictionLevels> kLevelNames = {
    "tag+user+models+request", "tag+user", "tag", "user+request", "user", "request", "all", "time_limit", "unknown"};

std::size_t level_index(PredictionLevel level) { return static_cast<std::size_t>(level); }

std::uint64_t mixed(PredictionLevel level, std::initializer_list<std::uint64_t> parts) {
  std::uint64_t seed = level_index(level) + 1;
  for (const std::uint64_t part : parts) hash_add(seed, part);
  return seed;
}

Seconds capped(Seconds duration, Seconds limit) { return limit > Seconds(0) ? std::min(duration, limit) : duration; }

}  // namespace

std::string_view prediction_level_name(PredictionLevel level) { return kLevelNames[level_index(level)]; }

std::optional<PredictionLevel> find_prediction_level(std::string_view name) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), name);
  if (found == kLevelNames.end()) return std::nullopt;
  return static_cast<PredictionLevel>(found - kLevelNames.begin());
}

std::uint64_t feature_of(std::string_view text) {
  if (text.empty()) return 0;
  std::uint64_t hash = text.size();
  std::uint64_t word = 0;
  int filled = 0;
  for (const char c : text) {
    word = (word << 8) | static_cast<unsigned char>(c);
    if (++filled < 8) continue;
    hash_add(hash, word);
    word = 0;
    filled = 0;
  }
  hash_add(hash, word);
  return std::max<std::uint64_t>(hash, 1);
}

std::uint64_t request_feature(std::span<const TaskGroup> groups) {
  std::uint64_t hash = groups.size();
  for (const TaskGroup& group : groups) {
    for (const std::int64_t amount :
         {std::int64_t{group.count}, group.shape.cpu.value(), group.shape.memory.value(),
          std::int64_t{group.shape.gpu_count}, group.shape.gpu_milli.value(), group.shape.gpu_memory.value()}) {
      hash_add(hash, static_cast<std::uint64_t>(amount));
    }
  }
  return std::max<std::uint64_t>(hash, 1);
}

std::array<std::optional<std::uint64_t>, kHistoryLevels> prediction_keys(const DurationFeatures& features) {
  using Level = PredictionLevel;
  std::array<std::optional<std::uint64_t>, kHistoryLevels> keys;
  const auto set = [&](Level level, std::initializer_list<std::uint64_t> parts) {
    keys[level_index(level)] = mixed(level, parts);
  };
  if (features.tag != 0) {
    set(Level::kTagUserModelsRequest, {features.tag, features.user, features.models, features.request});
    set(Level::kTagUser, {features.tag, features.user});
    set(Level::kTag, {features.tag});
  }
  if (features.user != 0) {
    set(Level::kUserRequest, {features.user, features.request});
    set(Level::kUser, {features.user});
  }
  set(Level::kRequest, {features.request});
  set(Level::kAll, {});
  return keys;
}

DurationEstimate estimate_of_key(PredictionLevel level, const DurationHistory& history, const PredictorKnobs& knobs,
                                 Seconds now) {
  const std::int64_t count = history.count(now, knobs.half_life);
  const bool enough = count >= std::max<std::int64_t>(knobs.min_count, 1);
  if (!enough && (count == 0 || level > PredictionLevel::kTag)) return {};
  DurationEstimate estimate = history.estimate(now, knobs.half_life);
  const std::optional<Seconds> bound = history.bound(now, knobs.half_life);
  estimate.is_rough = !bound;
  if (bound) estimate.p90 = std::max(estimate.p90, *bound);
  if (enough) return estimate;
  estimate.p80 = std::max(estimate.p80, Seconds(estimate.p50.value() * 5 / 4));
  estimate.p90 = std::max(estimate.p90, Seconds(estimate.p50.value() * 3 / 2));
  return estimate;
}

Prediction predict_from(const DurationFeatures& features,
                        const std::function<const DurationHistory*(PredictionLevel, std::uint64_t key)>& history_of,
                        const PredictorKnobs& knobs, Seconds now, Seconds time_limit) {
  const auto keys = prediction_keys(features);
  std::optional<Prediction> of_few;  // of the narrowest level of the tag with too few runs
  for (std::size_t i = 0; knobs.is_on && i < kHistoryLevels; ++i) {
    const auto level = static_cast<PredictionLevel>(i);
    if (level > PredictionLevel::kTag && of_few) break;
    if (!keys[i]) continue;
    const DurationHistory* history = history_of(level, *keys[i]);
    if (history == nullptr) continue;
    const DurationEstimate estimate = estimate_of_key(level, *history, knobs, now);
    if (estimate.p50 == Seconds(0)) continue;
    Prediction made{.estimate = estimate, .level = level, .count = history->count(now, knobs.half_life)};
    for (Seconds* each : {&made.estimate.p50, &made.estimate.p80, &made.estimate.p90})
      *each = capped(*each, time_limit);
    if (made.count >= knobs.min_count) return made;
    if (!of_few) of_few = made;
  }
  if (of_few) return *of_few;
  if (time_limit > Seconds(0)) return {{time_limit, time_limit, time_limit}, PredictionLevel::kTimeLimit, 0};
  return {};
}

bool teaches_duration(JobState end, Seconds duration, Seconds time_limit) {
  const bool is_out_of_time = time_limit > Seconds(0) && duration >= time_limit;
  return end == JobState::kFinished || (end == JobState::kFailed && is_out_of_time);
}

std::int64_t prediction_error_percent(Seconds predicted, Seconds actual) {
  const std::int64_t length = std::max<std::int64_t>(actual.value(), 1);
  const std::int64_t miss =
      predicted > actual ? predicted.value() - actual.value() : actual.value() - predicted.value();
  if (miss / length >= kMostErrorPercent / 100) return kMostErrorPercent;
  return divide_up(miss * 100, length);
}

void PredictionAccuracy::add(const DurationEstimate& predicted, Seconds actual) {
  const auto percent = static_cast<std::size_t>(prediction_error_percent(predicted.p50, actual));
  ++by_error[percent];
  ++runs;
  if (actual > predicted.p90) return;
  ++held_by_error[percent];
  ++p90_held;
}

std::int64_t PredictionAccuracy::within(std::int64_t percent) const {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i <= std::min(percent, kMostErrorPercent); ++i) {
    count += by_error[static_cast<std::size_t>(i)];
  }
  return count;
}

std::int64_t PredictionAccuracy::median_error() const {
  std::int64_t seen = 0;
  for (std::int64_t percent = 0; percent <= kMostErrorPercent; ++percent) {
    seen += by_error[static_cast<std::size_t>(percent)];
    if (seen > 0 && seen * 2 >= runs) return percent;
  }
  return 0;
}

Prediction DurationPredictor::predict(const DurationFeatures& features, Seconds now, Seconds time_limit) const {
  return predict_from(
      features,
      [this](PredictionLevel level, std::uint64_t key) -> const DurationHistory* {
        const Index& index = index_[level_index(level)];
        const auto found = index.find(key);
        return found != index.end() ? &found->second->history : nullptr;
      },
      knobs_, now, time_limit);
}

void DurationPredictor::observe(const DurationFeatures& features, Seconds duration, Seconds now) {
  const auto keys = prediction_keys(features);
  for (std::size_t i = 0; i < kHistoryLevels; ++i) {
    if (keys[i]) touch(static_cast<PredictionLevel>(i), *keys[i]).observe(duration, now);
  }
}

void DurationPredictor::compare(const Prediction& made, Seconds actual) {
  accuracy_[level_index(made.level)].add(made.estimate, actual);
}

void DurationPredictor::put(Entry entry) { touch(entry.level, entry.key) = std::move(entry.history); }

DurationHistory& DurationPredictor::touch(PredictionLevel level, std::uint64_t key) {
  Index& index = index_[level_index(level)];
  if (const auto found = index.find(key); found != index.end()) {
    entries_.splice(entries_.end(), entries_, found->second);
    return found->second->history;
  }
  // A job has a key at every level: fewer than that would drop what it has just written.
  if (entries_.size() >= std::max(knobs_.max_keys, kHistoryLevels)) {
    const Entry& oldest = entries_.front();
    index_[level_index(oldest.level)].erase(oldest.key);
    entries_.pop_front();
  }
  entries_.push_back({level, key, {}});
  index[key] = std::prev(entries_.end());
  return entries_.back().history;
}

}  // namespace berth
