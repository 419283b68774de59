#include "engine/store/job_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/failpoint.h"
#include "engine/base/text.h"
#include "engine/store/admission.h"
#include "engine/store/assertion_holds.h"
#include "engine/store/attempt_records.h"
#include "engine/store/catalog.h"
#include "engine/store/cluster_records.h"
#include "engine/store/eviction_records.h"
#include "engine/store/hosting.h"
#include "engine/store/launch_losses.h"
#include "engine/store/names.h"
#include "engine/store/prediction_records.h"
#include "engine/store/reservation_records.h"
#include "engine/store/settings.h"
#include "engine/store/stray_records.h"
#include "engine/store/wait_records.h"

namespace berth {

namespace {

constexpr std::int64_t kMostTasks = 1000000;  // of one group
constexpr std::size_t kMostGroups = 10000;

Status check_group_sizes(const TaskGroupRequest& group) {
  if (group.count < 1 || group.count > kMostTasks) {
    return Status(Code::kInvalid,
                  fmt::format("a group has 1 to {} tasks, not {}", print_count(kMostTasks), group.count))
        .about("tasks");
  }
  if (group.min_tasks && (*group.min_tasks < 1 || *group.min_tasks > group.count)) {
    return Status(Code::kInvalid, fmt::format("min_tasks lies between 1 and the number of tasks, {}, not {}",
                                              group.count, *group.min_tasks))
        .about("min_tasks");
  }
  if (group.cpu < MilliCpu(0) || group.cpu > MilliCpu(kMostAmount)) {
    return Status(Code::kInvalid, "the CPU of a task must not be negative or absurdly large").about("cpu");
  }
  const bool is_memory_wrong = group.memory < MiB(0) || group.memory > MiB(kMostAmount);
  if (is_memory_wrong || group.gpu_memory < MiB(0) || group.gpu_memory > MiB(kMostDeviceMemory)) {
    return Status(Code::kInvalid, "the memory of a task must not be negative or absurdly large")
        .about(is_memory_wrong ? "memory" : "gpu_memory");
  }
  if (group.cpu == MilliCpu(0) && group.memory == MiB(0) && group.gpu_count == 0) {
    return Status(Code::kInvalid, "a task must ask for something: CPU, memory or GPUs");
  }
  return {};
}

Status check_group_gpus(const TaskGroupRequest& group) {
  if (group.gpu_count < 0 || group.gpu_count > kMaxDevices) {
    return Status(Code::kInvalid, fmt::format("a task has 0 to {} devices, not {}", kMaxDevices, group.gpu_count))
        .about("gpus");
  }
  if (group.gpu_count == 0) {
    if (group.gpu_memory != MiB(0)) return Status(Code::kInvalid, "device memory without a GPU").about("gpu_memory");
    if (!group.models.empty())
      return Status(Code::kInvalid, "device models are named, but no GPU is asked for").about("models");
    return {};
  }
  if (group.gpu_milli < MilliGpu(1) || group.gpu_milli > kWholeDevice) {
    return Status(Code::kInvalid,
                  fmt::format("a task takes 1 to 1000 milli-GPU of a device, not {}", group.gpu_milli.value()))
        .about("gpus");
  }
  if (group.gpu_count > 1 && group.gpu_milli != kWholeDevice) {
    return Status(Code::kInvalid,
                  fmt::format("a fraction is a fraction of one device: {} devices must be whole ones", group.gpu_count))
        .about("gpus");
  }
  return {};
}

std::string_view job_edge_reason(JobState from, JobState to) {
  if (to == JobState::kHeld && from == JobState::kRunning)
    return "; only waiting jobs can be held, CANCEL ends a running one";
  return "";
}

struct JobRow {
  std::string name;
  JobState state;
};

Result<JobRow> read_job(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT name, state FROM jobs WHERE id = ?1"));
  if (!row.with(job).next()) {
    BERTH_TRY(row.status());
    return Status(Code::kNotFound, fmt::format("no job {}", job));
  }
  BERTH_ASSIGN(const JobState state, read_job_state(row.text(1)));
  return JobRow{std::string(row.text(0)), state};
}

Result<JobRow> check_job_edge(Database& db, std::int64_t job, JobState to) {
  BERTH_ASSIGN(JobRow row, read_job(db, job));
  if (job_may_change(row.state, to)) return row;
  if (row.state == to)
    return Status(Code::kConflict, fmt::format("job '{}' is {} already", row.name, job_state_name(to)));
  return Status(Code::kConflict,
                fmt::format("job '{}' is {}: it cannot become {}{}", row.name, job_state_name(row.state),
                            job_state_name(to), job_edge_reason(row.state, to)));
}

Status finish_job(Change& change, std::int64_t job, JobState state, std::string_view verb, const std::string& detail,
                  Seconds ended) {
  BERTH_ASSIGN(const JobRow row, check_job_edge(change.db(), job, state));
  if (row.state == JobState::kRunning) BERTH_TRY(forgive_eviction(change, job));
  BERTH_TRY(learn_ended_job(change, job, state, ended));  // of one that was told to stop and came to its end, too
  if (row.state == JobState::kRunning) {
    BERTH_TRY(end_attempt(change, job, run_state_of(state), detail, ended));
  } else {
    BERTH_TRY(end_wait(change, job));
    BERTH_TRY(drop_reservation(change, job));
    BERTH_TRY(drop_refusal(change, job));
  }
  // Where the clock was set back, it did not end before it started.
  BERTH_ASSIGN(Statement update,
               change.db().prepare("UPDATE jobs SET state = ?2, end_time = max(?3, coalesce(start_time, submit_time)) "
                                   "WHERE id = ?1"));
  BERTH_TRY(update.run(job, job_state_name(state), ended));
  BERTH_TRY(settle_dependencies(change, job, state));
  return change.record(verb, row.name, detail);
}

}  // namespace

Status set_gpus(TaskGroupRequest& group, MilliGpu amount) {
  const std::int64_t milli = amount.value();
  if (milli < 0) return Status(Code::kInvalid, "a task cannot ask for a negative number of GPUs").about("gpus");
  if (milli > 1000 && milli % 1000 != 0) {
    return Status(Code::kInvalid, fmt::format("{} GPUs a task: above 1, only whole devices", print_gpu(amount)),
                  "a fraction is a part of one device: ask for less than 1, or for whole ones")
        .about("gpus");
  }
  group.gpu_count = milli < 1000 ? (milli > 0 ? 1 : 0) : milli / 1000;
  group.gpu_milli = milli > 0 && milli < 1000 ? amount : kWholeDevice;
  return {};
}

// ---- submitting -----------------------------------------------------------------------------------------------------

struct Submitter::Impl {
  Impl(Change& in, Catalog known, Statement job, Statement group)
      : change(in), catalog(std::move(known)), insert_job(std::move(job)), insert_group(std::move(group)) {}

