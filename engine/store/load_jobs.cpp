#include "engine/store/load_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/policy/decayed_use.h"
#include "engine/store/run_records.h"
#include "engine/store/usage_records.h"

namespace berth {

namespace {

// A longer one is damage, and sums of such must not overflow.
constexpr std::int64_t kLongestDuration = 1'000'000'000'000;

Seconds duration_in(const Statement& row, int column) {
  return Seconds(std::clamp<std::int64_t>(row.integer(column), 0, kLongestDuration));
}

// Columns of the walk, in its order.
enum JobColumn {
  kJobId,
  kJobQueue,
  kJobClass,
  kJobStateName,
  kJobSubmit,
  kJobTimeLimit,
  kJobStart,
  kJobWaitReason,
  kJobWaitCause,
  kJobWaitBeneficiary,
  kJobWaitSince,
  kJobCheckpointInterval,
  kJobCheckpointGrace,
  kJobRestartCost,
  kJobMinRuntime,
  kJobPreemptible,
  kJobQuotaMark,
  kJobAttained,
  kJobEvictions,
  kJobLastEviction,
  kJobP50,
  kJobP80,
  kJobP90,
  kJobP90Bounds,
  kGroupIndex,
  kGroupCount,
  kGroupMinTasks,
  kGroupCpu,
  kGroupMemory,
  kGroupGpuCount,
  kGroupGpuMilli,
  kGroupGpuMemory,
  kGroupModels,
  kGroupPool,
  kGroupLocality,
  kGroupLocalityRequired,
};

constexpr std::string_view kJobColumns =
    "j.id, j.queue_id, j.priority_class_id, j.state, j.submit_time, j.time_limit_s, j.start_time, j.wait_reason, "
    "j.wait_cause, j.wait_beneficiary_id, j.wait_since, j.checkpoint_interval_s, j.checkpoint_grace_s, "
    "j.restart_cost_s, j.min_runtime_s, j.preemptible, j.quota_mark, j.attained_milli_s, j.evictions, "
    "j.last_eviction, j.predicted_p50_s, j.predicted_p80_s, j.predicted_p90_s, j.predicted_p90_bounds, "
    "g.group_index, g.task_count, g.min_tasks, g.cpu_milli, g.memory_mib, g.gpu_count, g.gpu_milli, "
    "g.gpu_memory_mib, g.models, g.pool_id, g.locality, g.locality_required";

// A job that is told to end needs at most this beyond stop_grace: a round trip to its node, and the site's grace.
constexpr Seconds kMostToBeGone(60);

}  // namespace

JobLoader::JobLoader(Database& db, const Names& names, Loaded& loaded, const Terms& terms)
    : db_(db), names_(names), loaded_(loaded), terms_(terms) {}

// INDEXED BY and CROSS JOIN hold SQLite to the walk along the index of live jobs, so that ended ones cost nothing.
Status JobLoader::load() {
  count_placed();
  BERTH_TRY(read_stops());
  BERTH_TRY(read_live_runs());
  BERTH_TRY(read_dependencies());
  if (loaded_.snapshot.order_knobs.usage_weight > 0) {
    BERTH_TRY(read_usage(db_, loaded_.snapshot));
  }
  BERTH_TRY(read_jobs("jobs j INDEXED BY jobs_live", "j.end_time IS NULL AND j.state <> 'held' AND ?1 IS NULL",
                      std::nullopt));
  std::vector<Job>& jobs = loaded_.snapshot.jobs;
  const auto is_wanted = [&](const Job& job) { return job.id == *names_.also_job; };
  if (names_.also_job && std::none_of(jobs.begin(), jobs.end(), is_wanted)) {
    also_pass_ = true;
    BERTH_TRY(read_jobs("jobs j", "j.id = ?1", names_.also_job));
    std::ranges::sort(jobs, {}, &Job::id);
    std::ranges::sort(loaded_.last_reasons, {}, &LastReason::job);
  }
  std::ranges::stable_sort(loaded_.shapes, std::greater(), &ShapeCount::tasks);
  return {};
}

void JobLoader::count_placed() {
  const std::vector<Allocation>& allocations = loaded_.snapshot.allocations;
  const OrderKnobs& knobs = loaded_.snapshot.order_knobs;
  const Seconds now = loaded_.snapshot.now;
  placed_.reserve(allocations.size());
  for (const Allocation& a : allocations) {
    double service = 0;
    if (knobs.usage_weight > 0 && a.devices != 0) {
      const MilliGpu gpu = a.gpu_milli * static_cast<std::int64_t>(__builtin_popcountll(a.devices));
      service = decayed_service(gpu, a.start, now, now, knobs.usage_half_life);
    }
    placed_.push_back({a.job, a.group, a.task, a.node, 1, a.devices, service});
  }
  std::sort(placed_.begin(), placed_.end(), [](const PlacedGroup& a, const PlacedGroup& b) {
    return std::tie(a.job, a.group, a.first_task) < std::tie(b.job, b.group, b.first_task);
  });
  std::size_t kept = 0;
  for (const PlacedGroup& each : placed_) {
    if (kept > 0 && placed_[kept - 1].job == each.job && placed_[kept - 1].group == each.group) {
      PlacedGroup& group = placed_[kept - 1];
      ++group.count;
      group.service += each.service;
      if (group.anchor == each.anchor) group.devices |= each.devices;
    } else {
      placed_[kept++] = each;
    }
  }
  placed_.resize(kept);
}

Status JobLoader::read_stops() {
  BERTH_ASSIGN(Statement rows,
               db_.prepare("SELECT job_id, beneficiary_id, rule, stop_at FROM stopping_jobs ORDER BY job_id"));
  while (rows.next()) {
    BERTH_ASSIGN(const EvictionRule rule, read_eviction_rule(rows.text(2)));
    stops_.push_back({rows.integer(0), rows.integer(1), rule, rows.quantity<Seconds>(3)});
  }
  return rows.status();
}

Status JobLoader::read_live_runs() {
  BERTH_ASSIGN(Statement rows,
               db_.prepare("SELECT r.job_id, iif(r.state = 'stopping' AND r.stop_state <> 'evicted', (SELECT max(time) "
                           "FROM run_changes WHERE run_id = r.id AND to_state = 'stopping'), NULL) FROM runs r INDEXED "
                           "BY runs_live WHERE r.end_time IS NULL ORDER BY r.job_id"));
  const Seconds gone_after = terms_.stop_grace + kMostToBeGone;
  while (rows.next())
    on_executors_.push_back({rows.integer(0), rows.is_null(1) ? Seconds(-1) : rows.quantity<Seconds>(1) + gone_after});
  return rows.status();
}

Status JobLoader::read_dependencies() {
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT job_id, after_id FROM dependencies INDEXED BY dependencies_unmet "
                                           "WHERE state <> 'met' ORDER BY job_id, after_id"));
  while (rows.next()) dependent_.emplace_back(rows.integer(0), rows.integer(1));
  return rows.status();
}

