#include "engine/sim/timed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "engine/base/text.h"
#include "engine/sim/waiting_buckets.h"
#include "engine/sim/waiting_line.h"

namespace berth {

namespace {

constexpr std::int64_t kMomentsBetweenLooks = 64;  // at the progress callback
constexpr std::size_t kMostSentencesKept = 1000;

bool saves_work(const EvictionTerms& terms) {
  return terms.checkpoint_interval > Seconds(0) || terms.checkpoint_grace > Seconds(0);
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

Status check_timed_job(const TraceJob& job, Seconds previous_submit) {
  if (!job.duration) {
    return Status(Code::kInvalid, fmt::format("{}: job '{}' has no duration", job.place, job.name),
                  "WITH (skip_bad_rows = true) leaves such jobs out")
        .about("jobs");
  }
  if (job.submit >= previous_submit) return {};
  return Status(Code::kInvalid,
                fmt::format("{}: job '{}' was submitted at {}, before the job above it ({})", job.place, job.name,
                            job.submit.value(), previous_submit.value()),
                "jobs must be sorted by submit time; WITH (sort = true) sorts them")
      .about("jobs");
}

TimedRun::TimedRun(const TimedInput& input, const TimedOptions& options, const QueueOrder& order, Floor& floor,
                   std::unique_ptr<JobReader> reader)
    : input_(input),
      options_(options),
      order_(order),
      floor_(floor),
      reader_(std::move(reader)),
      modeller_(*input.cluster, input.queues, input.priority_classes),
      queues_(input.queues),
      jobs_(options.rules.preemption == Preemption::kReclaim),
      predictor_(options.predictor),
      told_starts_(options.expectation_sample, options.seed),
      times_(input.queues.size() + 1),
      utilisation_(floor.gpu_capacity()) {
  order_input_ = {.now = now_,
                  .seed = options.seed,
                  .jobs = {},
                  .priority_classes = input.priority_classes,
                  .queues = queues_,
                  .aging_interval = options.aging_interval,
                  .quotas = &floor.use(),
                  .knobs = options.order_knobs};
  waiting_ = make_waiting();
  if (options.rules.preemption == Preemption::kReplan) {
    replan_ = std::make_unique<Replan>(*order.keyed(), floor, input.cluster->pools.size(), options.replan_ties);
  }
  if (floor.quotas() != nullptr) {
    own_quota_ = std::make_unique<OwnQuota>(*floor.quotas());
    queue_waits_.resize(input.queues.size());
  }
}

const OrderInput& TimedRun::order_input() {
  order_input_.now = now_;
  if (past_use_) {
    past_use_->write_to(queues_, now_);
    floor_.note_past_use(queues_);
  }
  return order_input_;
}

std::unique_ptr<WaitingJobs> TimedRun::make_waiting() {
  const RoundRules& rules = options_.rules;
  const KeyedOrder* keyed = order_.keyed();
  if (keyed == nullptr || rules.preemption == Preemption::kReclaim || options_.try_all) {
    return std::make_unique<WaitingLine>(order_);
  }
  const bool has_quotas = floor_.quotas() != nullptr;
  Alike alike = has_quotas ? Alike::kDemandInQueue : Alike::kDemand;
  if (!has_quotas && rules.backfill == BackfillMode::kNone && keyed->is_fixed()) alike = Alike::kAll;
  if (!has_quotas && rules.backfill == BackfillMode::kNonePerQueue && keyed->is_fixed()) alike = Alike::kQueue;
  const bool remembers = !has_quotas && rules.preemption == Preemption::kNone &&
                         (rules.backfill == BackfillMode::kGreedy || alike == Alike::kAll || alike == Alike::kQueue);
  return std::make_unique<WaitingBuckets>(*keyed, order_input(), alike, remembers);
}

Result<SimulationResult> TimedRun::run(const PolicyChoice& choice) {
  choice_ = choice;
  const std::string policy = choice.name();
  const double begin = processor_seconds();
  BERTH_TRY(read_next());
  learn_history();
  remember_use();
  std::int64_t moments = 0;
  while (const std::optional<Seconds> moment = next_moment()) {
    now_ = *moment;
    if (options_.control.stop()) return Status(Code::kInterrupted, "the simulation was interrupted");
    if (options_.control.progress && moments++ % kMomentsBetweenLooks == 0) {
      options_.control.progress(policy, arrived_, input_.job_count);
    }
    BERTH_TRY(take_events());
    using Clock = std::chrono::steady_clock;
    const bool is_timed = replan_ || waiting_->size() > 0;  // looking at the clock costs more than deciding nothing
    const Clock::time_point begin_deciding = is_timed ? Clock::now() : Clock::time_point{};
    BERTH_TRY(decide());
    if (const std::string failure = waiting_->order_failure(); !failure.empty())
      return Status(Code::kInvalid, fmt::format("policy failed: {}", failure));
    if (is_timed) deciding_ += Clock::now() - begin_deciding;
    if (!newcomers_.empty()) BERTH_TRY(tell_starts());
    utilisation_.record(now_, floor_.gpu_used(), running_jobs_,
                        static_cast<std::int64_t>(jobs_.size()) - running_jobs_);
    if (options_.check_invariants) {
      if (const auto broken = floor_.violations(); !broken.empty()) {
        return Status(Code::kInternal, fmt::format("at {}: {}", now_.value(), broken.front()));
      }
    }
  }
  finish();
  result_.row.run_seconds = processor_seconds() - begin;
  if (options_.control.progress) options_.control.progress(policy, arrived_, input_.job_count);
  return std::move(result_);
}

// ---- what happens ---------------------------------------------------------------------------------------------------

Status TimedRun::read_next() {
  BERTH_ASSIGN(has_next_, reader_->next(next_));
  if (!has_next_) return {};
  BERTH_TRY(check_timed_job(next_, previous_submit_));
  previous_submit_ = next_.submit;
  if (options_.arrivals_per_minute > 0) next_.submit = Seconds(arrived_ / options_.arrivals_per_minute * 60);
  next_arrival_ = input_.begin ? std::max(next_.submit, *input_.begin) : next_.submit;
  if (arrived_ == 0) first_submit_ = next_arrival_;
  return {};
}

bool TimedRun::is_void(const TimedEvent& event) const {
  if (event.kind == EventKind::kMoment) return false;
  const LiveJob& live = jobs_[event.slot];
  if (event.kind == EventKind::kLeave) return live.job.id != event.attempt;
  if (!live.is_running || live.attempt != event.attempt) return true;
  return event.kind == EventKind::kStop && live.stop_at != event.time;
}

std::optional<Seconds> TimedRun::next_moment() {
  while (const TimedEvent* event = events_.peek()) {
    if (!is_void(*event)) break;
    events_.take();
  }
  std::optional<Seconds> moment = events_.next_time();
  if (has_next_ && (!moment || next_arrival_ < *moment)) moment = next_arrival_;
  if (round_ && (!moment || *round_ < *moment)) moment = round_;
  return moment;
}

// Everything that happens in one second: first what makes room.
Status TimedRun::take_events() {
  if (round_ && *round_ <= now_) round_.reset();
  while (events_.next_time() == now_) {
    const TimedEvent event = events_.take();
    if (is_void(event)) continue;
    if (event.kind == EventKind::kEnd) BERTH_TRY(end_job(event.slot));
    if (event.kind == EventKind::kLeave) BERTH_TRY(withdraw(event.slot));
  }
  flush_to_wait();
  while (has_next_ && next_arrival_ == now_) {
    BERTH_TRY(admit());
    BERTH_TRY(read_next());
  }
  if (!to_resume_.empty()) resume_jobs();
  return {};
}

// Large gangs first: they fit only where little else runs.
void TimedRun::resume_jobs() {
  std::ranges::stable_sort(to_resume_, std::greater(),
                           [&](const auto& run) { return jobs_[run.first].job.gpu_total(); });
  for (const auto& [slot, start] : to_resume_) {
    const std::optional<std::vector<PlacedTask>> placed = floor_.place(jobs_[slot].job, start);
    if (placed) {
      start_or_grow(slot, *placed, start);
    } else {
      jobs_[slot].left = std::max(jobs_[slot].left - (now_ - start), Seconds(0));
      to_wait_.push_back(slot);
    }
  }
  to_resume_.clear();
  flush_to_wait();
}

void TimedRun::set_terms(LiveJob& live) const {
  EvictionTerms& terms = live.job.eviction;
  // One that it outlives is no limit for who knows the truth.
  const bool is_outlived = options_.durations == DurationSource::kOracle && live.duration > next_.time_limit;
  if (!is_outlived) live.job.time_limit = next_.time_limit;
  const TraceTerms& own = next_.terms;
  if (!own.checkpoint_every) terms.checkpoint_interval = options_.checkpoint_interval;
  if (!own.restart_cost) terms.restart_cost = options_.restart_cost.of(live.job.gpu_total());
  if (!own.min_runtime) terms.min_runtime = options_.rules.min_runtime;
}

Status TimedRun::admit() {
  const std::int64_t id = ++arrived_;
  ++result_.row.events;
  if (options_.binding_models) loosen_models();
  const std::int32_t slot = jobs_.add(id);
  LiveJob& live = jobs_[slot];
  BERTH_TRY(modeller_.fill_job(next_, id, live.job));
  live.name = next_.name;
  live.duration = *next_.duration;
  live.left = live.duration;
  live.first_task = task_count_;
  for (const TaskGroup& group : live.job.groups) {
    live.first_of_group.push_back(live.task_count);
    live.task_count += static_cast<std::size_t>(group.count);
  }
  if (is_elastic(live.job)) live.joined.resize(live.task_count);
  live.missing = static_cast<std::int32_t>(live.task_count);
  task_count_ += live.task_count;
  set_terms(live);
  estimate(live);
  if (options_.keep_jobs) result_.jobs.emplace_back();
  times_of(live.job).note_arrival();
  if (own_quota_) live.is_entitled = own_quota_->admits(live.job, live.duration);
  std::optional<std::string> never = floor_.why_never(live.job);
  if (never) never = missing_models().value_or(*std::move(never));
  if (options_.keep_tasks) add_task_rows(live, never ? TaskOutcome::kInfeasible : TaskOutcome::kFailed);
  if (never) note_infeasible(live.name, *never);
  const AcceptedJob* const accepted = find_accepted(id);
  if (never && (accepted == nullptr || accepted->until <= now_)) {
    jobs_.remove(slot);
    return {};
  }
  if (accepted != nullptr && (never || accepted->leaves))
    events_.schedule(std::max(accepted->until, now_), EventKind::kLeave, slot, id);
  const std::vector<ResumedJob>& there = input_.resumed;
  const auto place = static_cast<std::size_t>(id - 1);
  while (next_resumed_ < there.size() && there[next_resumed_].job < place) ++next_resumed_;
  const bool is_resumed = next_resumed_ < there.size() && there[next_resumed_].job == place;
  if (!is_resumed) {
    make_wait(slot);
    if (told_starts_.is_asked(id)) newcomers_.emplace_back(slot, id);
    return {};
  }
  const ResumedJob& resumed = there[next_resumed_];
  live.left = resumed.left;
  live.first_start = resumed.first_start;
  if (JobResult* told = kept(live.job)) told->start = resumed.first_start;
  if (resumed.start >= Seconds(0)) {
    to_resume_.emplace_back(slot, resumed.start);
  } else {
    to_wait_.push_back(slot);
    flush_to_wait();
  }
  return {};
}

const AcceptedJob* TimedRun::find_accepted(std::int64_t id) {
  const std::vector<AcceptedJob>& all = input_.accepted;
  const auto place = static_cast<std::size_t>(id - 1);
  while (next_accepted_ < all.size() && all[next_accepted_].job < place) ++next_accepted_;
  return next_accepted_ < all.size() && all[next_accepted_].job == place ? &all[next_accepted_] : nullptr;
}

// It did not end by itself, wherever it got to.
Status TimedRun::withdraw(std::int32_t slot) {
  LiveJob& live = jobs_[slot];
  ++result_.row.events;
  last_withdrawal_ = now_;
  if (live.is_running) {
    BERTH_TRY(floor_.end(live.job.id));
    count_service(live);
    leave(slot);
    return {};
  }
  floor_.forget(live.job.id);
  if (!queue_waits_.empty() && live.job.queue >= 0)
    queue_waits_[static_cast<std::size_t>(live.job.queue)].waiting.erase({live.job.gpu_total().value(), slot});
  if (live.is_waiting) wait_no_longer(slot);
  if (replan_) replan_->remove(slot);
  jobs_.remove(slot);
  return {};
}

// Models that bind nobody: whoever names one may run anywhere.
void TimedRun::loosen_models() {
  for (TraceTaskGroup& group : next_.groups) {
    const std::vector<std::string_view> names = split(group.models, '|');
    const bool binds = std::ranges::all_of(names, [&](std::string_view name) {
      return std::ranges::find(*options_.binding_models, trim(name)) != options_.binding_models->end();
    });
    if (!binds) group.models.clear();
  }
}

void TimedRun::estimate(LiveJob& live) const {
  const auto exactly = [](Seconds duration) {
    DurationEstimate estimate;
    estimate.p50 = duration;
    estimate.p80 = duration;
    estimate.p90 = duration;
    return estimate;
  };
  switch (options_.durations) {
    case DurationSource::kOracle:
      live.estimate = exactly(live.duration);
      live.estimate.is_given = true;
      break;
    case DurationSource::kEstimate:
      if (const std::optional<std::int64_t> given = next_.estimate(options_.estimate)) {
        const std::int64_t seconds = *given >= 0 ? *given / 1000 : -divide_up(-*given, 1000);
        live.estimate = exactly(Seconds(seconds));
        live.estimate.is_given = true;
        live.estimate.p50_milli = static_cast<std::int32_t>(*given - seconds * 1000);
      }
      break;
    case DurationSource::kPredicted:
      live.features = features_of(next_);
      live.teaches = teaches_duration(next_.outcome.value_or(JobState::kFinished), live.duration, live.job.time_limit);
      live.estimate = predictor_.predict(live.features, now_, live.job.time_limit).estimate;
      break;
    case DurationSource::kLimit: break;
  }
  live.job.estimate = live.estimate;
}

void TimedRun::learn_history() {
  const std::vector<HistoryRun>& runs = input_.history;
  const Seconds beyond = runs.empty() ? Seconds(0) : std::max(Seconds(0), runs.back().end - first_submit_);
  for (const HistoryRun& run : runs) predictor_.observe(run.features, run.duration, run.end - beyond);
}

void TimedRun::remember_use() {
  if (options_.order_knobs.usage_weight <= 0) return;
  past_use_.emplace(queues_.size(), options_.order_knobs.usage_half_life, input_.begin.value_or(first_submit_));
  for (const PastUseStretch& stretch : input_.used) {
    const auto queue = std::ranges::find(queues_, stretch.queue, &Queue::name);
    if (queue == queues_.end()) continue;
    past_use_->add_past(static_cast<std::size_t>(queue - queues_.begin()), stretch.gpu, stretch.start, stretch.end);
  }
}

// The estimate of what is left to do.
DurationEstimate TimedRun::estimate_of_rest(const LiveJob& live) const {
  const Seconds done = live.done(now_);
  if (done == Seconds(0)) return live.estimate;
  const auto rest = [&](Seconds whole) { return std::max(Seconds(0), whole - done); };
  DurationEstimate left = live.estimate;
  left.p50 = rest(left.p50);
  left.p80 = rest(left.p80);
  left.p90 = rest(left.p90);
  return left;
}

// A group of the job just read that names device models, none of which the cluster has.
std::optional<std::string> TimedRun::missing_models() const {
  std::vector<std::string> known;
  for (const DeviceModel& model : input_.cluster->models) known.push_back(model.name);
  for (const TraceTaskGroup& group : next_.groups) {
    if (group.models.empty() || group.gpu_count == 0) continue;
    const bool none = std::ranges::none_of(split(group.models, '|'), [&](std::string_view name) {
      return std::ranges::find(known, trim(name)) != known.end();
    });
    if (none) {
      return fmt::format("no node has device model {}, they have {}; binding_models = none lets it run on any",
                         group.models, known.empty() ? "no devices" : join(known, ", "));
    }
  }
  return std::nullopt;
}

void TimedRun::add_task_rows(const LiveJob& live, TaskOutcome state) {
  for (std::size_t group = 0; group < live.job.groups.size(); ++group) {
    for (std::int32_t task = 0; task < live.job.groups[group].count; ++task) {
      TaskResult row;
      row.sequence = static_cast<std::int64_t>(result_.tasks.size());
      row.task = task_name(next_, group, task);
      row.state = state;
      row.submit = live.job.submit;
      row.gpu = live.job.groups[group].shape.gpu_total();
      result_.tasks.push_back(std::move(row));
    }
  }
}

void TimedRun::note_infeasible(const std::string& name, const std::string& why) {
  ++result_.row.infeasible_jobs;
  if (result_.infeasible.size() < kMostSentencesKept)
    result_.infeasible.push_back(fmt::format("job '{}' can never start: {}", name, why));
}

Status TimedRun::end_job(std::int32_t slot) {
  LiveJob& live = jobs_[slot];
  ++result_.row.events;
  BERTH_TRY(floor_.end(live.job.id));
  count_service(live);
  times_of(live.job).note_end(now_ - live.job.submit, live.duration);
  if (JobResult* told = kept(live.job)) told->end = now_;
  // As in a database nothing is learnt of a run that went on from a checkpoint: it was only a part.
  const EvictionTerms& terms = live.job.eviction;
  const bool is_part = live.left < live.duration || (terms.evictions > 0 && saves_work(terms));
  if (live.teaches && !is_part) predictor_.observe(live.features, live.left, now_);
  last_end_ = std::max(last_end_, now_);
  leave(slot);
  return {};
}

// It has left the floor.
void TimedRun::leave(std::int32_t slot) {
  LiveJob& live = jobs_[slot];
  times_of(live.job).note_delivered(live.attained);
  if (JobResult* told = kept(live.job)) told->delivered = live.attained;
  if (live.is_waiting) wait_no_longer(slot);
  hold(live, -live.held_milli);
  if (replan_) replan_->remove(slot);
  --running_jobs_;
  jobs_.remove(slot);
}

// ---- waiting --------------------------------------------------------------------------------------------------------

void TimedRun::make_wait(std::int32_t slot) {
  LiveJob& live = jobs_[slot];
  live.is_waiting = true;
  if (replan_) {
    if (live.first_start < Seconds(0)) replan_->add(slot);
    return;
  }
  waiting_->add(live.job, slot);
  if (!queue_waits_.empty() && live.job.queue >= 0 && !live.is_running) {
    queue_waits_[static_cast<std::size_t>(live.job.queue)].waiting.emplace(live.job.gpu_total().value(), slot);
  }
}

void TimedRun::flush_to_wait() {
  for (const std::int32_t slot : to_wait_) make_wait(slot);
  to_wait_.clear();
}

void TimedRun::wait_no_longer(std::int32_t slot) {
  LiveJob& live = jobs_[slot];
  live.is_waiting = false;
  if (!replan_) waiting_->remove(live.job, slot);
}

}  // namespace berth
