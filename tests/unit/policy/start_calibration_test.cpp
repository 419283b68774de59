#include "engine/policy/start_calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/env.h"

namespace berth::test {
namespace {

// Tells of a job that is forecast to wait so long, and lets it start after that times `error`.
void tell_and_start(StartCalibration& calibration, std::int64_t job, Seconds now, std::int64_t forecast, double error) {
  calibration.tell(job, now + Seconds(forecast), {now + Seconds(forecast), now + Seconds(forecast)}, now);
  calibration.start(job, now + Seconds(static_cast<std::int64_t>(static_cast<double>(forecast + 60) * error) - 60));
}

TEST(StartCalibration, WhileLittleIsKnownTheForecastIsTold) {
  StartCalibration calibration;
  for (std::int64_t job = 1; job < static_cast<std::int64_t>(StartCalibration::kFewest); ++job) {
    tell_and_start(calibration, job, Seconds(job), 600, 3);
  }
  EXPECT_EQ(calibration.expect({Seconds(1600), Seconds(2000)}, Seconds(1000)),
            (ExpectedStart{Seconds(1600), Seconds(2000)}));
  EXPECT_EQ(calibration.expect({Seconds(900), Seconds(800)}, Seconds(1000)),
            (ExpectedStart{Seconds(1000), Seconds(1000)}));
}

TEST(StartCalibration, ErrorsOfThePastCorrectTheNextForecast) {
  StartCalibration calibration;
  for (std::int64_t job = 1; job <= 100; ++job) tell_and_start(calibration, job, Seconds(job), 600, 2);
  const ExpectedStart told = calibration.expect({Seconds(100600), Seconds(100600)}, Seconds(100000));
  EXPECT_EQ(told.p50, Seconds(101260));  // (600 + 60) * 2 - 60
  EXPECT_EQ(told.p90, told.p50);
}

TEST(StartCalibration, NearAndFarForecastsHaveErrorsOfTheirOwn) {
  StartCalibration calibration;
  for (std::int64_t job = 1; job <= 50; ++job) tell_and_start(calibration, job, Seconds(job), 100, 4);
  for (std::int64_t job = 51; job <= 100; ++job) tell_and_start(calibration, job, Seconds(job), 40000, 0.5);
  const Seconds now(200000);
  EXPECT_EQ(calibration.expect({now + Seconds(100), now}, now).p50, now + Seconds(580));
  EXPECT_EQ(calibration.expect({now + Seconds(40000), now}, now).p50, now + Seconds(19970));
}

// Of those that have started all were as forecast; the twenty that still wait are late, nobody knows how late.
TEST(StartCalibration, JobsThatStillWaitCount) {
  StartCalibration calibration;
  const Seconds now(0);
  for (std::int64_t job = 1; job <= 100; ++job) {
    calibration.tell(job, Seconds(600), {Seconds(600), Seconds(600)}, now);
  }
  for (std::int64_t job = 1; job <= 80; ++job) calibration.start(job, Seconds(600));
  const ExpectedStart told = calibration.expect({Seconds(5000 + 600), Seconds(5000 + 600)}, Seconds(5000));
  EXPECT_EQ(told.p50, Seconds(5000 + 600));
  EXPECT_GT(told.p90, Seconds(5000 + 5000));
}

// So do twenty that were given up: when the late ones go, answers must not look better.
TEST(StartCalibration, JobsGivenUpLateCountAsThoseThatStillWait) {
  StartCalibration given_up;
  StartCalibration waiting;
  for (StartCalibration* calibration : {&given_up, &waiting}) {
    for (std::int64_t job = 1; job <= 100; ++job) {
      calibration->tell(job, Seconds(600), {Seconds(600), Seconds(600)}, Seconds(0));
    }
    for (std::int64_t job = 1; job <= 80; ++job) calibration->start(job, Seconds(600));
  }
  for (std::int64_t job = 81; job <= 100; ++job) given_up.drop(job, Seconds(5000));
  const ExpectedStart forecast{Seconds(5000 + 600), Seconds(5000 + 600)};
  EXPECT_EQ(given_up.expect(forecast, Seconds(5000)), waiting.expect(forecast, Seconds(5000)));
}

TEST(StartCalibration, JobsGivenUpAtOnceTeachNothing) {
  StartCalibration calibration;
  for (std::int64_t job = 1; job <= 60; ++job) tell_and_start(calibration, job, Seconds(job), 600, 1);
  for (std::int64_t job = 61; job <= 100; ++job) {
    calibration.tell(job, Seconds(700), {Seconds(700), Seconds(700)}, Seconds(100));
    calibration.drop(job, Seconds(100));
  }
  EXPECT_EQ(calibration.expect({Seconds(1000600), Seconds(1000600)}, Seconds(1000000)).p90, Seconds(1000600));
  calibration.start(100, Seconds(1000000));  // nothing is told of it any more
  calibration.drop(7, Seconds(1000000));
}

// Errors that drift: what is learnt late must not keep nine in ten from holding.
TEST(StartCalibration, NineInTenHoldThoughErrorsDrift) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    StartCalibration calibration;
    std::multimap<Seconds, std::int64_t> starts;
    std::map<std::int64_t, ExpectedStart> told;
    std::int64_t held50 = 0;
    std::int64_t held90 = 0;
    constexpr std::int64_t kJobs = 6000;
    for (std::int64_t job = 1; job <= kJobs; ++job) {
      const Seconds now(job * 300);
      while (!starts.empty() && starts.begin()->first <= now) {
        const auto [start, started] = *starts.begin();
        held50 += start <= told[started].p50 ? 1 : 0;
        held90 += start <= told[started].p90 ? 1 : 0;
        calibration.start(started, start);
        starts.erase(starts.begin());
      }
      const auto forecast = static_cast<std::int64_t>(60 + random.below(20000));
      const double mood = 1.5 + std::sin(static_cast<double>(job) / 700);
      const double error = mood * std::exp(2 * (random.unit() + random.unit() - 1));
      const ExpectedStart expected = calibration.expect({now + Seconds(forecast), now + Seconds(forecast)}, now);
      calibration.tell(job, now + Seconds(forecast), expected, now);
      told[job] = expected;
      starts.emplace(now + Seconds(static_cast<std::int64_t>(static_cast<double>(forecast) * error)), job);
    }
    const auto known = static_cast<double>(kJobs - static_cast<std::int64_t>(starts.size()));
    EXPECT_NEAR(static_cast<double>(held50) / known, 0.5, 0.05);
    EXPECT_NEAR(static_cast<double>(held90) / known, 0.9, 0.03);
  }
}

}  // namespace
}  // namespace berth::test
