#include "engine/round/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/round/demand_classes.h"
#include "engine/round/loan_return.h"
#include "engine/round/own_models.h"
#include "engine/round/pass.h"
#include "engine/round/schedule.h"

namespace berth {

namespace {

Snapshot with_median_durations(const Snapshot& snapshot) {
  Snapshot median = snapshot;
  const auto take_median = [](Job& job) {
    DurationEstimate& estimate = job.estimate;
    estimate.longest = last_end_of(job, Seconds(0));
    estimate.p90 = estimate.p50;
    estimate.is_rough = false;
  };
  for (Job& job : median.jobs) take_median(job);
  for (RunningJob& run : median.running) take_median(run.job);
  return median;
}

// When that ends which has run for longer than was expected is asked once. Else each moment that is played would put
// it off by as much again.
void settle_overdue(Snapshot& snapshot) {
  const Seconds now = snapshot.now;
  for (RunningJob& run : snapshot.running) {
    const Seconds planned = run.planned_end();
    const bool is_known = planned >= run.start;
    if (run.is_told_to_end() || (is_known ? planned : run.start + snapshot.rules.default_duration) > now) continue;
    Job& job = run.job;
    Seconds end = untold_end_of(run, snapshot.rules, now);
    if (job.time_limit > Seconds(0) && run.start + job.time_limit > now) {
      end = std::min(end, run.start + job.time_limit);
    } else {
      job.time_limit = Seconds(0);
    }
    job.estimate.p90 = end - run.start;
    job.estimate.is_rough = false;
  }
}

// Of some duration more is known than one number.
bool has_spread(const Snapshot& snapshot) {
  const auto is_spread = [](const Job& job) {
    return job.estimate.p50 > Seconds(0) && job.expected_end(Seconds(0)) != job.estimate.p50;
  };
  return std::ranges::any_of(snapshot.jobs, is_spread) ||
         std::ranges::any_of(snapshot.running, is_spread, &RunningJob::job);
}

// In order, each once; of many some, the last among them.
std::vector<Seconds> thinned(std::vector<Seconds> moments) {
  constexpr std::size_t kMost = 4;
  std::ranges::sort(moments);
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  if (moments.size() <= kMost) return moments;
  std::vector<Seconds> some;
  for (std::size_t i = 0; i < kMost; ++i) some.push_back(moments[i * (moments.size() - 1) / (kMost - 1)]);
  return some;
}

// Plays forward until the wanted jobs have started, in a snapshot of its own and the state made from it.
class Future {
 public:
  Future(Snapshot& snapshot, RoundState& state, std::span<const std::int64_t> wanted, std::int64_t most_looks)
      : snapshot_(snapshot), state_(state), wanted_(wanted.begin(), wanted.end()), most_looks_(most_looks) {}

  // Leaves the jobs that matter: where the order of two jobs never changes, those ahead of the last wanted one, owners
  // behind it, who pass a borrower, those that room is being made for and those that they come after.
  Status load() {
    BERTH_TRY(keep_for_lenders(state_, snapshot_.jobs, snapshot_.now));
    find_moments();
    for (const Job& job : snapshot_.jobs) awaited_.insert(job.after.begin(), job.after.end());
    std::erase_if(snapshot_.reservations, [&](const Reservation& each) {
      return find_hold(snapshot_.holds, each.job) != nullptr || state_.is_refused(each.job, snapshot_.now);
    });
    find_passers();
    BERTH_ASSIGN(const Ordering ordering, ordering_of(snapshot_, state_));
    if (!ordering.policy->is_fixed() || snapshot_.now < passed_until_) return {};
    std::unordered_set<std::int64_t> ahead;
    // What room is being made for starts before them all.
    for (const Reservation& each : snapshot_.reservations) {
      if (each.kind == ReservationKind::kEviction) ahead.insert(each.job);
    }
    std::size_t seen = 0;
    while (const std::optional<std::int32_t> index = ordering.sequence->next()) {
      const Job& job = snapshot_.jobs[static_cast<std::size_t>(*index)];
      ahead.insert(job.id);
      seen += wanted_.contains(job.id) ? 1 : 0;
      if (seen == wanted_.size()) break;
    }
    std::erase_if(snapshot_.jobs, [&](const Job& job) {
      return !ahead.contains(job.id) && !awaited_.contains(job.id) && !passers_.contains(job.id);
    });
    return {};
  }

  // For wanted jobs, as they came.
  std::vector<Eviction>& evictions() { return evictions_; }

