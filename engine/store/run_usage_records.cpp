#include "engine/store/run_usage_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/model/hash.h"
#include "engine/policy/duration_predictor.h"
#include "engine/policy/registry.h"
#include "engine/store/account_records.h"
#include "engine/store/names.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

template <class Quantity>
std::optional<Quantity> optional_quantity(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.quantity<Quantity>(column));
}

// The group that usage is about: the one named, or the only one.
struct UsedGroup {
  std::int64_t index = 0;
  std::int64_t recurrence = 0;
};

Result<UsedGroup> find_used_group(Database& db, std::int64_t job, std::string_view name) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT g.group_index, g.name, j.tag, j.user_name, g.task_count, "
                          "coalesce(r.gpu_count, g.gpu_count) FROM task_groups g JOIN jobs j ON j.id = g.job_id "
                          "LEFT JOIN requested_amounts r USING (job_id, group_index) WHERE g.job_id = ?1 "
                          "ORDER BY g.group_index"));
  rows.with(job);
  std::vector<std::string> names;
  std::optional<UsedGroup> found;
  while (rows.next()) {
    names.emplace_back(rows.text(1));
    if (!name.empty() && rows.text(1) != name) continue;
    found = UsedGroup{rows.integer(0), recurrence_of(rows.text(2), rows.text(3), rows.text(1), rows.integer(4),
                                                     static_cast<std::int32_t>(rows.integer(5)))};
  }
  BERTH_TRY(rows.status());
  BERTH_ASSIGN(const std::string job_name, name_of(db, Thing::kJob, job));
  if (!found) {
    return Status(Code::kNotFound, fmt::format("job '{}' has no task group '{}'", job_name, name),
                  "it has " + join(names, ", "));
  }
  if (name.empty() && names.size() > 1) {
    return Status(
        Code::kInvalid,
        fmt::format("job '{}' has several task groups: {}; which one used that?", job_name, join(names, ", ")),
        fmt::format("RECORD USAGE OF JOB {} GROUP {} WITH (...)", job_name, names.front()));
  }
  return *found;
}

// The mean use of each device that was recorded so far, in milli-GPU.
Result<std::optional<std::int64_t>> known_gpu_use(Database& db, std::int64_t run, std::int64_t group) {
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT gpu_mean_milli FROM run_usage WHERE run_id = ?1 AND group_index = ?2"));
  std::optional<std::int64_t> mean;
  if (row.with(run, group).next() && !row.is_null(0)) mean = row.integer(0);
  BERTH_TRY(row.status());
  return mean;
}

// Of the smallest model it may use, or of all; 0 = one of them does not track memory.
MiB smallest_device_memory(const Catalog& catalog, ModelSet models) {
  std::optional<MiB> least;
  for (std::size_t i = 0; i < catalog.models().size(); ++i) {
    if (models != 0 && (models >> i & 1) == 0) continue;
    const MiB memory = catalog.models()[i].memory;
    least = least ? std::min(*least, memory) : memory;
  }
  return least.value_or(MiB(0));
}

}  // namespace

std::int64_t recurrence_of(std::string_view tag, std::string_view user, std::string_view group, std::int64_t tasks,
                           std::int32_t devices) {
  if (tag.empty()) return 0;
  std::uint64_t hash = feature_of(tag);
  for (const std::uint64_t part :
       {feature_of(user), feature_of(group), static_cast<std::uint64_t>(tasks), static_cast<std::uint64_t>(devices)}) {
    hash_add(hash, part);
  }
  return static_cast<std::int64_t>(std::max<std::uint64_t>(hash, 1));
}

