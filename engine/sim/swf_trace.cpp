#include "engine/sim/swf_trace.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/text.h"
#include "engine/sim/text_file.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 18> kSwfFields = {"job",
                                                         "submit time",
                                                         "wait time",
                                                         "run time",
                                                         "processors used",
                                                         "CPU time used",
                                                         "memory used",
                                                         "processors asked for",
                                                         "time asked for",
                                                         "memory asked for",
                                                         "status",
                                                         "user",
                                                         "group",
                                                         "program",
                                                         "queue",
                                                         "partition",
                                                         "job before",
                                                         "think time"};

class SwfJobReader : public JobReader {
 public:
  SwfJobReader(TextFile file, bool processors_are_gpus)
      : file_(std::move(file)), processors_are_gpus_(processors_are_gpus) {}

  Result<bool> next(TraceJob& job) override {
    for (;;) {
      std::string_view line;
      BERTH_ASSIGN(const bool found, file_.next(line));
      if (!found) return false;
      const std::string_view text = trim(line);
      if (text.starts_with(';')) BERTH_TRY(read_comment(text.substr(1)));
      if (text.empty() || text.starts_with(';')) continue;
      BERTH_TRY(read_fields(line));
      const std::int64_t status = whole(kStatus);
      if (status >= 2 && status <= 4) continue;
      BERTH_TRY(read_job(job));
      return true;
    }
  }

 private:
  // Indices into the table above.
  enum Field : std::size_t {
    kJob,
    kSubmit,
    kWait,
    kRun,
    kUsedProcessors,
    kCpuTime,
    kUsedMemory,
    kProcessors,
    kTime,
    kMemory,
    kStatus,
    kUser,
    kUserGroup,
    kProgram,
    kQueue,
  };
  static constexpr std::int64_t kUnknown = -1000;

  Status bad(std::size_t column, std::string_view reason) const {
    return Status(Code::kInvalid, fmt::format("{}: {}", file_.place(file_.line(), column), reason))
        .about("file", file_.path());
  }

  // " UnixStartTime: 1234".
  Status read_comment(std::string_view text) {
    constexpr std::string_view kStart = "UnixStartTime:";
    text = trim(text);
    if (!text.starts_with(kStart)) return {};
    const auto value = read_amount(trim(text.substr(kStart.size())));
    if (!value.ok()) return bad(0, value.status().message());
    origin_ = *value;
    return {};
  }

  // All fields in thousandths; -1 and everything else below 0 as kUnknown.
  Status read_fields(std::string_view line) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t begin = line.find_first_not_of(" \t", at);
      if (begin == std::string_view::npos) break;
      at = std::min(line.find_first_of(" \t", begin), line.size());
      if (count == kSwfFields.size()) return bad(begin + 1, fmt::format("more than {} fields", kSwfFields.size()));
      const std::string_view text = line.substr(begin, at - begin);
      const bool negative = text.starts_with('-');
      const auto value = read_rounded(negative ? text.substr(1) : text, 1000);
      if (!value.ok()) return bad(begin + 1, fmt::format("{}: '{}' is not a number", kSwfFields[count], text));
      column_[count] = begin + 1;
      fields_[count++] = negative ? kUnknown : *value;
    }
    if (count == kSwfFields.size()) return {};
    return bad(0, fmt::format("{} fields; a line has {}", count, kSwfFields.size()));
  }

  bool known(Field field) const { return fields_[field] != kUnknown; }
  std::int64_t whole(Field field) const { return known(field) ? fields_[field] / 1000 : -1; }
  Status missing(Field field) const { return bad(column_[field], fmt::format("{}: not known", kSwfFields[field])); }
  std::string numbered(std::string_view word, Field field) const {
    return known(field) ? fmt::format("{}-{}", word, whole(field)) : std::string();
  }

  Status read_job(TraceJob& job) {
    job = TraceJob{};
    job.place = file_.place(file_.line(), 0);
    if (!known(kJob)) return missing(kJob);
    if (!known(kSubmit)) return missing(kSubmit);
    job.name = fmt::format("{}", whole(kJob));
    job.submit = Seconds(origin_ + whole(kSubmit));
    job.user = numbered("user", kUser);
    job.queue = numbered("queue", kQueue);
    job.tag = numbered("program", kProgram);
    if (known(kWait)) job.start = job.submit + Seconds(whole(kWait));
    if (known(kRun)) job.duration = Seconds(whole(kRun));
    if (known(kTime)) job.time_limit = Seconds(whole(kTime));
    switch (whole(kStatus)) {
      case 0: job.outcome = JobState::kFailed; break;
      case 1: job.outcome = JobState::kFinished; break;
      case 5: job.outcome = JobState::kCancelled; break;
      case -1: break;
      default: return bad(column_[kStatus], "status: expected -1 to 5");
    }
    return read_tasks(job);
  }

  Status read_tasks(TraceJob& job) {
    const Field field = known(kProcessors) && fields_[kProcessors] > 0 ? kProcessors : kUsedProcessors;
    const std::int64_t processors = whole(field);
    if (processors < 1 || processors > 1000000)
      return bad(column_[field], fmt::format("{}: expected 1 to 1000000", kSwfFields[field]));
    TraceTaskGroup& group = job.groups.emplace_back();
    group.tasks = group.min_tasks = static_cast<std::int32_t>(processors);
    if (processors_are_gpus_) {
      group.gpu_count = 1;
      group.gpu_milli = kWholeDevice;
    } else {
      group.cpu = MilliCpu(1000);
    }
    if (known(kMemory)) group.memory = MiB(divide_up(whole(kMemory), 1024));
    if (known(kUsedMemory)) group.usage.memory_peak = MiB(divide_up(whole(kUsedMemory), 1024));
    if (known(kCpuTime) && whole(kRun) > 0) group.usage.cpu_mean = MilliCpu(fields_[kCpuTime] / whole(kRun));
    return {};
  }

  TextFile file_;
  bool processors_are_gpus_;
  std::int64_t origin_ = 0;
  std::array<std::int64_t, kSwfFields.size()> fields_{};
  std::array<std::size_t, kSwfFields.size()> column_{};
};

}  // namespace

Result<std::unique_ptr<JobReader>> open_swf_jobs(const std::string& path, const TraceOptions& options) {
  BERTH_ASSIGN(TextFile file, TextFile::open(path));
  return std::unique_ptr<JobReader>(std::make_unique<SwfJobReader>(std::move(file), options.processors_are_gpus));
}

}  // namespace berth
