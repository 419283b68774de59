// What a timed simulation decides at a moment, and what follows from it.
#include <fmt/format.h>

#include <algorithm>

#include "engine/sim/timed_run.h"

namespace berth {

namespace {

// Work of a run of `elapsed` that an eviction undoes.
Seconds unsaved_work(const EvictionTerms& terms, Seconds elapsed) {
  if (terms.checkpoint_grace > Seconds(0)) return Seconds(0);
  if (terms.checkpoint_interval > Seconds(0)) return Seconds(elapsed.value() % terms.checkpoint_interval.value());
  return elapsed;
}

}  // namespace

Status TimedRun::decide() {
  if (replan_) {
    BERTH_TRY(replan());
  } else if (waiting_->size() > 0 || options_.rules.preemption == Preemption::kReclaim) {
    BERTH_TRY(pass());
    const std::optional<Seconds> change = options_.order_moments ? waiting_->order_changes_at() : std::nullopt;
    if (change) events_.schedule(*change, EventKind::kMoment);
  } else {
    floor_.end_pass();
  }
  if (!queue_waits_.empty()) note_denied_queues();
  schedule_round();
  return {};
}

// In the steps of a live round: the order is asked first, then those end whose time has come.
Status TimedRun::pass() {
  const OrderInput& input = order_input();
  waiting_->begin_pass(input, floor_);
  order_input_.jobs = waiting_->jobs();
  BERTH_TRY(floor_.begin_pass(order_, input));
  for (const Eviction& eviction : floor_.stopped()) {
    const std::int32_t slot = jobs_.slot_of(eviction.job);
    const bool is_sooner = eviction.stop_at < jobs_[slot].stop_at;
    if (is_sooner) floor_.change_lost(eviction.job, eviction.lost);
    interrupt(slot, is_sooner ? eviction.lost : jobs_[slot].lost_at_stop);
  }
  for (const Eviction& eviction : floor_.stop_sooner()) {
    const std::int32_t slot = jobs_.slot_of(eviction.job);
    floor_.change_lost(eviction.job, eviction.lost);
    tell_to_stop(slot, eviction);
  }
  for (const std::int64_t job : floor_.reprieves()) reprieve(jobs_.slot_of(job));
  try_waiting();
  while (floor_.leaves_room() && waiting_->order_failure().empty()) {
    floor_.begin_next_pass();
    waiting_->begin_pass(input, floor_);
    try_waiting();
  }
  floor_.end_pass();
  order_input_.jobs = {};
  for (const std::int64_t job : floor_.reprieves()) reprieve(jobs_.slot_of(job));
  flush_to_wait();
  return {};
}

void TimedRun::try_waiting() {
  for (std::size_t evictions = 0; !floor_.closed();) {
    const std::int32_t slot = waiting_->next();
    if (slot < 0) break;
    ++result_.row.decisions;
    const PassOutcome outcome = floor_.try_job(jobs_[slot].job, waiting_->levels_within_quota());
    for (; evictions < floor_.evictions().size(); ++evictions) carry_out(floor_.evictions()[evictions]);
    if (outcome.started) {
      waiting_->tried(Tried::kStarted);
      start_or_grow(slot, outcome.placed, now_);
    } else {
      const bool only_grows = waiting_->levels_within_quota() == 0 &&
                              options_.rules.backfill != BackfillMode::kGreedy && has_its_gang(jobs_[slot].job);
      const bool alone = outcome.keeps_room || only_grows;
      waiting_->tried(alone ? Tried::kFailedAlone : Tried::kFailed);
    }
  }
}

void TimedRun::start_or_grow(std::int32_t slot, const std::vector<PlacedTask>& placed, Seconds start) {
  LiveJob& live = jobs_[slot];
  live.is_waiting = false;
  if (live.is_running) {
    count_service(live);
  } else {
    begin_run(slot, start);
  }
  for (const PlacedTask& task : placed) {
    TaskGroup& group = live.job.groups[static_cast<std::size_t>(task.group)];
    ++group.placed;
    if (!live.joined.empty()) live.joined[live.index_of(task.group, task.task)] = start;
    if (group.anchor < 0) group.anchor = task.holding.node;
    if (group.anchor == task.holding.node) group.anchor_devices |= task.holding.devices;
    hold(live, group.shape.gpu_total().value());
  }
  live.missing -= static_cast<std::int32_t>(placed.size());
  note_places(live, placed, start);
  if (live.missing > 0) to_wait_.push_back(slot);
}

// `start` lies before now for jobs that ran when the simulation began.
void TimedRun::begin_run(std::int32_t slot, Seconds start) {
  LiveJob& live = jobs_[slot];
  ++result_.row.events;
  ++running_jobs_;
  live.attempt = ++attempts_;
  live.is_running = true;
  live.job.state = JobState::kRunning;
  live.start = start;
  live.counted_at = now_;
  events_.schedule(std::max(start + live.left + options_.completion_lag, now_), EventKind::kEnd, slot, live.attempt);
  if (!queue_waits_.empty() && live.job.queue >= 0) {
    queue_waits_[static_cast<std::size_t>(live.job.queue)].waiting.erase({live.job.gpu_total().value(), slot});
    note_quota_of_start(live.job);
  }
  if (live.first_start >= Seconds(0)) return;
  live.first_start = start;
  times_of(live.job).note_start(start - live.job.submit, live.is_entitled);
  if (JobResult* told = kept(live.job)) told->start = start;
  told_starts_.start(live.job.id, start);
}

void TimedRun::carry_out(const Eviction& eviction) {
  const std::int32_t slot = jobs_.slot_of(eviction.job);
  LiveJob& live = jobs_[slot];
  live.job.eviction.evicted_for.push_back(eviction.beneficiary);
  floor_.note_lost(eviction, live.job.queue);
  if (!eviction.whole) {
    shrink(slot, eviction);
  } else if (eviction.stop_at <= now_) {
    interrupt(slot, eviction.lost);
  } else {
    tell_to_stop(slot, eviction);
  }
}

void TimedRun::tell_to_stop(std::int32_t slot, const Eviction& eviction) {
  LiveJob& live = jobs_[slot];
  live.stop_at = eviction.stop_at;
  live.lost_at_stop = eviction.lost;
  events_.schedule(eviction.stop_at, EventKind::kStop, slot, live.attempt);
}

// It was told to stop, and nobody needs its room any more.
void TimedRun::reprieve(std::int32_t slot) {
  jobs_[slot].stop_at = Seconds(-1);
  jobs_[slot].job.eviction.evicted_for.pop_back();
}

// It gave back some tasks and runs on; they wait again.
void TimedRun::shrink(std::int32_t slot, const Eviction& eviction) {
  LiveJob& live = jobs_[slot];
  count_service(live);
  if (live.is_waiting) wait_no_longer(slot);
  for (const TaskName& task : eviction.tasks) {
    ++live.missing;
    const std::int64_t held = live.job.groups[static_cast<std::size_t>(task.group)].shape.gpu_total().value();
    hold(live, -held);
    live.job.attained += held * (now_ - live.joined[live.index_of(task.group, task.task)]).value();
  }
  floor_.read_groups(live.job);
  count_eviction(live, eviction.lost);
  if (std::ranges::find(to_wait_, slot) == to_wait_.end()) to_wait_.push_back(slot);
}

// It has left the floor before its time, and waits again.
void TimedRun::interrupt(std::int32_t slot, std::int64_t lost) {
  LiveJob& live = jobs_[slot];
  count_service(live);
  if (live.is_waiting) wait_no_longer(slot);
  const Seconds elapsed = now_ - live.start;
  live.left += live.job.eviction.restart_cost + unsaved_work(live.job.eviction, elapsed) - elapsed;
  live.is_running = false;
  live.stop_at = Seconds(-1);
  hold(live, -live.held_milli);
  live.missing = static_cast<std::int32_t>(live.task_count);
  --running_jobs_;
  live.job.state = JobState::kPending;
  live.job.attained = live.attained;
  // Rounds believe of it what they did at its submission; who knows the truth knows what is left.
  if (replan_ || live.estimate.is_given) live.job.estimate = estimate_of_rest(live);
  for (TaskGroup& group : live.job.groups) {
    group.placed = 0;
    group.anchor = -1;
    group.anchor_devices = 0;
  }
  count_eviction(live, lost);
  if (std::ranges::find(to_wait_, slot) == to_wait_.end()) to_wait_.push_back(slot);
}

// Of the whole job or of some tasks of it.
void TimedRun::count_eviction(LiveJob& live, std::int64_t lost) {
  ++live.job.eviction.evictions;
  live.job.eviction.last_eviction = now_;
  times_of(live.job).note_eviction(lost);
  if (JobResult* told = kept(live.job)) {
    ++told->evictions;
    told->lost += lost;
  }
}

void TimedRun::count_service(LiveJob& live) const {
  live.attained += live.held_milli * (now_ - live.counted_at).value();
  live.counted_at = now_;
}

void TimedRun::hold(LiveJob& live, std::int64_t more) {
  live.held_milli += more;
  if (past_use_) past_use_->hold(live.job.queue, more, now_);
}

// ---- replanning -----------------------------------------------------------------------------------------------------

// Orders look at what is left of a running job and at what it has got.
void TimedRun::refresh_running() {
  for (const std::int32_t slot : replan_->list()) {
    LiveJob& live = jobs_[slot];
    if (!live.is_running) continue;
    count_service(live);
    live.job.attained = live.attained;
    live.job.estimate = estimate_of_rest(live);
  }
}

Status TimedRun::replan() {
  refresh_running();
  const OrderInput& input = order_input();
  const Replanned plan = replan_->choose(jobs_, input);
  for (const std::int32_t slot : plan.evict) {
    LiveJob& live = jobs_[slot];
    const EvictionTerms& terms = live.job.eviction;
    const Seconds lost = unsaved_work(terms, now_ - live.start) + terms.restart_cost;
    BERTH_TRY(floor_.end(live.job.id));
    interrupt(slot, lost.value() * live.job.gpu_total().value());
  }
  flush_to_wait();
  bool all_placed = true;
  bool changed = !plan.evict.empty();
  for (const std::int32_t slot : plan.start) {
    ++result_.row.decisions;
    const std::optional<std::vector<PlacedTask>> placed = floor_.place(jobs_[slot].job, now_);
    if (placed) start_or_grow(slot, *placed, now_);
    all_placed = all_placed && placed;
    changed = changed || placed;
  }
  floor_.end_pass();
  to_wait_.clear();
  replan_->settle(jobs_, plan);
  round_.reset();
  if (const Seconds fall = replan_->next_fall(jobs_, order_input()); fall > Seconds(0)) round_ = now_ + fall;
  // Who was chosen in vain: what now runs may leave others room that they were refused for it.
  if (changed && !all_placed) round_ = now_ + Seconds(1);
  return {};
}

// Time alone may give a job the right to evict, or take a victim's protection.
void TimedRun::schedule_round() {
  const bool is_regular = options_.regular_rounds || options_.rules.preemption == Preemption::kReclaim;
  if (!is_regular || waiting_->size() == 0 || round_) return;
  // Nothing runs or comes: once room held for jobs is free as well, who waits now waits for good.
  const Seconds last_change = std::max({last_end_, last_withdrawal_, previous_submit_, first_submit_});
  const Seconds patience = options_.rules.reservation_ttl + options_.rules.pending_delay;
  const Seconds end = last_change + patience;
  if (running_jobs_ == 0 && !has_next_ && now_ > std::max(end, floor_.holds_until(end))) return;
  if (options_.round_interval > Seconds(0)) round_ = now_ + options_.round_interval;
}

// ---- what is told ---------------------------------------------------------------------------------------------------

// As a round would see it now.
Snapshot TimedRun::snapshot_now() const {
  Snapshot snapshot;
  snapshot.now = now_;
  snapshot.seed = options_.seed;
  snapshot.cluster = *input_.cluster;
  snapshot.queues = queues_;
  snapshot.priority_classes = input_.priority_classes;
  snapshot.quotas = input_.quotas;
  if (!snapshot.quotas.resources.empty())
    snapshot.quotas.terms.resize(input_.queues.size(), std::vector<QuotaTerms>(snapshot.quotas.resources.size()));
  floor_.describe(snapshot);
  for (const std::int32_t slot : jobs_.all()) {
    if (!jobs_[slot].is_running) snapshot.jobs.push_back(jobs_[slot].job);
  }
  snapshot.workload = input_.workload;
  snapshot.order_policy = choice_.order;
  snapshot.score_policy = choice_.score;
  snapshot.aging_interval = options_.aging_interval;
  snapshot.rules = options_.rules;
  snapshot.order_knobs = options_.order_knobs;
  return snapshot;
}

// Of the jobs that have just come and were to be asked for.
Status TimedRun::tell_starts() {
  std::vector<std::int64_t> waiting;
  for (const auto& [slot, id] : newcomers_) {
    if (jobs_[slot].first_start >= Seconds(0)) {
      ++result_.started_at_once;
    } else {
      waiting.push_back(id);
    }
  }
  newcomers_.clear();
  if (waiting.empty()) return {};
  return told_starts_.tell(snapshot_now(), waiting);
}

void TimedRun::note_places(LiveJob& live, const std::vector<PlacedTask>& placed, Seconds start) {
  const std::int32_t placed_now = static_cast<std::int32_t>(live.task_count) - live.missing;
  result_.row.placed += std::max(placed_now - live.most_placed, 0);
  live.most_placed = std::max(live.most_placed, placed_now);
  if (!options_.keep_tasks) return;
  for (const PlacedTask& task : placed) {
    TaskResult& kept = result_.tasks[live.first_task + live.index_of(task.group, task.task)];
    kept.state = TaskOutcome::kPlaced;
    kept.node = node_name(*input_.cluster, task.holding.node);
    kept.devices = task.holding.devices;
    if (!kept.start) kept.start = start;
    kept.end = live.start + live.left + options_.completion_lag;
    kept.evictions = live.job.eviction.evictions;
  }
}

void TimedRun::note_quota_of_start(const Job& job) {
  const QuotaLedger& quotas = *floor_.quotas();
  bool within = true;
  for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
    within = within && (!quotas.counts_for(job.queue, r) || quotas.counted(job.queue, r) <= quotas.quota(job.queue, r));
  }
  times_of(job).note_quota(within);
}

