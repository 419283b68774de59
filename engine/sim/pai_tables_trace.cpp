#include "engine/sim/pai_tables_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_map>

#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 6> kPaiJobColumns = {{{"job_name", true},
                                                      {"inst_id", true},
                                                      {"user", true},
                                                      {"status", true},
                                                      {"start_time", true},
                                                      {"end_time", true}}};
constexpr std::array<CsvColumn, 10> kPaiTaskColumns = {{{"job_name", true},
                                                        {"task_name", true},
                                                        {"inst_num", true},
                                                        {"status"},
                                                        {"start_time"},
                                                        {"end_time"},
                                                        {"plan_cpu", true},
                                                        {"plan_mem", true},
                                                        {"plan_gpu", true},
                                                        {"gpu_type"}}};
constexpr std::array<CsvColumn, 5> kPaiTagColumns = {
    {{"inst_id", true}, {"user"}, {"gpu_type_spec"}, {"group", true}, {"workload"}}};

struct PaiTask {
  TraceTaskGroup group;
  std::optional<Seconds> start;
};
struct PaiTag {
  std::string models;
  std::string group;
};
using PaiTasks = std::unordered_map<std::string, std::vector<PaiTask>>;  // of a job, in file order
using PaiTags = std::unordered_map<std::string, PaiTag>;                 // of an inst_id

template <std::int64_t scale>
Result<std::int64_t> read_pai_amount(std::string_view text) {
  return read_rounded(text, scale);
}

Result<PaiTask> read_pai_task(const CsvReader& csv) {
  enum Column : std::size_t { kJob, kTask, kInstances, kStatus, kStart, kEnd, kCpu, kMemory, kGpus, kType };
  PaiTask task;
  TraceTaskGroup& group = task.group;
  group.name = csv.text(kTask);
  BERTH_TRY(csv.checked(kTask, check_record_name(group.name)));
  BERTH_ASSIGN(const std::int64_t instances, csv.value(kInstances, read_whole_seconds));
  if (instances < 1 || instances > 1000000) return csv.error(kInstances, "expected 1 to 1000000");
  BERTH_ASSIGN(const std::int64_t cpu, csv.value_or(kCpu, read_pai_amount<10>, std::int64_t{0}));
  BERTH_ASSIGN(const std::int64_t memory, csv.value_or(kMemory, read_pai_amount<1024>, std::int64_t{0}));
  BERTH_ASSIGN(std::int64_t milli, csv.value_or(kGpus, read_pai_amount<10>, std::int64_t{0}));
  if (milli > kWholeDevice.value()) milli = divide_up(milli, kWholeDevice.value()) * kWholeDevice.value();
  const Result<DeviceAsk> ask = device_ask(MilliGpu(milli));
  if (!ask.ok()) return csv.error(kGpus, ask.status());
  group.tasks = group.min_tasks = static_cast<std::int32_t>(instances);
  group.cpu = MilliCpu(cpu);
  group.memory = MiB(memory);
  group.gpu_count = ask->count;
  group.gpu_milli = ask->milli;
  if (ask->count > 0) group.models = csv.text(kType);
  if (!csv.text(kStart).empty()) {
    BERTH_ASSIGN(const std::int64_t start, csv.value(kStart, read_whole_seconds));
    task.start = Seconds(start);
  }
  return task;
}

Result<PaiTasks> read_pai_tasks(const std::string& path) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kPaiTaskColumns, CsvHeader::kOptional));
  PaiTasks tasks;
  for (;;) {
    BERTH_ASSIGN(const bool found, csv.next());
    if (!found) return tasks;
    BERTH_ASSIGN(PaiTask task, read_pai_task(csv));
    std::vector<PaiTask>& of_job = tasks[std::string(csv.text(0))];
    for (const PaiTask& other : of_job) {
      if (other.group.name == task.group.name) return csv.error(1, "the job has a task of that name already");
    }
    of_job.push_back(std::move(task));
  }
}

