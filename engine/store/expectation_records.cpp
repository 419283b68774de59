#include "engine/store/expectation_records.h"

#include <algorithm>
#include <tuple>

namespace berth {

namespace {

constexpr std::int64_t kNewestLooked = 1000;  // live jobs: rounds must not pay for all that wait
constexpr std::int64_t kMostRead = 1000;      // expectations, for the calibration

enum class Turn : std::uint8_t { kStart, kDrop, kTell };  // within a second in this order

struct Turning {
  Seconds time;
  Turn turn = Turn::kTell;
  std::size_t row = 0;
};

}  // namespace

Result<std::vector<std::int64_t>> jobs_to_tell(Database& db, std::int64_t most) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare("SELECT id FROM (SELECT id, state, submit_time, last_eviction FROM jobs INDEXED BY jobs_live "
                 "WHERE end_time IS NULL ORDER BY id DESC LIMIT ?1) j WHERE state = 'pending' AND NOT EXISTS "
                 "(SELECT 1 FROM expectations e WHERE e.job_id = j.id AND e.made_at >= max(coalesce(j.last_eviction, "
                 "j.submit_time), coalesce((SELECT max(w.to_time) FROM wait_stretches w WHERE w.job_id = j.id AND "
                 "w.cause = 'held'), 0))) LIMIT ?2"));
  rows.with(kNewestLooked, most);
  std::vector<std::int64_t> jobs;
  while (rows.next()) jobs.push_back(rows.integer(0));
  BERTH_TRY(rows.status());
  std::ranges::sort(jobs);
  return jobs;
}

Status save_expectations(Database& db, std::span<const ExpectationRow> rows) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  // A job may have gone meanwhile.
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT OR IGNORE INTO expectations (job_id, made_at, forecast, p50, p90, "
                                            "known_starts) SELECT id, ?2, ?3, ?4, ?5, ?6 FROM jobs WHERE id = ?1"));
  for (const ExpectationRow& row : rows) {
    BERTH_TRY(insert.run(row.job, row.made_at, row.forecast, row.expected.p50, row.expected.p90, row.known_starts));
  }
  return transaction.commit();
}

Result<std::optional<ExpectationRow>> last_expectation(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT made_at, forecast, p50, p90, coalesce(known_starts, 0) FROM eta WHERE "
                                         "job_id = ?1 AND left_at IS NULL "
                                         "ORDER BY made_at DESC LIMIT 1"));
  std::optional<ExpectationRow> last;
  if (row.with(job).next()) {
    last = ExpectationRow{.job = job,
                          .made_at = row.quantity<Seconds>(0),
                          .forecast = row.quantity<Seconds>(1),
                          .expected = {row.quantity<Seconds>(2), row.quantity<Seconds>(3)},
                          .known_starts = row.integer(4)};
  }
  BERTH_TRY(row.status());
  return last;
}

Result<StartCalibration> read_start_calibration(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT job_id, made_at, forecast, p50, p90, start_time, left_at FROM eta "
                                          "ORDER BY made_at DESC, job_id LIMIT ?1"));
  rows.with(kMostRead);
  std::vector<ExpectationRow> told;
  std::vector<Turning> moments;
  while (rows.next()) {
    told.push_back({.job = rows.integer(0),
                    .made_at = rows.quantity<Seconds>(1),
                    .forecast = rows.quantity<Seconds>(2),
                    .expected = {rows.quantity<Seconds>(3), rows.quantity<Seconds>(4)}});
    const std::size_t row = told.size() - 1;
    moments.push_back({told.back().made_at, Turn::kTell, row});
    if (!rows.is_null(5)) {
      moments.push_back({rows.quantity<Seconds>(5), Turn::kStart, row});
    } else if (!rows.is_null(6)) {
      moments.push_back({rows.quantity<Seconds>(6), Turn::kDrop, row});
    }
  }
  BERTH_TRY(rows.status());
  // One that started in the second in which it was told starts after it.
  std::ranges::sort(moments, {}, [&](const Turning& m) {
    const bool is_own_second = m.turn != Turn::kTell && m.time <= told[m.row].made_at;
    return std::tuple(m.time, is_own_second ? 3 : static_cast<int>(m.turn), told[m.row].job);
  });
  StartCalibration calibration;
  for (const Turning& moment : moments) {
    const ExpectationRow& row = told[moment.row];
    switch (moment.turn) {
      case Turn::kTell: calibration.tell(row.job, row.forecast, row.expected, row.made_at); break;
      case Turn::kStart: calibration.start(row.job, moment.time); break;
      case Turn::kDrop: calibration.drop(row.job, moment.time); break;
    }
  }
  return calibration;
}

}  // namespace berth
