#include "engine/runtime/expected_starts.h"

#include <algorithm>
#include <chrono>

#include "engine/round/forecast.h"
#include "engine/store/expectation_records.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr std::int64_t kMostLooks = 20000;  // of one play at waiting jobs, and then the pass is ended
constexpr double kFreeSeconds = 0.05;       // of a play: nobody notices

// What the last play cost is paid for by the rounds since.
Result<bool> may_play(Database& db, std::int64_t share) {
  if (share == 100) return true;
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT (SELECT value FROM meta WHERE key = 'eta_cost_s'), (SELECT coalesce(sum(load_seconds "
                          "+ order_seconds + place_seconds + apply_seconds), 0) FROM rounds WHERE id > (SELECT value "
                          "FROM meta WHERE key = 'eta_round'))"));
  if (!row.next()) return row.status().ok() ? Result<bool>(true) : Result<bool>(row.status());
  const bool may =
      row.is_null(0) || row.real(0) <= kFreeSeconds || row.real(1) * static_cast<double>(share) / 100 >= row.real(0);
  BERTH_TRY(row.status());
  return may;
}

// Small costs are not worth a write.
Status note_cost(Database& db, double seconds) {
  BERTH_ASSIGN(Statement known, db.prepare("SELECT 1 FROM meta WHERE key = 'eta_cost_s'"));
  const bool is_known = known.next();
  BERTH_TRY(known.status());
  if (seconds <= kFreeSeconds && !is_known) return {};
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(Statement put, db.prepare("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = "
                                         "excluded.value"));
  BERTH_ASSIGN(const std::int64_t round, db.integer("SELECT coalesce(max(id), 0) FROM rounds"));
  BERTH_TRY(put.run("eta_cost_s", seconds));
  BERTH_TRY(put.run("eta_round", round));
  return transaction.commit();
}

}  // namespace

Status tell_expected_starts(Runtime& runtime, const Snapshot& snapshot) {
  Database& db = runtime.db();
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  if (settings.eta_jobs == 0 || settings.eta_share == 0) return {};
  BERTH_ASSIGN(std::vector<std::int64_t> jobs, jobs_to_tell(db, settings.eta_jobs));
  std::erase_if(jobs, [&](std::int64_t id) { return find_job(snapshot.jobs, id) == nullptr; });
  if (jobs.empty()) return {};
  BERTH_ASSIGN(const bool may, may_play(db, settings.eta_share));
  if (!may) return {};
  const auto begin = std::chrono::steady_clock::now();
  BERTH_ASSIGN(StartCalibration calibration, read_start_calibration(db));
  BERTH_ASSIGN(const auto median, forecast_starts(snapshot, jobs, ForecastDurations::kMedian, kMostLooks));
  auto late = median;
  if (!calibration.knows_enough()) {
    BERTH_ASSIGN(late, forecast_starts(snapshot, jobs, ForecastDurations::kLong, kMostLooks));
  }
  const auto known_starts = static_cast<std::int64_t>(calibration.known_starts());
  std::vector<ExpectationRow> rows;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!median[i] || *median[i] <= snapshot.now) continue;  // the next round starts it
    const ExpectedStart expected = calibration.expect({*median[i], late[i].value_or(*median[i])}, snapshot.now);
    rows.push_back({.job = jobs[i],
                    .made_at = snapshot.now,
                    .forecast = *median[i],
                    .expected = expected,
                    .known_starts = known_starts});
  }
  if (!rows.empty()) BERTH_TRY(save_expectations(db, rows));
  return note_cost(db, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace berth
