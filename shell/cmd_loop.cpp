// RUN ALL, once or in a loop; SHOW SCHEDULED RUNS; EXPORT METRICS.
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "engine/runtime/metrics.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/scheduled_run.h"
#include "engine/store/database_home.h"
#include "engine/store/lease.h"
#include "engine/store/settings.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/output_file.h"
#include "shell/printer.h"

namespace berth {

namespace {

std::atomic<bool> loop_must_end{false};
std::atomic<bool> loop_must_reload{false};

void on_loop_signal(int signal) { (signal == SIGHUP ? loop_must_reload : loop_must_end) = true; }

// SIGTERM ends the loop after the round it is in, SIGHUP begins the next round at once; both as before afterwards.
class LoopSignals {
 public:
  LoopSignals() {
    loop_must_end = loop_must_reload = false;
    struct sigaction action = {};
    action.sa_handler = on_loop_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, &term_);
    sigaction(SIGHUP, &action, &hangup_);
  }
  LoopSignals(const LoopSignals&) = delete;
  LoopSignals& operator=(const LoopSignals&) = delete;
  ~LoopSignals() {
    sigaction(SIGTERM, &term_, nullptr);
    sigaction(SIGHUP, &hangup_, nullptr);
  }

 private:
  struct sigaction term_ = {};
  struct sigaction hangup_ = {};
};

ResultTable all_row(Session& session, const AllReport& report) {
  return {.title = "all",
          .columns = {{"time"},
                      {"asked_tasks"},
                      {"launched"},
                      {"stopped"},
                      {"started_runs"},
                      {"ended_runs"},
                      {"drifts"},
                      {"unreachable"},
                      {"round"},
                      {"started_jobs"},
                      {"waiting_jobs"}},
          .rows = {{print_time(engine_of(session).now()), report.sync.seen.asked_tasks,
                    report.sync.dispatched.launches + report.round.dispatched.launches, report.sync.dispatched.stops,
                    report.sync.seen.started_runs, report.sync.seen.ended_runs, report.sync.seen.drifts,
                    static_cast<std::int64_t>(report.sync.seen.unreachable.size()), report.round.applied.round,
                    report.round.applied.started_jobs, report.round.applied.waiting_jobs}}};
}

Result<Output> all_once(Session& session, bool also_down, const std::atomic<bool>* interrupted) {
  Runtime& runtime = engine_of(session);
  BERTH_ASSIGN(ScheduledRun run, ScheduledRun::begin(runtime, "all"));
  Result<AllReport> report =
      run_all(runtime, {.interrupted = interrupted, .order_policy = "", .score_policy = ""}, also_down);
  BERTH_TRY(run.end(report.status(), report.ok() ? report->summary : std::string()));
  if (!report.ok()) return std::move(report).status();
  Output output;
  output.add(all_row(session, *report), Audience::kPrograms);
  output.add_note(report->summary);
  for (const std::string& executor : report->sync.seen.unreachable) output.add_note("unreachable: " + executor);
  for (const PolicyFailure& failure : report->round.failures) output.add_note("warning: " + describe(failure));
  add_broken(report->round.applied.broken, output);
  output.findings |= !report->round.applied.held_back.empty();
  output.findings |= !report->round.failures.empty();
  output.findings |= !report->sync.seen.unreachable.empty();
  add_strays(report->sync.seen.strays, output);
  return output;
}

Result<Output> run_all_statement(Session& session, const Arguments&) {
  return all_once(session, true, session.interrupt);
}

Status write_metrics(Session& session, const std::string& file) {
  BERTH_TRY(check_not_database(file, session.database));
  BERTH_TRY(check_is_commented(file, "file of metrics"));
  BERTH_ASSIGN(const std::string text, metrics_text(engine_of(session)));
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(file, ignored);
  BERTH_TRY(write_whole_file(file, text, true));
  // Somebody else reads it, whatever umask rounds run under. A mode that somebody gave it stays.
  constexpr auto kForAll = static_cast<std::filesystem::perms>(0644);
  if (is_new) std::filesystem::permissions(file, kForAll, ignored);
  return {};
}

// Policies whose files have changed; what cannot be read or stored now is tried at the next beat.
void reload_changed(Session& session) {
  Runtime& runtime = engine_of(session);
  const Result<Settings> settings = read_settings(runtime.db());
  if (!settings.ok() || !settings->reload_policies) return;
  const Result<std::vector<std::string>> said = reload_policies(runtime);
  if (session.printer == nullptr) return;
  if (!said.ok()) session.printer->say(said.status().message() + "\n");
  for (std::size_t i = 0; said.ok() && i < said->size(); ++i) session.printer->say((*said)[i] + "\n");
}

bool loop_is_over(const Session& session) { return loop_must_end || session.interrupt->load(); }

// Until the next beat, the end, or a SIGHUP.
void wait_for_beat(const Session& session, std::chrono::steady_clock::time_point beat) {
  while (!loop_is_over(session) && !loop_must_reload.exchange(false) && std::chrono::steady_clock::now() < beat)
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(std::chrono::milliseconds(100),
                                                                              beat - std::chrono::steady_clock::now()));
}

