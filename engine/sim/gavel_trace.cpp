#include "engine/sim/gavel_trace.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 5> kGavelColumns = {
    {{"vc", true}, {"arrival_s", true}, {"job_type", true}, {"num_gpu", true}, {"total_steps", true}}};

using GavelSpeeds = std::map<std::string, std::map<std::int64_t, double>, std::less<>>;  // type -> GPUs -> steps/s

// "('ResNet-18 (batch size 16)', 1)" with its steps a second.
Status add_speed(GavelSpeeds& speeds, std::string_view key, const nlohmann::json& value) {
  const Status bad(Code::kInvalid, fmt::format("'{}' is not ('job type', GPUs) with a speed \"null\" above 0", key));
  const std::size_t end = key.rfind("', ");
  if (!key.starts_with("('") || !key.ends_with(")") || end == std::string_view::npos || end < 2) return bad;
  const auto gpus = read_task_count(key.substr(end + 3, key.size() - end - 4));
  if (!gpus.ok() || !value.is_object()) return bad;
  const auto alone = value.find("null");
  if (alone == value.end() || !alone->is_number() || !(alone->get<double>() >= 0)) return bad;
  // 0 = the job does not fit that device.
  if (alone->get<double>() > 0) speeds[std::string(key.substr(2, end - 2))][*gpus] = alone->get<double>();
  return {};
}

Result<GavelSpeeds> read_gavel_speeds(const std::string& path, const std::string& model) {
  GavelSpeeds speeds;
  if (path.empty()) return speeds;
  BERTH_ASSIGN(TextFile file, TextFile::open(path));
  std::string text;
  for (std::string_view line;;) {
    BERTH_ASSIGN(const bool found, file.next(line));
    if (!found) break;
    text.append(line).push_back('\n');
  }
  const nlohmann::json table = nlohmann::json::parse(text, nullptr, false);
  if (!table.is_object()) return Status(Code::kInvalid, fmt::format("{}: not a JSON object", path)).about("file", path);
  std::vector<std::string> models;
  for (const auto& [name, unused] : table.items()) models.push_back(name);
  const auto found = table.find(model);
  if (found == table.end() || !found->is_object()) {
    return Status(Code::kNotFound, fmt::format("{}: no speeds of '{}'", path, model), "there are " + join(models, ", "))
        .about("file", path);
  }
  for (const auto& [key, value] : found->items()) {
    Status added = add_speed(speeds, key, value);
    if (!added.ok()) return std::move(added).prefixed(path).about("file", path);
  }
  return speeds;
}

class GavelJobReader : public JobReader {
 public:
  GavelJobReader(CsvReader csv, GavelSpeeds speeds, const TraceOptions& options)
      : csv_(std::move(csv)), speeds_(std::move(speeds)), options_(options) {}

  Result<bool> next(TraceJob& job) override {
    const std::int64_t row = row_;
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    ++row_;
    job = TraceJob{};
    job.name = fmt::format("g{:06}", row);
    job.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    job.queue = csv_.text(kVc);
    BERTH_TRY(csv_.checked(kVc, check_record_name(job.queue)));
    job.tag = csv_.text(kType);
    BERTH_ASSIGN(const std::int64_t arrival, csv_.value(kArrival, read_whole_seconds));
    BERTH_ASSIGN(const std::int64_t devices, csv_.value(kGpus, read_task_count));
    BERTH_ASSIGN(const std::int64_t steps, csv_.value(kSteps, read_amount));
    job.submit = Seconds(arrival);
    job.groups.push_back(gang_of_devices(devices, options_.node_devices, options_.devices_per_task));
    if (!speeds_.empty()) BERTH_TRY(set_duration(job, devices, steps));
    return true;
  }

 private:
  enum Column : std::size_t { kVc, kArrival, kType, kGpus, kSteps };

  Status set_duration(TraceJob& job, std::int64_t devices, std::int64_t steps) const {
    const auto type = speeds_.find(job.tag);
    if (type == speeds_.end()) return csv_.error(kType, fmt::format("no speed of '{}' in the table", job.tag));
    auto speed = type->second.upper_bound(devices);
    if (speed == type->second.begin()) return csv_.error(kGpus, "the table has speeds of more GPUs only");
    --speed;
    const double a_second = speed->second * static_cast<double>(devices) / static_cast<double>(speed->first);
    const double seconds = std::ceil(static_cast<double>(steps) / a_second);
    if (!(seconds <= static_cast<double>(kMostAmount))) return csv_.error(kSteps, "takes too long");
    job.duration = Seconds(static_cast<std::int64_t>(seconds));
    return {};
  }

  CsvReader csv_;
  GavelSpeeds speeds_;
  TraceOptions options_;
  std::int64_t row_ = 0;
};

}  // namespace

Result<std::unique_ptr<JobReader>> open_gavel_jobs(const std::string& path, const TraceOptions& options) {
  BERTH_TRY(check_trace_options(options));
  BERTH_ASSIGN(GavelSpeeds speeds, read_gavel_speeds(options.throughputs_file, options.throughput_model));
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kGavelColumns));
  return std::unique_ptr<JobReader>(std::make_unique<GavelJobReader>(std::move(csv), std::move(speeds), options));
}

}  // namespace berth
