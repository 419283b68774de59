#include <algorithm>

#include "engine/base/text.h"
#include "engine/runtime/import.h"
#include "engine/runtime/import_names.h"
#include "engine/store/past_jobs.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

// Seconds to add to all times of the trace.
Seconds trace_shift(const std::vector<TraceJob>& jobs, Seconds now) {
  Seconds last(INT64_MIN);
  for (const TraceJob& job : jobs) {
    if (job.duration) last = std::max(last, job.start.value_or(job.submit) + *job.duration);
  }
  return last == Seconds(INT64_MIN) ? Seconds(0) : now - last;
}

std::string past_name(const std::string& name, const std::string& format, const std::string& prefix) {
  const bool number = std::ranges::all_of(name, [](char letter) { return letter >= '0' && letter <= '9'; });
  if (prefix.empty() && number) return fmt::format("{}-{}", to_lower(format), name);
  return prefix + name;
}

PastJob past_job(const TraceJob& job, const ImportOptions& options, const TraceImport& import, Seconds shift) {
  PastJob past;
  past.name = past_name(job.name, options.format, import.prefix);
  past.queue = import.queue.empty() ? job.queue : import.queue;
  past.priority_class = job.priority;
  past.user = job.user;
  past.tag = job.tag;
  past.submit = job.submit + shift;
  past.start = std::max(job.start.value_or(job.submit), job.submit) + shift;
  past.knows_start = job.start.has_value();
  past.end = past.start + *job.duration;
  past.outcome = job.outcome.value_or(JobState::kFinished);
  past.time_limit = job.time_limit;
  for (const TraceTaskGroup& group : job.groups) {
    UsageSample used;
    used.cpu_mean = group.usage.cpu_mean;
    used.cpu_peak = group.usage.cpu_peak;
    used.memory_peak = group.usage.memory_peak;
    used.gpu_mean = group.usage.gpu_mean;
    used.gpu_memory_peak = group.usage.gpu_memory_peak;
    past.groups.push_back({group_request(group), used});
  }
  return past;
}

// Of a file that says no duration there is nothing to learn.
Status check_durations(const std::vector<TraceJob>& jobs, const std::string& path, const ImportOptions& options) {
  const bool none = std::ranges::none_of(jobs, [](const TraceJob& job) { return job.duration.has_value(); });
  if (jobs.empty() || !none) return {};
  const std::string_view hint = durations_hint(options.format, options.trace);
  return Status(Code::kInvalid, fmt::format("{}: the durations of all jobs are unknown: none is history", path),
                hint.empty() ? "IMPORT JOBS takes jobs that are to run" : std::string(hint));
}

Status ensure_names(MissingNames& missing, const PastJob& job) {
  if (job.queue.empty())
    return Status(Code::kInvalid, "the row names no queue", "INTO QUEUE says where such jobs belong");
  BERTH_TRY(missing.ensure_queue(job.queue));
  BERTH_TRY(missing.ensure_priority_class(job.priority_class));
  for (const PastGroup& group : job.groups) BERTH_TRY(missing.ensure_pool(group.asked.pool));
  return {};
}

}  // namespace

Result<ImportReport> import_trace(Runtime& runtime, const std::string& path, const ImportOptions& options,
                                  const TraceImport& import) {
  BERTH_ASSIGN(ReadRecords<TraceJob> read,
               read_trace_jobs(options.format, path,
                               {.skip_bad_rows = true, .format = options.trace, .interrupted = options.interrupted}));
  ImportReport report;
  RowErrors errors(options, report, std::move(read.skipped));
  if (read.records.empty()) BERTH_TRY(errors.verdict());
  BERTH_TRY(check_durations(read.records, path, options));
  const Seconds shift = import.shift ? trace_shift(read.records, runtime.now()) : Seconds(0);
  const Result<std::int64_t> version = runtime.change([&](Change& change) -> Status {
    MissingNames missing(change, options.create_missing, report);
    Seconds last_end(INT64_MIN);
    BERTH_ASSIGN(PastJobWriter writer, PastJobWriter::make(change));
    for (const TraceJob& job : read.records) {
      if (!job.duration) {
        ++report.left_out;
        continue;
      }
      const PastJob past = past_job(job, options, import, shift);
      if (past.end > runtime.now()) {
        ++report.in_future;
        continue;
      }
      Status added = ensure_names(missing, past);
      if (added.ok()) added = writer.add(past);
      if (!added.ok()) {
        BERTH_TRY(errors.take(std::move(added), job.place));
        continue;
      }
      ++report.added;
      last_end = std::max(last_end, past.end);
    }
    BERTH_TRY(errors.verdict());
    BERTH_ASSIGN(const Settings settings, read_settings(change.db()));
    report.too_old = report.added > 0 && last_end < runtime.now() - settings.prediction_retention;
    BERTH_TRY(writer.finish());
    return change.record("import trace", path, print_counted(report.added, "job"));
  });
  if (!version.ok()) return version.status();
  return report;
}

}  // namespace berth
