#include "engine/sim/trace_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
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
      {"finished", JobState::kFinished},   {"succeeded", JobState::kFinished}, {"pass", JobState::kFinished},
      {"passed", JobState::kFinished},     {"completed", JobState::kFinished}, {"terminated", JobState::kFinished},
      {"failed", JobState::kFailed},       {"timeout", JobState::kFailed},     {"node_fail", JobState::kFailed},
      {"cancelled", JobState::kCancelled}, {"killed", JobState::kCancelled},   {"running", std::nullopt},
      {"waiting", std::nullopt},           {"pending", std::nullopt},          {"", std::nullopt},
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

Result<TextPairs> read_text_pairs(std::string_view text) {
  TextPairs pairs;
  if (trim(text).empty()) return pairs;
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return Status(Code::kInvalid, "expected a JSON object of texts, as in {\"zone\": \"a\"}");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return Status(Code::kInvalid, fmt::format("'{}' is not a text", key));
    pairs.emplace_back(key, value.get<std::string>());
  }
  return pairs;
}

std::string print_text_pairs(const TextPairs& pairs) {
  if (pairs.empty()) return {};
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : pairs) json[key] = value;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<std::vector<std::int32_t>> read_device_list(std::string_view text) {
  std::vector<std::int32_t> devices;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const Result<std::int64_t> device = read_integer(word);
    if (!device.ok() || *device < 0 || *device >= kMaxDevices)
      return Status(Code::kInvalid, fmt::format("'{}' is not the number of a device", word));
    devices.push_back(static_cast<std::int32_t>(*device));
  }
  return devices;
}

std::string print_name_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (&name != names.data()) text += '|';
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool is_outer_space = name[i] == ' ' && (i == 0 || i + 1 == name.size());
      if (name[i] == '|' || name[i] == '\\' || is_outer_space) text += '\\';
      text += name[i];
    }
  }
  return text;
}

std::vector<std::string> read_name_list(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  std::size_t kept = 0;  // spaces behind it are none of the name
  const auto end_name = [&] {
    name.resize(kept);
    names.push_back(std::move(name));
    name.clear();
    kept = 0;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '|') {
      end_name();
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      name += text[++i];
      kept = name.size();
    } else if (text[i] != ' ' || !name.empty()) {
      name += text[i];
      if (text[i] != ' ') kept = name.size();
    }
  }
  end_name();
  const bool has_gap = std::ranges::any_of(names, [](const std::string& each) { return each.empty(); });
  return has_gap ? std::vector<std::string>() : names;
}

}  // namespace berth
