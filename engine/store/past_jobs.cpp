#include "engine/store/past_jobs.h"

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/model/wait_cause.h"
#include "engine/store/names.h"
#include "engine/store/run_usage_records.h"

namespace berth {

namespace {

std::string past_group_name(const PastJob& job, std::size_t index) {
  const std::string& name = job.groups[index].asked.name;
  return !name.empty() ? name : index == 0 ? "main" : fmt::format("group{}", index);
}

TaskShape past_shape(const TaskGroupRequest& asked) {
  TaskShape shape;
  shape.cpu = asked.cpu;
  shape.memory = asked.memory;
  shape.gpu_count = static_cast<std::int32_t>(asked.gpu_count);
  shape.gpu_milli = asked.gpu_count > 0 ? asked.gpu_milli : MilliGpu(0);
  shape.gpu_memory = asked.gpu_memory;
  return shape;
}

}  // namespace

Result<PastJobWriter> PastJobWriter::make(Change& change) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement job, db.prepare("INSERT INTO jobs (id, name, queue_id, priority_class_id, state, user_name, "
                                         "submit_time, start_time, end_time, time_limit_s, tag, attained_milli_s) "
                                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"));
  BERTH_ASSIGN(Statement group,
               db.prepare("INSERT INTO task_groups (job_id, group_index, name, task_count, min_tasks, "
                          "cpu_milli, memory_mib, gpu_count, gpu_milli, gpu_memory_mib, models, pool_id, "
                          "locality, locality_required) "
                          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"));
  BERTH_ASSIGN(Statement run, db.prepare("INSERT INTO runs (id, job_id, attempt, start_time, end_time, state, tasks, "
                                         "gpu_milli, nodes, detail) "
                                         "VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, '[]', ?8)"));
  BERTH_ASSIGN(Statement usage,
               db.prepare("INSERT INTO run_usage (run_id, group_index, recurrence, end_time, cpu_mean_milli, "
                          "cpu_peak_milli, memory_peak_mib, gpu_mean_milli, gpu_memory_peak_mib, out_of_memory) "
                          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  BERTH_ASSIGN(Statement wait, db.prepare("INSERT INTO wait_stretches (job_id, from_time, to_time, cause) "
                                          "VALUES (?1, ?2, ?3, ?4)"));
  PastJobWriter writer(change, {std::move(job), std::move(group), std::move(run), std::move(usage), std::move(wait)});
  BERTH_ASSIGN(writer.next_job_,
               db.integer("SELECT 1 + coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'jobs'"));
  BERTH_ASSIGN(writer.next_run_, db.integer("SELECT 1 + coalesce(max(id), 0) FROM runs"));
  return writer;
}

Result<std::int64_t> PastJobWriter::find_leaf(const std::string& queue) {
  if (const auto found = leaves_.find(queue); found != leaves_.end()) return found->second;
  BERTH_ASSIGN(const std::int64_t id, find_id(change_->db(), Thing::kQueue, queue));
  BERTH_ASSIGN(Statement children, change_->db().prepare("SELECT count(*) FROM queues WHERE parent_id = ?1"));
  if (!children.with(id).next()) return children.status();
  if (children.integer(0) > 0)
    return Status(Code::kInvalid, fmt::format("queue '{}' has queues below it; only leaves hold jobs", queue));
  return leaves_[queue] = id;
}

Result<std::optional<std::int64_t>> PastJobWriter::find_class(const std::string& name) {
  if (name.empty()) return std::optional<std::int64_t>();
  if (const auto found = classes_.find(name); found != classes_.end()) return std::optional(found->second);
  BERTH_ASSIGN(const std::int64_t id, find_id(change_->db(), Thing::kPriorityClass, name));
  return std::optional(classes_[name] = id);
}

Result<std::optional<std::int64_t>> PastJobWriter::find_pool(const std::string& name) {
  if (name.empty()) return std::optional<std::int64_t>();
  if (const auto found = pools_.find(name); found != pools_.end()) return std::optional(found->second);
  BERTH_ASSIGN(const std::int64_t id, find_id(change_->db(), Thing::kPool, name));
  return std::optional(pools_[name] = id);
}

Status PastJobWriter::add(const PastJob& job) {
  BERTH_ASSIGN(const std::int64_t queue, find_leaf(job.queue));
  BERTH_ASSIGN(const std::optional<std::int64_t> priority_class, find_class(job.priority_class));
  for (const PastGroup& group : job.groups) BERTH_TRY(find_pool(group.asked.pool).status());
  BERTH_TRY(check_plain_text("the user of a job", job.user));
  BERTH_TRY(check_plain_text("the tag of a job", job.tag));
  // Nor that of a job that has ended: nothing is learnt twice.
  BERTH_TRY(check_name_text(Thing::kJob, job.name));
  BERTH_ASSIGN(const bool is_known, has_name(change_->db(), Thing::kJob, job.name));
  if (is_known) return Status(Code::kExists, fmt::format("job '{}' exists already", job.name));
  std::int64_t tasks = 0;
  MilliGpu gpus;
  for (const PastGroup& group : job.groups) {
    tasks += group.asked.count;
    gpus += past_shape(group.asked).gpu_total() * group.asked.count;
  }
  const std::int64_t id = next_job_++;
  const std::int64_t seconds = (job.end - job.start).value();
  BERTH_TRY(statements_.job.run(id, job.name, queue, priority_class, job_state_name(job.outcome), job.user, job.submit,
                                job.start, job.end, job.time_limit, job.tag, gpus.value() * seconds));
  BERTH_TRY(statements_.run.run(next_run_, id, job.start, job.end, run_state_name(run_state_of(job.outcome)), tasks,
                                gpus, job.knows_start ? kImportedWithStart : kImported));
  if (job.start > job.submit)
    BERTH_TRY(statements_.wait.run(id, job.submit, job.start, wait_cause_name(WaitCause::kRound)));
  JobFeatures features;
  features.tag = job.tag;
  features.user = job.user;
  BERTH_TRY(add_groups(job, id, features));
  ++next_run_;
  if (teaches_duration(job.outcome, job.end - job.start, job.time_limit))
    runs_.push_back({std::move(features), job.submit, job.end, job.end - job.start, job.time_limit});
  return {};
}

Status PastJobWriter::add_groups(const PastJob& job, std::int64_t id, JobFeatures& features) {
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const TaskGroupRequest& asked = job.groups[i].asked;
    const TaskShape shape = past_shape(asked);
    const std::string models = join(asked.models, "|");
    const std::string name = past_group_name(job, i);
    BERTH_ASSIGN(const std::optional<std::int64_t> pool, find_pool(asked.pool));
    BERTH_TRY(statements_.group.run(id, i, name, asked.count, asked.min_tasks.value_or(asked.count), shape.cpu,
                                    shape.memory, shape.gpu_count, shape.gpu_milli, shape.gpu_memory,
                                    models.empty() ? std::nullopt : std::optional(models), pool,
                                    locality_name(asked.locality), asked.locality_required));
    features.add_group(asked.count, shape, models);
    BERTH_TRY(add_usage(job, i, name));
  }
  return {};
}

Status PastJobWriter::add_usage(const PastJob& job, std::size_t group, const std::string& name) {
  const UsageSample& used = job.groups[group].used;
  if (!used.cpu_mean && !used.cpu_peak && !used.memory_peak && !used.gpu_mean && !used.gpu_memory_peak &&
      !used.out_of_memory) {
    return {};
  }
  const TaskGroupRequest& asked = job.groups[group].asked;
  const std::int64_t recurrence =
      recurrence_of(job.tag, job.user, name, asked.count, static_cast<std::int32_t>(asked.gpu_count));
  return statements_.usage.run(next_run_, group, recurrence, job.end, used.cpu_mean, used.cpu_peak, used.memory_peak,
                               used.gpu_mean, used.gpu_memory_peak, used.out_of_memory);
}

Status PastJobWriter::finish() {
  BERTH_ASSIGN(PredictionRecords records, PredictionRecords::open(change_->db()));
  return learn_runs(records, std::move(runs_));
}

}  // namespace berth
