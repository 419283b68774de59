// BACKTEST, SHOW BACKTEST.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/text.h"
#include "engine/runtime/backtest.h"
#include "shell/backtest_options.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

constexpr std::array kBacktestNumbers = {
    &BacktestRow::wait_mean,       &BacktestRow::wait_least,        &BacktestRow::wait_most,
    &BacktestRow::wait_p50,        &BacktestRow::wait_p90,          &BacktestRow::wait_p99,
    &BacktestRow::completion_mean, &BacktestRow::utilisation_pct,   &BacktestRow::fairness,
    &BacktestRow::satisfied_share, &BacktestRow::worst_finish_ratio};

std::vector<Column> backtest_columns() {
  return {{"policy"},
          {"queue"},
          {"jobs", Align::kByType, 0},
          {"started", Align::kByType, 0},
          {"ended", Align::kByType, 0},
          {"wait_mean", Align::kByType, 1},
          {"wait_least", Align::kByType, 1},
          {"wait_most", Align::kByType, 1},
          {"wait_p50", Align::kByType, 0},
          {"wait_p90", Align::kByType, 0},
          {"wait_p99", Align::kByType, 0},
          {"completion_mean", Align::kByType, 1},
          {"utilisation_pct", Align::kByType, 1},
          {"fairness", Align::kByType, 3},
          {"satisfied_share", Align::kByType, 3},
          {"worst_finish_ratio", Align::kByType, 1},
          {"evictions", Align::kByType, 0},
          {"lost_gpu_hours", Align::kByType, 1},
          {"gpu_hours", Align::kByType, 1}};
}

std::vector<Cell> backtest_cells(const std::string& policy, const BacktestRow& row) {
  std::vector<Cell> cells = {policy, row.queue ? Cell(row.queue->empty() ? "-" : *row.queue) : Cell(std::monostate()),
                             row.jobs, row.started, row.ended};
  for (const auto number : kBacktestNumbers) cells.push_back(cell_or_null(row.*number));
  cells.insert(cells.end(), {row.evictions, row.lost / 3.6e6, row.delivered / 3.6e6});
  return cells;
}

// Of all jobs, one row a policy; or of each queue, the policies below one another.
ResultTable backtest_table(const SavedBacktest& told, bool by_queue) {
  ResultTable table{.title = by_queue ? "queues" : "results", .columns = backtest_columns(), .rows = {}};
  std::size_t most = 0;
  for (const BacktestPolicyRows& policy : told.policies) most = std::max(most, policy.rows.size());
  for (std::size_t q = by_queue ? 1 : 0; q < (by_queue ? most : std::min<std::size_t>(most, 1)); ++q) {
    for (const BacktestPolicyRows& policy : told.policies) {
      if (q < policy.rows.size()) table.rows.push_back(backtest_cells(policy.policy, policy.rows[q]));
    }
  }
  return table;
}

ResultTable pairs_table(const SavedBacktest& told) {
  ResultTable table{.title = "job by job",
                    .columns = {{"policy"},
                                {"compared_with"},
                                {"jobs"},
                                {"earlier"},
                                {"later"},
                                {"same"},
                                {"only_here"},
                                {"only_there"},
                                {"mean", Align::kByType, 1},
                                {"mean_low", Align::kByType, 1},
                                {"mean_high", Align::kByType, 1},
                                {"median", Align::kByType, 1},
                                {"median_low", Align::kByType, 1},
                                {"median_high", Align::kByType, 1}},
                    .rows = {}};
  for (const BacktestPairRow& p : told.pairs) {
    table.rows.push_back({p.policy, p.baseline, p.jobs, p.earlier, p.later, p.same, p.only_here, p.only_there, p.mean,
                          p.mean_low, p.mean_high, p.median, p.median_low, p.median_high});
  }
  return table;
}

// Jobs that can never start under the policy, which leave their room to others.
std::int64_t never_start(const SavedBacktest& told, const std::string& policy) {
  const auto found = std::ranges::find(told.policies, policy, &BacktestPolicyRows::policy);
  if (found == told.policies.end() || found->rows.empty()) return 0;
  return std::llround(found->rows.front().never_start.value_or(0));
}

