// BACKTEST of a month with 100,000 jobs on 1,213 nodes, from the tables to the tables: how long it takes, and how many
// events (submissions, starts, ends) a second the simulation makes. The month is made up (sim/generator.h); what was
// recorded of it is a simulation under fifo.
//
// `backtest 20000` takes so many jobs.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/runtime/backtest.h"
#include "engine/runtime/import.h"
#include "engine/sim/berth_trace.h"
#include "engine/sim/generator.h"
#include "engine/sim/trace_model.h"
#include "engine/store/queue_records.h"

namespace berth {
namespace {

constexpr std::size_t kNodes = 1213;
constexpr std::int64_t kLoad = 450;  // percent: the generated jobs keep a sixth of the cluster busy

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// As many GPUs as make that many nodes.
GeneratorOptions month_of(std::int64_t jobs) {
  GeneratorOptions options{.seed = 7, .gpus = 16, .jobs = jobs, .span = Seconds(30 * 86400)};
  for (std::int64_t step = 1 << 14; step > 0; step /= 2) {
    options.gpus += step;
    if (generate_nodes(options).size() > kNodes) options.gpus -= step;
  }
  return options;
}

// The jobs with the starts that fifo would have given them.
Result<std::vector<TraceJob>> recorded_jobs(const std::vector<TraceNode>& nodes, const GeneratorOptions& options) {
  std::vector<TraceJob> jobs = generate_jobs(options);
  for (TraceJob& job : jobs) job.duration = Seconds(job.duration.value_or(Seconds(0)).value() * kLoad / 100);
  BERTH_ASSIGN(const Cluster cluster, cluster_from(nodes));
  BERTH_ASSIGN(const TimedInput input,
               timed_from(cluster, [&]() -> Result<std::unique_ptr<JobReader>> { return read_from(jobs); }));
  TimedOptions timed;
  timed.keep_tasks = false;
  timed.keep_jobs = true;
  BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {"fifo", "best_fit"}, timed));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].outcome = JobState::kFinished;
    if (result.jobs[i].start >= Seconds(0)) jobs[i].start = result.jobs[i].start;
  }
  fmt::print(
      "{} nodes, {} jobs in 30 days; fifo + best_fit: mean wait {:.0f} s, {:.0f} % of GPU time, {} events in {:.2f} "
      "s\n",
      nodes.size(), jobs.size(), result.all_queues.wait_mean.value_or(0), result.row.utilisation_pct.value_or(0),
      result.row.events, result.row.run_seconds);
  return jobs;
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return {};
}

Status print_backtest(Runtime& runtime, const GeneratorOptions& options, const std::string& policy,
                      const SettingOverrides& overrides, bool knows) {
  const double begin = now_seconds();
  BacktestRequest request;
  request.candidates = {{.policy = policy, .overrides = {}}};
  request.from = options.start;
  request.to = options.start + options.span;
  request.overrides = overrides;
  request.knows_durations = knows;
  BERTH_ASSIGN(const BacktestReport report, backtest(runtime, request));
  const BacktestRow& row = report.told.policies.back().rows.front();
  std::string rules;
  for (const auto& [name, value] : overrides) rules += fmt::format("{} {} ", name, value);
  fmt::print(
      "  {:<22} {:<34} {:<9} {:>7.2f} s in all, {:.2f} s reading; {} events in {:.2f} s: {:>9.0f} a second; mean wait "
      "{:.0f} s\n",
      policy, rules, knows ? "oracle" : "predicted", now_seconds() - begin, report.read_seconds, report.events,
      report.run_seconds, static_cast<double>(report.events) / std::max(report.run_seconds, 1e-9),
      row.wait_mean.value_or(0));
  std::fflush(stdout);
  return {};
}

Status run(std::int64_t count) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("berth_backtest_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const GeneratorOptions options = month_of(count);
  const std::vector<TraceNode> nodes = generate_nodes(options);
  BERTH_ASSIGN(const std::vector<TraceJob> jobs, recorded_jobs(nodes, options));
  BERTH_TRY(write_file(folder / "nodes.csv", berth_nodes_csv(nodes)));
  BERTH_TRY(write_file(folder / "jobs.csv", berth_jobs_csv(jobs)));
  RuntimeOptions opening;
  opening.database = folder / "month.db";
  BERTH_ASSIGN(const std::unique_ptr<Runtime> runtime, Runtime::open(opening));
  ImportOptions import;
  import.create_missing = true;
  const auto classes = runtime->change([](Change& change) -> Status {
    for (const GeneratedClass& each : generated_priority_classes())
      BERTH_TRY(add_priority_class(change, {.name = std::string(each.name), .value = each.value}));
    return {};
  });
  BERTH_TRY(classes.status());
  BERTH_TRY(import_nodes(*runtime, folder / "nodes.csv", import).status());
  double begin = now_seconds();
  BERTH_ASSIGN(const ImportReport report, import_trace(*runtime, folder / "jobs.csv", import, {}));
  fmt::print("IMPORT TRACE of {} jobs: {:.1f} s\n", report.added, now_seconds() - begin);
  const SettingOverrides greedy = {{"backfill", "greedy"}, {"preemption", "none"}};
  const SettingOverrides easy = {{"backfill", "easy"}, {"preemption", "none"}};
  for (const bool knows : {true, false}) {
    BERTH_TRY(print_backtest(*runtime, options, "fifo + best_fit", greedy, knows));
    BERTH_TRY(print_backtest(*runtime, options, "sjf + berth", greedy, knows));
    BERTH_TRY(print_backtest(*runtime, options, "fifo + berth", easy, knows));
    BERTH_TRY(print_backtest(*runtime, options, "live", {}, knows));
  }
  std::filesystem::remove_all(folder);
  return {};
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  const berth::Status done = berth::run(count > 1 ? std::max<std::int64_t>(std::atoll(arguments[1]), 1) : 100000);
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.message());
  return 1;
}