Status JobLoader::read_jobs(std::string_view table, std::string_view condition, std::optional<std::int64_t> id) {
  BERTH_ASSIGN(Statement rows, db_.prepare(fmt::format("SELECT {} FROM {} CROSS JOIN task_groups g ON g.job_id = j.id "
                                                       "WHERE {} ORDER BY j.id, g.group_index",
                                                       kJobColumns, table, condition)));
  rows.with(id);
  next_placed_ = next_stop_ = next_dependent_ = 0;
  while (rows.next()) {
    if (!job_ || job_->id != rows.integer(kJobId)) {
      BERTH_TRY(end_job());
      BERTH_TRY(start_job(rows));
    }
    BERTH_TRY(add_group(rows));
  }
  BERTH_TRY(end_job());
  return rows.status();
}

Status JobLoader::start_job(const Statement& row) {
  Job& job = job_.emplace();
  job.id = row.integer(kJobId);
  job.queue = names_.queues.find(row.integer(kJobQueue));
  job.priority_class = row.is_null(kJobClass) ? -1 : names_.classes.find(row.integer(kJobClass));
  BERTH_ASSIGN(job.state, read_job_state(row.text(kJobStateName)));
  job.submit = row.quantity<Seconds>(kJobSubmit);
  job.time_limit = duration_in(row, kJobTimeLimit);
  job.attained = row.integer(kJobAttained);
  // What is not known is NULL, which reads as 0.
  if (terms_.predicts) {
    job.estimate = {duration_in(row, kJobP50), duration_in(row, kJobP80), duration_in(row, kJobP90)};
    job.estimate.is_rough = row.integer(kJobP90Bounds) == 0;
  } else {
    job.estimate = {job.time_limit, job.time_limit, job.time_limit};
  }
  EvictionTerms& terms = job.eviction;
  terms.preemptible = row.integer(kJobPreemptible) != 0;
  terms.checkpoint_interval = duration_in(row, kJobCheckpointInterval);
  terms.checkpoint_grace = duration_in(row, kJobCheckpointGrace);
  terms.restart_cost = duration_in(row, kJobRestartCost);
  terms.min_runtime =
      row.is_null(kJobMinRuntime) ? loaded_.snapshot.rules.min_runtime : duration_in(row, kJobMinRuntime);
  terms.evictions = static_cast<std::int32_t>(row.integer(kJobEvictions));
  if (!row.is_null(kJobLastEviction)) terms.last_eviction = row.quantity<Seconds>(kJobLastEviction);
  while (next_dependent_ < dependent_.size() && dependent_[next_dependent_].first < job.id) ++next_dependent_;
  for (std::size_t d = next_dependent_; d < dependent_.size() && dependent_[d].first == job.id; ++d) {
    job.after.push_back(dependent_[d].second);
  }

  start_ = row.quantity<Seconds>(kJobStart);
  mark_ = static_cast<std::uint32_t>(row.integer(kJobQuotaMark));
  service_ = 0;
  last_ = {.job = job.id};
  if (job.state == JobState::kRunning) return {};
  if (const std::string_view reason = row.text(kJobWaitReason); !reason.empty()) {
    BERTH_ASSIGN(last_.reason, read_reason(reason));
  }
  if (const std::string_view cause = row.text(kJobWaitCause); !cause.empty()) {
    BERTH_ASSIGN(last_.cause, read_wait_cause(cause));
  }
  last_.beneficiary = row.integer(kJobWaitBeneficiary);
  last_.since = row.is_null(kJobWaitSince) ? job.submit : row.quantity<Seconds>(kJobWaitSince);
  return {};
}

