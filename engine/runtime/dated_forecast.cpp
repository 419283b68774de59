#include "engine/runtime/dated_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/text.h"
#include "engine/round/schedule.h"
#include "engine/store/load_quotas.h"

namespace berth {

namespace {

constexpr std::size_t kMostDates = 8;  // looked at

struct TermsDate {
  Seconds moment;
  std::string what;
};

Result<std::vector<TermsDate>> next_dates(Database& db, Seconds now) {
  BERTH_ASSIGN(Statement rows, db.prepare(fmt::format(
                                   "WITH {} SELECT what, moment, begins FROM dates WHERE moment > ?1 ORDER BY moment, "
                                   "what",
                                   kDatesSql)));
  rows.with(now);
  std::vector<TermsDate> dates;
  while (rows.next()) {
    const auto moment = rows.quantity<Seconds>(1);
    std::string what = fmt::format("{} {}", rows.text(0), rows.integer(2) != 0 ? "begins" : "ends");
    if (!dates.empty() && dates.back().moment == moment) {
      dates.back().what += " and " + what;
      continue;
    }
    if (dates.size() == kMostDates) break;
    dates.push_back({moment, std::move(what)});
  }
  BERTH_TRY(rows.status());
  return dates;
}

// As if nothing changed from the moment on.
Snapshot without_dates_from(const Snapshot& snapshot, Seconds moment) {
  Snapshot without = snapshot;
  std::erase_if(without.quotas.at_ends, [&](const QuotaAtEnd& end) { return end.from >= moment; });
  for (LoanTerms& loan : without.quotas.loans) {
    if (loan.until >= moment) loan.until = Seconds(kNoLimit);
  }
  return without;
}

Result<bool> makes_room(const Snapshot& snapshot, std::int64_t job, const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(const ScheduleResult result, plan_schedule(snapshot, {.interrupted = interrupted, .until_job = job}));
  return std::ranges::any_of(result.plan.evictions, [job](const Eviction& each) { return each.makes_room_for(job); });
}

}  // namespace

Result<DatedForecast> forecast_with_dates(Database& db, const Snapshot& snapshot, std::int64_t job,
                                          const std::atomic<bool>* interrupted) {
  DatedForecast answer;
  BERTH_ASSIGN(answer.forecast, forecast_start(snapshot, job, interrupted));
  BERTH_ASSIGN(const std::vector<TermsDate> dates, next_dates(db, snapshot.now));
  for (std::size_t d = 0; d < dates.size(); ++d) {
    if (answer.forecast.p50 && *answer.forecast.p50 < dates[d].moment) return answer;
    Snapshot then = snapshot;
    BERTH_ASSIGN(QuotaState terms, load_quotas(db, dates[d].moment));
    then.quotas = std::move(terms.quotas);
    BERTH_ASSIGN(answer.forecast, forecast_start(then, job, interrupted));
    answer.when.clear();
    if (!answer.forecast.p50) continue;
    if (*answer.forecast.p50 <= dates[d].moment) answer.when = dates[d].what;
    answer.forecast.p50 = std::max(*answer.forecast.p50, dates[d].moment);
    if (answer.forecast.p90) answer.forecast.p90 = std::max(*answer.forecast.p90, dates[d].moment);
  }
  return answer;
}

Result<std::string> date_against_room(Database& db, const Snapshot& snapshot, std::int64_t job,
                                      const std::atomic<bool>* interrupted) {
  const QuotaTable& quotas = snapshot.quotas;
  const auto ends = [](const LoanTerms& loan) { return loan.until < Seconds(kNoLimit); };
  if (quotas.at_ends.empty() && std::ranges::none_of(quotas.loans, ends)) return std::string();
  BERTH_ASSIGN(const std::vector<TermsDate> dates, next_dates(db, snapshot.now));
  // The latest date for which holds: without it and all later ones, rounds would make room.
  const TermsDate* against = nullptr;
  for (const TermsDate& date : dates) {
    BERTH_ASSIGN(const bool would, makes_room(without_dates_from(snapshot, date.moment), job, interrupted));
    if (!would) break;
    against = &date;
  }
  if (against == nullptr) return std::string();
  return fmt::format("{} at {}", against->what, print_time(against->moment));
}

}  // namespace berth
