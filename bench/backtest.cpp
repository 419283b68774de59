// BACKTEST of a month with 100,000 jobs on 1,213 nodes, from the tables to the answer: how long it takes, and how many
// events (submissions, starts, ends) a second of processor time the simulation makes. Two months: openb's machines with
// its pods drawn at random (needs BERTH_SHARED), and one made up (sim/generator.h) of gangs that must lie in one rack
// or on one node. What was recorded of them is a simulation under fifo.
//
// `backtest 20000` takes so many jobs.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
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

constexpr Seconds kSpan{30 * 86400};

struct Month {
  std::string name;
  std::vector<TraceNode> nodes;
  std::vector<TraceJob> jobs;
  Seconds start;
};

// As many GPUs as make that many nodes.
GeneratorOptions month_of(std::int64_t jobs) {
  GeneratorOptions options{.seed = 7, .gpus = 16, .jobs = jobs, .span = kSpan};
  for (std::int64_t step = 1 << 14; step > 0; step /= 2) {
    options.gpus += step;
    if (generate_nodes(options).size() > kNodes) options.gpus -= step;
  }
  return options;
}

// Openb's machines, and its pods drawn at random: single tasks with parts of devices, 10 minutes to 12 days long.
Result<Month> openb_month(std::int64_t jobs) {
  const char* shared = std::getenv("BERTH_SHARED");
  const std::string folder = std::string(shared != nullptr ? shared : "../shared") + "/traces/openb/";
  BERTH_ASSIGN(const ReadRecords<TraceNode> nodes, read_trace_nodes("openb", folder + "openb_node_list_gpu_node.csv"));
  BERTH_ASSIGN(const ReadRecords<TraceJob> pods, read_trace_jobs("openb", folder + "openb_pod_list_default.csv"));
  Month month{.name = "openb", .nodes = nodes.records, .jobs = {}, .start = Seconds(1767571200)};
  Random random(7);
  for (std::int64_t i = 0; i < jobs; ++i) {
    TraceJob job = pods.records[random.below(pods.records.size())];
    job.name = fmt::format("pod-{}", i);
    job.submit = month.start + Seconds(static_cast<std::int64_t>(random.below(kSpan.value())));
    job.duration = Seconds(static_cast<std::int64_t>(600 * std::pow(1728, random.unit())));
    job.queue = job.queue.empty() ? "all" : job.queue;
    month.jobs.push_back(std::move(job));
  }
  sort_by_submit(month.jobs);
  return month;
}

Month generated_month(std::int64_t count) {
  const GeneratorOptions options = month_of(count);
  Month month{
      .name = "generated", .nodes = generate_nodes(options), .jobs = generate_jobs(options), .start = options.start};
  for (TraceJob& job : month.jobs) job.duration = Seconds(job.duration.value_or(Seconds(0)).value() * kLoad / 100);
  return month;
}

// Gives the jobs the starts that fifo would have given them.
Status record_starts(Month& month) {
  BERTH_ASSIGN(const Cluster cluster, cluster_from(month.nodes));
  const std::vector<TraceJob>& jobs = month.jobs;
  BERTH_ASSIGN(const TimedInput input,
               timed_from(cluster, [&]() -> Result<std::unique_ptr<JobReader>> { return read_from(jobs); }));
  TimedOptions timed;
  timed.keep_tasks = false;
  timed.keep_jobs = true;
  BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {"fifo", "best_fit"}, timed));
  for (std::size_t i = 0; i < month.jobs.size(); ++i) {
    month.jobs[i].outcome = JobState::kFinished;
    if (result.jobs[i].start >= Seconds(0)) month.jobs[i].start = result.jobs[i].start;
  }
  fmt::print(
      "{}: {} nodes, {} jobs in 30 days; fifo + best_fit: mean wait {:.0f} s, {:.0f} % of GPU time, {} events in "
      "{:.2f} s\n",
      month.name, month.nodes.size(), month.jobs.size(), result.all_queues.wait_mean.value_or(0),
      result.row.utilisation_pct.value_or(0), result.row.events, result.row.run_seconds);
  return {};
}

void write_file(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

Status print_backtest(Runtime& runtime, Seconds first, const std::string& policy, const SettingOverrides& overrides,
                      bool knows) {
  const double begin = now_seconds();
  BacktestRequest request;
  request.candidates = {{.policy = policy, .overrides = {}}};
  request.from = first;
  request.to = first + kSpan;
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

Status backtest_month(Month month) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("berth_backtest_{}_{}", month.name, ::getpid());
  std::filesystem::create_directories(folder);
  BERTH_TRY(record_starts(month));
  write_file(folder / "nodes.csv", berth_nodes_csv(month.nodes));
  write_file(folder / "jobs.csv", berth_jobs_csv(month.jobs));
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
  const double begin = now_seconds();
  TraceImport past;
  past.shift = true;
  BERTH_ASSIGN(const ImportReport report, import_trace(*runtime, folder / "jobs.csv", import, past));
  fmt::print("IMPORT TRACE of {} jobs: {:.1f} s\n", report.added, now_seconds() - begin);
  BERTH_ASSIGN(const std::int64_t first, runtime->db().integer("SELECT min(submit_time) FROM jobs"));
  const SettingOverrides greedy = {{"backfill", "greedy"}, {"preemption", "none"}};
  const SettingOverrides none = {{"backfill", "none"}, {"preemption", "none"}};
  const SettingOverrides easy = {{"backfill", "easy"}, {"preemption", "none"}};
  BERTH_TRY(print_backtest(*runtime, Seconds(first), "fifo + best_fit", none, true));
  BERTH_TRY(print_backtest(*runtime, Seconds(first), "fifo + best_fit", greedy, true));
  BERTH_TRY(print_backtest(*runtime, Seconds(first), "sjf + berth", greedy, false));
  BERTH_TRY(print_backtest(*runtime, Seconds(first), "fifo + berth", easy, false));
  BERTH_TRY(print_backtest(*runtime, Seconds(first), "live", {}, false));
  std::filesystem::remove_all(folder);
  return {};
}

Status run(std::int64_t count) {
  Result<Month> openb = openb_month(count);
  if (openb.ok()) {
    BERTH_TRY(backtest_month(*std::move(openb)));
  } else {
    fmt::print("openb skipped: {}; BERTH_SHARED names the folder above\n", openb.status().message());
  }
  return backtest_month(generated_month(count));
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  const berth::Status done = berth::run(count > 1 ? std::max<std::int64_t>(std::atoll(arguments[1]), 1) : 100000);
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.message());
  return 1;
}
