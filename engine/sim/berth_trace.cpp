#include "engine/sim/berth_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "engine/base/text.h"
#include "engine/model/cluster.h"
#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::string_view kBerthPreferred = " preferred";

constexpr std::array<CsvColumn, 40> kBerthJobColumns = {{guarded_column("name", true),
                                                         {"submit", true},
                                                         {"duration"},
                                                         guarded_column("queue"),
                                                         guarded_column("priority"),
                                                         guarded_column("user"),
                                                         guarded_column("group"),
                                                         {"tasks"},
                                                         {"min_tasks"},
                                                         {"cpu", true},
                                                         {"memory", true},
                                                         {"gpus"},
                                                         {"gpu_memory"},
                                                         guarded_column("models"),
                                                         guarded_column("pool"),
                                                         {"locality"},
                                                         guarded_column("tag"),
                                                         {"start"},
                                                         {"outcome"},
                                                         {"time_limit"},
                                                         guarded_column("estimates"),
                                                         {"cpu_used_mean"},
                                                         {"cpu_used_peak"},
                                                         {"memory_peak"},
                                                         {"gpu_utilisation_mean"},
                                                         {"gpu_memory_peak"},
                                                         {"preemptible"},
                                                         {"checkpoint_every"},
                                                         {"checkpoint_grace"},
                                                         {"restart_cost"},
                                                         {"min_runtime"},
                                                         guarded_column("after"),
                                                         guarded_column("command"),
                                                         guarded_column("directory"),
                                                         {"env"},
                                                         guarded_column("image"),
                                                         {"checkpoint_signal"},
                                                         {"retries"},
                                                         {"held"},
                                                         {"allow_infeasible"}}};

// The names of the last ones, in four parts: of the job that ran, of a group, of the job, of what it starts.
constexpr std::size_t kBerthHistoryColumn = 16;
constexpr std::size_t kBerthUsageColumn = 21;
constexpr std::size_t kBerthTermsColumn = 26;
constexpr std::size_t kBerthWorkColumn = 32;

// One row is one task group. Rows of one name are gathered into a job, so the reader is always one row ahead; one bad
// row makes the whole job bad.
class BerthJobReader : public JobReader {
 public:
  explicit BerthJobReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceJob& job) override {
    if (!started_) advance();
    started_ = true;
    if (at_end_) return false;
    job = std::move(ahead_);
    Status problem = std::move(ahead_problem_);
    for (advance(); !at_end_ && !job.name.empty() && ahead_.name == job.name; advance()) {
      Status joined = ahead_problem_.ok() ? join_group(job, ahead_) : std::move(ahead_problem_);
      if (problem.ok()) problem = std::move(joined);
    }
    if (!problem.ok()) return problem;
    return true;
  }

 private:
  // Indices into the column table above.
  enum Column : std::size_t {
    kJobName,
    kSubmit,
    kDuration,
    kQueue,
    kPriority,
    kUser,
    kGroup,
    kTasks,
    kMinTasks,
    kJobCpu,
    kJobMemory,
    kGpus,
    kGpuMemory,
    kModels,
    kJobPool,
    kLocality,
    kTag,
    kStart,
    kOutcome,
    kTimeLimit,
    kEstimates,
    kCpuMean,
    kCpuPeak,
    kMemoryPeak,
    kGpuMean,
    kGpuMemoryPeak,
    kPreemptible,
    kCheckpointEvery,
    kCheckpointGrace,
    kRestartCost,
    kMinRuntime,
    kAfter,
    kCommand,
    kDirectory,
    kEnv,
    kImage,
    kCheckpointSignal,
    kRetries,
    kHeld,
    kAllowInfeasible,
  };

  // Reads a row into ahead_; its name stays empty when not even that could be read.
  void advance() {
    ahead_ = TraceJob{};
    Result<bool> found = csv_.next();
    at_end_ = found.ok() && !*found;
    ahead_problem_ = found.ok() && *found ? read_job(ahead_) : std::move(found).status();
  }
  Status read_job(TraceJob& job);
  Status read_history(TraceJob& job);
  Status read_terms(TraceTerms& terms);
  Status read_work(TraceJob& job);
  Status read_usage(TraceUsage& usage);
  // An amount that may be left out.
  template <class Amount>
  Status read_optional(Column column, Result<Amount> (*read)(std::string_view), std::optional<Amount>& amount) {
    if (csv_.text(column).empty()) return {};
    BERTH_ASSIGN(amount, csv_.value(column, bounded_amount(read)));
    return {};
  }
  Status read_group(TraceTaskGroup& group);
  Status read_devices(TraceTaskGroup& group);
  Status read_closeness(TraceTaskGroup& group);
  static Status join_group(TraceJob& job, TraceJob& row);

  CsvReader csv_;
  bool started_ = false;
  bool at_end_ = false;
  TraceJob ahead_;
  Status ahead_problem_;
};

