#include "engine/sim/dlrm_trace.h"

#include <fmt/format.h>

#include <array>

#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 17> kDlrmColumns = {{{"instance_sn", true},
                                                     {"role", true},
                                                     {"app_name", true},
                                                     {"cpu_request", true},
                                                     {"gpu_request", true},
                                                     {"memory_request", true},
                                                     {"creation_time", true},
                                                     {"scheduled_time"},
                                                     {"deletion_time", true},
                                                     {"cpu_limit"},
                                                     {"gpu_limit"},
                                                     {"rdma_request"},
                                                     {"rdma_limit"},
                                                     {"memory_limit"},
                                                     {"disk_request"},
                                                     {"disk_limit"},
                                                     {"max_instance_per_node"}}};

class DlrmJobReader : public JobReader {
 public:
  explicit DlrmJobReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceJob& job) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    job = TraceJob{};
    job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    job.name = csv_.text(kName);
    BERTH_TRY(csv_.checked(kName, check_record_name(job.name)));
    job.queue = csv_.text(kApp);
    BERTH_TRY(csv_.checked(kApp, check_record_name(job.queue)));
    job.tag = fmt::format("{} {}", job.queue, csv_.text(kRole));
    BERTH_TRY(read_times(job));
    BERTH_TRY(read_task(job.groups.emplace_back()));
    return true;
  }

 private:
  // Indices into the column table above.
  enum Column : std::size_t { kName, kRole, kApp, kCpu, kGpus, kMemory, kCreated, kScheduled, kDeleted };

  Status read_times(TraceJob& job) {
    BERTH_ASSIGN(const std::int64_t created, csv_.value_or(kCreated, read_whole_seconds, std::int64_t{0}));
    BERTH_ASSIGN(const std::int64_t start, csv_.value_or(kScheduled, read_whole_seconds, created));
    job.submit = Seconds(created);
    job.start = Seconds(start);
    if (csv_.text(kDeleted).empty()) return {};
    BERTH_ASSIGN(const std::int64_t deleted, csv_.value(kDeleted, read_whole_seconds));
    if (deleted < start) return csv_.error(kDeleted, "before the instance was there");
    job.duration = Seconds(deleted - start);
    return {};
  }

  Status read_task(TraceTaskGroup& task) {
    BERTH_ASSIGN(const std::int64_t cpu,
                 csv_.value(kCpu, [](std::string_view text) { return read_rounded(text, 1000); }));
    BERTH_ASSIGN(const std::int64_t memory,
                 csv_.value(kMemory, [](std::string_view text) { return read_rounded(text, 1024); }));
    BERTH_ASSIGN(const std::int64_t milli,
                 csv_.value(kGpus, [](std::string_view text) { return read_rounded(text, 1000); }));
    const Result<DeviceAsk> ask = device_ask(MilliGpu(milli));
    if (!ask.ok()) return csv_.error(kGpus, ask.status());
    task.cpu = MilliCpu(cpu);
    task.memory = MiB(memory);
    task.gpu_count = ask->count;
    task.gpu_milli = ask->milli;
    return {};
  }

  CsvReader csv_;
};

}  // namespace

Result<std::unique_ptr<JobReader>> open_dlrm_jobs(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kDlrmColumns));
  return std::unique_ptr<JobReader>(std::make_unique<DlrmJobReader>(std::move(csv)));
}

}  // namespace berth