  // A checked group, as the columns want it.
  struct GroupRow {
    TaskGroup group;
    std::string name;
    std::optional<std::string> models;
    std::optional<std::int64_t> pool_id;
  };

  Result<std::int64_t> find_queue(const std::string& name);
  Result<std::optional<std::int64_t>> find_class(const std::string& name);
  Result<GroupRow> check_group(const TaskGroupRequest& request, std::size_t index);
  Result<std::vector<GroupRow>> check_groups(const JobRequest& request);
  Result<std::string> choose_name(const std::string& wanted);
  Result<std::vector<std::string>> allowed_models(const std::vector<std::string>& names);
  Status insert_groups(std::int64_t job, const std::vector<GroupRow>& rows);

  Change& change;
  Catalog catalog;
  Admission admission{change, catalog};
  std::optional<Hosting> hosting;
  Statement insert_job;
  Statement insert_group;
  std::map<std::string, std::int64_t> queues;           // leaves looked up so far
  std::map<std::string, std::int64_t> classes;          // looked up so far
  std::unordered_set<TaskShape, TaskShapeHash> hosted;  // single tasks known to fit
  std::int64_t next_id = 1;
  std::int64_t submitted = 0;
  std::string first_name;
  std::string last_name;
};

Result<std::int64_t> Submitter::Impl::find_queue(const std::string& name) {
  if (const auto found = queues.find(name); found != queues.end()) return found->second;
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kQueue, name));
  BERTH_ASSIGN(Statement children, change.db().prepare("SELECT name FROM queues WHERE parent_id = ?1 ORDER BY id"));
  children.with(id);
  std::vector<std::string> names;
  while (children.next()) names.emplace_back(children.text(0));
  BERTH_TRY(children.status());
  if (!names.empty()) {
    return Status(Code::kInvalid, fmt::format("queue '{}' has queues below it; only leaves hold jobs", name),
                  "below it: " + join(names, ", "))
        .about("queue", name);
  }
  return queues[name] = id;
}

