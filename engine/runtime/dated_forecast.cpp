#include "engine/runtime/dated_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/text.h"
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

}  // namespace berth
