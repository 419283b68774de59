#include "engine/runtime/behind_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/text.h"
#include "engine/round/backfill.h"
#include "engine/runtime/job_state_words.h"
#include "engine/store/load.h"

namespace berth {

namespace {

// The first job that ended without finishing, of those that the jobs it comes after come after.
constexpr std::string_view kBrokenFurtherUp =
    "WITH RECURSIVE up (id) AS (SELECT after_id FROM dependencies WHERE job_id = ?1 AND state = 'open' UNION "
    "SELECT d.after_id FROM up JOIN dependencies d ON d.job_id = up.id AND d.state = 'open') "
    "SELECT j.name, j.state, j.end_time FROM up JOIN dependencies d ON d.job_id = up.id AND d.state = 'broken' "
    "JOIN jobs j ON j.id = d.after_id ORDER BY j.end_time, j.id LIMIT 1";

std::string say_end(const Statement& row) {
  return fmt::format("job {}, which {} at {}", row.text(0), row.text(1) == "cancelled" ? "was cancelled" : row.text(1),
                     print_time(row.quantity<Seconds>(2)));
}

// Which jobs it comes after, how they are, and what to do when one will never finish.
Result<SaidReason> say_dependencies(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT j.name, j.state, j.end_time, me.name FROM dependencies d JOIN jobs j ON "
                          "j.id = d.after_id JOIN jobs me ON me.id = d.job_id WHERE d.job_id = ?1 AND "
                          "j.state <> 'finished' ORDER BY j.end_time IS NULL, j.id"));
  rows.with(job);
  std::vector<std::string> broken;
  std::vector<std::string> open;
  std::string name;
  while (rows.next()) {
    name = rows.text(3);
    if (rows.is_null(2)) {
      open.push_back(fmt::format("{} ({})", rows.text(0), rows.text(1)));
    } else {
      broken.push_back(say_end(rows));
    }
  }
  BERTH_TRY(rows.status());
  if (broken.empty()) {
    BERTH_ASSIGN(Statement further, db.prepare(kBrokenFurtherUp));
    if (further.with(job).next())
      return SaidReason{
          fmt::format("it will never start: it comes after {}, and so after {}", join(open, " and "), say_end(further)),
          fmt::format("CANCEL JOB {}; and submit it anew after jobs that will finish", name)};
    BERTH_TRY(further.status());
    return SaidReason{
        fmt::format("it starts only after {} {} finished", join(open, " and "), open.size() == 1 ? "has" : "have"),
        "SHOW JOB tells when they are expected to end"};
  }
  std::string sentence = fmt::format("it will never start: it comes after {}", join(broken, " and "));
  if (!open.empty()) sentence += fmt::format("; it comes after {} too", join(open, " and "));
  return SaidReason{std::move(sentence), fmt::format("CANCEL JOB {}; and submit it anew without that dependency, or "
                                                     "after the job that replaces it",
                                                     name)};
}

// Room is to be made for the job, and those that are to stop for it were not told, or have not ended in time.
Result<std::optional<SaidReason>> say_late_victims(Database& db, const Snapshot& snapshot, std::int64_t job) {
  std::int64_t untold = 0;
  std::string silence;
  std::optional<SaidReason> late;
  for (const RunningJob& run : snapshot.running) {
    if (!run.makes_room_for_a_job() || run.stops_for != job) continue;
    BERTH_ASSIGN(const std::optional<JobStop> stop, job_stop(db, run.job.id));
    if (!stop) continue;
    if (!stop->is_told && !stop->silence.empty()) {
      ++untold;
      silence = stop->silence;
    } else if (stop->is_told && stop->has_executor && stop->end < snapshot.now && !late) {
      BERTH_ASSIGN(const std::string name, job_name(db, run.job.id));
      late = SaidReason{fmt::format("room is being made for it: job {} was to end by {}, and {}", name,
                                    print_time(stop->end), overdue_words(*stop)),
                        "SHOW EXECUTORS;"};
    }
  }
  if (untold == 0) return late;
  return std::optional(SaidReason{
      fmt::format("room is to be made for it, but {} that {} to stop for it {} not told: {}",
                  print_counted(untold, "job"), untold == 1 ? "is" : "are", untold == 1 ? "was" : "were", silence),
      "SHOW EXECUTORS;"});
}

}  // namespace