Result<std::optional<std::int64_t>> Submitter::Impl::find_class(const std::string& name) {
  if (name.empty()) return std::optional<std::int64_t>();
  if (const auto found = classes.find(name); found != classes.end()) return std::optional(found->second);
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPriorityClass, name));
  classes[name] = id;
  return std::optional(id);
}

// A name is that of a model, or of a family: all models that it has now.
Result<std::vector<std::string>> Submitter::Impl::allowed_models(const std::vector<std::string>& names) {
  BERTH_ASSIGN(Statement family, change.db().prepare("SELECT name FROM device_models WHERE family = ?1 ORDER BY id"));
  std::vector<std::string> models;
  for (const std::string& name : names) {
    std::vector<std::string> meant;
    const bool known = std::any_of(catalog.models().begin(), catalog.models().end(),
                                   [&](const DeviceModel& each) { return each.name == name; });
    if (known) {
      meant.push_back(name);
    } else {
      family.with(name);
      while (family.next()) meant.emplace_back(family.text(0));
      BERTH_TRY(family.status());
    }
    if (meant.empty()) return find_id(change.db(), Thing::kDeviceModel, name).status();
    for (std::string& model : meant) {
      if (std::find(models.begin(), models.end(), model) != models.end()) {
        return Status(Code::kInvalid, fmt::format("device model '{}' is named twice", model)).about("models", name);
      }
      models.push_back(std::move(model));
    }
  }
  return models;
}

Result<Submitter::Impl::GroupRow> Submitter::Impl::check_group(const TaskGroupRequest& request, std::size_t index) {
  BERTH_TRY(check_group_sizes(request));
  BERTH_TRY(check_group_gpus(request));
  BERTH_ASSIGN(const std::vector<std::string> models, allowed_models(request.models));
  GroupRow row;
  BERTH_TRY(check_plain_text("the name of a task group", request.name));
  row.name = !request.name.empty() ? request.name : index == 0 ? "main" : fmt::format("group{}", index);
  if (!models.empty()) row.models = join(models, "|");
  TaskShape& shape = row.group.shape;
  shape.cpu = request.cpu;
  shape.memory = request.memory;
  shape.gpu_count = static_cast<std::int32_t>(request.gpu_count);
  shape.gpu_milli = request.gpu_count > 0 ? request.gpu_milli : MilliGpu(0);
  shape.gpu_memory = request.gpu_memory;
  shape.models = row.models ? catalog.models_of(*row.models) : 0;
  if (!request.pool.empty()) {
    BERTH_ASSIGN(row.pool_id, find_id(change.db(), Thing::kPool, request.pool));
    shape.pool = catalog.pool_index(*row.pool_id);
  }
  row.group.count = static_cast<std::int32_t>(request.count);
  row.group.min_tasks = static_cast<std::int32_t>(request.min_tasks.value_or(request.count));
  row.group.locality = request.locality;
  row.group.locality_required = request.locality_required;
  return row;
}

Result<std::vector<Submitter::Impl::GroupRow>> Submitter::Impl::check_groups(const JobRequest& request) {
  if (request.groups.empty()) return Status(Code::kInvalid, "a job needs at least one group of tasks");
  if (request.groups.size() > kMostGroups) {
    return Status(
        Code::kInvalid,
        fmt::format("a job has at most {} groups of tasks, not {}", print_count(static_cast<std::int64_t>(kMostGroups)),
                    print_count(static_cast<std::int64_t>(request.groups.size()))),
        "equal tasks are one group: tasks = 8");
  }
  std::vector<GroupRow> rows;
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < request.groups.size(); ++i) {
    const auto in_group = [&](Status status) {
      if (request.groups.size() == 1) return status;
      return std::move(status).prefixed(fmt::format("in task group {}", i + 1)).in_part(i);
    };
    Result<GroupRow> row = check_group(request.groups[i], i);
    if (!row.ok()) return in_group(std::move(row).status());
    if (!names.insert(row->name).second)
      return Status(Code::kInvalid, fmt::format("two task groups are called '{}'", row->name));
    const bool known_to_fit = row->group.min_tasks == 1 && hosted.contains(row->group.shape);
    if (!request.allow_infeasible && !known_to_fit) {
      if (!hosting) {
        BERTH_ASSIGN(hosting, Hosting::read(change.db(), catalog));
      }
      Status fits = hosting->check(row->group);
      if (!fits.ok()) return in_group(std::move(fits));
      if (row->group.min_tasks == 1) hosted.insert(row->group.shape);
    }
    rows.push_back(*std::move(row));
  }
  return rows;
}