Result<Output> loop_statement(Session& session, const Arguments& arguments) {
  const std::chrono::seconds interval(arguments.duration("interval").value());
  if (interval < std::chrono::seconds(1))
    return arguments.fail("interval", Code::kInvalid, "a loop beats at most once a second", "EVERY 10s");
  const std::string metrics = arguments.options().text_or("metrics", "");
  const LoopSignals signals;
  std::int64_t rounds = 0;
  std::int64_t failures = 0;
  for (auto beat = std::chrono::steady_clock::now(); !loop_is_over(session);) {
    // Another file may be there now: rounds on this one would be lost, and stop what that one runs.
    BERTH_TRY(engine_of(session).check_writable());
    BERTH_TRY(check_no_copy(engine_of(session).db()));
    reload_changed(session);
    Result<Output> output = all_once(session, false, nullptr);
    ++rounds;
    if (output.ok() && session.printer != nullptr) BERTH_TRY(session.printer->show(*output, session.display));
    if (!output.ok()) {
      ++failures;
      if (session.printer != nullptr) session.printer->say(output.status().message() + "\n");
      const Code code = output.status().code();
      if (code == Code::kCorrupt || code == Code::kInternal) return std::move(output).status();
    }
    if (!metrics.empty()) {
      const Status written = write_metrics(session, metrics);
      if (!written.ok() && session.printer != nullptr) session.printer->say(written.message() + "\n");
    }
    beat = std::max(beat + interval, std::chrono::steady_clock::now());
    wait_for_beat(session, beat);
  }
  return Output::note(fmt::format("the loop ends after {}{}", counted(rounds, "round"),
                                  failures > 0 ? fmt::format(", {} of which failed", failures) : ""));
}

Result<Output> break_lease(Session& session, const Arguments&) {
  std::vector<std::string> broken;
  const Result<std::int64_t> changed = engine_of(session).change([&](Change& change) -> Status {
    BERTH_ASSIGN(broken, break_leases(change));
    return {};
  });
  BERTH_TRY(changed.status());
  return Output::note(fmt::format("broken: {}", join(broken, ", ")));
}

// Overdue: it began more than twice its usual interval ago.
Result<Output> show_scheduled_runs(Session& session, const Arguments&) {
  return query_output(
      session,
      "SELECT kind, actor, datetime(started_at, 'unixepoch') AS last_run, round(seconds, 3) AS seconds, result, "
      "interval_s AS "
      "interval, iif(interval_s IS NOT NULL AND ?1 - started_at > 2 * max(interval_s, 1), 'yes', 'no') AS "
      "overdue, datetime(last_good, 'unixepoch') AS last_good, summary FROM scheduled_runs ORDER BY kind",
      engine_of(session).now());
}

Result<Output> export_metrics(Session& session, const Arguments& arguments) {
  const std::string& file = arguments.text("file");
  if (file == "-") {
    Output output;
    BERTH_ASSIGN(output.raw, metrics_text(engine_of(session)));
    return output;
  }
  if (Status status = write_metrics(session, file); !status.ok())
    return blame(std::move(status), arguments.span("file"));
  return Output::note(fmt::format("metrics written to '{}'", file));
}

constexpr OptionRow kLoopOptions[] = {
    {.name = "metrics",
     .kind = "file",
     .default_value = "",
     .sentence = "Written after every round, as EXPORT METRICS does."},
};

constexpr std::string_view kLoopFamily = "executors";

constexpr CommandRow kLoopRows[] = {
    {.family = kLoopFamily,
     .syntax = "RUN ALL",
     .effect = Effect::kChanges,
     .handler = run_all_statement,
     .summary = "One sync and one scheduling round: what cron calls.",
     .example = "RUN ALL",
     .details = "Idempotent; if somebody else runs a round, the answer is who, and exit code 3."},
    {.family = kLoopFamily,
     .syntax = "RUN ALL EVERY <interval:duration> [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = loop_statement,
     .summary = "RUN ALL again and again, in the foreground: SIGTERM or Ctrl-C end it after the round it is in, SIGHUP "
                "begins the next round at once.",
     .example = "RUN ALL EVERY 10s",
     .options = kLoopOptions},
    {.family = kLoopFamily,
     .syntax = "BREAK LEASE",
     .effect = Effect::kChanges,
     .handler = break_lease,
     .summary = "Ends the right to run rounds of a process elsewhere that is gone for good.",
     .example = "BREAK LEASE",
     .details =
         "A lease ends by itself (SET lease_duration), and at once where its process ran on this machine and is gone. "
         " This is for other hosts, and for a holder whose clock was ahead. One that lives "
         "on this machine keeps it.",
     .ask = ask_always},
    {.family = kLoopFamily,
     .syntax = "SHOW SCHEDULED RUNS",
     .effect = Effect::kReads,
     .handler = show_scheduled_runs,
     .summary = "The last RUN SCHEDULE, SYNC and ALL: when, how long, how it went, and whether the next is overdue.",
     .example = "SHOW SCHEDULED RUNS"},
    {.family = kLoopFamily,
     .syntax = "EXPORT METRICS TO <file:file>",
     .effect = Effect::kReads,
     .handler = export_metrics,
     .summary =
         "Writes Berth's own state for node_exporter's textfile collector; the file appears at once, whole. A file "
         "that is none of metrics stays.",
     .example = "EXPORT METRICS TO 'berth.prom'"},
};

}  // namespace

std::span<const CommandRow> loop_commands() { return kLoopRows; }

}  // namespace berth
