#include "engine/sim/trace_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/base/text.h"
#include "engine/model/cluster.h"

namespace berth {

Result<std::int64_t> read_bounded(std::string_view text, std::int64_t least, std::int64_t most) {
  const Result<std::int64_t> value = read_integer(text);
  if (!value.ok() || *value < least || *value > most) {
    return Status(Code::kInvalid, fmt::format("'{}' is not an integer from {} to {}", text, least, most));
  }
  return value;
}

Result<std::int64_t> read_rounded(std::string_view text, std::int64_t scale) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto digits = [](std::string_view part) {
    return std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  const std::string_view whole = text.substr(0, point);
  std::string_view part = text.substr(std::min(point + 1, text.size()));
  const bool number = digits(whole) && digits(part) && !(whole.empty() && part.empty()) && whole.size() <= 13;
  std::int64_t value = 0;
  for (const char digit : number ? whole : std::string_view()) value = value * 10 + (digit - '0');
  if (!number || value > kMostAmount / scale) {
    return Status(Code::kInvalid, fmt::format("'{}' is not a number from 0 to {}", text, kMostAmount / scale));
  }
  // Ten digits behind the point decide: scale * 10^10 stays below 2^63 for the scales in use.
  std::int64_t fraction = 0;
  std::int64_t unit = 1;
  for (part = part.substr(0, 10); !part.empty(); part.remove_prefix(1), unit *= 10)
    fraction = fraction * 10 + (part.front() - '0');
  return value * scale + (2 * fraction * scale + unit) / (2 * unit);
}

Result<std::int64_t> read_device_count(std::string_view text) { return read_bounded(text, 0, kMaxDevices); }

Result<DeviceAsk> device_ask(MilliGpu total, std::int64_t most) {
  const std::int64_t milli = total.value();
  const std::int64_t whole = kWholeDevice.value();
  if (milli < 0 || milli > most * whole) {
    return Status(Code::kInvalid,
                  fmt::format("{} devices for one task; a node has at most {}", print_gpu(total), most));
  }
  if (milli < whole) return DeviceAsk{milli == 0 ? 0 : 1, total};
  if (milli % whole != 0) {
    return Status(Code::kInvalid,
                  fmt::format("{} devices: a task takes whole devices, or a fraction of one", print_gpu(total)));
  }
  return DeviceAsk{static_cast<std::int32_t>(milli / whole), kWholeDevice};
}

Status check_trace_options(const TraceOptions& options) {
  const auto check = [](std::string_view name, std::int64_t value) {
    if (value >= 1 && value <= kMaxDevices) return Status();
    return Status(Code::kInvalid,
                  fmt::format("{}: {} is not a number of devices from 1 to {}", name, value, kMaxDevices));
  };
  BERTH_TRY(check("node_devices", options.node_devices));
  return check("devices_per_task", options.devices_per_task);
}

TraceTaskGroup gang_of_devices(std::int64_t devices, std::int64_t node_devices, std::int64_t devices_per_task) {
  TraceTaskGroup group;
  const bool one_task = devices <= node_devices;
  const std::int64_t each = one_task ? devices : std::gcd(devices, devices_per_task);
  group.gpu_count = static_cast<std::int32_t>(each);
  group.gpu_milli = each > 0 ? kWholeDevice : MilliGpu(0);
  if (one_task) return group;
  group.tasks = static_cast<std::int32_t>(devices / each);
  group.min_tasks = group.tasks;
  group.locality = Locality::kNode;
  group.locality_required = false;
  return group;
}

Result<std::optional<JobState>> read_outcome(std::string_view text) {
  struct Word {
    std::string_view text;
    std::optional<JobState> state;
  };
  static constexpr Word kWords[] = {
      {"finished", JobState::kFinished},   {"pass", JobState::kFinished},
      {"passed", JobState::kFinished},     {"completed", JobState::kFinished},
      {"terminated", JobState::kFinished}, {"failed", JobState::kFailed},
      {"timeout", JobState::kFailed},      {"node_fail", JobState::kFailed},
      {"cancelled", JobState::kCancelled}, {"killed", JobState::kCancelled},
      {"running", std::nullopt},           {"waiting", std::nullopt},
      {"pending", std::nullopt},           {"", std::nullopt},
  };
  std::vector<std::string> known;
  for (const Word& word : kWords) {
    if (equals_ignoring_case(word.text, text)) return word.state;
    if (!word.text.empty()) known.emplace_back(word.text);
  }
  const std::string near = suggest(text, known);
  return Status(Code::kInvalid, fmt::format("'{}' is not how a job ends", text),
                near.empty() ? "expected one of " + join(known, ", ") : near);
}

Status check_record_name(std::string_view name) {
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) >= 32 && c != 127; });
  if (!name.empty() && name.size() <= 200 && printable) return {};
  return Status(Code::kInvalid, name.empty() ? "a name is expected" : "not a name (1 to 200 printable characters)");
}

}  // namespace berth