Result<bool> waits_for_ever(Database& db, std::int64_t job) {
  BERTH_ASSIGN(
      Statement row,
      db.prepare("WITH RECURSIVE up (id) AS (VALUES (?1) UNION SELECT d.after_id FROM up JOIN dependencies d "
                 "ON d.job_id = up.id AND d.state = 'open') SELECT 1 FROM up JOIN dependencies d ON d.job_id = "
                 "up.id AND d.state = 'broken' LIMIT 1"));
  const bool is_broken = row.with(job).next();
  BERTH_TRY(row.status());
  return is_broken;
}

Result<std::vector<std::string>> jobs_waiting_for(Database& db, std::int64_t job) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare("WITH RECURSIVE behind (id) AS (VALUES (?1) UNION SELECT d.job_id FROM behind JOIN dependencies "
                 "d ON d.after_id = behind.id AND d.state <> 'met') SELECT j.name FROM behind JOIN live_jobs j "
                 "USING (id) WHERE id <> ?1 ORDER BY id"));
  std::vector<std::string> names;
  for (rows.with(job); rows.next();) names.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return names;
}

Result<SaidReason> say_behind(Database& db, const Waiting& waiting, const Snapshot& snapshot, const Plan& plan) {
  std::string other = "another job";
  if (waiting.behind_job != 0) {
    const Result<std::string> name = job_name(db, waiting.behind_job);
    if (name.ok()) other = fmt::format("job {}", *name);
  }
  if (waiting.reason == Reason::kBlocked) {
    return SaidReason{fmt::format("{} ahead of it does not fit, and backfill = {} lets nobody pass it", other,
                                  backfill_mode_name(snapshot.rules.backfill)),
                      "wait for it to start", Remedy::kBackfill};
  }
  const bool makes_room = waiting.reason == Reason::kReserved && waiting.behind_job == 0;
  const bool has_victims =
      std::ranges::any_of(snapshot.running, [&](const RunningJob& run) { return run.makes_room_for(waiting.job); });
  const auto victims =
      std::ranges::count_if(plan.evictions, [&](const Eviction& each) { return each.makes_room_for(waiting.job); });
  if (makes_room && !has_victims && victims > 0) {
    return SaidReason{fmt::format("the next round makes room for it: it tells {} to stop, and it starts when {} ended",
                                  print_counted(victims, "job"), victims == 1 ? "that has" : "they have"),
                      "RUN SCHEDULE;"};
  }
  if (makes_room) {
    BERTH_ASSIGN(std::optional<SaidReason> late, say_late_victims(db, snapshot, waiting.job));
    if (late) return *std::move(late);
    const Reservation* const row = find_of_job(std::span<const Reservation>(snapshot.reservations), waiting.job);
    if (!has_victims && row != nullptr && row->kind == ReservationKind::kEviction)
      return SaidReason{fmt::format("room that others have left is kept for it until {}", print_time(row->expires)),
                        ""};
    return SaidReason{"room is being made for it: jobs that were told to stop are still writing their checkpoints", ""};
  }
  if (waiting.reason == Reason::kReserved && waiting.queue != 0) {
    return SaidReason{fmt::format("quota of its queue that it would use is kept for {}, which waits for it", other),
                      "wait for that job to start", Remedy::kEarlierEnd};
  }
  if (waiting.reason == Reason::kReserved) {
    return SaidReason{fmt::format("room that it would take is kept for {}, which has a reservation", other),
                      "wait for that job to start", Remedy::kEarlierEnd};
  }
  return say_dependencies(db, waiting.job);
}

std::string step_back_words(const Snapshot& snapshot, const RoundState& state, const Job& job) {
  const QuotaLedger& quotas = state.quotas();
  const Seconds until = steps_back_until(job, snapshot.rules);
  if (!quotas.governs() || until <= snapshot.now) return {};
  const QuotaVerdict verdict = quotas.judge(job.queue, quotas.demand_to_start(job), last_end_of(job, snapshot.now));
  if (verdict.admitted() ? !verdict.borrows : verdict.is_owner) return {};
  return fmt::format("it was evicted {} times: where it borrows it reserves nothing until {}", job.eviction.evictions,
                     print_time(until));
}

}  // namespace berth
