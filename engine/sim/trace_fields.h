// Readers of single trace fields that several formats share: bounded, so that sums over a trace cannot overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/model/cluster.h"
#include "engine/sim/trace.h"

namespace berth {

// An integer in [least, most].
Result<std::int64_t> read_bounded(std::string_view text, std::int64_t least, std::int64_t most);

// More of anything than a node, or a second, will ever have.
inline constexpr std::int64_t kMostAmount = std::int64_t{1} << 40;

inline Result<std::int64_t> read_amount(std::string_view text) { return read_bounded(text, 0, kMostAmount); }

// Reads an amount through its own reader and refuses one that sums could not hold.
template <class Amount>
auto bounded_amount(Result<Amount> (*read)(std::string_view)) {
  return [read](std::string_view text) -> Result<Amount> {
    Result<Amount> amount = read(text);
    if (amount.ok() && amount->value() > kMostAmount)
      return Status(Code::kInvalid, "'" + std::string(text) + "' is too large");
    return amount;
  };
}

inline Result<std::int64_t> read_task_count(std::string_view text) { return read_bounded(text, 1, 1000000); }
Result<std::int64_t> read_device_count(std::string_view text);  // 0 .. kMaxDevices

// A decimal number of any precision times `scale`, to the nearest integer (a half goes up): "29.296875" GiB. For files
// that print amounts as floating point; our own are read exactly (base/text.h).
Result<std::int64_t> read_rounded(std::string_view text, std::int64_t scale);
inline Result<std::int64_t> read_whole_seconds(std::string_view text) { return read_rounded(text, 1); }

// How many devices of which share: 2000 = two whole ones, 500 = half of one. kInvalid for 1500.
struct DeviceAsk {
  std::int32_t count = 0;
  MilliGpu milli;  // of each
};
Result<DeviceAsk> device_ask(MilliGpu total, std::int64_t most = kMaxDevices);

// kInvalid naming the option that no trace could mean.
Status check_trace_options(const TraceOptions& options);

// A job of `devices` whole devices as one task group: one task where a node of `node_devices` holds it, else a gang.
// Its tasks have as many devices as divide both the job's and `devices_per_task`, so 12 in tasks of 8 are 3 of 4; they
// should lie on one node, as far as they can.
TraceTaskGroup gang_of_devices(std::int64_t devices, std::int64_t node_devices, std::int64_t devices_per_task);

// How a job ended, in the words of the usual traces: "Pass", "COMPLETED", "Terminated", "Killed", "TIMEOUT", ... in any
// case. Nothing = it had not ended.
Result<std::optional<JobState>> read_outcome(std::string_view text);

// kInvalid unless the name is 1 to 200 printable bytes.
Status check_record_name(std::string_view name);

// {"zone": "a"}, a JSON object of texts, in order; empty = none.
using TextPairs = std::vector<std::pair<std::string, std::string>>;
Result<TextPairs> read_text_pairs(std::string_view text);
std::string print_text_pairs(const TextPairs& pairs);

// "0 3".
Result<std::vector<std::int32_t>> read_device_list(std::string_view text);

// Names in one field, "prep|clean". A backslash stands before a '|' or a backslash of a name, and before a space at its
// begin or end.
std::string print_name_list(const std::vector<std::string>& names);
// Empty = a name is missing.
std::vector<std::string> read_name_list(std::string_view text);

}  // namespace berth