  // Moments by job; those that are not there do not start even when all that runs has ended.
  Result<std::unordered_map<std::int64_t, Seconds>> run(const std::atomic<bool>* interrupted) {
    for (;;) {
      if (interrupted != nullptr && interrupted->load(std::memory_order_relaxed)) {
        return Status(Code::kInterrupted, "the forecast was interrupted");
      }
      BERTH_TRY(pass());
      const bool is_spent = most_looks_ > 0 && looks_ >= most_looks_;
      if (wanted_.empty() || is_spent || state_.running().size() == 0) return std::move(starts_);
      BERTH_TRY(go_on());
    }
  }

 private:
  // A wanted job may borrow by then what jobs of other queues own, whatever they use now.
  void find_passers() {
    const QuotaLedger& quotas = state_.quotas();
    if (!quotas.governs()) return;
    std::set<std::int32_t> queues;
    for (const Job& job : snapshot_.jobs) {
      if (wanted_.contains(job.id) && job.queue >= 0) queues.insert(job.queue);
    }
    for (const Job& job : snapshot_.jobs) {
      const bool is_beside = !queues.empty() && (queues.size() > 1 || *queues.begin() != job.queue);
      if (is_beside && job.queue >= 0 && !wanted_.contains(job.id) && could_own(job)) passers_.insert(job.id);
    }
  }

  // What a job that names no model counts against is known when it is placed.
  bool could_own(const Job& job) const {
    const QuotaLedger& quotas = state_.quotas();
    return quotas.choices_of(job) != 0 || depths_that_suffice(quotas, job.queue, quotas.demand_to_start(job)) != 0;
  }

  // When a wanted job may evict at last though nothing has ended until then: it has waited long enough by then, or one
  // that runs now has run long enough.
  void find_moments() {
    const RoundRules& rules = state_.rules();
    std::vector<Seconds> waited;
    for (const Job& job : snapshot_.jobs) {
      const Seconds until = steps_back_until(job, rules);
      if (!wanted_.contains(job.id) || until <= snapshot_.now || !state_.quotas().governs()) continue;
      waited.push_back(until);
      passed_until_ = std::max(passed_until_, until);
    }
    std::ranges::sort(waited, std::greater<>());
    moments_ = waited;
    const bool may_be = state_.quotas().governs() || !snapshot_.priority_classes.empty();
    looks_at_evictions_ = rules.preemption == Preemption::kReclaim && may_be;
    if (!looks_at_evictions_) return;
    for (const Job& job : snapshot_.jobs) {
      if (!wanted_.contains(job.id)) continue;
      Seconds from = evicts_from(job, rules);
      if (state_.is_refused(job.id, snapshot_.now))
        from = std::max(from, find_refusal(snapshot_.refused, job.id)->at + rules.reservation_ttl);
      if (from > snapshot_.now) waited.push_back(from);
    }
    std::vector<Seconds> ran;
    for (const RunningJob& run : state_.running().all()) {
      const Seconds from = evictable_from(run, rules);
      for (const Seconds moment : {from, std::max(from, rests_until(run, rules))}) {
        if (moment > snapshot_.now && moment < kNever) ran.push_back(moment);
      }
    }
    moments_ = thinned(std::move(waited));
    const std::vector<Seconds> others = thinned(std::move(ran));
    moments_.insert(moments_.end(), others.begin(), others.end());
    std::ranges::sort(moments_, std::greater<>());
  }

  // Who has just started may be evicted in turn.
  void note_moments_of(const std::unordered_set<std::int64_t>& started) {
    if (!looks_at_evictions_) return;
    for (const std::int64_t id : started) {
      const RunningJob* const run = state_.running().find(id);
      if (run == nullptr || moments_added_ == kMostAdded) continue;
      const Seconds from = std::max(evictable_from(*run, state_.rules()), rests_until(*run, state_.rules()));
      const auto place = std::ranges::lower_bound(moments_, from, std::greater<>());
      if (from <= snapshot_.now || from >= kNever || (place != moments_.end() && *place == from)) continue;
      moments_.insert(place, from);
      ++moments_added_;
    }
  }

  // One over the jobs as they stand in order now, until the wanted ones have been tried; behind them only those that
  // others await.
  Status pass() {
    BERTH_ASSIGN(const Ordering ordering, ordering_of(snapshot_, state_));
    const KeptReservations kept{.reservations = snapshot_.reservations,
                                .jobs = snapshot_.jobs,
                                .order = ordering.policy.get(),
                                .input = ordering.input.get()};
    std::optional<Pass> pass(std::in_place, state_, kept, snapshot_.now);
    std::unordered_set<std::int64_t> started;
    walk(*pass, kept, *ordering.sequence, started);
    note_evictions(*pass);
    std::vector<Reservation> reservations = pass->reservations();
    while (pass->leaves_room()) {
      const KeptReservations of_last{reservations, kept.jobs, kept.order, kept.input};
      Pass::Rest rest = pass->take_rest();
      pass.emplace(state_, of_last, snapshot_.now, std::move(rest));
      walk(*pass, of_last, *ordering.policy->begin(*ordering.input), started);
      note_evictions(*pass);
      reservations = pass->reservations();
    }
    for (const std::int64_t id : started) {
      if (wanted_.erase(id) > 0) starts_.emplace(id, snapshot_.now);
      passers_.erase(id);
    }
    if (!wanted_.empty()) note_moments_of(started);
    snapshot_.reservations = std::move(reservations);
    if (!started.empty()) std::erase_if(snapshot_.jobs, [&](const Job& job) { return started.contains(job.id); });
    return {};
  }