// Where some jobs do not start: ", of the 12 jobs that start in both; 2 jobs can never start under live".
std::string left_out(const SavedBacktest& told, const BacktestPairRow& pair) {
  const bool is_recorded = pair.baseline == kRecordedPolicy;
  const std::int64_t never_here = std::max(pair.only_there, never_start(told, pair.policy));
  const std::int64_t never_there = is_recorded ? 0 : std::max(pair.only_here, never_start(told, pair.baseline));
  if (never_here + never_there + pair.only_here == 0) return {};
  std::string others =
      fmt::format(", of the {} that {} in both", counted(pair.jobs, "job"), pair.jobs == 1 ? "starts" : "start");
  const auto add = [&](std::int64_t jobs, const std::string& policy) {
    if (jobs > 0) others += fmt::format("; {} can never start under {}", counted(jobs, "job"), policy);
  };
  add(never_here, pair.policy);
  add(never_there, pair.baseline);
  if (is_recorded && pair.only_here > 0)
    others += fmt::format("; {} had not started by now", counted(pair.only_here, "job"));
  return others;
}

// "sjf + berth: a job waits 12m less than under live (between 15m and 9m less, 95 %)".
std::string pair_sentence(const SavedBacktest& told, const BacktestPairRow& pair) {
  const auto by = [](double seconds) {
    return print_duration(Seconds(static_cast<std::int64_t>(std::llround(std::abs(seconds)))));
  };
  const auto side = [](double seconds) { return seconds < 0 ? "less" : "more"; };
  const std::string there = pair.baseline == kRecordedPolicy ? std::string("it did") : "under " + pair.baseline;
  const std::string others = left_out(told, pair);
  if (pair.jobs == 0) return fmt::format("{}: no job starts in both, so no waits are compared", pair.policy);
  if (pair.earlier + pair.later == 0)
    return fmt::format("{}: every job waits as long as {}{}", pair.policy, there, others);
  std::string between;
  if ((pair.mean_low < 0) == (pair.mean_high < 0)) {
    const double least = std::min(std::abs(pair.mean_low), std::abs(pair.mean_high));
    const double most = std::max(std::abs(pair.mean_low), std::abs(pair.mean_high));
    between = fmt::format("between {} and {} {}", by(least), by(most), side(pair.mean_low));
  } else {
    between = fmt::format("between {} less and {} more: no clear difference", by(pair.mean_low), by(pair.mean_high));
  }
  return fmt::format("{}: a job waits {} {} than {} on average ({}; 95 % confidence){}", pair.policy, by(pair.mean),
                     side(pair.mean), there, between, others);
}

Output backtest_output(const SavedBacktest& told, bool by_queue) {
  Output output;
  const auto add = [&](const ResultTable& table) {
    output.add(without_empty_columns(table), Audience::kPeople);
    output.add(table, Audience::kPrograms);
  };
  add(backtest_table(told, false));
  if (by_queue) add(backtest_table(told, true));
  if (!told.pairs.empty()) add(pairs_table(told));
  for (const BacktestPairRow& pair : told.pairs) output.add_note(pair_sentence(told, pair));
  for (const std::string& note : told.record.notes) output.add_note(note);
  return output;
}

BacktestCandidate candidate_of(const Arguments& policy) {
  std::string name = policy.text("first");
  if (equals_ignoring_case(name, kLivePolicy)) name = kLivePolicy;
  if (policy.has("score")) name = fmt::format("{} + {}", name, policy.text("score"));
  return {.policy = std::move(name), .overrides = given_settings(policy.options(kCandidateOptions))};
}

Result<Output> backtest_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  Runtime& engine = engine_of(session);
  BacktestRequest request;
  for (const Arguments& policy : arguments.groups("policy")) {
    if (policy.has("score") && equals_ignoring_case(policy.text("first"), kLivePolicy)) {
      return policy.fail("score", Code::kInvalid, "live is the order and the score of the settings",
                         "name an order in its place, as in fifo + berth");
    }
    request.candidates.push_back(candidate_of(policy));
  }
  request.from = arguments.time("from");
  request.to = arguments.has("to") ? arguments.time("to") : engine.now();
  if (request.from >= request.to) {
    return arguments.fail(arguments.has("to") ? "to" : "from", Code::kInvalid,
                          fmt::format("the time ends at {}, before it begins", print_time(request.to)));
  }
  request.target = {.name = arguments.text_or("into", ""),
                    .statement = arguments.statement(),
                    .replace = options.boolean("replace"),
                    .by_queue = true};
  request.cluster = {.nodes = options.text_or("nodes", ""),
                     .format = options.text("nodes_format"),
                     .files = {},
                     .more_nodes = options.text_or("more_nodes", ""),
                     .fewer_nodes = options.text_or("fewer_nodes", "")};
  request.overrides = given_settings(options);
  request.unfinished = options.text("unfinished") == "leave_out" ? Unfinished::kLeftOut : Unfinished::kPredicted;
  request.knows_durations = options.text("durations") == "oracle";
  request.round_interval = options.duration("round_interval");
  request.seeds = options.integer("seeds");
  request.seed = static_cast<std::uint64_t>(options.integer("seed"));
  request.control = control_of(session);
  Result<BacktestReport> report = backtest(engine, request);
  session.progress->finish();
  if (!report.ok()) return std::move(report).status();
  Output output = backtest_output(report->told, arguments.has_word("BY"));
  constexpr std::size_t kMostSentences = 5;
  for (std::size_t i = 0; i < std::min(report->infeasible.size(), kMostSentences); ++i)
    output.add_note(report->infeasible[i]);
  const std::int64_t more = report->infeasible_jobs - static_cast<std::int64_t>(kMostSentences);
  if (more > 0) output.add_note(fmt::format("and {} that can never start", counted(more, "more job")));
  output.findings = !report->infeasible.empty();
  if (report->interrupted) output.add_note("interrupted: the policies above are complete, the rest was not run");
  if (arguments.has("into")) {
    output.add_note(
        fmt::format("saved as {0}; SHOW BACKTEST {0} BY QUEUE shows it again, tables backtest_results, "
                    "backtest_pairs and simulation_tasks hold it",
                    arguments.text("into")));
  }
  return output;
}