Status BerthJobReader::read_job(TraceJob& job) {
  const std::string_view name = csv_.text(kJobName);
  BERTH_TRY(csv_.checked(kJobName, check_record_name(name)));
  job.name = name;
  job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
  job.queue = csv_.text(kQueue);
  job.priority = csv_.text(kPriority);
  job.user = csv_.text(kUser);
  BERTH_ASSIGN(job.submit, csv_.value(kSubmit, bounded_amount(read_time)));
  if (!csv_.text(kDuration).empty()) {
    BERTH_ASSIGN(job.duration, csv_.value(kDuration, bounded_amount(read_duration)));
  }
  BERTH_TRY(read_history(job));
  BERTH_TRY(read_terms(job.terms));
  BERTH_TRY(read_work(job));
  return read_group(job.groups.emplace_back());
}

// "user=90 group=75.5".
Result<std::vector<TraceEstimate>> read_berth_estimates(std::string_view text) {
  std::vector<TraceEstimate> estimates;
  for (const std::string_view each : split(text, ' ')) {
    if (each.empty()) continue;
    const std::size_t sign = each.find('=');
    const Result<std::int64_t> value =
        read_scaled(sign == std::string_view::npos ? "" : each.substr(sign + 1), 1000, true);
    if (!value.ok() || sign == 0 || std::abs(*value) > kMostAmount)
      return Status(Code::kInvalid, fmt::format("'{}' is not name=seconds", each));
    estimates.push_back({std::string(each.substr(0, sign)), *value});
  }
  return estimates;
}

Status BerthJobReader::read_history(TraceJob& job) {
  job.tag = csv_.text(kTag);
  BERTH_TRY(read_optional(kStart, read_time, job.start));
  BERTH_ASSIGN(job.outcome, csv_.value(kOutcome, read_outcome));
  BERTH_ASSIGN(job.time_limit, csv_.value_or(kTimeLimit, bounded_amount(read_duration), Seconds(0)));
  BERTH_ASSIGN(job.estimates, csv_.value(kEstimates, read_berth_estimates));
  return {};
}

Result<bool> read_yes_or_no(std::string_view text) {
  for (const std::string_view yes : {"yes", "true", "1"}) {
    if (equals_ignoring_case(text, yes)) return true;
  }
  for (const std::string_view no : {"no", "false", "0"}) {
    if (equals_ignoring_case(text, no)) return false;
  }
  return Status(Code::kInvalid, fmt::format("'{}' is neither yes nor no", text));
}

Status BerthJobReader::read_terms(TraceTerms& terms) {
  BERTH_ASSIGN(terms.preemptible, csv_.value_or(kPreemptible, read_yes_or_no, true));
  BERTH_TRY(read_optional(kCheckpointEvery, read_duration, terms.checkpoint_every));
  BERTH_ASSIGN(terms.checkpoint_grace, csv_.value_or(kCheckpointGrace, bounded_amount(read_duration), Seconds(0)));
  BERTH_TRY(read_optional(kRestartCost, read_duration, terms.restart_cost));
  BERTH_TRY(read_optional(kMinRuntime, read_duration, terms.min_runtime));
  if (csv_.text(kAfter).empty()) return {};
  terms.after = read_name_list(csv_.text(kAfter));
  if (terms.after.empty()) return csv_.error(kAfter, "a name is missing: jobs are separated by |");
  return {};
}