  void note_evictions(const Pass& pass) {
    for (const Eviction& eviction : pass.evictions()) {
      if (wanted_.contains(eviction.beneficiary)) evictions_.push_back(eviction);
    }
  }

  void walk(Pass& pass, const KeptReservations& kept, JobSequence& sequence,
            std::unordered_set<std::int64_t>& started) {
    FailedDemands failed;
    const auto try_one = [&](const Job& job, int levels) {
      if (!started.contains(job.id) && starts(job, pass, failed, levels)) started.insert(job.id);
    };
    const std::vector<std::int64_t> promised = pass.promised();
    for (const std::int64_t id : promised) {
      const auto job = std::ranges::find(snapshot_.jobs, id, &Job::id);
      if (pass.is_first() && job != snapshot_.jobs.end()) try_one(*job, 0);
    }
    // Where ranks move, the oldest reservation binds those before its job in the order.
    std::unordered_set<std::int64_t> reserved;
    if (kept.ranks_move()) {
      for (const Reservation& each : kept.reservations) reserved.insert(each.job);
    }
    std::size_t seen = 0;
    // While a wanted job steps back, those behind it pass.
    const auto are_all_seen = [&] { return seen == wanted_.size() && snapshot_.now >= passed_until_; };
    while (const std::optional<std::int32_t> index = sequence.next()) {
      const Job& job = snapshot_.jobs[static_cast<std::size_t>(*index)];
      const bool is_behind = are_all_seen();
      const int levels = sequence.levels_within_quota();
      const bool matters =
          !is_behind || awaited_.contains(job.id) || reserved.contains(job.id) || passers_.contains(job.id);
      if (!std::ranges::binary_search(promised, job.id) && matters) try_one(job, levels);
      if (levels == 0) reserved.erase(job.id);
      seen += levels == 0 && wanted_.contains(job.id) ? 1 : 0;
      if (pass.closed() || (are_all_seen() && awaited_.empty() && reserved.empty() && passers_.empty())) break;
    }
  }

  bool starts(const Job& job, Pass& pass, FailedDemands& failed, int levels) {
    ++looks_;
    if (pass.closed()) return false;
    const MayEvict may_evict = levels > 0 ? MayEvict::kNobody : pass.may_evict_for(job);
    const Seconds end = state_.quotas().looks_at_end() ? job.expected_end(snapshot_.now) : Seconds(0);
    const auto [kind, is_new] = kinds_.try_emplace(job.id);
    if (is_new) kind->second = classes_.kind_of(job);
    const std::size_t demand = classes_.of(kind->second, job, may_evict, end, levels);
    if (failed.find(demand, pass.evictions().size())) return false;
    const PassOutcome outcome = pass.try_job(job, may_evict != MayEvict::kNobody, levels);
    if (!outcome.started && !outcome.keeps_room) failed.note(demand, pass.evictions().size());
    return outcome.started;
  }

  // The next few ends among what runs, or a moment before them.
  Status go_on() {
    std::vector<std::pair<Seconds, std::int64_t>> ends;
    for (const RunningJob& run : state_.running().all()) {
      ends.emplace_back(expected_end_of(run, state_.rules(), snapshot_.now), run.job.id);
    }
    std::size_t taken = std::min(1 + ended_ / kForecastFineness, ends.size());
    std::ranges::partial_sort(ends, ends.begin() + static_cast<std::ptrdiff_t>(taken));
    // Ends far behind the first are for later: who starts now may end before.
    const Seconds first = ends.front().first;
    const Seconds furthest = first + Seconds((first - begin_).value() / static_cast<std::int64_t>(kForecastFineness));
    while (taken > 1 && ends[taken - 1].first > furthest) --taken;
    while (!moments_.empty() && moments_.back() <= snapshot_.now) moments_.pop_back();
    if (!moments_.empty() && moments_.back() < ends[taken - 1].first) {
      snapshot_.now = moments_.back();
      return {};
    }
    snapshot_.now = std::max(snapshot_.now, ends[taken - 1].first);
    std::erase_if(ends, [&](const auto& end) { return end.first > snapshot_.now; });
    std::ranges::sort(ends);
    for (const auto& [end, id] : ends) {
      BERTH_TRY(state_.end(id));
      ended_jobs_.insert(id);
    }
    ended_ += ends.size();
    // With a job ends the surplus that it waits for.
    std::erase_if(snapshot_.jobs, [&](const Job& job) { return ended_jobs_.contains(job.id); });
    if (awaited_.empty()) return {};
    for (Job& job : snapshot_.jobs) std::erase_if(job.after, [&](std::int64_t id) { return ended_jobs_.contains(id); });
    return {};
  }

