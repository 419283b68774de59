// How often expected starts hold: Philly's 82,247 jobs on 80 nodes of 8 GPUs, their durations predicted from what had
// ended by then, and of every so many jobs that must wait the expected start forecast at its submission and corrected
// by the errors of the forecasts before it (policy/start_calibration.h). A p90 should hold for 85 to 95 % of them.
//
// `eta_calibration 20` looks at every 20th job (the default); fewer is slower. tests/reference/philly_world.h says how
// the trace is laid out; without it there is nothing to measure.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/reference/philly_world.h"

namespace berth {
namespace {

struct Row {
  std::string name;
  Seconds least;
  Seconds below;
};

struct Held {
  std::int64_t told = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  double error = 0;   // |start - p50|, seconds
  double raw = 0;     // |start - forecast|
  double spread = 0;  // p90 - p50

  void add(const ToldStart& told_start) {
    ++told;
    p50 += told_start.start <= told_start.expected.p50 ? 1 : 0;
    p90 += told_start.start <= told_start.expected.p90 ? 1 : 0;
    error += std::abs(static_cast<double>((told_start.start - told_start.expected.p50).value()));
    raw += std::abs(static_cast<double>((told_start.start - told_start.forecast).value()));
    spread += static_cast<double>((told_start.expected.p90 - told_start.expected.p50).value());
  }
};

void print_held(const std::string& name, const Held& held, std::int64_t at_once = 0) {
  const auto share = [&](std::int64_t count) {
    return 100.0 * static_cast<double>(count + at_once) /
           static_cast<double>(std::max<std::int64_t>(held.told + at_once, 1));
  };
  const auto mean = [&](double sum) { return sum / 60 / static_cast<double>(std::max<std::int64_t>(held.told, 1)); };
  fmt::print("  {:<28} {:>6} {:>7.1f} {:>7.1f} {:>12.1f} {:>12.1f} {:>12.1f}\n", name, held.told + at_once,
             share(held.p50), share(held.p90), mean(held.raw), mean(held.error), mean(held.spread));
}

Status print_calibration(const TimedInput& input, const std::string& order, BackfillMode backfill,
                         std::int64_t sample) {
  TimedOptions options;
  options.keep_tasks = false;
  options.utilisation_points = 100;
  options.durations = DurationSource::kPredicted;
  options.rules.backfill = backfill;
  options.expectation_sample = sample;
  const auto begin = std::chrono::steady_clock::now();
  BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {order, "best_fit"}, options));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Row horizons[] = {{"  told p50 within 10 min", Seconds(0), Seconds(600)},
                          {"  10 min to an hour", Seconds(600), Seconds(3600)},
                          {"  hours", Seconds(3600), Seconds(86400)},
                          {"  days", Seconds(86400), Seconds(INT64_MAX)}};
  Held all;
  Held by_horizon[std::size(horizons)];
  std::int64_t unmet = 0;
  for (const ToldStart& told : result.told_starts) {
    if (told.start < Seconds(0)) {
      ++unmet;
      continue;
    }
    all.add(told);
    for (std::size_t h = 0; h < std::size(horizons); ++h) {
      const Seconds wait = told.expected.p50 - told.made;
      if (wait >= horizons[h].least && wait < horizons[h].below) by_horizon[h].add(told);
    }
  }
  fmt::print("{}, backfill {}: every {}th job, mean wait {:.0f} s, {:.1f} s in all\n", order,
             backfill_mode_name(backfill), sample, result.all_queues.wait_mean.value_or(0), seconds);
  print_held("all jobs looked at", all, result.started_at_once);
  print_held("those that had to wait", all);
  for (std::size_t h = 0; h < std::size(horizons); ++h) print_held(horizons[h].name, by_horizon[h]);
  if (result.untold_starts > 0) fmt::print("  no start was in sight for {} more\n", result.untold_starts);
  if (unmet > 0) fmt::print("  {} of these never started\n", unmet);
  std::fflush(stdout);
  return {};
}

Status run(std::int64_t sample) {
  if (!std::filesystem::exists(test::philly_folder())) {
    fmt::print("skipped: {} is not there; BERTH_SHARED names the folder above\n", test::philly_folder());
    return {};
  }
  BERTH_ASSIGN(const test::PhillyWorld world, test::philly_world());
  BERTH_ASSIGN(const TimedInput with_quotas, test::philly_input(world, true));
  fmt::print("  {:<28} {:>6} {:>7} {:>7} {:>12} {:>12} {:>12}\n", "", "jobs", "p50 %", "p90 %", "forecast off",
             "p50 off, min", "p90 - p50");
  BERTH_TRY(print_calibration(with_quotas, "fifo", BackfillMode::kEasy, sample));
  BERTH_TRY(print_calibration(with_quotas, "fifo", BackfillMode::kGreedy, sample));
  BERTH_TRY(print_calibration(with_quotas, "fair_share", BackfillMode::kEasy, sample));
  return print_calibration(with_quotas, "sjf", BackfillMode::kGreedy, sample);
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  const berth::Status done = berth::run(count > 1 ? std::max<std::int64_t>(std::atoll(arguments[1]), 1) : 20);
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.message());
  return 1;
}
