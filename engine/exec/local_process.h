// Which process it is, told from a later one that was given the same number.
//
// A process is named by its number, the moment it began (in clock ticks since boot, field 22 of /proc/PID/stat) and the
// boot it began in. One that has ended but was not waited for counts as gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

struct ProcessMark {
  std::int32_t pid = 0;
  std::int64_t start = 0;
  std::string boot;

  auto operator<=>(const ProcessMark&) const = default;
};

ProcessMark own_process_mark();
const std::string& this_boot();
bool is_alive(const ProcessMark& process);

// False when it is gone, or may not be signalled.
bool signal_process(const ProcessMark& process, int signal);
// The whole process group that it leads.
bool signal_process_group(const ProcessMark& leader, int signal);

// Ends what is left of the group and session that `leader` began before it went: those with this variable in their
// environment ("BERTH_JOB=12"), so that nobody else is hit should the number have been given again.
void kill_left_of_group(const ProcessMark& leader, const std::string& variable);

// "USR1" or "SIGUSR1"; nothing when there is none of that name.
std::optional<int> read_signal(std::string_view name);

}  // namespace berth
