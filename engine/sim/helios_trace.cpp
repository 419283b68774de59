#include "engine/sim/helios_trace.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "engine/base/text.h"
#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"
#include "engine/sim/virtual_clusters.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 2> kHeliosNodeColumns = {{{"vc", true}, {"nodes", true}}};
constexpr std::array<CsvColumn, 11> kHeliosJobColumns = {{{"jobname", true},
                                                          {"user"},
                                                          {"vc", true},
                                                          {"gpu_num", true},
                                                          {"state"},
                                                          {"submit_time", true},
                                                          {"duration", true},
                                                          {"start_time"},
                                                          {"cpu_num"},
                                                          {"node_num"},
                                                          {"end_time"}}};
constexpr std::array<CsvColumn, 3> kHeliosEstimateColumns = {{{"jobname", true}, {"duration"}, {"priority", true}}};

using HeliosEstimates = std::unordered_map<std::string, std::int64_t>;  // job -> milliseconds

Result<HeliosEstimates> read_helios_estimates(const std::string& path) {
  HeliosEstimates estimates;
  if (path.empty()) return estimates;
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kHeliosEstimateColumns));
  for (;;) {
    BERTH_ASSIGN(const bool found, csv.next());
    if (!found) return estimates;
    BERTH_ASSIGN(const std::int64_t milliseconds, csv.value(2, [](std::string_view text) -> Result<std::int64_t> {
      const Result<std::int64_t> value = read_scaled(text, 1000, true);
      if (value.ok() && std::abs(*value) <= kMostAmount) return value;
      return Status(Code::kInvalid, fmt::format("'{}' is not a number of seconds", text));
    }));
    if (!estimates.emplace(csv.text(0), milliseconds).second)
      return csv.error(0, fmt::format("the job '{}' is given twice", csv.text(0)));
  }
}

class HeliosJobReader : public JobReader {
 public:
  HeliosJobReader(CsvReader csv, HeliosEstimates estimates, std::int64_t node_devices)
      : csv_(std::move(csv)), estimates_(std::move(estimates)), node_devices_(node_devices) {}

  Result<bool> next(TraceJob& job) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    job = TraceJob{};
    job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    job.name = csv_.text(kName);
    BERTH_TRY(csv_.checked(kName, check_record_name(job.name)));
    job.user = csv_.text(kUser);
    job.queue = csv_.text(kVc);
    BERTH_TRY(csv_.checked(kVc, check_record_name(job.queue)));
    BERTH_ASSIGN(job.submit, csv_.value(kSubmit, read_time));
    BERTH_ASSIGN(const std::int64_t seconds, csv_.value(kDuration, read_whole_seconds));
    job.duration = Seconds(seconds);
    if (!csv_.text(kStart).empty()) {
      BERTH_ASSIGN(job.start, csv_.value(kStart, read_time));
    }
    BERTH_ASSIGN(job.outcome, csv_.value(kState, read_outcome));
    BERTH_ASSIGN(const std::int64_t devices, csv_.value(kGpus, read_task_count));
    add_groups(job, devices);
    const auto estimate = estimates_.find(job.name);
    if (estimate != estimates_.end()) job.estimates.push_back({"given", estimate->second});
    if (!estimates_.empty() && job.estimates.empty()) return csv_.error(kName, "the estimates file lacks this job");
    return true;
  }

 private:
  // Indices into the column table above.
  enum Column : std::size_t { kName, kUser, kVc, kGpus, kState, kSubmit, kDuration, kStart };

  void add_groups(TraceJob& job, std::int64_t devices) const {
    const std::int64_t whole = devices / node_devices_;
    const std::int64_t rest = devices % node_devices_;
    if (whole > 0) add_group(job, rest > 0 ? "whole" : "", whole, node_devices_);
    if (rest > 0) add_group(job, whole > 0 ? "rest" : "", 1, rest);
  }
  static void add_group(TraceJob& job, std::string name, std::int64_t tasks, std::int64_t devices) {
    TraceTaskGroup& group = job.groups.emplace_back();
    group.name = std::move(name);
    group.tasks = group.min_tasks = static_cast<std::int32_t>(tasks);
    group.gpu_count = static_cast<std::int32_t>(devices);
    group.gpu_milli = kWholeDevice;
    group.pool = job.queue;
  }

  CsvReader csv_;
  HeliosEstimates estimates_;
  std::int64_t node_devices_;
};

}  // namespace

Result<std::unique_ptr<NodeReader>> open_helios_nodes(const std::string& path, const TraceOptions& options) {
  return open_virtual_clusters(path, kHeliosNodeColumns, options);
}

Result<std::unique_ptr<JobReader>> open_helios_jobs(const std::string& path, const TraceOptions& options) {
  BERTH_TRY(check_trace_options(options));
  BERTH_ASSIGN(HeliosEstimates estimates, read_helios_estimates(options.estimates_file));
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kHeliosJobColumns));
  return std::unique_ptr<JobReader>(
      std::make_unique<HeliosJobReader>(std::move(csv), std::move(estimates), options.node_devices));
}

}  // namespace berth
