// Which machine this is and which process, told from a later one that was given the same number.
//
// A process is named by its number, the moment it began (in clock ticks since boot, field 22 of /proc/PID/stat), the
// boot it began in and the PID namespace that counts it. One that has ended but was not waited for counts as gone.
// Containers of one machine share its boot; of what runs in another one nobody here can say whether it lives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/status.h"

namespace berth {

struct ProcessMark {
  std::int32_t pid = 0;
  std::int64_t start = 0;
  std::string boot;  // "<boot>/<inode of the namespace>"; marks of earlier versions have the boot alone

  auto operator<=>(const ProcessMark&) const = default;
};

enum class ProcessState : std::uint8_t { kAlive, kGone, kUnknown };

ProcessMark own_process_mark();
// kUnknown: of another PID namespace, or /proc is.
ProcessState process_state(const ProcessMark& process);
bool is_alive(const ProcessMark& process);  // for sure
bool is_gone(const ProcessMark& process);   // for sure
bool is_of_this_boot(const ProcessMark& process);

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
