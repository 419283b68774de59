// Signals to processes that are told from later ones of the same number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/process_mark.h"
#include "engine/base/units.h"

namespace berth {

// False when it is gone, or may not be signalled.
bool signal_process(const ProcessMark& process, int signal);
// The whole process group that it leads.
bool signal_process_group(const ProcessMark& leader, int signal);

// Lets it go on where a signal has stopped it.
void wake_stopped(const ProcessMark& process);
// How long ago it began, by the clock that nobody sets.
Seconds running_time(const ProcessMark& process);

// A living process below this one. `done_file` tells the task to which it belongs: what BERTH_DONE_FILE is in its
// environment, or else in that of the nearest process above it; nothing where none of them has that variable.
struct Descendant {
  ProcessMark process;
  std::int64_t group = 0;
  std::int64_t session = 0;
  std::optional<std::string> done_file;
};
// `first` = done files by process, whatever has become of its environment.
std::vector<Descendant> own_descendants(const std::map<std::int32_t, std::string>& first);

// What BERTH_DONE_FILE is in the environment of this user's processes, where it lies below `folder`; each once.
std::vector<std::string> done_files_below(const std::string& folder);

// Ends whatever on this machine has this task's BERTH_DONE_FILE, or no such variable and is of the session that `first`
// led, and did not begin before `first`.
void kill_left_of_task(const std::string& done_file, const ProcessMark& first);

// "USR1" or "SIGUSR1"; nothing when there is none of that name.
std::optional<int> read_signal(std::string_view name);

}  // namespace berth
