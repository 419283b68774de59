#include "engine/runtime/scheduled_run.h"

#include <fmt/format.h>

#include <chrono>

#include "engine/base/text.h"

namespace berth {

namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<ScheduledRun> ScheduledRun::begin(Runtime& runtime, std::string_view kind) {
  ScheduledRun run(runtime, kind);
  run.started_ = runtime.now();
  run.clock_ = wall_seconds();
  return run;
}

Status ScheduledRun::end(const Status& result, const std::string& summary) {
  if (runtime_->read_only() || result.code() == Code::kBusy) return {};
  BERTH_ASSIGN(
      Statement put,
      runtime_->db().prepare(
          "INSERT INTO scheduled_runs (kind, actor, started_at, seconds, result, summary, interval_s, last_good) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, iif(?5 = 'done', ?3, NULL)) ON CONFLICT (kind) DO UPDATE SET "
          "interval_s = nullif(max(0, excluded.started_at - started_at), 0), actor = excluded.actor, started_at = "
          "excluded.started_at, seconds = excluded.seconds, result = excluded.result, summary = excluded.summary, "
          "last_good = coalesce(excluded.last_good, last_good)"));
  return put.run(kind_, runtime_->actor(), started_, wall_seconds() - clock_, result.ok() ? "done" : "failed",
                 result.ok() ? summary : result.message());
}

std::string summary_of(const SyncOutcome& sync) {
  std::string words = fmt::format("{} asked about, {} began, {} ended", print_counted(sync.seen.asked_tasks, "task"),
                                  print_counted(sync.seen.started_runs, "run"), sync.seen.ended_runs);
  if (sync.seen.lost_runs > 0) words += fmt::format(" ({} lost)", sync.seen.lost_runs);
  if (sync.seen.drifts > 0) words += fmt::format(", {}", print_counted(sync.seen.drifts, "drift"));
  if (!sync.seen.strays.empty())
    words += fmt::format(", {} held", print_counted(static_cast<std::int64_t>(sync.seen.strays.size()), "stray task"));
  if (!sync.seen.unreachable.empty())
    words += fmt::format(", {} unreachable",
                         print_counted(static_cast<std::int64_t>(sync.seen.unreachable.size()), "executor"));
  return words;
}

std::string summary_of(const RoundReport& round) {
  if (round.applied.is_refused())
    return fmt::format("no round: it would break {}", describe(round.applied.broken.front()));
  std::string words = fmt::format("round {}: {} started, {} waiting", round.applied.round,
                                  print_counted(round.applied.started_jobs, "job"), round.applied.waiting_jobs);
  if (round.applied.evicted_jobs + round.applied.stopping_jobs > 0)
    words += fmt::format(", {} evicted, {} told to stop", round.applied.evicted_jobs, round.applied.stopping_jobs);
  if (round.applied.held_back.empty()) return words;
  if (const std::int64_t held = std::ssize(round.plan.holds); held > 0)
    words += fmt::format(", {} held back", print_counted(held, "job"));
  if (const std::int64_t held = std::ssize(round.plan.surplus_holds); held > 0)
    words += fmt::format(", {} without surplus", print_counted(held, "elastic job"));
  words += fmt::format(" by {}", describe(round.applied.held_back.front().broken));
  return words;
}

Result<AllReport> run_all(Runtime& runtime, const RoundOptions& options, bool also_down) {
  AllReport report;
  BERTH_ASSIGN(report.sync, run_sync(runtime, also_down));
  BERTH_ASSIGN(report.round, run_round(runtime, options));
  report.summary = fmt::format("{}; {}", summary_of(report.sync), summary_of(report.round));
  return report;
}

}  // namespace berth
