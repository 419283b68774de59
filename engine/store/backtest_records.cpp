#include "engine/store/backtest_records.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/text.h"

namespace berth {

namespace {

std::optional<double> real_at(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.real(column));
}

Status no_backtest(Database& db, const std::string& name) {
  std::vector<std::string> names;
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT simulation FROM backtests ORDER BY simulation"));
  while (rows.next()) names.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return Status(Code::kNotFound, fmt::format("no backtest '{}'", name), suggest(name, names)).about("backtest", name);
}

Result<BacktestRecord> load_record(Database& db, const std::string& simulation) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT from_time, to_time, jobs, there, seeds, notes FROM backtests "
                                         "WHERE simulation = ?1"));
  if (!row.with(simulation).next()) return row.status().ok() ? no_backtest(db, simulation) : row.status();
  BacktestRecord record{.simulation = simulation,
                        .from = row.quantity<Seconds>(0),
                        .to = row.quantity<Seconds>(1),
                        .jobs = row.integer(2),
                        .there = row.integer(3),
                        .seeds = row.integer(4),
                        .notes = {}};
  const nlohmann::json notes = nlohmann::json::parse(row.text(5), nullptr, false);
  if (!notes.is_array()) return Status(Code::kCorrupt, fmt::format("the notes of backtest '{}'", simulation));
  for (const nlohmann::json& note : notes) {
    if (note.is_string()) record.notes.push_back(note.get<std::string>());
  }
  return record;
}

Status load_policies(Database& db, SavedBacktest& saved) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare("SELECT policy, seq, queue, jobs, started, ended, wait_mean, wait_least, wait_most, wait_p50, "
                 "wait_p90, wait_p99, completion_mean, utilisation_pct, fairness, satisfied_share, "
                 "worst_finish_ratio, evictions, lost_gpu_milli_s, gpu_milli_s, never_start FROM backtest_results "
                 "WHERE simulation = ?1 ORDER BY seq, queue_seq"));
  rows.with(saved.record.simulation);
  while (rows.next()) {
    if (saved.policies.empty() || saved.policies.back().sequence != rows.integer(1)) {
      saved.policies.push_back({.policy = std::string(rows.text(0)), .sequence = rows.integer(1), .rows = {}});
    }
    BacktestRow& row = saved.policies.back().rows.emplace_back();
    if (!rows.is_null(2)) row.queue = std::string(rows.text(2));
    row.jobs = rows.real(3);
    row.started = rows.real(4);
    row.ended = rows.real(5);
    int column = 6;
    for (std::optional<double> BacktestRow::*number :
         {&BacktestRow::wait_mean, &BacktestRow::wait_least, &BacktestRow::wait_most, &BacktestRow::wait_p50,
          &BacktestRow::wait_p90, &BacktestRow::wait_p99, &BacktestRow::completion_mean, &BacktestRow::utilisation_pct,
          &BacktestRow::fairness, &BacktestRow::satisfied_share, &BacktestRow::worst_finish_ratio}) {
      row.*number = real_at(rows, column++);
    }
    row.evictions = rows.real(17);
    row.lost = rows.real(18);
    row.delivered = rows.real(19);
    row.never_start = real_at(rows, 20);
  }
  return rows.status();
}

Status load_pairs(Database& db, SavedBacktest& saved) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT policy, baseline, jobs, earlier, later, same, only_here, only_there, mean, mean_low, "
                          "mean_high, median, median_low, median_high FROM backtest_pairs WHERE simulation = ?1 "
                          "ORDER BY seq"));
  rows.with(saved.record.simulation);
  while (rows.next()) {
    saved.pairs.push_back({.policy = std::string(rows.text(0)),
                           .baseline = std::string(rows.text(1)),
                           .jobs = rows.integer(2),
                           .earlier = rows.integer(3),
                           .later = rows.integer(4),
                           .same = rows.integer(5),
                           .only_here = rows.integer(6),
                           .only_there = rows.integer(7),
                           .mean = rows.real(8),
                           .mean_low = rows.real(9),
                           .mean_high = rows.real(10),
                           .median = rows.real(11),
                           .median_low = rows.real(12),
                           .median_high = rows.real(13)});
  }
  return rows.status();
}

}  // namespace

Status save_backtest(Database& db, const BacktestRecord& record) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO backtests VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  BERTH_TRY(insert.run(record.simulation, record.from, record.to, record.jobs, record.there, record.seeds,
                       nlohmann::json(record.notes).dump()));
  return transaction.commit();
}

Status save_backtest_policy(Database& db, const std::string& simulation, const BacktestPolicyRows& policy) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(Statement insert,
               db.prepare("INSERT INTO backtest_results VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
                          "?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)"));
  std::int64_t queue_sequence = 0;
  for (const BacktestRow& row : policy.rows) {
    BERTH_TRY(insert.run(simulation, policy.policy, policy.sequence, queue_sequence++, row.queue, row.jobs, row.started,
                         row.ended, row.wait_mean, row.wait_least, row.wait_most, row.wait_p50, row.wait_p90,
                         row.wait_p99, row.completion_mean, row.utilisation_pct, row.fairness, row.satisfied_share,
                         row.worst_finish_ratio, row.evictions, row.lost, row.delivered, row.never_start));
  }
  return transaction.commit();
}

Status save_backtest_pair(Database& db, const std::string& simulation, std::int64_t sequence,
                          const BacktestPairRow& pair) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO backtest_pairs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
                                            "?10, ?11, ?12, ?13, ?14, ?15, ?16)"));
  BERTH_TRY(insert.run(simulation, sequence, pair.policy, pair.baseline, pair.jobs, pair.earlier, pair.later, pair.same,
                       pair.only_here, pair.only_there, pair.mean, pair.mean_low, pair.mean_high, pair.median,
                       pair.median_low, pair.median_high));
  return transaction.commit();
}

Result<SavedBacktest> load_backtest(Database& db, const std::string& simulation) {
  BERTH_ASSIGN(const Transaction one_view, Transaction::begin_read(db));
  SavedBacktest saved;
  BERTH_ASSIGN(saved.record, load_record(db, simulation));
  BERTH_TRY(load_policies(db, saved));
  BERTH_TRY(load_pairs(db, saved));
  return saved;
}

}  // namespace berth
