// Readers of single trace fields that several formats share: bounded, so that sums over a trace cannot overflow.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/status.h"
#include "engine/base/units.h"

namespace berth {

// An integer in [least, most].
Result<std::int64_t> read_bounded(std::string_view text, std::int64_t least, std::int64_t most);

// More of anything than a node, or a second, will ever have.
inline constexpr std::int64_t kMostAmount = std::int64_t{1} << 40;

inline Result<std::int64_t> read_amount(std::string_view text) { return read_bounded(text, 0, kMostAmount); }
inline Result<std::int64_t> read_task_count(std::string_view text) { return read_bounded(text, 1, 1000000); }
Result<std::int64_t> read_device_count(std::string_view text);  // 0 .. kMaxDevices

// How many devices of which share: 2000 = two whole ones, 500 = half of one. kInvalid for 1500.
struct DeviceAsk {
  std::int32_t count = 0;
  MilliGpu milli;  // of each
};
Result<DeviceAsk> device_ask(MilliGpu total);

// kInvalid unless the name is 1 to 200 printable bytes.
Status check_record_name(std::string_view name);

}  // namespace berth