Status JobLoader::add_group(const Statement& row) {
  const auto group_index = static_cast<std::int32_t>(row.integer(kGroupIndex));
  TaskGroup group;
  group.count = static_cast<std::int32_t>(row.integer(kGroupCount));
  group.min_tasks = static_cast<std::int32_t>(row.integer(kGroupMinTasks));
  TaskShape& shape = group.shape;
  shape.cpu = row.quantity<MilliCpu>(kGroupCpu);
  shape.memory = row.quantity<MiB>(kGroupMemory);
  shape.gpu_count = static_cast<std::int32_t>(row.integer(kGroupGpuCount));
  shape.gpu_milli = row.quantity<MilliGpu>(kGroupGpuMilli);
  shape.gpu_memory = row.quantity<MiB>(kGroupGpuMemory);
  std::string models(row.text(kGroupModels));
  if (!models.empty()) {
    const auto [known, is_new] = model_sets_.try_emplace(models, 0);
    if (is_new) known->second = names_.catalog.models_of(models);
    shape.models = known->second;
  }
  shape.pool = names_.catalog.pool_index(row.integer(kGroupPool));
  BERTH_ASSIGN(group.locality, read_locality(row.text(kGroupLocality)));
  group.locality_required = row.integer(kGroupLocalityRequired) != 0;

  const auto is_before = [&](const PlacedGroup& each) {
    return std::tie(each.job, each.group) < std::tie(job_->id, group_index);
  };
  while (next_placed_ < placed_.size() && is_before(placed_[next_placed_])) ++next_placed_;
  if (next_placed_ < placed_.size() && placed_[next_placed_].job == job_->id &&
      placed_[next_placed_].group == group_index) {
    group.placed = placed_[next_placed_].count;
    group.anchor = placed_[next_placed_].anchor;
    group.anchor_devices = placed_[next_placed_].devices;
    service_ += placed_[next_placed_].service;
  }
  if (job_->groups.size() != static_cast<std::size_t>(group_index)) {
    return Status(Code::kCorrupt, fmt::format("task groups of job {} are not numbered from 0", job_->id));
  }
  job_->groups.push_back(group);

  const auto [entry, is_new] = shape_index_.try_emplace({shape, std::move(models)}, loaded_.shapes.size());
  if (is_new) loaded_.shapes.push_back({shape, entry->first.models_text, 0});
  loaded_.shapes[entry->second].tasks += group.count;
  return {};
}