Status Submitter::Impl::insert_groups(std::int64_t job, const std::vector<GroupRow>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TaskGroup& group = rows[i].group;
    BERTH_TRY(insert_group.run(job, i, rows[i].name, group.count, group.min_tasks, group.shape.cpu, group.shape.memory,
                               group.shape.gpu_count, group.shape.gpu_milli, group.shape.gpu_memory, rows[i].models,
                               rows[i].pool_id, locality_name(group.locality), group.locality_required));
  }
  return {};
}

Submitter::Submitter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Submitter::Submitter(Submitter&&) noexcept = default;
Submitter::~Submitter() = default;

Result<Submitter> Submitter::make(Change& change) {
  Database& db = change.db();
  BERTH_ASSIGN(Catalog catalog, Catalog::read(db));
  BERTH_ASSIGN(Statement job, db.prepare("INSERT INTO jobs (id, name, queue_id, priority_class_id, state, user_name, "
                                         "submit_time, time_limit_s, allow_infeasible, wait_cause, tag, "
                                         "predicted_p50_s, predicted_p80_s, predicted_p90_s, predicted_level, "
                                         "predicted_p90_bounds) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
                                         "?12, ?13, ?14, ?15, ?16)"));
  BERTH_ASSIGN(Statement group,
               db.prepare("INSERT INTO task_groups (job_id, group_index, name, task_count, min_tasks, "
                          "cpu_milli, memory_mib, gpu_count, gpu_milli, gpu_memory_mib, models, pool_id, "
                          "locality, locality_required) "
                          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"));
  auto impl = std::make_unique<Impl>(change, std::move(catalog), std::move(job), std::move(group));
  BERTH_ASSIGN(impl->next_id, db.integer("SELECT 1 + coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'jobs'"));
  return Submitter(std::move(impl));
}

// A job without a name is called after its id; ids whose name somebody has taken are passed over.
Result<std::string> Submitter::Impl::choose_name(const std::string& wanted) {
  if (!wanted.empty()) {
    BERTH_TRY(check_new_name(change.db(), Thing::kJob, wanted));
    return wanted;
  }
  while (true) {
    std::string name = fmt::format("job-{}", next_id);
    const Status free = check_new_name(change.db(), Thing::kJob, name);
    if (free.ok()) return name;
    if (free.code() != Code::kExists) return free;
    ++next_id;
  }
}

Result<std::int64_t> Submitter::submit(const JobRequest& request) {
  Change& change = impl_->change;
  // Everything is looked at before anything is written, so a refused job leaves nothing behind.
  BERTH_ASSIGN(const std::int64_t queue, impl_->find_queue(request.queue));
  BERTH_ASSIGN(const std::optional<std::int64_t> priority_class, impl_->find_class(request.priority_class));
  BERTH_TRY(check_plain_text("the user of a job", request.user));
  if (request.time_limit < Seconds(0))
    return Status(Code::kInvalid, "a time limit must not be negative").about("time_limit");
  if (request.submit_time && *request.submit_time > change.now()) {
    return Status(Code::kInvalid,
                  fmt::format("it was submitted at {}, which is yet to come", print_time(*request.submit_time)));
  }
  BERTH_TRY(check_plain_text("the tag of a job", request.tag));
  BERTH_ASSIGN(auto groups, impl_->check_groups(request));
  BERTH_ASSIGN(const std::string name, impl_->choose_name(request.name));
  BERTH_TRY(check_command(request.command));
  BERTH_ASSIGN(const CheckedTerms terms, check_terms(change.db(), request.terms));
  const std::int64_t id = impl_->next_id++;

  const JobState state = request.held ? JobState::kHeld : JobState::kPending;
  const std::string& user = request.user.empty() ? change.actor() : request.user;
  std::vector<AskedGroup> asked;
  for (const Impl::GroupRow& row : groups) {
    asked.push_back({row.name, row.group.count, row.group.shape, row.models ? std::string_view(*row.models) : ""});
  }
  BERTH_ASSIGN(const Admitted admitted, impl_->admission.admit(queue, request.tag, user, asked, request.time_limit));
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].group.shape = admitted.given[i];
  const auto predicted = [&](Seconds duration) {
    return admitted.prediction.level == PredictionLevel::kUnknown ? std::nullopt : std::optional(duration);
  };
  BERTH_TRY(
      impl_->insert_job.run(id, name, queue, priority_class, job_state_name(state), user,
                            request.submit_time.value_or(change.now()), request.time_limit, request.allow_infeasible,
                            request.held ? std::optional(wait_cause_name(WaitCause::kHeld)) : std::nullopt, request.tag,
                            predicted(admitted.prediction.estimate.p50), predicted(admitted.prediction.estimate.p80),
                            predicted(admitted.prediction.estimate.p90),
                            prediction_level_name(admitted.prediction.level), !admitted.prediction.estimate.is_rough));
  failpoint("mid_write");
  BERTH_TRY(impl_->insert_groups(id, groups));
  BERTH_TRY(write_terms(change, id, terms));
  BERTH_TRY(write_command(change, id, request.command));
  BERTH_TRY(impl_->admission.keep_requests(id, asked, admitted));
  if (impl_->submitted++ == 0) impl_->first_name = name;
  impl_->last_name = name;
  return id;
}

Status Submitter::finish() {
  if (impl_->submitted == 0) return {};
  if (impl_->submitted == 1) return impl_->change.record("submit job", impl_->first_name);
  return impl_->change.record("submit jobs",
                              fmt::format("{} .. {} ({})", impl_->first_name, impl_->last_name, impl_->submitted));
}

Result<std::int64_t> submit_job(Change& change, const JobRequest& request) {
  BERTH_ASSIGN(Submitter submitter, Submitter::make(change));
  BERTH_ASSIGN(const std::int64_t id, submitter.submit(request));
  BERTH_TRY(submitter.finish());
  return id;
}

// ---- changing state -------------------------------------------------------------------------------------------------

Status cancel_job(Change& change, std::int64_t job) {
  BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(change.db(), job));
  if (!run) return finish_job(change, job, JobState::kCancelled, "cancel job", {}, change.now());
  BERTH_ASSIGN(const JobRow row, check_job_edge(change.db(), job, JobState::kCancelled));
  if (run->stop_state == RunState::kCancelled)
    return Status(Code::kConflict, fmt::format("job '{}' has been told to stop already", row.name));
  BERTH_TRY(stop_run(change, *run, RunState::kCancelled, fmt::format("by {}", change.actor())));
  return change.record("cancel job", row.name, "told to stop");
}