// A queue is denied while the least of its waiting jobs would fit within its quota.
void TimedRun::note_denied_queues() {
  for (std::size_t queue = 0; queue < queue_waits_.size(); ++queue) {
    QueueWait& wait = queue_waits_[queue];
    bool denied = false;
    if (!wait.waiting.empty()) {
      const Job& least = jobs_[wait.waiting.begin()->second].job;
      const QuotaVerdict verdict = floor_.quotas()->judge(least.queue, floor_.quotas()->demand_to_start(least));
      denied = verdict.admitted() && !verdict.borrows;
    }
    if (wait.denied_since >= Seconds(0)) {
      times_[queue + 1].note_denied(now_ - wait.denied_since);
    }
    if (!denied) {
      wait.denied_since = Seconds(-1);
    } else if (wait.denied_since < Seconds(0)) {
      wait.denied_since = now_;
    }
  }
}

void TimedRun::finish() {
  // Nothing runs any more, and still these did not start.
  const bool only_nodes = floor_.quotas() == nullptr && options_.rules.backfill == BackfillMode::kGreedy;
  for (const std::int32_t slot : jobs_.all()) {
    const LiveJob& live = jobs_[slot];
    note_infeasible(live.name, only_nodes ? "its task groups do not fit the empty cluster together"
                                          : "nothing runs any more, and the rules still do not let it start");
    if (!options_.keep_tasks) continue;
    for (std::size_t task = 0; task < live.task_count; ++task) {
      result_.tasks[live.first_task + task].state = TaskOutcome::kInfeasible;
    }
  }
  result_.told_starts = told_starts_.all();
  result_.untold_starts = told_starts_.untold();
  SimulationRow& row = result_.row;
  row.tasks = static_cast<std::int64_t>(task_count_);
  row.failed = row.tasks - row.placed;
  for (std::size_t queue = 0; queue < times_.size(); ++queue) {
    QueueResult one = times_[queue].result(queue == 0 ? "" : input_.queues[queue - 1].name);
    if (one.jobs > 0) result_.queues.push_back(std::move(one));
  }
  JobTimes all;
  for (const JobTimes& times : times_) all.add(times);
  result_.all_queues = all.result("");
  const QueueResult& told = result_.all_queues;
  row.wait_mean = told.wait_mean;
  row.wait_p50 = told.wait_p50;
  row.wait_p90 = told.wait_p90;
  row.wait_p99 = told.wait_p99;
  row.completion_mean = told.completion_mean;
  if (told.started > 0) row.makespan = (last_end_ - first_submit_).value();
  row.utilisation_pct = options_.measured ? utilisation_.mean_pct(options_.measured->first, options_.measured->second)
                                          : utilisation_.mean_pct();
  result_.utilisation = utilisation_.points(options_.utilisation_points);
  const double seconds = std::chrono::duration<double>(deciding_).count();
  row.decisions_per_second = seconds > 0 ? static_cast<double>(row.decisions) / seconds : 0;
  row.peak_memory_mib = peak_memory_mib();
}

}  // namespace berth
