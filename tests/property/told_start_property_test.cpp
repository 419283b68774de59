// What EASY tells of starts holds as far as time limits do: a belief about durations that few runs bear out moves no
// promise. Jobs whose like ran three times for ten minutes use their limits of an hour now.
#include <gtest/gtest.h>

#include <map>

#include "engine/base/env.h"
#include "engine/policy/duration_predictor.h"
#include "tests/company.h"

namespace berth::test {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kStep = 60;

struct ToldStarts {
  std::size_t told = 0;
  std::size_t missed = 0;
};

// `known_runs` of each kind of job lasted `known`; then jobs of these kinds come and use `used` of their limit of an
// hour. Counts first reservations, and the jobs that started later. `beliefs_bind`: also those that few runs bear out.
ToldStarts told_starts(std::uint64_t seed, int known_runs, Seconds known, std::int64_t used, bool beliefs_bind = false,
                       const char* departments = "ads") {
  Random random(seed);
  Company company("4x4:A100", departments);
  Snapshot& snapshot = company.snapshot;
  snapshot.order_policy = "fifo";
  snapshot.rules.backfill = BackfillMode::kEasy;
  snapshot.rules.preemption = Preemption::kNone;
  DurationPredictor predictor;
  std::map<std::int64_t, Seconds> told;
  ToldStarts sum;
  constexpr const char* kKinds[] = {"gpus=1", "gpus=2", "gpus=4", "gpus=4 tasks=2", "gpus=2 tasks=5"};
  std::uint64_t kind = 0;
  for (std::int64_t now = 0; now < 40 * kHour; now += kStep) {
    snapshot.now = Seconds(now);
    if (now < 24 * kHour && random.below(20) == 0) {
      // Of a tag of its own: it is the first that uses its limit.
      const DurationFeatures features{.tag = ++kind, .user = kind, .models = 0, .request = kind};
      for (int run = 0; run < known_runs; ++run) predictor.observe(features, known, Seconds(now));
      const std::int64_t id = company.submit("ads", kKinds[random.below(std::size(kKinds))], used);
      company.waiting_job(id).time_limit = Seconds(kHour);
      company.waiting_job(id).estimate = predictor.predict(features, Seconds(now), Seconds(kHour)).estimate;
      if (beliefs_bind) company.waiting_job(id).estimate.is_rough = false;
    }
    const Plan plan = company.round(now);
    snapshot.reservations = plan.reservations;
    for (const Reservation& reservation : plan.reservations) told.try_emplace(reservation.job, reservation.expected);
    for (const Placement& placement : plan.placements) {
      const auto promise = told.find(placement.job);
      if (promise == told.end()) continue;
      ++sum.told;
      sum.missed += Seconds(now) > promise->second;
      told.erase(promise);
    }
  }
  return sum;
}

TEST(ToldStartProperty, ThreeShortRunsDoNotBeatATimeLimit) {
  ToldStarts all;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ToldStarts one = told_starts(seed, 3, Seconds(600), kHour);
    all.told += one.told;
    all.missed += one.missed;
  }
  RecordProperty("told", std::to_string(all.told));
  RecordProperty("missed", std::to_string(all.missed));
  EXPECT_GT(all.told, 100u);
  EXPECT_EQ(all.missed, 0u);
  // The jobs are such that it matters.
  const ToldStarts bound = told_starts(1, 3, Seconds(600), kHour, true);
  EXPECT_GT(bound.missed * 5, bound.told);
  RecordProperty("of one stream, bound by beliefs", std::to_string(bound.told));
  RecordProperty("of those missed", std::to_string(bound.missed));
}

// Enough runs that bear it out: the belief counts, and starts are told, and come, earlier than limits would have it.
TEST(ToldStartProperty, ABeliefThatRunsBearOutIsPromised) {
  ToldStarts all;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ToldStarts one = told_starts(seed, 12, Seconds(1200), 1200);
    all.told += one.told;
    all.missed += one.missed;
  }
  EXPECT_GT(all.told, 10u);
  EXPECT_EQ(all.missed, 0u);
}

// Where all is the queue's own, nobody borrows and nothing gives way.
TEST(ToldStartProperty, AQuotaOfTheWholeClusterChangesNothing) {
  ToldStarts all;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ToldStarts one = told_starts(seed, 0, Seconds(600), kHour, false, "ads gpu=16");
    all.told += one.told;
    all.missed += one.missed;
  }
  EXPECT_GT(all.told, 100u);
  EXPECT_EQ(all.missed, 0u);
}

}  // namespace
}  // namespace berth::test
