// A task that was told to stop runs again later, unless it says that its work is done: it writes the word "done" into
// the file that BERTH_DONE_FILE names. The exit code then does not matter.
//
// Why a file and not an exit code: wrappers and launchers often replace the exit code of the program they run. Every
// executor can read a file after the task has ended; on Kubernetes it is the pod's termination message.
#pragma once

#include <string>
#include <string_view>

namespace berth {

inline constexpr std::string_view kDoneVariable = "BERTH_DONE_FILE";

// True when the first word is "done".
bool says_done(std::string_view content);
// True when the file exists, is a regular file and says so; the task may have made anything else of it.
bool reads_done(const std::string& path);

}  // namespace berth
