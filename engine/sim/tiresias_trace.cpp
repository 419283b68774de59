#include "engine/sim/tiresias_trace.h"

#include <fmt/format.h>

#include <array>

#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 5> kTiresiasNodeColumns = {{{"num_switch", true},
                                                            {"num_node_p_switch", true},
                                                            {"num_gpu_p_node", true},
                                                            {"num_cpu_p_node", true},
                                                            {"mem_p_node", true}}};
constexpr std::array<CsvColumn, 7> kTiresiasJobColumns = {{{"job_id", true},
                                                           {"num_gpu", true},
                                                           {"submit_time", true},
                                                           {"duration", true},
                                                           {"model_name"},
                                                           {"iterations"},
                                                           {"interval"}}};

class TiresiasNodeReader : public NodeReader {
 public:
  explicit TiresiasNodeReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceNode& node) override {
    while (made_ == switches_ * nodes_) {
      BERTH_ASSIGN(const bool found, csv_.next());
      if (!found) return false;
      racks_ += switches_;
      BERTH_TRY(read_row());
    }
    node = like_;
    node.rack = fmt::format("s{}", racks_ + made_ / nodes_ + 1);
    node.name = fmt::format("{}-n{:03}", node.rack, made_ % nodes_ + 1);
    ++made_;
    return true;
  }

 private:
  enum Column : std::size_t { kSwitches, kNodes, kGpus, kCpus, kMemory };

  Status read_row() {
    made_ = switches_ = nodes_ = 0;
    const auto count = [](std::string_view text) { return read_bounded(text, 0, 10000); };
    BERTH_ASSIGN(const std::int64_t switches, csv_.value(kSwitches, count));
    BERTH_ASSIGN(const std::int64_t nodes, csv_.value(kNodes, count));
    BERTH_ASSIGN(const std::int64_t devices, csv_.value(kGpus, read_device_count));
    BERTH_ASSIGN(const std::int64_t cores, csv_.value(kCpus, count));
    BERTH_ASSIGN(const std::int64_t gib,
                 csv_.value(kMemory, [](std::string_view text) { return read_bounded(text, 0, kMostAmount / 1024); }));
    like_ = TraceNode{};
    like_.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    like_.cpu = MilliCpu(cores * 1000);
    like_.memory = MiB(gib * 1024);
    like_.devices = static_cast<std::int32_t>(devices);
    if (devices > 0) like_.model = "GPU";
    switches_ = switches;
    nodes_ = nodes;
    return {};
  }

  CsvReader csv_;
  TraceNode like_;
  std::int64_t racks_ = 0;  // of the rows before
  std::int64_t switches_ = 0;
  std::int64_t nodes_ = 0;
  std::int64_t made_ = 0;
};

class TiresiasJobReader : public JobReader {
 public:
  explicit TiresiasJobReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceJob& job) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    job = TraceJob{};
    job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    job.name = csv_.text(kId);
    BERTH_TRY(csv_.checked(kId, check_record_name(job.name)));
    BERTH_ASSIGN(const std::int64_t submit, csv_.value(kSubmit, read_amount));
    BERTH_ASSIGN(const std::int64_t seconds, csv_.value(kDuration, read_amount));
    BERTH_ASSIGN(const std::int64_t devices, csv_.value(kGpus, read_task_count));
    job.submit = Seconds(submit);
    job.duration = Seconds(seconds);
    job.tag = csv_.text(kModelName);
    TraceTaskGroup& group = job.groups.emplace_back();
    group.tasks = group.min_tasks = static_cast<std::int32_t>(devices);
    group.gpu_count = 1;
    group.gpu_milli = kWholeDevice;
    return true;
  }

 private:
  enum Column : std::size_t { kId, kGpus, kSubmit, kDuration, kModelName };

  CsvReader csv_;
};

}  // namespace

Result<std::unique_ptr<NodeReader>> open_tiresias_nodes(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kTiresiasNodeColumns));
  return std::unique_ptr<NodeReader>(std::make_unique<TiresiasNodeReader>(std::move(csv)));
}

Result<std::unique_ptr<JobReader>> open_tiresias_jobs(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kTiresiasJobColumns));
  return std::unique_ptr<JobReader>(std::make_unique<TiresiasJobReader>(std::move(csv)));
}

}  // namespace berth
