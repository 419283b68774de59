// SIMULATE, SHOW and COMPARE SIMULATIONS.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/runtime/simulate.h"
#include "engine/store/simulations.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/simulate_options.h"
#include "shell/trace_options.h"

namespace berth {

namespace {

constexpr OptionRow kArrivalRows[] = {
    {.name = "order",
     .kind = "text",
     .default_value = "",
     .sentence = "File with the order of arrival: one row number of the task file a line, repeats allowed."},
    {.name = "rank",
     .kind = "text",
     .default_value = "",
     .sentence = "File with one rank per node: equal scores go to the lowest rank."},
    {.name = "inflate",
     .kind = "gpu",
     .default_value = "1.3",
     .minimum = "0.001",
     .maximum = "100",
     .sentence = "Without an order file: tasks are shuffled and repeated until they ask for this many times the "
                 "cluster's GPUs."},
    {.name = "seed", .kind = "integer", .default_value = "42", .minimum = "0", .sentence = "Of every random choice."},
    {.name = "shuffle_rank",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Without a rank file: a seeded rank instead of node order."},
    {.name = "fragmentation",
     .kind = "boolean",
     .default_value = "true",
     .sentence = "Measure fragmentation along the way."},
    {.name = "replace",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Overwrite a simulation of the same name."},
};
constexpr auto kArrivalsOptions = option_table(kArrivalRows, kNodeFileOptions, kJobFileOptions);

ResultTable results_table(const std::vector<SimulationResult>& results) {
  ResultTable table{.title = "results",
                    .columns = {{"simulation"},
                                {"policy"},
                                {"tasks"},
                                {"placed"},
                                {"failed"},
                                {"allocated_pct_at_100", Align::kByType, 2},
                                {"allocated_pct_at_130", Align::kByType, 2},
                                {"fragmented_pct", Align::kByType, 2},
                                {"wait_mean", Align::kByType, 1},
                                {"wait_p50"},
                                {"wait_p90"},
                                {"wait_p99"},
                                {"completion_mean", Align::kByType, 1},
                                {"makespan"},
                                {"decisions"},
                                {"decisions_per_second", Align::kByType, 0},
                                {"peak_memory_mib", Align::kByType, 1}},
                    .rows = {}};
  for (const SimulationResult& result : results) {
    const SimulationRow& r = result.row;
    table.rows.push_back({text_or_null(r.simulation), r.policy, r.tasks, r.placed, r.failed,
                          cell_or_null(r.allocated_pct_at_100), cell_or_null(r.allocated_pct_at_130),
                          cell_or_null(r.fragmented_pct), cell_or_null(r.wait_mean), cell_or_null(r.wait_p50),
                          cell_or_null(r.wait_p90), cell_or_null(r.wait_p99), cell_or_null(r.completion_mean),
                          cell_or_null(r.makespan), r.decisions, r.decisions_per_second, r.peak_memory_mib});
  }
  return table;
}

void add_queue_row(const std::string& policy, const std::string& queue, const QueueResult& q, ResultTable& table) {
  const bool has_quotas = q.starts_within_quota + q.starts_borrowing > 0;
  const auto of_quota = [&](Cell cell) { return has_quotas ? std::move(cell) : Cell(std::monostate()); };
  table.rows.push_back(
      {policy, queue, q.jobs, q.started, cell_or_null(q.wait_mean), cell_or_null(q.wait_p50), cell_or_null(q.wait_p90),
       cell_or_null(q.wait_most), cell_or_null(q.completion_mean), cell_or_null(q.worst_finish_ratio), q.evictions,
       gpu_hours_of(q.lost), gpu_hours_of(q.delivered), of_quota(q.starts_within_quota), of_quota(q.starts_borrowing),
       of_quota(q.entitled_jobs), cell_or_null(q.entitled_wait_mean), of_quota(q.longest_denied.value())});
}

ResultTable queues_table(const std::vector<SimulationResult>& results) {
  ResultTable table{.title = "queues",
                    .columns = {{"policy"},
                                {"queue"},
                                {"jobs"},
                                {"started"},
                                {"wait_mean", Align::kByType, 1},
                                {"wait_p50"},
                                {"wait_p90"},
                                {"wait_most"},
                                {"completion_mean", Align::kByType, 1},
                                {"worst_finish_ratio", Align::kByType, 1},
                                {"evictions"},
                                {"lost_gpu_hours", Align::kByType, 1},
                                {"gpu_hours", Align::kByType, 1},
                                {"starts_within_quota"},
                                {"starts_borrowing"},
                                {"entitled_jobs"},
                                {"entitled_wait_mean", Align::kByType, 1},
                                {"longest_denied"}},
                    .rows = {}};
  for (const SimulationResult& result : results) {
    for (const QueueResult& queue : result.queues)
      add_queue_row(result.row.policy, queue.queue.empty() ? "-" : queue.queue, queue, table);
    add_queue_row(result.row.policy, "all", result.all_queues, table);
  }
  return table;
}

// Beyond twice the cluster nothing is left to see, and the part that matters would be squeezed.
constexpr double kMostArrivedPct = 200;

void add_curves(const std::vector<SimulationResult>& results, const ChartStyle& style, Output& output) {
  std::vector<Series> allocated;
  std::vector<Series> fragmented;
  for (const SimulationResult& result : results) {
    Series a{.name = result.row.policy, .x = {}, .y = {}};
    Series f = a;
    for (const CurvePoint& point : result.curves) {
      if (point.arrived_pct > kMostArrivedPct) break;
      a.x.push_back(point.arrived_pct);
      a.y.push_back(point.allocated_pct);
      f.x.push_back(point.arrived_pct);
      f.y.push_back(point.fragmented_pct.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    if (a.x.empty()) continue;
    allocated.push_back(std::move(a));
    if (std::any_of(f.y.begin(), f.y.end(), [](double y) { return !std::isnan(y); }))
      fragmented.push_back(std::move(f));
  }
  if (!allocated.empty())
    output.add_chart(draw_plot(allocated, {.title = "allocated GPU %", .x = "arrived demand %", .y = "%"}, style));
  if (!fragmented.empty())
    output.add_chart(draw_plot(fragmented, {.title = "fragmented GPU %", .x = "arrived demand %", .y = "%"}, style));
}

void add_utilisation(const std::vector<SimulationResult>& results, const ChartStyle& style, Output& output) {
  std::vector<Series> running;
  std::vector<Series> waiting;
  for (const SimulationResult& result : results) {
    if (result.utilisation.empty()) continue;
    const Seconds start = result.utilisation.front().time;
    Series used{.name = result.row.policy, .x = {}, .y = {}};
    Series queue = used;
    for (const UtilisationPoint& point : result.utilisation) {
      const double x = static_cast<double>((point.time - start).value());
      used.x.push_back(x);
      used.y.push_back(static_cast<double>(point.used.value()) / 1000.0);
      queue.x.push_back(x);
      queue.y.push_back(static_cast<double>(point.waiting_jobs));
    }
    running.push_back(std::move(used));
    waiting.push_back(std::move(queue));
  }
  if (running.empty()) return;
  output.add_chart(
      draw_plot(running, {.title = "GPUs in use", .x = "time", .y = "GPUs", .x_is_time = true, .steps = true}, style));
  output.add_chart(
      draw_plot(waiting, {.title = "jobs waiting", .x = "time", .y = "jobs", .x_is_time = true, .steps = true}, style));
}

void add_waits(const std::vector<SimulationResult>& results, const ChartStyle& style, Output& output) {
  std::vector<Bar> bars;
  for (const SimulationResult& result : results) {
    if (!result.row.wait_mean) continue;
    bars.push_back(
        {.label = result.row.policy,
         .value = *result.row.wait_mean,
         .note = fmt::format("{} mean wait",
                             print_duration(Seconds(static_cast<std::int64_t>(std::llround(*result.row.wait_mean)))))});
  }
  if (bars.size() > 1) output.add_chart(draw_bars(bars, 0, style));
}

Output simulation_output(Session& session, const SimulationSet& set, bool by_queue) {
  Output output;
  ResultTable table = results_table(set.complete);
  ResultTable for_people = without_empty_columns(table);
  if (!for_people.columns.empty() && for_people.columns.front().name == "simulation") {  // its name was typed just now
    for_people.columns.erase(for_people.columns.begin());
    for (std::vector<Cell>& row : for_people.rows) row.erase(row.begin());
  }
  output.add(std::move(for_people), Audience::kPeople);
  output.add(std::move(table), Audience::kPrograms);
  if (by_queue) output.add(queues_table(set.complete));
  const ChartStyle style = chart_style(session.display, 14);
  add_curves(set.complete, style, output);
  add_utilisation(set.complete, style, output);
  add_waits(set.complete, style, output);
  constexpr std::size_t kMostSentences = 5;
  for (const SimulationResult& result : set.complete) {
    for (std::size_t i = 0; i < std::min(result.infeasible.size(), kMostSentences); ++i)
      output.add_note(result.infeasible[i]);
    const std::int64_t more = result.row.infeasible_jobs - static_cast<std::int64_t>(kMostSentences);
    if (more > 0) output.add_note(fmt::format("and {} that can never start", counted(more, "more job")));
    output.findings = output.findings || !result.infeasible.empty();
    if (!result.infeasible.empty()) break;  // the same for every policy
  }
  return output;
}

SimulationSource source_of(const Arguments& arguments) {
  const std::string format = arguments.text_or("format", "berth");
  const Result<const TraceFormat*> known = find_trace_format(format);
  const bool has_nodes = !known.ok() || (*known)->open_nodes != nullptr;
  return {.jobs = arguments.text("jobs"),
          .jobs_format = format,
          .nodes = arguments.text_or("nodes", ""),
          .nodes_format = arguments.text_or("nodes_format", has_nodes ? format : "berth"),
          .files = job_file_options(arguments.options())};
}

std::vector<std::string> texts(const std::vector<Value>& values) {
  std::vector<std::string> result;
  for (const Value& value : values) result.push_back(value.text);
  return result;
}

// A simulation reads its files more than once.
Status refuse_standard_input(const Arguments& arguments) {
  for (const std::string_view argument : {"jobs", "nodes"}) {
    if (arguments.text_or(argument, "") == "-")
      return arguments.fail(argument, Code::kInvalid, "SIMULATE reads a file more than once: not standard input",
                            "save it to a file first");
  }
  return {};
}

SimulationTarget target_of(const Arguments& arguments) {
  return {.name = arguments.text_or("into", ""),
          .statement = arguments.statement(),
          .replace = arguments.options().boolean("replace")};
}

Result<Output> finish_simulation(Session& session, const Arguments& arguments, Result<SimulationSet> set,
                                 bool by_queue = false) {
  session.progress->finish();
  if (!set.ok()) {
    return hint_format(hint_format(std::move(set).status(), arguments, "jobs", TraceContent::kJobs), arguments, "nodes",
                       TraceContent::kNodes);
  }
  if (set->interrupted && set->complete.empty())
    return Status(Code::kInterrupted, "interrupted before a policy was complete; nothing was kept");
  Output output = simulation_output(session, *set, by_queue);
  for (std::size_t i = 0; i < std::min<std::size_t>(set->skipped.size(), 5); ++i)
    output.add_note("skipped " + set->skipped[i]);
  if (!set->skipped.empty()) {
    output.add_note(fmt::format("{} skipped", counted(static_cast<std::int64_t>(set->skipped.size()), "row")));
    output.findings = true;
  }
  if (!set->unknown_queues.empty()) {
    output.add_note(fmt::format("{} of the jobs not in this database, without quota here: {}",
                                counted(std::ssize(set->unknown_queues), "queue"), join_some(set->unknown_queues, 5)));
  }
  if (set->interrupted) output.add_note("interrupted: the policies above are complete, the rest was not run");
  if (arguments.has("into")) {
    output.add_note(
        fmt::format("saved as {}; tables simulation_results, {}simulation_curves, simulation_utilisation and "
                    "simulation_tasks hold it",
                    arguments.text("into"), by_queue ? "simulation_queues, " : ""));
  }
  return output;
}

Result<Output> simulate_arrivals_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  BERTH_TRY(refuse_standard_input(arguments));
  ArrivalsRequest request;
  request.source = source_of(arguments);
  request.target = target_of(arguments);
  request.policies = texts(arguments.list("policies"));
  request.order_file = options.text_or("order", "");
  request.rank_file = options.text_or("rank", "");
  request.inflate_milli = options.gpu("inflate").value();
  request.seed = static_cast<std::uint64_t>(options.integer("seed"));
  request.shuffle_rank = options.boolean("shuffle_rank");
  request.measure_fragmentation = options.boolean("fragmentation");
  request.control = control_of(session);
  return finish_simulation(session, arguments, simulate(engine_of(session), request));
}

// Pooled devices know no score: one that is named would do nothing.
Status refuse_score(const Value& policy) {
  if (!check_policy_name(PolicyKind::kScore, policy.text).ok()) return {};
  return Status(Code::kInvalid, fmt::format("devices = pooled has no score policy, found '{}'", policy.text),
                "name the order alone, as in USING fifo; node_choice says which node is taken")
      .at(policy.span);
}

Result<Output> simulate_jobs_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  BERTH_TRY(refuse_standard_input(arguments));
  JobsRequest request;
  request.source = source_of(arguments);
  request.target = target_of(arguments);
  std::vector<Value> policies;
  for (const Arguments& policy : arguments.groups("policy")) {
    for (const std::string_view argument : {"first", "score"}) {
      if (policy.has(argument)) policies.push_back(policy.value(argument));
    }
    request.policies.push_back(policy.has("score") ? fmt::format("{} + {}", policy.text("first"), policy.text("score"))
                                                   : policy.text("first"));
  }
  std::optional<Settings> settings;
  if (request.source.nodes.empty()) {
    BERTH_ASSIGN(settings, read_settings(engine_of(session).db()));
  }
  BERTH_ASSIGN(request.options, timed_options(options, settings));
  for (const Value& policy : policies) {
    if (request.options.pooled_devices) BERTH_TRY(refuse_score(policy));
  }
  request.target.by_queue = arguments.has_word("BY");
  request.history = options.text_or("history", "");
  request.sort = options.boolean("sort");
  request.skip_bad_rows = options.boolean("skip_bad_rows");
  request.control = control_of(session);
  return finish_simulation(session, arguments, simulate(engine_of(session), request), arguments.has_word("BY"));
}

Result<Output> show_simulations(Session& session, const Arguments& arguments) {
  if (!arguments.has("name")) {
    return query_output(session,
                        "SELECT s.name AS simulation, s.kind, datetime(s.created_at, 'unixepoch') AS created, s.seed, "
                        "(SELECT group_concat(policy, ', ') FROM simulation_results r WHERE r.simulation = s.name) AS "
                        "policies FROM simulations s ORDER BY s.created_at, s.name");
  }
  Result<std::vector<SimulationResult>> results = load_saved_simulation(engine_of(session), arguments.text("name"));
  if (!results.ok()) return blame(std::move(results).status(), arguments.span("name"));
  const bool by_queue = std::ranges::any_of(*results, [](const SimulationResult& r) { return !r.queues.empty(); });
  return simulation_output(session, {.complete = *std::move(results), .interrupted = false}, by_queue);
}

std::string outcome_text(TaskOutcome state, const std::string& node, DeviceMask devices) {
  if (state != TaskOutcome::kPlaced) return std::string(task_outcome_name(state));
  return devices == 0 ? node : fmt::format("{} [{}]", node, print_device_mask(devices));
}

Result<Output> compare_statement(Session& session, const Arguments& arguments) {
  Result<Comparison> compared =
      compare_saved_simulations(engine_of(session), arguments.text("a"), arguments.text_or("policy_a", ""),
                                arguments.text("b"), arguments.text_or("policy_b", ""));
  if (!compared.ok()) {
    Status status = std::move(compared).status();
    const bool about_b = status.subject().value == arguments.text("b");
    if (status.code() == Code::kInvalid) {  // it has several policies
      const std::string hint = status.hint();
      const std::size_t first =
          hint.find(": ") == std::string::npos ? 0 : hint.find(": ") + 2;  // "name one: fgd, berth"
      const std::string example = hint.substr(first, hint.find(',', first) - first);
      status = Status(status.code(), fmt::format("{}: {}", status.message(), hint),
                      fmt::format("COMPARE SIMULATIONS {} POLICY '{}', ... compares that one",
                                  arguments.text(about_b ? "b" : "a"), example));
    }
    return arguments.point(std::move(status), about_b ? "b" : "a");
  }
  const Comparison& c = *compared;
  ResultTable summary{.title = "summary",
                      .columns = {{"paired"},
                                  {"same_devices"},
                                  {"same_node"},
                                  {"moved"},
                                  {"placed_only_in_a"},
                                  {"placed_only_in_b"},
                                  {"placed_in_neither"},
                                  {"only_in_a"},
                                  {"only_in_b"},
                                  {"earlier_in_b"},
                                  {"later_in_b"},
                                  {"wait_difference_mean", Align::kByType, 1}},
                      .rows = {{c.paired, c.same_devices, c.same_node, c.moved, c.placed_only_in_a, c.placed_only_in_b,
                                c.placed_in_neither, c.only_in_a, c.only_in_b, c.earlier_in_b, c.later_in_b,
                                cell_or_null(c.wait_difference_mean)}}};
  ResultTable differences{
      .title = "differences", .columns = {{"sequence"}, {"task"}, {"a"}, {"b"}, {"wait_difference"}}, .rows = {}};
  for (const ComparedTask& task : c.differences) {
    differences.rows.push_back({task.sequence_a, task.task, outcome_text(task.state_a, task.node_a, task.devices_a),
                                outcome_text(task.state_b, task.node_b, task.devices_b),
                                task.wait_difference ? Cell(task.wait_difference->value()) : Cell(std::monostate())});
  }
  constexpr std::size_t kMostDifferences = 20;
  ResultTable shown = differences;
  Output output;
  output.add(std::move(summary));
  if (shown.rows.size() > kMostDifferences) {
    shown.rows.resize(kMostDifferences);
    output.add_note(fmt::format("the first {} of {} differences; --json has all", kMostDifferences,
                                print_count(static_cast<std::int64_t>(differences.rows.size()))));
  }
  if (!shown.rows.empty()) output.add(std::move(shown), Audience::kPeople);
  output.add(std::move(differences), Audience::kPrograms);
  return output;
}

Result<Output> drop_simulation_statement(Session& session, const Arguments& arguments) {
  BERTH_TRY(engine_of(session).check_writable());
  BERTH_TRY(blame(drop_simulation(engine_of(session).db(), arguments.text("name")), arguments.span("name")));
  return Output::note(fmt::format("simulation {} dropped", arguments.text("name")));
}

constexpr std::string_view kSimulateFamily = "simulation";

#define BERTH_RESULT_COLUMNS                                                      \
  "Tables for people leave out columns without values; --json and csv have all. " \
  "decisions_per_second and peak_memory_mib are measurements and differ between runs."
#define BERTH_FILE_COLUMNS                                                                                       \
  "Format berth, unless another is named: jobs are name,submit,cpu,memory[,duration,queue,priority,user,group,"  \
  "tasks,min_tasks,gpus,gpu_memory,models,pool,locality,tag,time_limit, ...] (HELP IMPORT JOBS has all), nodes " \
  "name,cpu,memory[,devices,model,device_memory,rack,pool,link_groups]. "
const CommandRow kSimulateRows[] = {
    {.family = kSimulateFamily,
     .syntax = "SIMULATE ARRIVALS FROM <jobs:file> [FORMAT <format:format>] ON {CLUSTER | NODES FROM <nodes:file> "
               "[FORMAT <nodes_format:format>]} "
               "USING <policies:score_policy>, ... [WITH (<options>)] [INTO <into:new_name>]",
     .effect = Effect::kReads,
     .handler = simulate_arrivals_statement,
     .summary = "Replays tasks that arrive and never leave, under several score policies: how much of the cluster can "
                "be filled.",
     .example = "SIMULATE ARRIVALS FROM 'pods.csv' FORMAT openb ON NODES FROM 'nodes.csv' USING fgd, best_fit, berth "
                "WITH (inflate = 1.3, seed = 42) INTO run1",
     .options = kArrivalsOptions,
     .details = "A task that does not fit is dropped. " BERTH_FILE_COLUMNS
                "The node file's format is the task file's unless said (berth where "
                "that has none). Ctrl-C "
                "keeps the policies already complete. " BERTH_RESULT_COLUMNS},
    {.family = kSimulateFamily,
     .syntax = "SIMULATE JOBS FROM <jobs:file> [FORMAT <format:format>] ON {CLUSTER | NODES FROM <nodes:file> "
               "[FORMAT <nodes_format:format>]} "
               "USING policy:{<first:policy> [+ <score:score_policy>]}, ... [BY QUEUE] [WITH (<options>)] [INTO "
               "<into:new_name>]",
     .effect = Effect::kReads,
     .handler = simulate_jobs_statement,
     .summary = "Replays submit times and durations with queueing, under several order + score policies: waits, "
                "completion, utilisation.",
     .example = "SIMULATE JOBS FROM 'jobs.csv' ON CLUSTER USING fifo + berth, priority + fgd INTO night",
     .options = jobs_options(),
     .details = BERTH_FILE_COLUMNS
     "Where one policy is named alone, the order is fifo or the score berth. The cluster starts "
     "empty. ON CLUSTER brings the database's queues with their quotas and loans, which hold to the end; queues "
     "that jobs name are added; families of device models count as in SUBMIT JOB; and the database's settings hold for "
     "what no option says, except backfill and preemption. Decisions are those of live rounds at the moments at which "
     "jobs come, end or are "
     "stopped; a score that looks at the typical workload (berth) sees that of all these jobs. BY QUEUE adds a row per "
     "queue: waits, completions, evictions, work lost; where queues have quotas also "
     "starts within them, the wait of entitled jobs (those that would have started on arrival if the queue "
     "had had its quota for itself) and the longest time that a job waited which would have kept its queue "
     "within its "
     "quota. " BERTH_RESULT_COLUMNS},
    {.family = kSimulateFamily,
     .syntax = "SHOW {SIMULATION | SIMULATIONS} [<name:simulation>]",
     .effect = Effect::kReads,
     .handler = show_simulations,
     .summary = "Saved simulations, or one of them with its curves, and by queue where it was asked BY QUEUE.",
     .example = "SHOW SIMULATIONS run1"},
    {.family = kSimulateFamily,
     .syntax = "COMPARE SIMULATIONS <a:simulation> [POLICY <policy_a:text>], <b:simulation> [POLICY <policy_b:text>]",
     .effect = Effect::kReads,
     .handler = compare_statement,
     .summary = "Pairs two saved runs task by task: what moved, what fits in one only, who waits longer.",
     .example = "COMPARE SIMULATIONS run1 POLICY fgd, run1 POLICY berth"},
    {.family = kSimulateFamily,
     .syntax = "DROP SIMULATION <name:simulation>",
     .effect = Effect::kChanges,
     .handler = drop_simulation_statement,
     .summary = "Forgets a saved simulation.",
     .example = "DROP SIMULATION run1",
     .ask = ask_always,
     .transactional = true},
};
#undef BERTH_RESULT_COLUMNS

}  // namespace

std::span<const CommandRow> simulate_commands() { return kSimulateRows; }

}  // namespace berth