Result<PaiTags> read_pai_tags(const std::string& path) {
  PaiTags tags;
  if (path.empty()) return tags;
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kPaiTagColumns, CsvHeader::kOptional));
  for (;;) {
    BERTH_ASSIGN(const bool found, csv.next());
    if (!found) return tags;
    tags[std::string(csv.text(0))] = {std::string(csv.text(2)), std::string(csv.text(3))};
  }
}

// The table that lies beside the job table; empty when its name does not tell.
std::string beside(const std::string& job_table, std::string_view table) {
  constexpr std::string_view kJobTable = "job_table";
  const std::size_t at = job_table.rfind(kJobTable);
  return at == std::string::npos ? "" : std::string(job_table).replace(at, kJobTable.size(), table);
}

class Pai2020JobReader : public JobReader {
 public:
  Pai2020JobReader(CsvReader csv, PaiTasks tasks, PaiTags tags)
      : csv_(std::move(csv)), tasks_(std::move(tasks)), tags_(std::move(tags)) {}

  Result<bool> next(TraceJob& job) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    job = TraceJob{};
    job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    job.name = csv_.text(kName);
    BERTH_TRY(csv_.checked(kName, check_record_name(job.name)));
    job.user = csv_.text(kUser);
    BERTH_ASSIGN(job.outcome, csv_.value(kStatus, read_outcome));
    BERTH_ASSIGN(const std::int64_t submit, csv_.value(kStart, read_whole_seconds));
    job.submit = Seconds(submit);
    BERTH_TRY(add_tasks(job));
    if (csv_.text(kEnd).empty()) return true;
    BERTH_ASSIGN(const std::int64_t end, csv_.value(kEnd, read_whole_seconds));
    const Seconds start = job.start.value_or(job.submit);
    if (Seconds(end) < start) return csv_.error(kEnd, "before the job started");
    job.duration = Seconds(end) - start;
    return true;
  }

 private:
  enum Column : std::size_t { kName, kInstance, kUser, kStatus, kStart, kEnd };

  Status add_tasks(TraceJob& job) {
    const auto found = tasks_.find(job.name);
    if (found == tasks_.end()) return csv_.error(kName, "the task table has no task of this job");
    const auto tag = tags_.find(std::string(csv_.text(kInstance)));
    for (const PaiTask& task : found->second) {
      TraceTaskGroup& group = job.groups.emplace_back(task.group);
      if (found->second.size() == 1) group.name.clear();
      if (!tags_.empty()) group.models = tag == tags_.end() || group.gpu_count == 0 ? "" : tag->second.models;
      if (task.start && (!job.start || *task.start < *job.start)) job.start = task.start;
    }
    if (job.start && *job.start < job.submit) job.start = job.submit;
    if (tag != tags_.end()) job.tag = tag->second.group;
    return {};
  }

  CsvReader csv_;
  PaiTasks tasks_;
  PaiTags tags_;
};

}  // namespace

Result<std::unique_ptr<JobReader>> open_pai2020_jobs(const std::string& path, const TraceOptions& options) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kPaiJobColumns, CsvHeader::kOptional));
  const std::string tasks_file = options.tasks_file.empty() ? beside(path, "task_table") : options.tasks_file;
  if (tasks_file.empty())
    return Status(Code::kInvalid, fmt::format("'{}' does not tell where the task table is", path),
                  "name it with tasks_file, or let the name of the job table contain job_table");
  std::string tags_file = options.tags_file;
  if (tags_file.empty()) {
    tags_file = beside(path, "group_tag_table");
    std::error_code unused;
    if (!std::filesystem::exists(tags_file, unused)) tags_file.clear();
  }
  BERTH_ASSIGN(PaiTasks tasks, read_pai_tasks(tasks_file));
  BERTH_ASSIGN(PaiTags tags, read_pai_tags(tags_file));
  return std::unique_ptr<JobReader>(
      std::make_unique<Pai2020JobReader>(std::move(csv), std::move(tasks), std::move(tags)));
}

}  // namespace berth
