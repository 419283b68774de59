// Philly's 82,247 jobs on 80 nodes of 8 GPUs, virtual clusters as queues: waits, completions, evictions and lost work
// under several orders and rules, fair_share with reclaim against fifo, and the speed and memory of the simulation.
// tests/reference/philly_world.h says how it is laid out.
//
// `philly_table speed`, `promise`, `table` (without the rows per queue) or `queues` runs one part.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "tests/reference/philly_world.h"

namespace berth {
namespace {

using test::philly_input;
using test::philly_world;
using test::PhillyWorld;

// Reservations under conservative backfill; a round makes 100 by default, which takes five times as long here.
constexpr std::int32_t kConservativeDepth = 20;

double hours(std::int64_t milli_seconds) { return static_cast<double>(milli_seconds) / 3.6e6; }

void print_header() {
  fmt::print("{:<10} {:<9} {:<20} {:>6} {:>8} {:>8} {:>10} {:>7} {:>7} {:>10} {:>9} {:>9} {:>7}\n", "order",
             "durations", "backfill, preemption", "wait", "p50", "p90", "completion", "worst", "evicted", "lost GPU-h",
             "entitled", "denied", "cpu s");
}

void print_result(const std::string& order, const TimedOptions& options, const SimulationResult& result) {
  const QueueResult& all = result.all_queues;
  std::string rules(backfill_mode_name(options.rules.backfill));
  if (options.rules.backfill == BackfillMode::kConservative)
    rules += fmt::format(" of {}", options.rules.backfill_depth);
  if (options.rules.preemption != Preemption::kNone)
    rules += fmt::format(" + {}", preemption_name(options.rules.preemption));
  fmt::print("{:<10} {:<9} {:<20} {:>6.0f} {:>8} {:>8} {:>10.0f} {:>7.0f} {:>7} {:>10.1f} {:>9.1f} {:>9} {:>7.1f}\n",
             order, options.durations == DurationSource::kOracle ? "oracle" : "predicted", rules,
             all.wait_mean.value_or(0), all.wait_p50.value_or(0), all.wait_p90.value_or(0),
             all.completion_mean.value_or(0), all.worst_finish_ratio.value_or(0), all.evictions, hours(all.lost),
             all.entitled_wait_mean.value_or(0), all.longest_denied.value(), result.row.run_seconds);
  std::fflush(stdout);
}

void print_queues(const PhillyWorld& world, const SimulationResult& result) {
  fmt::print("  {:<8} {:>5} {:>6} {:>9} {:>8} {:>8} {:>10} {:>7} {:>7} {:>10} {:>7} {:>9} {:>9} {:>9}\n", "queue",
             "quota", "jobs", "wait", "p50", "p90", "completion", "worst", "evicted", "lost GPU-h", "within",
             "borrowing", "entitled", "denied");
  for (const QueueResult& queue : result.queues) {
    const auto owned = world.quota_gpus.find(queue.queue);
    fmt::print(
        "  {:<8} {:>5} {:>6} {:>9.0f} {:>8} {:>8} {:>10.0f} {:>7.0f} {:>7} {:>10.1f} {:>7} {:>9} {:>9.1f} {:>9}\n",
        queue.queue, owned == world.quota_gpus.end() ? 0 : owned->second, queue.jobs, queue.wait_mean.value_or(0),
        queue.wait_p50.value_or(0), queue.wait_p90.value_or(0), queue.completion_mean.value_or(0),
        queue.worst_finish_ratio.value_or(0), queue.evictions, hours(queue.lost), queue.starts_within_quota,
        queue.starts_borrowing, queue.entitled_wait_mean.value_or(0), queue.longest_denied.value());
  }
}

TimedOptions plain_options() {
  TimedOptions options;
  options.keep_tasks = false;
  options.utilisation_points = 100;
  return options;
}

// What it costs to hand out the records alone.
Result<double> seconds_to_read(const TimedInput& input) {
  const std::clock_t begin = std::clock();
  BERTH_ASSIGN(const std::unique_ptr<JobReader> reader, input.open_jobs());
  for (TraceJob job;;) {
    BERTH_ASSIGN(const bool found, reader->next(job));
    if (!found) break;
  }
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

Status print_speed(const PhillyWorld& world) {
  fmt::print("speed: fifo + best_fit, no preemption, one core\n");
  for (const BackfillMode backfill : {BackfillMode::kNone, BackfillMode::kGreedy}) {
    for (const int times : {1, 10}) {
      BERTH_ASSIGN(const TimedInput input, philly_input(world, false, times));
      TimedOptions options = plain_options();
      options.rules.backfill = backfill;
      const double before = peak_memory_mib();
      BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {"fifo", "best_fit"}, options));
      BERTH_ASSIGN(const double reading, seconds_to_read(input));
      const auto events = static_cast<double>(result.row.events);
      const double seconds = result.row.run_seconds;
      fmt::print(
          "  {:<7} {:>2} x the trace: {:>8} events in {:.3f} s, {:>9.0f} a second; without the {:.3f} s of reading "
          "records {:>9.0f}; peak memory {:.1f} MiB, before {:.1f}\n",
          backfill_mode_name(backfill), times, result.row.events, seconds, events / seconds, reading,
          events / (seconds - reading), result.row.peak_memory_mib, before);
    }
  }
  const std::clock_t begin = std::clock();
  BERTH_TRY(read_trace_jobs("philly", test::philly_folder() + "philly_jobs.csv.gz").status());
  fmt::print("  reading philly_jobs.csv.gz into memory: {:.3f} s\n",
             static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  return {};
}

struct TableRow {
  std::string order;
  TimedOptions options;
};

TableRow row_of(const char* order, DurationSource durations, BackfillMode backfill,
                Preemption preemption = Preemption::kNone) {
  TableRow row{order, plain_options()};
  row.options.durations = durations;
  row.options.rules.backfill = backfill;
  row.options.rules.backfill_depth = kConservativeDepth;
  row.options.rules.preemption = preemption;
  if (preemption != Preemption::kNone) {
    row.options.checkpoint_interval = Seconds(1800);
    row.options.restart_cost.above = Seconds(60);
  }
  return row;
}

std::vector<TableRow> table_rows() {
  std::vector<TableRow> rows;
  for (const auto& [order, durations] :
       {std::pair{"fifo", DurationSource::kOracle}, std::pair{"priority", DurationSource::kOracle},
        std::pair{"fair_share", DurationSource::kOracle}, std::pair{"sjf", DurationSource::kOracle},
        std::pair{"sjf", DurationSource::kPredicted}, std::pair{"las", DurationSource::kOracle}}) {
    for (const BackfillMode backfill :
         {BackfillMode::kNone, BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kGreedy}) {
      rows.push_back(row_of(order, durations, backfill));
    }
  }
  for (const BackfillMode backfill : {BackfillMode::kNone, BackfillMode::kEasy, BackfillMode::kGreedy}) {
    rows.push_back(row_of("fair_share", DurationSource::kOracle, backfill, Preemption::kReclaim));
  }
  rows.push_back(row_of("las", DurationSource::kOracle, BackfillMode::kNone, Preemption::kReplan));
  return rows;
}

Status print_table(const PhillyWorld& world, bool queues) {
  BERTH_ASSIGN(const TimedInput input, philly_input(world, true));
  print_header();
  for (const TableRow& row : table_rows()) {
    BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {row.order, "best_fit"}, row.options));
    print_result(row.order, row.options, result);
    if (queues) print_queues(world, result);
  }
  return {};
}

