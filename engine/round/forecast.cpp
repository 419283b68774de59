#include "engine/round/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <vector>

#include "engine/round/demand_classes.h"
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

// Plays forward from a snapshot until `job` starts.
class Future {
 public:
  Future(const Snapshot& snapshot, RoundState& state, std::int64_t job)
      : state_(state), job_(job), now_(snapshot.now), reservations_(snapshot.reservations) {}

  // The jobs ahead of it in the present order, and itself.
  Status load(const Snapshot& snapshot) {
    BERTH_ASSIGN(const Ordering ordering, ordering_of(snapshot, state_));
    while (const std::optional<std::int32_t> index = ordering.sequence->next()) {
      waiting_.push_back(&snapshot.jobs[static_cast<std::size_t>(*index)]);
      if (waiting_.back()->id == job_) break;
    }
    load_behind(snapshot);
    return {};
  }

  // Nothing = it does not start even when all that runs has ended.
  Result<std::optional<Seconds>> run(const std::atomic<bool>* interrupted) {
    while (!pass()) {
      if (interrupted != nullptr && interrupted->load(std::memory_order_relaxed)) {
        return Status(Code::kInterrupted, "the forecast was interrupted");
      }
      if (state_.running().size() == 0) return std::optional<Seconds>();
      BERTH_TRY(end_some());
    }
    return std::optional(now_);
  }

 private:
  // Jobs behind it that it, or one ahead of it, has to wait for.
  void load_behind(const Snapshot& snapshot) {
    std::unordered_set<std::int64_t> known;
    for (const Job* job : waiting_) known.insert(job->id);
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      for (const std::int64_t id : waiting_[i]->after) {
        const auto other = std::ranges::find(snapshot.jobs, id, &Job::id);
        if (other != snapshot.jobs.end() && known.insert(id).second) waiting_.push_back(&*other);
      }
    }
  }

  // The job as it waits now: without those that have ended meanwhile.
  const Job* renewed(const Job* job) {
    const auto has_ended = [&](std::int64_t id) { return ended_jobs_.contains(id); };
    if (job->after.empty() || !std::ranges::all_of(job->after, has_ended)) return job;
    Job free = *job;
    free.after.clear();
    return &freed_.emplace_back(std::move(free));
  }

  // Whether the job has started.
  bool pass() {
    Pass pass(state_, reservations_, now_);
    if (const std::vector<std::int64_t> promised = pass.promised(); !promised.empty()) {
      std::stable_partition(waiting_.begin(), waiting_.end(),
                            [&](const Job* job) { return std::ranges::binary_search(promised, job->id); });
    }
    FailedDemands failed;
    bool has_started = false;
    std::vector<const Job*> still_waiting;
    for (const Job* waiting : waiting_) {
      const Job* job = renewed(waiting);
      if (starts(*job, pass, failed)) {
        has_started = has_started || job->id == job_;
      } else {
        still_waiting.push_back(job);
      }
    }
    waiting_ = std::move(still_waiting);
    reservations_ = pass.reservations();
    return has_started;
  }

  bool starts(const Job& job, Pass& pass, FailedDemands& failed) {
    if (pass.closed()) return false;
    const bool may_evict = (ended_ == 0 || job.id == job_) && may_evict_others(job, state_.rules(), now_);
    const Seconds end = state_.quotas().looks_at_end() ? job.expected_end(now_) : Seconds(0);
    const std::size_t demand = classes_.of(job, may_evict, end);
    if (failed.find(demand, pass.evictions().size())) return false;
    const PassOutcome outcome = pass.try_job(job, may_evict);
    if (!outcome.started && !outcome.keeps_room) failed.note(demand, pass.evictions().size());
    return outcome.started;
  }

  // The next few ends among what runs.
  Status end_some() {
    std::vector<std::pair<Seconds, std::int64_t>> ends;
    for (const RunningJob& run : state_.running().all()) {
      ends.emplace_back(expected_end_of(run, state_.rules(), now_), run.job.id);
    }
    const std::size_t taken = std::min(1 + ended_ / kForecastFineness, ends.size());
    std::ranges::nth_element(ends, ends.begin() + static_cast<std::ptrdiff_t>(taken - 1));
    now_ = std::max(now_, ends[taken - 1].first);
    std::erase_if(ends, [&](const auto& end) { return end.first > now_; });
    std::ranges::sort(ends);
    for (const auto& [end, id] : ends) {
      BERTH_TRY(state_.end(id));
      ended_jobs_.insert(id);
    }
    ended_ += ends.size();
    return {};
  }

  RoundState& state_;
  std::int64_t job_;
  Seconds now_;
  std::vector<Reservation> reservations_;
  std::vector<const Job*> waiting_;
  std::size_t ended_ = 0;  // jobs, so far
  DemandClasses classes_;
  std::unordered_set<std::int64_t> ended_jobs_;
  std::deque<Job> freed_;  // jobs in waiting_ whose dependencies have ended
};

Result<std::optional<Seconds>> play_forward(const Snapshot& snapshot, std::int64_t job,
                                            const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  Future future(snapshot, *planning.state, job);
  BERTH_TRY(future.load(snapshot));
  return future.run(interrupted);
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