Status BerthJobReader::read_work(TraceJob& job) {
  TraceCommand work;
  work.command = csv_.text(kCommand);
  work.directory = csv_.text(kDirectory);
  BERTH_ASSIGN(work.environment, csv_.value(kEnv, read_text_pairs));
  work.image = csv_.text(kImage);
  work.checkpoint_signal = csv_.text(kCheckpointSignal);
  BERTH_ASSIGN(work.retries, csv_.value_or(kRetries, read_integer, std::int64_t{0}));
  if (work != TraceCommand()) job.command.push_back(std::move(work));
  BERTH_ASSIGN(job.held, csv_.value_or(kHeld, read_yes_or_no, false));
  BERTH_ASSIGN(job.allow_infeasible, csv_.value_or(kAllowInfeasible, read_yes_or_no, false));
  return {};
}

Status BerthJobReader::read_usage(TraceUsage& usage) {
  BERTH_TRY(read_optional(kCpuMean, read_cpu, usage.cpu_mean));
  BERTH_TRY(read_optional(kCpuPeak, read_cpu, usage.cpu_peak));
  BERTH_TRY(read_optional(kMemoryPeak, read_memory, usage.memory_peak));
  BERTH_TRY(read_optional(kGpuMean, read_gpu, usage.gpu_mean));
  return read_optional(kGpuMemoryPeak, read_memory, usage.gpu_memory_peak);
}

Status BerthJobReader::read_group(TraceTaskGroup& group) {
  group.name = csv_.text(kGroup);
  BERTH_ASSIGN(const std::int64_t tasks, csv_.value_or(kTasks, read_task_count, std::int64_t{1}));
  BERTH_ASSIGN(const std::int64_t min_tasks, csv_.value_or(kMinTasks, read_task_count, tasks));
  if (min_tasks > tasks) return csv_.error(kMinTasks, fmt::format("more than the {} tasks of the group", tasks));
  group.tasks = static_cast<std::int32_t>(tasks);
  group.min_tasks = static_cast<std::int32_t>(min_tasks);
  BERTH_ASSIGN(group.cpu, csv_.value(kJobCpu, bounded_amount(read_cpu)));
  BERTH_ASSIGN(group.memory, csv_.value(kJobMemory, bounded_amount(read_memory)));
  group.pool = csv_.text(kJobPool);
  BERTH_TRY(read_devices(group));
  BERTH_TRY(read_usage(group.usage));
  return read_closeness(group);
}

Status BerthJobReader::read_devices(TraceTaskGroup& group) {
  BERTH_ASSIGN(const MilliGpu gpus, csv_.value_or(kGpus, read_gpu, MilliGpu(0)));
  Result<DeviceAsk> ask = device_ask(gpus);
  if (!ask.ok()) return csv_.error(kGpus, ask.status());
  group.gpu_count = ask->count;
  group.gpu_milli = ask->milli;
  BERTH_ASSIGN(group.gpu_memory, csv_.value_or(kGpuMemory, bounded_amount(read_memory), MiB(0)));
  group.models = csv_.text(kModels);
  if (ask->count > 0) return {};
  if (group.gpu_memory != MiB(0)) return csv_.error(kGpuMemory, "device memory, but no device is asked for");
  if (!group.models.empty()) return csv_.error(kModels, "device models, but no device is asked for");
  return {};
}

Status BerthJobReader::read_closeness(TraceTaskGroup& group) {
  std::string_view locality = trim(csv_.text(kLocality));
  if (locality.empty()) return {};
  group.locality_required = !locality.ends_with(kBerthPreferred);
  if (!group.locality_required) locality.remove_suffix(kBerthPreferred.size());
  const Result<Locality> read = read_locality(trim(locality));
  if (!read.ok()) return csv_.error(kLocality, read.status());
  group.locality = *read;
  return {};
}