// Keeps the job that has been read.
Status JobLoader::end_job() {
  if (!job_) return {};
  if (job_->eviction.evictions > 0) BERTH_TRY(add_eviction_history());
  if (job_->state == JobState::kRunning && !also_pass_) add_running();
  const bool wants_tasks = std::any_of(job_->groups.begin(), job_->groups.end(),
                                       [](const TaskGroup& group) { return group.placed < group.count; });
  if (wants_tasks || names_.also_job == job_->id) {
    loaded_.last_reasons.push_back(last_);
    loaded_.snapshot.jobs.push_back(*std::move(job_));
  }
  job_.reset();
  return {};
}

Status JobLoader::add_eviction_history() {
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT beneficiary_id, rule, whole FROM evictions WHERE victim_id = ?1 "
                                           "AND state <> 'withdrawn' ORDER BY id"));
  rows.with(job_->id);
  std::vector<std::int64_t>& evicted_for = job_->eviction.evicted_for;
  while (rows.next()) {
    BERTH_ASSIGN(const EvictionRule rule, read_eviction_rule(rows.text(1)));
    if (rule != EvictionRule::kLoan) evicted_for.push_back(rows.integer(0));
    if (rows.integer(2) != 0) last_.reclaimed = is_reclaim(rule);
  }
  std::ranges::sort(evicted_for);
  evicted_for.erase(std::unique(evicted_for.begin(), evicted_for.end()), evicted_for.end());
  return rows.status();
}

void JobLoader::add_running() {
  RunningJob& run = loaded_.snapshot.running.emplace_back();
  run.job = *job_;
  run.start = start_;
  run.quota_mark = mark_;
  while (next_stop_ < stops_.size() && stops_[next_stop_].job < job_->id) ++next_stop_;
  if (next_stop_ < stops_.size() && stops_[next_stop_].job == job_->id) {
    run.stop_at = stops_[next_stop_].stop_at;
    run.stops_for = stops_[next_stop_].beneficiary;
    run.stop_rule = stops_[next_stop_].rule;
    --run.job.eviction.evictions;  // this eviction may yet be withdrawn
  }
  const auto live = std::ranges::lower_bound(on_executors_, job_->id, {}, &OnExecutor::job);
  if (live != on_executors_.end() && live->job == job_->id) {
    run.end_delay = kEndDelayOfExecutors;
    if (run.is_told_to_stop()) {
      run.stop_at = std::max(run.stop_at, loaded_.snapshot.now + run.end_delay);
    } else {
      run.ends_by = live->ends_by;
    }
  }
  const OrderKnobs& knobs = loaded_.snapshot.order_knobs;
  if (knobs.usage_weight > 0 && job_->queue >= 0) {
    loaded_.snapshot.queues[static_cast<std::size_t>(job_->queue)].decayed_usage += service_;
  }
}

}  // namespace berth
