// How a task says that its work is done although it was told to stop for an eviction: it writes the word "done" into
// the file that BERTH_DONE_FILE names. Then it does not run again, however its processes ended.
//
// A file, as each executor can read one after the end (on Kubernetes it is the termination message), and as wrappers
// and launchers between the program and us make exit codes of their own.
#pragma once

#include <string>
#include <string_view>

namespace berth {

inline constexpr std::string_view kDoneVariable = "BERTH_DONE_FILE";

// Its first word is "done".
bool says_done(std::string_view content);
// Whether there is such a file, a plain one, and it says so. Its task may have put anything there.
bool reads_done(const std::string& path);

}  // namespace berth
