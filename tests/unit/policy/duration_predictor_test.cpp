#include "engine/policy/duration_predictor.h"

#include <gtest/gtest.h>

#include <random>

namespace berth {
namespace {

constexpr Seconds kNow{1000000};
constexpr Seconds kHalfLife{30 * 86400};

DurationFeatures features(std::string_view tag, std::string_view user, std::string_view models = "A100",
                          std::string_view request = "8x1") {
  return {feature_of(tag), feature_of(user), feature_of(models), feature_of(request)};
}

TEST(DurationHistory, PercentilesOfTheLastRuns) {
  DurationHistory history;
  for (int i = 1; i <= 10; ++i) history.observe(Seconds(100 * i), kNow);
  EXPECT_EQ(history.estimate(kNow, kHalfLife), (DurationEstimate{Seconds(500), Seconds(800), Seconds(900)}));
  EXPECT_EQ(history.count(kNow, kHalfLife), 10);
}

TEST(DurationHistory, KeepsTheLastOnesOnly) {
  DurationHistory history;
  for (std::size_t i = 0; i < DurationHistory::kCapacity; ++i) history.observe(Seconds(10), kNow);
  for (std::size_t i = 0; i < DurationHistory::kCapacity; ++i) history.observe(Seconds(70), kNow);
  EXPECT_EQ(history.samples().size(), DurationHistory::kCapacity);
  EXPECT_EQ(history.estimate(kNow, kHalfLife).p50, Seconds(70));
}

TEST(DurationHistory, WhatEndedLongAgoDoesNotPushOutWhatIsNew) {
  DurationHistory history;
  for (std::size_t i = 0; i < DurationHistory::kCapacity; ++i) history.observe(Seconds(70), kNow);
  history.observe(Seconds(10), kNow - Seconds(5));
  EXPECT_EQ(history.samples().front().duration, Seconds(70));
}

TEST(DurationHistory, OldRunsWeighLess) {
  DurationHistory history;
  for (int i = 0; i < 5; ++i) history.observe(Seconds(1000), kNow);
  for (int i = 0; i < 3; ++i) history.observe(Seconds(10), kNow + kHalfLife * 2);
  EXPECT_EQ(history.estimate(kNow, kHalfLife).p50, Seconds(1000));
  EXPECT_EQ(history.estimate(kNow + kHalfLife * 2, kHalfLife).p50, Seconds(10));
  EXPECT_EQ(history.count(kNow + kHalfLife * 2, kHalfLife), 4);
  EXPECT_EQ(history.count(kNow + kHalfLife * 100, kHalfLife), 0);
  EXPECT_EQ(history.estimate(kNow + kHalfLife * 100, kHalfLife), DurationEstimate{});
}

TEST(DurationHistory, BoundsTheNextRunWhereRunsBearItOut) {
  DurationHistory history;
  for (int i = 0; i < 8; ++i) history.observe(Seconds(100), kNow);
  EXPECT_EQ(history.bound(kNow, kHalfLife), std::nullopt);
  history.observe(Seconds(100), kNow);
  EXPECT_EQ(history.bound(kNow, kHalfLife), Seconds(100));
  EXPECT_EQ(history.bound(kNow + kHalfLife, kHalfLife), std::nullopt);  // they count half by then
  // One in ten may be longer; the bound is longer with it.
  history.observe(Seconds(500), kNow);
  EXPECT_EQ(history.bound(kNow, kHalfLife), Seconds(500));
  // Each longer than all before it: nothing bounds the next.
  DurationHistory rising;
  for (int i = 1; i <= 20; ++i) rising.observe(Seconds(100 * i), kNow);
  EXPECT_EQ(rising.bound(kNow, kHalfLife), std::nullopt);
}

TEST(DurationHistory, WeightHalvesAndNeverRises) {
  EXPECT_EQ(decayed_weight(Seconds(0), kHalfLife), DurationHistory::kFullWeight);
  EXPECT_EQ(decayed_weight(kHalfLife, kHalfLife), DurationHistory::kFullWeight / 2);
  EXPECT_EQ(decayed_weight(Seconds(-5), kHalfLife), DurationHistory::kFullWeight);
  std::int64_t last = DurationHistory::kFullWeight;
  for (std::int64_t age = 0; age < 25 * kHalfLife.value(); age += 7777) {
    const std::int64_t weight = decayed_weight(Seconds(age), kHalfLife);
    EXPECT_LE(weight, last);
    last = weight;
  }
  EXPECT_EQ(last, 0);
}

TEST(DurationPredictor, NothingKnown) {
  const DurationPredictor predictor;
  EXPECT_EQ(predictor.predict(features("bert", "ann"), kNow), Prediction{});
  const Prediction limited = predictor.predict(features("bert", "ann"), kNow, Seconds(3600));
  EXPECT_EQ(limited.level, PredictionLevel::kTimeLimit);
  EXPECT_EQ(limited.estimate, (DurationEstimate{Seconds(3600), Seconds(3600), Seconds(3600)}));
}

TEST(DurationPredictor, TheNarrowestLevelThatKnowsEnoughAnswers) {
  DurationPredictor predictor;
  for (int i = 0; i < 3; ++i) predictor.observe(features("bert", "ann"), Seconds(100), kNow);
  const auto level_of = [&](const DurationFeatures& of) { return predictor.predict(of, kNow).level; };
  EXPECT_EQ(level_of(features("bert", "ann")), PredictionLevel::kTagUserModelsRequest);
  EXPECT_EQ(level_of(features("bert", "ann", "T4")), PredictionLevel::kTagUser);
  EXPECT_EQ(level_of(features("bert", "bob")), PredictionLevel::kTag);
  EXPECT_EQ(level_of(features("gpt", "ann")), PredictionLevel::kUserRequest);
  EXPECT_EQ(level_of(features("", "ann")), PredictionLevel::kUserRequest);
  EXPECT_EQ(level_of(features("", "bob")), PredictionLevel::kRequest);
  EXPECT_EQ(level_of(features("", "ann", "A100", "1x1")), PredictionLevel::kUser);
  EXPECT_EQ(level_of(features("", "bob", "A100", "1x1")), PredictionLevel::kAll);
}

TEST(DurationPredictor, FewRunsOfTheTagAnswerBeforeManyOfOtherWork) {
  DurationPredictor predictor({.min_count = 3});
  for (int i = 0; i < 8; ++i) predictor.observe(features("gpt", "ann"), Seconds(5000), kNow);
  EXPECT_EQ(predictor.predict(features("bert", "ann"), kNow).level, PredictionLevel::kUserRequest);
  predictor.observe(features("bert", "ann"), Seconds(100), kNow);
  const Prediction few = predictor.predict(features("bert", "ann"), kNow);
  EXPECT_EQ(few.level, PredictionLevel::kTagUserModelsRequest);
  EXPECT_EQ(few.count, 1);
  EXPECT_EQ(few.estimate,
            (DurationEstimate{.p50 = Seconds(100), .p80 = Seconds(125), .p90 = Seconds(150), .is_rough = true}));
  // Enough runs of a wider level of the tag go before too few of a narrower one.
  for (int i = 0; i < 2; ++i) predictor.observe(features("bert", "bob"), Seconds(300), kNow);
  const Prediction wider = predictor.predict(features("bert", "ann"), kNow);
  EXPECT_EQ(wider.level, PredictionLevel::kTag);
  EXPECT_EQ(wider.estimate.p50, Seconds(300));
}

TEST(DurationPredictor, TheTimeLimitCaps) {
  DurationPredictor predictor;
  for (const int duration : {100, 200, 5000}) predictor.observe(features("bert", "ann"), Seconds(duration), kNow);
  EXPECT_EQ(predictor.predict(features("bert", "ann"), kNow, Seconds(300)).estimate,
            (DurationEstimate{.p50 = Seconds(200), .p80 = Seconds(300), .p90 = Seconds(300), .is_rough = true}));
}

TEST(DurationPredictor, FewRunsBoundNothing) {
  DurationPredictor predictor;
  for (int i = 0; i < 3; ++i) predictor.observe(features("bert", "ann"), Seconds(600), kNow);
  Job job;
  job.time_limit = Seconds(3600);
  job.estimate = predictor.predict(features("bert", "ann"), kNow, job.time_limit).estimate;
  EXPECT_EQ(job.estimate.p90, Seconds(600));
  EXPECT_EQ(job.expected_end(kNow), kNow + Seconds(3600));
  for (int i = 0; i < 6; ++i) predictor.observe(features("bert", "ann"), Seconds(600), kNow);
  job.estimate = predictor.predict(features("bert", "ann"), kNow, job.time_limit).estimate;
  EXPECT_EQ(job.expected_end(kNow), kNow + Seconds(600));
  // Without a limit a rough belief is better than none.
  job.time_limit = Seconds(0);
  job.estimate.is_rough = true;
  EXPECT_EQ(job.expected_end(kNow), kNow + Seconds(600));
}

// Of work of many kinds, steady or not, whatever p90 is said to bound the run.
TEST(DurationPredictor, APNinetyThatBoundsHoldsInNineOfTen) {
  std::mt19937_64 random(7);
  std::int64_t bounded = 0;
  std::int64_t held = 0;
  for (int kind = 0; kind < 400; ++kind) {
    DurationPredictor predictor;
    const DurationFeatures work = features(std::to_string(kind), "ann");
    const double spread = 0.1 + 0.2 * (kind % 10);
    std::lognormal_distribution<double> durations(7, spread);
    for (int run = 0; run < 40; ++run) {
      const double drift = kind % 4 == 3 && run > 20 ? 4 : 1;  // some take longer from then on
      const Seconds actual(static_cast<std::int64_t>(1 + durations(random) * drift));
      const DurationEstimate said = predictor.predict(work, kNow + Seconds(run)).estimate;
      if (said.p90 > Seconds(0) && !said.is_rough) {
        ++bounded;
        held += actual <= said.p90;
      }
      predictor.observe(work, actual, kNow + Seconds(run));
    }
  }
  EXPECT_GT(bounded, 5000);
  EXPECT_GE(held * 100, bounded * 89);  // the first runs after a change are beyond it
}

TEST(DurationPredictor, SwitchedOffOnlyTimeLimitsAreKnown) {
  DurationPredictor predictor({.is_on = false});
  for (int i = 0; i < 9; ++i) predictor.observe(features("bert", "ann"), Seconds(600), kNow);
  EXPECT_EQ(predictor.predict(features("bert", "ann"), kNow).level, PredictionLevel::kUnknown);
  EXPECT_EQ(predictor.predict(features("bert", "ann"), kNow, Seconds(60)).level, PredictionLevel::kTimeLimit);
}

TEST(DurationPredictor, KeepsTheKeysObservedLast) {
  DurationPredictor predictor({.max_keys = 30});
  for (int i = 0; i < 100; ++i) {
    const std::string tag = "tag" + std::to_string(i);
    for (int run = 0; run < 3; ++run) predictor.observe(features(tag, "ann"), Seconds(60 + i), kNow);
    EXPECT_LE(predictor.key_count(), 30u);
  }
  EXPECT_EQ(predictor.predict(features("tag99", "ann"), kNow).estimate.p50, Seconds(159));
  EXPECT_EQ(predictor.predict(features("tag0", "ann"), kNow).level, PredictionLevel::kUserRequest);
}

TEST(DurationPredictor, MadeAnewFromItsEntries) {
  DurationPredictor predictor;
  for (int i = 0; i < 50; ++i) {
    predictor.observe(features("t" + std::to_string(i % 7), "u" + std::to_string(i % 3)), Seconds(10 + i), kNow);
  }
  DurationPredictor copy;
  for (const DurationPredictor::Entry& entry : predictor.entries()) {
    copy.put({entry.level, entry.key, DurationHistory(entry.history.samples())});
  }
  for (int i = 0; i < 7; ++i) {
    const DurationFeatures of = features("t" + std::to_string(i), "u1");
    EXPECT_EQ(copy.predict(of, kNow), predictor.predict(of, kNow));
  }
}

TEST(DurationPredictor, MeasuredError) {
  DurationPredictor predictor;
  Prediction made;
  made.level = PredictionLevel::kTag;
  made.estimate = {Seconds(100), Seconds(120), Seconds(150)};
  for (const int actual : {100, 80, 134, 300}) predictor.compare(made, Seconds(actual));
  const PredictionAccuracy& accuracy = predictor.accuracy(PredictionLevel::kTag);
  EXPECT_EQ(accuracy.runs, 4);
  EXPECT_EQ(accuracy.within(25), 2);  // 100: 0 %, 80: 25 %, 134: 26 %, 300: 67 %
  EXPECT_EQ(accuracy.median_error(), 25);
  EXPECT_EQ(accuracy.p90_held, 3);
  EXPECT_EQ(predictor.accuracy(PredictionLevel::kAll).runs, 0);
  EXPECT_EQ(prediction_error_percent(Seconds(INT64_MAX / 2), Seconds(0)), kMostErrorPercent);
}

TEST(DurationPredictor, LevelNamesReadBack) {
  for (std::size_t i = 0; i < kPredictionLevels; ++i) {
    const auto level = static_cast<PredictionLevel>(i);
    EXPECT_EQ(find_prediction_level(prediction_level_name(level)), level);
  }
  EXPECT_FALSE(find_prediction_level("group"));
}

TEST(DurationPredictor, RequestsAndTextsAreToldApart) {
  TaskGroup group;
  group.shape.gpu_count = 1;
  group.shape.gpu_milli = MilliGpu(500);
  TaskGroup larger = group;
  larger.count = 2;
  EXPECT_NE(request_feature({&group, 1}), request_feature({&larger, 1}));
  TaskGroup elsewhere = group;
  elsewhere.shape.models = 2;
  EXPECT_EQ(request_feature({&group, 1}), request_feature({&elsewhere, 1}));
  EXPECT_NE(feature_of("ab"), feature_of(std::string_view("ab\0", 3)));
  EXPECT_NE(feature_of("12345678"), feature_of("123456789"));
  EXPECT_EQ(feature_of(""), 0u);
}

// Whatever was seen: 0 < p50 <= p80 <= p90 <= limit, inside what was observed, and equal histories answer alike.
TEST(DurationPredictor, EstimatesAreMonotoneAndBounded) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    PredictorKnobs knobs;
    knobs.min_count = static_cast<std::int64_t>(random() % 5);
    knobs.half_life = Seconds(static_cast<std::int64_t>(1 + random() % 1000000));
    knobs.max_keys = random() % 40;
    DurationPredictor predictor(knobs);
    DurationPredictor twin(knobs);
    Seconds now(0);
    Seconds longest(1);
    for (int i = 0; i < 60; ++i) {
      const DurationFeatures of = features("t" + std::to_string(random() % 3), "u" + std::to_string(random() % 2),
                                           "any", std::to_string(random() % 2));
      now += Seconds(static_cast<std::int64_t>(random() % 100000));
      const Seconds limit(random() % 2 == 0 ? 0 : static_cast<std::int64_t>(1 + random() % 5000));
      const Prediction made = predictor.predict(of, now, limit);
      EXPECT_EQ(made, twin.predict(of, now, limit));
      const DurationEstimate& estimate = made.estimate;
      EXPECT_GE(estimate.p50, Seconds(made.level == PredictionLevel::kUnknown ? 0 : 1));
      EXPECT_LE(estimate.p50, estimate.p80);
      EXPECT_LE(estimate.p80, estimate.p90);
      EXPECT_LE(estimate.p90, limit > Seconds(0) ? limit : Seconds(INT64_MAX));
      EXPECT_LE(estimate.p90, std::max(Seconds(longest.value() * 3 / 2), limit));  // of few runs: widened
      const Seconds duration(static_cast<std::int64_t>(random() % 100000) - 10);
      longest = std::max(longest, duration);
      predictor.observe(of, duration, now);
      twin.observe(of, duration, now);
    }
  }
}

}  // namespace
}  // namespace berth