Status BerthJobReader::join_group(TraceJob& job, TraceJob& row) {
  TraceTaskGroup& group = row.groups.front();
  const auto differs = [&](std::string_view column) {
    return Status(Code::kInvalid,
                  fmt::format("{}: {} of job '{}' is not what {} says", row.place, column, job.name, job.place));
  };
  if (row.submit != job.submit) return differs("submit");
  if (row.duration && row.duration != job.duration) return differs("duration");
  if (!row.queue.empty() && row.queue != job.queue) return differs("queue");
  if (!row.priority.empty() && row.priority != job.priority) return differs("priority");
  if (!row.user.empty() && row.user != job.user) return differs("user");
  if (!row.tag.empty() && row.tag != job.tag) return differs("tag");
  if (row.start && row.start != job.start) return differs("start");
  if (row.outcome && row.outcome != job.outcome) return differs("outcome");
  if (row.time_limit != Seconds(0) && row.time_limit != job.time_limit) return differs("time_limit");
  if (!row.estimates.empty() && row.estimates != job.estimates) return differs("estimates");
  if (row.terms != TraceTerms() && row.terms != job.terms) return differs("eviction or after");
  if (!row.command.empty() && row.command != job.command) return differs("command");
  if (row.held && !job.held) return differs("held");
  if (row.allow_infeasible && !job.allow_infeasible) return differs("allow_infeasible");
  for (const TraceTaskGroup& other : job.groups) {
    if (other.name == group.name) {
      return Status(Code::kInvalid,
                    fmt::format("{}: job '{}' has a second group named '{}'; rows of one job need different groups",
                                row.place, job.name, group.name));
    }
  }
  job.groups.push_back(std::move(group));
  return {};
}

std::string berth_group_fields(const TraceTaskGroup& group) {
  const MilliGpu gpus = group.gpu_milli * group.gpu_count;
  const bool anywhere = group.locality == Locality::kAny;
  const std::string locality =
      anywhere && group.locality_required
          ? ""
          : std::string(locality_name(group.locality)) + std::string(group.locality_required ? "" : kBerthPreferred);
  return fmt::format("{},{},{},{},{},{},{},{},{},{}", csv_field(group.name), group.tasks, group.min_tasks,
                     print_cpu(group.cpu), print_memory(group.memory), group.gpu_count == 0 ? "" : print_gpu(gpus),
                     group.gpu_memory == MiB(0) ? "" : print_memory(group.gpu_memory), csv_field(group.models),
                     csv_field(group.pool), locality);
}

bool has_history(const TraceJob& job) {
  return !job.tag.empty() || job.start || job.outcome || job.time_limit != Seconds(0) || !job.estimates.empty();
}

void append_history(std::string& text, const TraceJob& job) {
  std::vector<std::string> estimates;
  for (const TraceEstimate& each : job.estimates) {
    const std::string_view sign = each.milliseconds < 0 ? "-" : "";
    const std::int64_t size = std::abs(each.milliseconds);
    estimates.push_back(size % 1000 == 0 ? fmt::format("{}={}{}", each.name, sign, size / 1000)
                                         : fmt::format("{}={}{}.{:03}", each.name, sign, size / 1000, size % 1000));
  }
  fmt::format_to(std::back_inserter(text), ",{},{},{},{},{}", csv_field(job.tag),
                 job.start ? fmt::format("{}", job.start->value()) : "",
                 job.outcome ? job_state_name(*job.outcome) : std::string_view(),
                 job.time_limit == Seconds(0) ? "" : fmt::format("{}", job.time_limit.value()),
                 csv_field(join(estimates, " ")));
}

