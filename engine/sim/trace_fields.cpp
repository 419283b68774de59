#include "engine/sim/trace_fields.h"

#include <fmt/format.h>

#include <algorithm>

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

Result<std::int64_t> read_device_count(std::string_view text) { return read_bounded(text, 0, kMaxDevices); }

Result<DeviceAsk> device_ask(MilliGpu total) {
  const std::int64_t milli = total.value();
  const std::int64_t whole = kWholeDevice.value();
  if (milli < 0 || milli > kMaxDevices * whole) {
    return Status(Code::kInvalid,
                  fmt::format("{} devices for one task; a node has at most {}", print_gpu(total), kMaxDevices));
  }
  if (milli < whole) return DeviceAsk{milli == 0 ? 0 : 1, total};
  if (milli % whole != 0) {
    return Status(Code::kInvalid,
                  fmt::format("{} devices: a task takes whole devices, or a fraction of one", print_gpu(total)));
  }
  return DeviceAsk{static_cast<std::int32_t>(milli / whole), kWholeDevice};
}

Status check_record_name(std::string_view name) {
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) >= 32 && c != 127; });
  if (!name.empty() && name.size() <= 200 && printable) return {};
  return Status(Code::kInvalid, name.empty() ? "a name is expected" : "not a name (1 to 200 printable characters)");
}

}  // namespace berth