Status record_usage(Change& change, std::int64_t job, std::string_view group, const UsageSample& usage) {
  if (usage.cpu_mean && usage.cpu_peak && *usage.cpu_mean > *usage.cpu_peak) {
    return Status(Code::kInvalid, fmt::format("a mean of {} CPU above the peak of {}", print_cpu(*usage.cpu_mean),
                                              print_cpu(*usage.cpu_peak)));
  }
  Database& db = change.db();
  BERTH_ASSIGN(const UsedGroup used, find_used_group(db, job, group));
  BERTH_ASSIGN(Statement run,
               db.prepare("SELECT id, end_time FROM runs WHERE job_id = ?1 ORDER BY attempt DESC LIMIT 1"));
  if (!run.with(job).next()) {
    BERTH_TRY(run.status());
    BERTH_ASSIGN(const std::string name, name_of(db, Thing::kJob, job));
    return Status(Code::kConflict, fmt::format("job '{}' has not ended a run yet", name));
  }
  BERTH_ASSIGN(const std::optional<std::int64_t> before, known_gpu_use(db, run.integer(0), used.index));
  BERTH_ASSIGN(
      Statement put,
      db.prepare("INSERT INTO run_usage (run_id, group_index, recurrence, end_time, cpu_mean_milli, "
                 "cpu_peak_milli, memory_peak_mib, gpu_mean_milli, gpu_memory_peak_mib, out_of_memory) "
                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (run_id, group_index) DO UPDATE "
                 "SET cpu_mean_milli = coalesce(excluded.cpu_mean_milli, cpu_mean_milli), "
                 "cpu_peak_milli = coalesce(excluded.cpu_peak_milli, cpu_peak_milli), "
                 "memory_peak_mib = coalesce(excluded.memory_peak_mib, memory_peak_mib), "
                 "gpu_mean_milli = coalesce(excluded.gpu_mean_milli, gpu_mean_milli), "
                 "gpu_memory_peak_mib = coalesce(excluded.gpu_memory_peak_mib, gpu_memory_peak_mib), "
                 "out_of_memory = max(excluded.out_of_memory, out_of_memory)"));
  BERTH_TRY(put.run(run.integer(0), used.index, used.recurrence, run.integer(1), usage.cpu_mean, usage.cpu_peak,
                    usage.memory_peak, usage.gpu_mean, usage.gpu_memory_peak, usage.out_of_memory));
  if (!usage.gpu_mean) return {};
  return account_run_use(change, run.integer(0), used.index, before, usage.gpu_mean->value());
}

Result<std::vector<UsageSample>> usage_of(Database& db, std::int64_t recurrence, std::int64_t most) {
  std::vector<UsageSample> runs;
  if (recurrence == 0) return runs;
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT end_time, cpu_mean_milli, cpu_peak_milli, memory_peak_mib, gpu_mean_milli, "
                          "gpu_memory_peak_mib, out_of_memory FROM run_usage WHERE recurrence = ?1 AND recurrence <> 0 "
                          "ORDER BY end_time DESC, run_id DESC LIMIT ?2"));
  rows.with(recurrence, most);
  while (rows.next()) {
    runs.push_back({rows.quantity<Seconds>(0), optional_quantity<MilliCpu>(rows, 1),
                    optional_quantity<MilliCpu>(rows, 2), optional_quantity<MiB>(rows, 3),
                    optional_quantity<MilliGpu>(rows, 4), optional_quantity<MiB>(rows, 5), rows.integer(6) != 0});
  }
  BERTH_TRY(rows.status());
  std::reverse(runs.begin(), runs.end());
  return runs;
}

Result<GroupRightsizer> GroupRightsizer::open(Database& db, const Catalog& catalog, std::string_view policy,
                                              Seconds now) {
  GroupRightsizer sizer(db, catalog);
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  sizer.name_ = policy;
  sizer.knobs_ = settings.rightsizing;
  sizer.now_ = now;
  BERTH_ASSIGN(sizer.policy_, make_rightsize(policy, sizer.knobs_));
  return sizer;
}

Result<Rightsizing> GroupRightsizer::size(const GroupDemand& demand) const {
  const std::int64_t recurrence =
      recurrence_of(demand.tag, demand.user, demand.group, demand.tasks, demand.asked.gpu_count);
  BERTH_ASSIGN(const std::vector<UsageSample> runs, usage_of(*db_, recurrence, knobs_.history));
  const MiB device_memory = smallest_device_memory(*catalog_, demand.asked.models);
  return rightsize(*policy_, {demand.asked, device_memory, runs, now_}, knobs_);
}

Status keep_requested(Database& db, std::int64_t job, std::int64_t group_index, const TaskShape& asked,
                      std::string_view policy) {
  BERTH_ASSIGN(Statement put,
               db.prepare("INSERT INTO requested_amounts (job_id, group_index, cpu_milli, memory_mib, gpu_count, "
                          "gpu_milli, gpu_memory_mib, policy) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  return put.run(job, group_index, asked.cpu, asked.memory, asked.gpu_count, asked.gpu_milli, asked.gpu_memory, policy);
}

Result<std::string> rightsized_by(Database& db, std::int64_t job) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT policy FROM requested_amounts WHERE job_id = ?1 LIMIT 1"));
  std::string policy;
  if (row.with(job).next()) policy = row.text(0);
  BERTH_TRY(row.status());
  return policy;
}

}  // namespace berth
