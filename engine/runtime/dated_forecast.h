// When a waiting job will start, dated quotas, limits and loans included.
//
// A forecast (round/forecast.h) plays the terms of one moment forward. Terms change at their dates: so one forecast is
// made with the terms that hold now, and one with those that hold from each of the next dates on. The first forecast
// counts whose start lies before the terms change again. What a date itself would end (a loan's borrower) is left out.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/round/forecast.h"
#include "engine/runtime/runtime.h"

namespace berth {

struct DatedForecast {
  Forecast forecast;
  // "the dated limit of q of gpu ends": what lets the job start at p50. Empty = it starts under the terms of now.
  std::string when = {};
};

// Errors as forecast_start.
Result<DatedForecast> forecast_with_dates(Database& db, const Snapshot& snapshot, std::int64_t job,
                                          const std::atomic<bool>* interrupted = nullptr);

// The date because of which rounds evict nobody for the job: "the quota of own of gpu ends at 2026-01-01 00:40". Empty
// = no date is the cause. Errors as plan_schedule.
Result<std::string> date_against_room(Database& db, const Snapshot& snapshot, std::int64_t job,
                                      const std::atomic<bool>* interrupted = nullptr);

}  // namespace berth