Status print_promise(const PhillyWorld& world) {
  BERTH_ASSIGN(const TimedInput input, philly_input(world, true));
  const TableRow reclaiming = row_of("fair_share", DurationSource::kOracle, BackfillMode::kEasy, Preemption::kReclaim);
  BERTH_ASSIGN(const SimulationResult fair, simulate_jobs(input, {reclaiming.order, "best_fit"}, reclaiming.options));
  print_header();
  print_result(reclaiming.order, reclaiming.options, fair);
  print_queues(world, fair);
  for (const BackfillMode backfill : {BackfillMode::kNone, BackfillMode::kEasy}) {
    const TableRow plain = row_of("fifo", DurationSource::kOracle, backfill);
    BERTH_ASSIGN(const SimulationResult fifo, simulate_jobs(input, {plain.order, "best_fit"}, plain.options));
    print_result(plain.order, plain.options, fifo);
    print_queues(world, fifo);
    fmt::print(
        "{} entitled jobs wait {:.0f} times less than under fifo, backfill {}\n", fair.all_queues.entitled_jobs,
        fifo.all_queues.entitled_wait_mean.value_or(0) / std::max(fair.all_queues.entitled_wait_mean.value_or(0), 1e-9),
        backfill_mode_name(backfill));
  }
  const RoundRules& rules = reclaiming.options.rules;
  fmt::print(
      "lost work {:.3f} % of delivered GPU-hours; a queue waits below its quota for at most {} s (minimum run time {} "
      "s, round {} s)\n",
      100 * hours(fair.all_queues.lost) / hours(fair.all_queues.delivered), fair.all_queues.longest_denied.value(),
      rules.min_runtime.value(), reclaiming.options.round_interval.value());
  return {};
}

Status run_parts(const std::string& part) {
  BERTH_ASSIGN(const PhillyWorld world, philly_world());
  if (part.empty() || part == "speed") BERTH_TRY(print_speed(world));
  if (part.empty() || part == "promise") BERTH_TRY(print_promise(world));
  if (part.empty() || part == "table" || part == "queues") BERTH_TRY(print_table(world, part != "table"));
  return {};
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  const berth::Status done = berth::run_parts(count > 1 ? arguments[1] : "");
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.message());
  return 1;
}