  Snapshot& snapshot_;
  RoundState& state_;
  Seconds begin_ = snapshot_.now;
  std::unordered_set<std::int64_t> wanted_;  // and not started yet
  std::int64_t most_looks_;                  // 0 = any number
  std::int64_t looks_ = 0;
  std::unordered_map<std::int64_t, Seconds> starts_;
  std::size_t ended_ = 0;  // jobs, so far
  static constexpr int kMostAdded = 16;
  bool looks_at_evictions_ = false;
  Seconds passed_until_{0};                   // a wanted job steps back until then
  std::unordered_set<std::int64_t> passers_;  // have quota, which a wanted job would borrow
  std::vector<Seconds> moments_;              // latest first
  int moments_added_ = 0;                     // of jobs that start on the way
  std::vector<Eviction> evictions_;
  DemandClasses classes_;
  std::unordered_map<std::int64_t, std::size_t> kinds_;  // by job
  std::unordered_set<std::int64_t> ended_jobs_;
  std::unordered_set<std::int64_t> awaited_;  // jobs that others come after
};

Result<std::vector<std::optional<Seconds>>> play_forward(Snapshot snapshot, std::span<const std::int64_t> jobs,
                                                         std::int64_t most_looks, const std::atomic<bool>* interrupted,
                                                         std::vector<Eviction>* evictions = nullptr) {
  settle_overdue(snapshot);
  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  Future future(snapshot, *planning.state, jobs, most_looks);
  BERTH_TRY(future.load());
  BERTH_ASSIGN(const auto starts, future.run(interrupted));
  if (evictions != nullptr) *evictions = std::move(future.evictions());
  std::vector<std::optional<Seconds>> result;
  for (const std::int64_t job : jobs) {
    const auto start = starts.find(job);
    result.push_back(start == starts.end() ? std::nullopt : std::optional(start->second));
  }
  return result;
}

Result<std::optional<Seconds>> play_forward(Snapshot snapshot, std::int64_t job, const std::atomic<bool>* interrupted,
                                            std::vector<Eviction>* evictions = nullptr) {
  BERTH_ASSIGN(const auto starts, play_forward(std::move(snapshot), std::span(&job, 1), 0, interrupted, evictions));
  return starts.front();
}

}  // namespace

Result<std::vector<std::optional<Seconds>>> forecast_starts(const Snapshot& snapshot,
                                                            std::span<const std::int64_t> jobs,
                                                            ForecastDurations durations, std::int64_t most_looks,
                                                            const std::atomic<bool>* interrupted) {
  for (const std::int64_t job : jobs) {
    if (std::ranges::find(snapshot.jobs, job, &Job::id) == snapshot.jobs.end())
      return Status(Code::kNotFound, fmt::format("job {} does not wait", job));
  }
  const bool is_median = durations == ForecastDurations::kMedian;
  return play_forward(is_median ? with_median_durations(snapshot) : snapshot, jobs, most_looks, interrupted);
}

Result<Forecast> forecast_start(const Snapshot& snapshot, std::int64_t job, const std::atomic<bool>* interrupted) {
  if (std::ranges::find(snapshot.jobs, job, &Job::id) == snapshot.jobs.end()) {
    return Status(Code::kNotFound, fmt::format("job {} does not wait", job));
  }
  Forecast forecast;
  const auto is_guess = [](const Job& other) { return other.expected_end(Seconds(0)) < Seconds(0); };
  for (const RunningJob& run : snapshot.running) forecast.guesses += is_guess(run.job);
  for (const Job& other : snapshot.jobs) forecast.guesses += other.id != job && is_guess(other);
  BERTH_ASSIGN(forecast.p50, play_forward(with_median_durations(snapshot), job, interrupted, &forecast.evictions));
  forecast.p90 = forecast.p50;
  if (has_spread(snapshot)) {
    BERTH_ASSIGN(forecast.p90, play_forward(snapshot, job, interrupted));
  }
  if (forecast.p50 && forecast.p90) forecast.p90 = std::max(*forecast.p50, *forecast.p90);
  return forecast;
}

}  // namespace berth