Status end_job(Change& change, std::int64_t job, JobState state, const std::string& detail) {
  if (state != JobState::kFinished && state != JobState::kFailed) {
    return Status(Code::kInternal, fmt::format("a job does not end as {}", job_state_name(state)));
  }
  BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(change.db(), job));
  if (run) {
    BERTH_ASSIGN(const JobRow row, read_job(change.db(), job));
    return Status(Code::kConflict, fmt::format("an executor runs job '{}': it says itself when it ends", row.name),
                  "CANCEL JOB stops it");
  }
  return finish_job(change, job, state, state == JobState::kFinished ? "finish job" : "fail job", detail, change.now());
}

namespace {

// A failed or lost attempt that its job may repeat.
Result<bool> may_retry(Change& change, const LiveRun& run, RunState ended) {
  BERTH_ASSIGN(Statement row, change.db().prepare("SELECT retry_limit, failures, losses FROM jobs WHERE id = ?1"));
  if (!row.with(run.job).next()) return row.status().ok() ? Result<bool>(false) : Result<bool>(row.status());
  if (ended == RunState::kFailed) return row.integer(1) < row.integer(0);
  BERTH_ASSIGN(const bool is_uncounted, is_loss_of_a_node(change.db(), run.job, run.attempt));
  if (is_uncounted) return true;
  BERTH_ASSIGN(const Settings settings, read_settings(change.db()));
  return row.integer(2) < row.integer(0) + settings.loss_retries;
}

Status retry_job(Change& change, const LiveRun& run, RunState ended, const std::string& detail) {
  BERTH_ASSIGN(const Seconds at, end_of_tasks(change, run));
  BERTH_TRY(forgive_eviction(change, run.job));
  BERTH_TRY(end_attempt(change, run.job, ended, detail, at));
  BERTH_TRY(begin_wait(change, run.job, WaitCause::kRound, 0, at));
  BERTH_ASSIGN(const bool is_uncounted, is_loss_of_a_node(change.db(), run.job, run.attempt));
  BERTH_ASSIGN(Statement update,
               change.db().prepare("UPDATE jobs SET state = 'pending', failures = failures + ?2, losses = losses + ?3 "
                                   "WHERE id = ?1"));
  BERTH_TRY(update.run(run.job, ended == RunState::kFailed ? 1 : 0, ended == RunState::kLost && !is_uncounted ? 1 : 0));
  BERTH_ASSIGN(const JobRow row, read_job(change.db(), run.job));
  return change.record("retry job", row.name, fmt::format("{}: {}", run_state_name(ended), detail));
}

}  // namespace

