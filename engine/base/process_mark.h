// Which machine this is and which process, told from a later one that was given the same number.
//
// A process is named by its number, the moment it began (in clock ticks since boot, field 22 of /proc/PID/stat) and the
// boot it began in. One that has ended but was not waited for counts as gone. Containers of one machine share its boot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/status.h"

namespace berth {

struct ProcessMark {
  std::int32_t pid = 0;
  std::int64_t start = 0;
  std::string boot;

  auto operator<=>(const ProcessMark&) const = default;
};

ProcessMark own_process_mark();
bool is_alive(const ProcessMark& process);

// Empty where it cannot be read.
std::string this_boot();
// "unknown" where it has none.
std::string host_name();

struct MachineMark {
  std::string host;
  std::string id;  // of /etc/machine-id; empty where there is none, as in many containers
  std::string boot;
};
// kUnavailable: they cannot be read now, as when no descriptor is left.
Result<MachineMark> this_machine();

struct ProcessStat {
  bool is_stopped = false;  // by a signal, until CONT
  std::int64_t parent = 0;
  std::int64_t group = 0;
  std::int64_t session = 0;
  std::int64_t start = 0;
};
// Nothing when it is gone.
std::optional<ProcessStat> process_stat(std::int32_t pid);

}  // namespace berth
