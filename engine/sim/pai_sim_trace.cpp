#include "engine/sim/pai_sim_trace.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/text.h"
#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 5> kPaiNodeColumns = {
    {{"machine", true}, {"gpu_type", true}, {"cap_cpu", true}, {"cap_mem_gb", true}, {"cap_gpu", true}}};

class PaiNodeReader : public NodeReader {
 public:
  explicit PaiNodeReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceNode& node) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    node = TraceNode{};
    node.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    node.name = csv_.text(kMachine);
    BERTH_TRY(csv_.checked(kMachine, check_record_name(node.name)));
    BERTH_ASSIGN(const std::int64_t cpu,
                 csv_.value(kCpu, [](std::string_view text) { return read_rounded(text, 1000); }));
    BERTH_ASSIGN(const std::int64_t memory,
                 csv_.value(kMemory, [](std::string_view text) { return read_rounded(text, 1024); }));
    BERTH_ASSIGN(const std::int64_t devices, csv_.value(kGpus, read_device_count));
    node.cpu = MilliCpu(cpu);
    node.memory = MiB(memory);
    node.devices = static_cast<std::int32_t>(devices);
    if (devices == 0) return true;
    node.model = csv_.text(kType);
    BERTH_TRY(csv_.checked(kType, check_record_name(node.model)));
    return true;
  }

 private:
  enum Column : std::size_t { kMachine, kType, kCpu, kMemory, kGpus };

  CsvReader csv_;
};

constexpr std::array<CsvColumn, 13> kPaiSimJobColumns = {{{"job_id", true},
                                                          {"num_inst", true},
                                                          {"user"},
                                                          {"submit_time", true},
                                                          {"num_cpu", true},
                                                          {"num_gpu", true},
                                                          {"gpu_type", true},
                                                          {"duration", true},
                                                          {"wait_time"},
                                                          {"group"},
                                                          {"user_dur"},
                                                          {"group_dur"},
                                                          {"group_gpu_dur"}}};

// Its nodes may be pools of any size (pooled_floor.h).
constexpr std::int64_t kMostPooledDevices = 1000000;

class PaiSimJobReader : public JobReader {
 public:
  explicit PaiSimJobReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceJob& job) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    job = TraceJob{};
    job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    job.name = csv_.text(kId);
    BERTH_TRY(csv_.checked(kId, check_record_name(job.name)));
    job.user = csv_.text(kUser);
    job.tag = csv_.text(kGroup);
    BERTH_TRY(read_times(job));
    BERTH_TRY(read_task(job.groups.emplace_back()));
    return true;
  }

 private:
  // Indices into the column table above.
  enum Column : std::size_t {
    kId,
    kInstances,
    kUser,
    kSubmit,
    kCpu,
    kGpus,
    kType,
    kDuration,
    kWait,
    kGroup,
    kUserEstimate,
    kGroupEstimate,
    kGroupGpuEstimate,
  };

  Status read_times(TraceJob& job) {
    BERTH_ASSIGN(const std::int64_t submit, csv_.value(kSubmit, read_whole_seconds));
    BERTH_ASSIGN(const std::int64_t seconds, csv_.value(kDuration, read_whole_seconds));
    BERTH_ASSIGN(const std::int64_t wait, csv_.value_or(kWait, read_whole_seconds, std::int64_t{0}));
    job.submit = Seconds(submit);
    job.duration = Seconds(seconds);
    if (!csv_.text(kWait).empty()) job.start = Seconds(submit + wait);
    struct Named {
      Column column;
      std::string_view name;
    };
    static constexpr Named kEstimates[] = {
        {kUserEstimate, "user"}, {kGroupEstimate, "group"}, {kGroupGpuEstimate, "group_gpu"}};
    for (const Named& each : kEstimates) {
      if (csv_.text(each.column).empty()) continue;
      BERTH_ASSIGN(const std::int64_t milliseconds,
                   csv_.value(each.column, [](std::string_view text) { return read_rounded(text, 1000); }));
      job.estimates.push_back({std::string(each.name), milliseconds});
    }
    return {};
  }

  Status read_task(TraceTaskGroup& task) {
    BERTH_ASSIGN(const std::int64_t instances, csv_.value(kInstances, read_task_count));
    BERTH_ASSIGN(const std::int64_t cpu,
                 csv_.value(kCpu, [](std::string_view text) { return read_rounded(text, 1000); }));
    BERTH_ASSIGN(const std::int64_t milli,
                 csv_.value(kGpus, [](std::string_view text) { return read_rounded(text, 1000); }));
    const Result<DeviceAsk> ask = device_ask(MilliGpu(milli), kMostPooledDevices);
    if (!ask.ok()) return csv_.error(kGpus, ask.status());
    task.tasks = task.min_tasks = static_cast<std::int32_t>(instances);
    task.cpu = MilliCpu(cpu);
    task.gpu_count = ask->count;
    task.gpu_milli = ask->milli;
    if (ask->count > 0) task.models = csv_.text(kType);
    return {};
  }

  CsvReader csv_;
};

}  // namespace

Result<std::unique_ptr<NodeReader>> open_pai_nodes(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kPaiNodeColumns));
  return std::unique_ptr<NodeReader>(std::make_unique<PaiNodeReader>(std::move(csv)));
}

Result<std::unique_ptr<JobReader>> open_pai_sim_jobs(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kPaiSimJobColumns));
  return std::unique_ptr<JobReader>(std::make_unique<PaiSimJobReader>(std::move(csv)));
}

}  // namespace berth