void append_terms(std::string& text, const TraceTerms& terms) {
  const auto seconds = [](std::optional<Seconds> amount) { return amount ? fmt::format("{}", amount->value()) : ""; };
  const std::optional<Seconds> grace =
      terms.checkpoint_grace > Seconds(0) ? std::optional(terms.checkpoint_grace) : std::nullopt;
  fmt::format_to(std::back_inserter(text), ",{},{},{},{},{},{}", terms.preemptible ? "" : "no",
                 seconds(terms.checkpoint_every), seconds(grace), seconds(terms.restart_cost),
                 seconds(terms.min_runtime), csv_field(print_name_list(terms.after)));
}

bool has_work(const TraceJob& job) { return !job.command.empty() || job.held || job.allow_infeasible; }

void append_work(std::string& text, const TraceJob& job) {
  static const TraceCommand none;
  const TraceCommand& work = job.command.empty() ? none : job.command.front();
  fmt::format_to(std::back_inserter(text), ",{},{},{},{},{},{},{},{}", csv_field(work.command),
                 csv_field(work.directory), csv_field(print_text_pairs(work.environment)), csv_field(work.image),
                 work.checkpoint_signal, work.retries == 0 ? "" : fmt::format("{}", work.retries),
                 job.held ? "yes" : "", job.allow_infeasible ? "yes" : "");
}

template <class Amount>
void append_optional(std::string& text, const std::optional<Amount>& amount, std::string (*print)(Amount)) {
  text += ',';
  if (amount) text += print(*amount);
}

void append_usage(std::string& text, const TraceUsage& usage) {
  append_optional(text, usage.cpu_mean, print_cpu);
  append_optional(text, usage.cpu_peak, print_cpu);
  append_optional(text, usage.memory_peak, print_memory);
  append_optional(text, usage.gpu_mean, print_gpu);
  append_optional(text, usage.gpu_memory_peak, print_memory);
}

}  // namespace

Result<std::unique_ptr<JobReader>> open_berth_jobs(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kBerthJobColumns));
  return std::unique_ptr<JobReader>(std::make_unique<BerthJobReader>(std::move(csv)));
}

BerthJobsWriter::BerthJobsWriter(std::span<const TraceJob> jobs) {
  for (const TraceJob& job : jobs) {
    has_history_ = has_history_ || has_history(job);
    has_terms_ = has_terms_ || job.terms != TraceTerms();
    has_work_ = has_work_ || has_work(job);
    for (const TraceTaskGroup& group : job.groups) has_usage_ = has_usage_ || group.usage != TraceUsage();
  }
}

std::string BerthJobsWriter::header() const {
  std::string text =
      "name,submit,duration,queue,priority,user,group,tasks,min_tasks,cpu,memory,gpus,gpu_memory,models,pool,"
      "locality";
  for (std::size_t c = kBerthHistoryColumn; c < kBerthJobColumns.size(); ++c) {
    const bool is_there = c < kBerthUsageColumn   ? has_history_
                          : c < kBerthTermsColumn ? has_usage_
                          : c < kBerthWorkColumn  ? has_terms_
                                                  : has_work_;
    if (is_there) text += fmt::format(",{}", kBerthJobColumns[c].name);
  }
  return text + "\n";
}

void BerthJobsWriter::append(std::string& text, const TraceJob& job) const {
  for (const TraceTaskGroup& group : job.groups) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{}", csv_field(job.name), job.submit.value(),
                   job.duration ? fmt::format("{}", job.duration->value()) : "", csv_field(job.queue),
                   csv_field(job.priority), csv_field(job.user), berth_group_fields(group));
    if (has_history_) append_history(text, job);
    if (has_usage_) append_usage(text, group.usage);
    if (has_terms_) append_terms(text, job.terms);
    if (has_work_) append_work(text, job);
    text += '\n';
  }
}

std::string berth_jobs_csv(std::span<const TraceJob> jobs) {
  const BerthJobsWriter writer(jobs);
  std::string text = writer.header();
  for (const TraceJob& job : jobs) writer.append(text, job);
  return text;
}

}  // namespace berth
