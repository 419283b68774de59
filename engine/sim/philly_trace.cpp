#include "engine/sim/philly_trace.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/text.h"
#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"
#include "engine/sim/virtual_clusters.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 2> kPhillyNodeColumns = {{{"vc", true}, {"node num", true}}};
constexpr std::array<CsvColumn, 5> kPhillyJobColumns = {
    {{"timestamp", true}, {"duration", true}, {"num_gpus", true}, {"gpu_time"}, {"cluster", true}}};

class PhillyJobReader : public JobReader {
 public:
  PhillyJobReader(CsvReader csv, const TraceOptions& options) : csv_(std::move(csv)), options_(options) {}

  Result<bool> next(TraceJob& job) override {
    const std::int64_t row = row_;
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    ++row_;
    job = TraceJob{};
    job.name = fmt::format("j{:06}", row);
    job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    job.queue = csv_.text(kCluster);
    BERTH_TRY(csv_.checked(kCluster, check_record_name(job.queue)));
    BERTH_ASSIGN(job.submit, csv_.value(kTimestamp, read_time));
    BERTH_ASSIGN(const std::int64_t seconds, csv_.value(kDuration, read_whole_seconds));
    job.duration = Seconds(seconds);
    BERTH_ASSIGN(const std::int64_t devices, csv_.value(kGpus, read_task_count));
    job.groups.push_back(gang_of_devices(devices, options_.node_devices, options_.devices_per_task));
    return true;
  }

 private:
  // Indices into the column table above.
  enum Column : std::size_t { kTimestamp, kDuration, kGpus, kGpuTime, kCluster };

  CsvReader csv_;
  TraceOptions options_;
  std::int64_t row_ = 0;
};

}  // namespace

Result<std::unique_ptr<NodeReader>> open_philly_nodes(const std::string& path, const TraceOptions& options) {
  return open_virtual_clusters(path, kPhillyNodeColumns, options);
}

Result<std::unique_ptr<JobReader>> open_philly_jobs(const std::string& path, const TraceOptions& options) {
  BERTH_TRY(check_trace_options(options));
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kPhillyJobColumns));
  return std::unique_ptr<JobReader>(std::make_unique<PhillyJobReader>(std::move(csv), options));
}

}  // namespace berth
