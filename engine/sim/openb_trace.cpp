#include "engine/sim/openb_trace.h"

#include <fmt/format.h>

#include <array>

#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 5> kOpenbNodeColumns = {
    {{"sn", true}, {"cpu_milli", true}, {"memory_mib", true}, {"gpu", true}, {"model", true}}};

class OpenbNodeReader : public NodeReader {
 public:
  explicit OpenbNodeReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceNode& node) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    node = TraceNode{};
    node.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    node.name = csv_.text(kSn);
    BERTH_TRY(csv_.checked(kSn, check_record_name(node.name)));
    BERTH_ASSIGN(const std::int64_t cpu, csv_.value(kNodeCpu, read_amount));
    BERTH_ASSIGN(const std::int64_t memory, csv_.value(kNodeMemory, read_amount));
    BERTH_ASSIGN(const std::int64_t devices, csv_.value(kNodeGpu, read_device_count));
    node.cpu = MilliCpu(cpu);
    node.memory = MiB(memory);
    node.devices = static_cast<std::int32_t>(devices);
    if (devices == 0) return true;
    node.model = csv_.text(kNodeModel);
    BERTH_TRY(csv_.checked(kNodeModel, check_record_name(node.model)));
    return true;
  }

 private:
  // Indices into the column table above.
  enum Column : std::size_t { kSn, kNodeCpu, kNodeMemory, kNodeGpu, kNodeModel };

  CsvReader csv_;
};

constexpr std::array<CsvColumn, 11> kOpenbPodColumns = {{{"name", true},
                                                         {"cpu_milli", true},
                                                         {"memory_mib", true},
                                                         {"num_gpu", true},
                                                         {"gpu_milli", true},
                                                         {"gpu_spec"},
                                                         {"creation_time"},
                                                         {"deletion_time"},
                                                         {"scheduled_time"},
                                                         {"qos"},
                                                         {"pod_phase"}}};

class OpenbJobReader : public JobReader {
 public:
  explicit OpenbJobReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceJob& job) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    job = TraceJob{};
    job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    job.name = csv_.text(kPodName);
    BERTH_TRY(csv_.checked(kPodName, check_record_name(job.name)));
    BERTH_TRY(read_shape(job.groups.emplace_back()));
    BERTH_TRY(read_times(job));
    return true;
  }

 private:
  // Indices into the column table above.
  enum Column : std::size_t {
    kPodName,
    kPodCpu,
    kPodMemory,
    kPodCount,
    kPodMilli,
    kPodSpec,
    kPodCreated,
    kPodDeleted,
    kPodScheduled,
  };

  Status read_shape(TraceTaskGroup& task) {
    BERTH_ASSIGN(const std::int64_t cpu, csv_.value(kPodCpu, read_amount));
    BERTH_ASSIGN(const std::int64_t memory, csv_.value(kPodMemory, read_amount));
    BERTH_ASSIGN(const std::int64_t count, csv_.value(kPodCount, read_device_count));
    BERTH_ASSIGN(const std::int64_t milli,
                 csv_.value(kPodMilli, [](std::string_view text) { return read_bounded(text, 0, 1000); }));
    if (count > 0 && milli == 0) return csv_.error(kPodMilli, "0 of a device asked for");
    if (count > 1 && milli != kWholeDevice.value())
      return csv_.error(kPodMilli, "a task takes whole devices, or a fraction of one");
    task.cpu = MilliCpu(cpu);
    task.memory = MiB(memory);
    task.gpu_count = static_cast<std::int32_t>(count);
    if (count == 0) return {};
    task.gpu_milli = MilliGpu(milli);
    task.models = csv_.text(kPodSpec);
    return {};
  }

  Status read_times(TraceJob& job) {
    BERTH_ASSIGN(const std::int64_t created, csv_.value_or(kPodCreated, read_amount, std::int64_t{0}));
    job.submit = Seconds(created);
    if (csv_.text(kPodScheduled).empty() || csv_.text(kPodDeleted).empty()) return {};
    BERTH_ASSIGN(const std::int64_t scheduled, csv_.value(kPodScheduled, read_amount));
    BERTH_ASSIGN(const std::int64_t deleted, csv_.value(kPodDeleted, read_amount));
    if (deleted < scheduled) return csv_.error(kPodDeleted, "before scheduled_time");
    job.duration = Seconds(deleted - scheduled);
    return {};
  }

  CsvReader csv_;
};

}  // namespace

Result<std::unique_ptr<NodeReader>> open_openb_nodes(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kOpenbNodeColumns));
  return std::unique_ptr<NodeReader>(std::make_unique<OpenbNodeReader>(std::move(csv)));
}

Result<std::unique_ptr<JobReader>> open_openb_jobs(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kOpenbPodColumns));
  return std::unique_ptr<JobReader>(std::make_unique<OpenbJobReader>(std::move(csv)));
}

}  // namespace berth