Result<Output> show_backtests(Session& session, const Arguments& arguments) {
  if (!arguments.has("name")) {
    return query_output(session,
                        "SELECT b.simulation AS backtest, datetime(b.from_time, 'unixepoch') AS begins, "
                        "datetime(b.to_time, 'unixepoch') AS ends, b.jobs, (SELECT group_concat(policy, ', ') FROM "
                        "(SELECT DISTINCT seq, policy FROM backtest_results r WHERE r.simulation = b.simulation ORDER "
                        "BY seq)) AS policies FROM backtests b ORDER BY b.simulation");
  }
  Result<SavedBacktest> saved = load_backtest(engine_of(session).db(), arguments.text("name"));
  if (!saved.ok()) return blame(std::move(saved).status(), arguments.span("name"));
  return backtest_output(*saved, arguments.has_word("BY"));
}

constexpr std::string_view kBacktestFamily = "simulation";

const CommandRow kBacktestCommands[] = {
    {.family = kBacktestFamily,
     .syntax = "BACKTEST USING policy:{<first:backtest_policy> [+ <score:score_policy>] [WITH (<options:candidate>)]}, "
               "... FROM <from:time> [TO <to:time>] [BY QUEUE] [WITH (<options>)] [INTO <into:new_name>]",
     .effect = Effect::kReads,
     .handler = backtest_statement,
     .summary =
         "Plays the jobs of the past again under other policies, beside what really happened: waits, completion, "
         "utilisation, fairness, evictions, lost GPU-hours, and job by job.",
     .example = "BACKTEST USING live, fair_share + berth WITH (preemption = none), sjf FROM '2026-10-01' TO "
                "'2026-11-01' WITH (more_nodes = '4 x h100x8') INTO october",
     .options = backtest_options(),
     .details =
         "live is the order and the score of the settings. It decides as live rounds do, at the moments at which jobs "
         "come, end or are stopped, and each round_interval while jobs wait. Loans hold to the end; a score that looks "
         "at the typical workload sees that of all these jobs. Jobs come as they came and run as long as they truly "
         "ran; "
         "what was there at FROM is there; nodes, quotas and rules are today's, but for what WITH says of all policies "
         "or of one. IMPORT TRACE brings a past from elsewhere. recorded is what really happened, on the nodes that "
         "are there. A job that was cancelled before it ran waits until "
         "then and leaves, also where it could never start; should it start before, it is taken to run as long as "
         "predicted. "
         "A job that its user held comes when it is released; time that it was held later is taken out of "
         "what "
         "was recorded of it. utilisation_pct is of the GPUs from FROM to TO, or until now if TO is yet to come; "
         "gpu_hours and evictions (also of some tasks of a job) are of the jobs that count. wait and completion "
         "are in seconds; satisfied_share of a queue is the time its jobs ran over the time they were there; fairness "
         "is Jain's index over these (1 = all queues alike); worst_finish_ratio is the longest (end - submit) / run "
         "time. job by job: how much longer a job that starts in both waits than under the first policy, or than it "
         "did, with 95 % confidence intervals from blocks of jobs drawn anew. Ctrl-C keeps the policies already "
         "complete."},
    {.family = kBacktestFamily,
     .syntax = "SHOW {BACKTEST | BACKTESTS} [<name:backtest> [BY QUEUE]]",
     .effect = Effect::kReads,
     .handler = show_backtests,
     .summary = "Saved backtests, or one of them; DROP SIMULATION forgets it.",
     .example = "SHOW BACKTEST october BY QUEUE"},
};

}  // namespace

std::span<const CommandRow> backtest_commands() { return kBacktestCommands; }

}  // namespace berth