Status conclude_run(Change& change, const LiveRun& run, RunState ended, const std::string& detail) {
  BERTH_ASSIGN(const Seconds at, end_of_tasks(change, run));
  switch (ended) {
    case RunState::kSucceeded: return finish_job(change, run.job, JobState::kFinished, "finish job", detail, at);
    case RunState::kCancelled: return finish_job(change, run.job, JobState::kCancelled, "end job", "cancelled", at);
    case RunState::kEvicted: return finish_eviction(change, run.job, at);
    case RunState::kFailed:
    case RunState::kLost: {
      BERTH_ASSIGN(const bool again, may_retry(change, run, ended));
      if (again) return retry_job(change, run, ended, detail);
      return finish_job(change, run.job, JobState::kFailed, "fail job",
                        ended == RunState::kLost ? "lost: " + detail : detail, at);
    }
    default: return Status(Code::kInternal, fmt::format("a run does not end as {}", run_state_name(ended)));
  }
}

Status forget_run(Change& change, std::int64_t job, const std::string& detail) {
  BERTH_ASSIGN(const std::optional<LiveRun> run, live_run_of(change.db(), job));
  if (!run) return {};
  if (run->stop_state == RunState::kCancelled) return conclude_run(change, *run, RunState::kCancelled, detail);
  BERTH_TRY(retry_job(change, *run, RunState::kLost, detail));
  BERTH_ASSIGN(Statement uncount, change.db().prepare("UPDATE jobs SET losses = losses - 1 WHERE id = ?1"));
  return uncount.run(job);
}

Status hold_job(Change& change, std::int64_t job) {
  BERTH_ASSIGN(const JobRow row, check_job_edge(change.db(), job, JobState::kHeld));
  BERTH_TRY(begin_wait(change, job, WaitCause::kHeld));
  BERTH_TRY(drop_reservation(change, job));
  BERTH_TRY(drop_refusal(change, job));
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE jobs SET state = 'held' WHERE id = ?1"));
  BERTH_TRY(update.run(job));
  return change.record("hold job", row.name);
}

Status release_job(Change& change, std::int64_t job) {
  BERTH_ASSIGN(const JobRow row, read_job(change.db(), job));
  // A running job may also become pending, but by eviction, not by RELEASE.
  if (row.state != JobState::kHeld) {
    return Status(Code::kConflict, fmt::format("job '{}' is {}, not held", row.name, job_state_name(row.state)));
  }
  BERTH_ASSIGN(const std::optional<StrayOfJob> stray, stray_of_job(change.db(), job));
  if (stray) {
    return Status(Code::kConflict, fmt::format("job '{}' stays held: {}", row.name, stray->sentence), stray->next_step);
  }
  BERTH_TRY(begin_wait(change, job, WaitCause::kRound));
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE jobs SET state = 'pending' WHERE id = ?1"));
  BERTH_TRY(update.run(job));
  return change.record("release job", row.name);
}

Status set_job_priority(Change& change, std::int64_t job, std::optional<std::string_view> priority_class) {
  BERTH_ASSIGN(const JobRow row, read_job(change.db(), job));
  if (row.state != JobState::kPending && row.state != JobState::kHeld && row.state != JobState::kRunning) {
    return Status(Code::kConflict, fmt::format("job '{}' is {}: its priority class counts no more", row.name,
                                               job_state_name(row.state)));
  }
  std::optional<std::int64_t> id;
  if (priority_class) {
    BERTH_ASSIGN(id, find_id(change.db(), Thing::kPriorityClass, *priority_class));
  }
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE jobs SET priority_class_id = ?2 WHERE id = ?1"));
  BERTH_TRY(update.run(job, id));
  return change.record("alter job", row.name, fmt::format("priority {}", priority_class.value_or("NONE")));
}

}  // namespace berth
