#include "engine/round/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/policy/registry.h"
#include "engine/round/pass.h"
#include "engine/round/schedule.h"

namespace berth {

namespace {

Snapshot with_median_durations(const Snapshot& snapshot) {
  Snapshot median = snapshot;
  for (Job& job : median.jobs) job.estimate.p90 = job.estimate.p50;
  for (RunningJob& run : median.running) run.job.estimate.p90 = run.job.estimate.p50;
  return median;
}

// The jobs up to `job` in the present order, without those that no round looks at.
Result<std::vector<Job>> jobs_up_to(const Snapshot& snapshot, std::int64_t job, RoundState& state) {
  BERTH_ASSIGN(const std::unique_ptr<QueueOrder> order, make_order(snapshot.order_policy));
  const OrderInput input{.now = snapshot.now,
                         .seed = snapshot.seed,
                         .jobs = snapshot.jobs,
                         .priority_classes = snapshot.priority_classes,
                         .queues = snapshot.queues,
                         .aging_interval = snapshot.aging_interval,
                         .quotas = state.quotas().governs() ? &state.quotas() : nullptr,
                         .knobs = snapshot.order_knobs};
  const std::unique_ptr<JobSequence> sequence = order->begin(input);
  std::vector<Job> jobs;
  while (const std::optional<std::int32_t> index = sequence->next()) {
    jobs.push_back(snapshot.jobs[static_cast<std::size_t>(*index)]);
    if (jobs.back().id == job) break;
  }
  return jobs;
}

// The start of `job`, playing forward from `snapshot`.
Result<std::optional<Seconds>> play_forward(const Snapshot& snapshot, std::int64_t job,
                                            const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  RoundState& state = *planning.state;
  BERTH_ASSIGN(std::vector<Job> waiting, jobs_up_to(snapshot, job, state));
  std::vector<Reservation> reservations = snapshot.reservations;
  Seconds now = snapshot.now;
  const std::size_t ends = state.running().size() + waiting.size();
  const std::size_t at_once = std::max<std::size_t>(1, ends / kMostForecastPasses);
  for (;;) {
    if (interrupted != nullptr && interrupted->load(std::memory_order_relaxed)) {
      return Status(Code::kInterrupted, "the forecast was interrupted");
    }
    Pass pass(state, reservations, now);
    std::vector<Job> still_waiting;
    for (Job& next : waiting) {
      const bool started = !pass.closed() && pass.try_job(next).started;
      if (started && next.id == job) return std::optional(now);
      if (!started) still_waiting.push_back(std::move(next));
    }
    waiting = std::move(still_waiting);
    reservations = pass.reservations();
    if (state.running().size() == 0) return std::optional<Seconds>();
    std::vector<std::pair<Seconds, std::int64_t>> ending;
    for (const RunningJob& run : state.running().all()) {
      ending.emplace_back(expected_end_of(run, state.rules(), now), run.job.id);
    }
    std::ranges::sort(ending);
    const std::size_t taken = std::min(at_once, ending.size());
    now = std::max(now, ending[taken - 1].first);
    for (const auto& [end, id] : ending) {
      if (end <= now) BERTH_TRY(state.end(id));
    }
  }
}

}  // namespace

Result<Forecast> forecast_start(const Snapshot& snapshot, std::int64_t job, const std::atomic<bool>* interrupted) {
  if (std::ranges::find(snapshot.jobs, job, &Job::id) == snapshot.jobs.end()) {
    return Status(Code::kNotFound, fmt::format("job {} does not wait", job));
  }
  Forecast forecast;
  const auto is_guess = [](const Job& other) { return other.expected_end(Seconds(0)) < Seconds(0); };
  for (const RunningJob& run : snapshot.running) forecast.guesses += is_guess(run.job);
  for (const Job& other : snapshot.jobs) forecast.guesses += other.id != job && is_guess(other);
  BERTH_ASSIGN(forecast.p50, play_forward(with_median_durations(snapshot), job, interrupted));
  BERTH_ASSIGN(forecast.p90, play_forward(snapshot, job, interrupted));
  if (forecast.p50 && forecast.p90) forecast.p90 = std::max(*forecast.p50, *forecast.p90);
  return forecast;
}

}  // namespace berth
