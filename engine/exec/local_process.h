// Signals to processes that are told from later ones of the same number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/process_mark.h"

namespace berth {

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
